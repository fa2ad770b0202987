"""Alerts: conditions that are looked at on a schedule, and what is done when one holds."""
