"""Alerts: a task of one statement that runs when another one has rows, and the messages it sends."""
