"""Alerts: conditions that are looked at on a schedule, and what is done when one holds.

Not here: rules over metrics and the messages about them (`notifications`).
"""
