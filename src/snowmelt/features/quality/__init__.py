"""Quality gates: checks of tables, carried out before a write becomes visible.

Not here: the rules of each kind of check and their SQL (`snowmelt.govern.quality`).
"""
