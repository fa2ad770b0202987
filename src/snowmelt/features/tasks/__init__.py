"""Tasks: what their statements do, and how a graph of them runs. See `docs/design/tasks.md`."""
