"""What people call the files of a stage."""

from __future__ import annotations

from snowmelt.core.names import quote
from snowmelt.state.store import StateReader


def file_name(state: StateReader, key: str) -> tuple[str, str]:
    """The stage and the path of a file in the load history, as people know them; no stage for a URL."""
    stage, _, path = key.partition("/")
    if not stage.startswith("@"):
        return "", key
    found = state.catalog.by_id(stage.lstrip("@%"))
    if found is None:
        return stage, path
    mark = "%" if stage.startswith("@%") else ""
    return f"@{quote(found.name.database)}.{quote(found.name.schema)}.{mark}{quote(found.name.name)}", path
