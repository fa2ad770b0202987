"""What an account tells of itself: metrics, freshness, alerts, cost.

Not here: how a number is computed from facts (`snowmelt.observe`); this room gathers the facts.
"""
