"""Keeping tables and records small and quick while the server runs. See `docs/design/upkeep.md`."""
