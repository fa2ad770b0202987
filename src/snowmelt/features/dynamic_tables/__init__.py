"""Dynamic tables: what their statements do, and how one is refreshed. See `docs/design/dynamic-tables.md`."""
