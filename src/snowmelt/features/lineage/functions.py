"""SNOWFLAKE.CORE.GET_LINEAGE and SYSTEM$LINEAGE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.lineage.service import Lineage
from snowmelt.govern.lineage.graph import Dataset, Direction, LineageStep
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.table_functions import Arguments
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

MAX_DISTANCE = 5
_END = "OBJECT_DATABASE, {0}_OBJECT_SCHEMA, {0}_OBJECT_NAME, {0}_OBJECT_DOMAIN, {0}_OBJECT_VERSION, {0}_COLUMN_NAME"
COLUMNS = columns(
    ", ".join(f"{end}_{_END.format(end)}, {end}_STATUS" for end in ("SOURCE", "TARGET"))
    + ", DISTANCE:n, PROCESS:VARIANT"
)
ARGUMENTS = ("OBJECT_NAME", "OBJECT_DOMAIN", "DIRECTION", "DISTANCE", "OBJECT_VERSION")
_DOMAINS = frozenset({"COLUMN", "STAGE", "TABLE", "VIEW", "DYNAMIC TABLE", "DYNAMIC_TABLE", "STREAM"})


def rows(
    run: Run, state: StateReader, name: str, domain: str, direction: str | None, distance: int | None
) -> list[Row]:
    """One row an edge, the nearest first."""
    chosen = domain.upper()
    if chosen not in _DOMAINS:
        raise errors.invalid_value(domain, "object_domain")
    way, hops = direction_of(direction), _hops(distance)
    if chosen == "COLUMN":
        steps = run.account.services[Lineage].of_columns(run, state, name, way, hops, rows=False)
        return [_row(step, column=True) for step in steps]
    return [_row(step) for step in run.account.services[Lineage].of_objects(run, state, name, chosen, way, hops)]


def described(run: Run, state: StateReader, arguments: Sequence[Any]) -> str:
    """SYSTEM$LINEAGE('<table>[.<column>]' [, '<direction>' [, <distance>]]): the same as JSON, with what decides rows.

    Without a distance the walk ends where the graph does.
    """
    name, direction, distance = [*arguments, None, None][:3]
    hops = 1_000 if distance is None else int(distance)
    way = direction_of(direction or "UPSTREAM")
    return json.dumps(run.account.services[Lineage].described(run, state, str(name), way, hops))


def whole(run: Run, state: StateReader, _: Sequence[Any]) -> str:
    """SYSTEM$LINEAGE_GRAPH(): every edge between objects that the session may know of, as JSON."""
    return json.dumps(run.account.services[Lineage].edges(run, state))


def direction_of(text: str | None) -> Direction:
    try:
        return Direction(str(text).upper())
    except ValueError:
        raise errors.invalid_value(str(text), "direction") from None


def _hops(distance: int | None) -> int:
    if distance is None:
        return MAX_DISTANCE
    if not 1 <= int(distance) <= MAX_DISTANCE:
        raise errors.invalid_value(str(distance), "distance")
    return int(distance)


def _row(step: LineageStep, *, column: bool = False) -> Row:
    process = step.edge.process
    details = {"type": process.kind, "name": process.name, "queryId": process.query_id}
    return {
        **_end("SOURCE", step.edge.source, step.link.source_column, column=column),
        **_end("TARGET", step.edge.target, step.link.target_column, column=column),
        "DISTANCE": step.distance,
        "PROCESS": json.dumps({key: value for key, value in details.items() if value is not None}),
    }


def _end(end: str, dataset: Dataset, name: str | None, *, column: bool) -> Row:
    database, schema = dataset.name[:2] if len(dataset.name) == 3 else (None, None)
    domain = "TABLE" if dataset.domain.table_like else dataset.domain.value
    return {
        f"{end}_OBJECT_DATABASE": database,
        f"{end}_OBJECT_SCHEMA": schema,
        f"{end}_OBJECT_NAME": dataset.name[-1],
        f"{end}_OBJECT_DOMAIN": "COLUMN" if column else domain,
        f"{end}_COLUMN_NAME": name,
        f"{end}_STATUS": "ACTIVE",
    }


def get_lineage(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    if arguments.value("OBJECT_VERSION") is not None:
        raise errors.unsupported("versions of objects in GET_LINEAGE")
    return rows(
        run,
        state,
        arguments.text("OBJECT_NAME") or "",
        arguments.text("OBJECT_DOMAIN") or "",
        arguments.text("DIRECTION"),
        arguments.value("DISTANCE"),
    )
