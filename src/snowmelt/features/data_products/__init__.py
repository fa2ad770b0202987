"""Data products: what is offered to others, by whom, and what may be expected of it.

Not here: the search for what is offered (`data_catalog`).
"""
