"""Tasks: what their statements do, and how a graph of them runs. See `docs/design/tasks.md`.

Not here: which task is due, and the state of a graph (`snowmelt.scheduler`).
"""
