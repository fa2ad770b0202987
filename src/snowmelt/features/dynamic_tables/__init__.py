"""Dynamic tables: what their statements do, and how one is refreshed. See `docs/design/dynamic-tables.md`.

Not here: the algebra (`snowmelt.ivm`), what is due (`snowmelt.scheduler`), and plans (`snowmelt.runtime.incremental`).
"""
