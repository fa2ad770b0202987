"""Words of DDL text that read back as themselves."""

from __future__ import annotations

from collections.abc import Iterable

from snowmelt.core.names import ObjectName, literal
from snowmelt.sql.scd import Dimension
from snowmelt.sql.statements.spelling import spelled


def object_name(name: ObjectName, *, qualified: bool) -> str:
    parts = (name.database, name.schema, name.name) if qualified else (name.name,)
    return ".".join(spelled(part) for part in parts)


def comment(text: str | None) -> str:
    return f" COMMENT={literal(text)}" if text is not None else ""


def flag(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def listed(names: Iterable[str]) -> str:
    return f"({', '.join(map(spelled, names))})"


def scd_clauses(dimension: Dimension) -> list[str]:
    """What makes a slowly changing dimension of its events."""
    clauses = [f"key {listed(dimension.key)}"]
    if dimension.sequence:
        clauses.append(f"sequence by {', '.join(dimension.sequence)}")
    if dimension.delete_when is not None:
        clauses.append(f"delete when {dimension.delete_when}")
    if dimension.track is not None:
        clauses.append(f"track {listed(dimension.track)}")
    if dimension.track_except:
        clauses.append(f"track except {listed(dimension.track_except)}")
    return clauses
