"""SYSTEM$CHECK_SCD: whether the versions of every key follow each other as those of a dimension must."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.features.dynamic_tables import dimensions
from snowmelt.features.dynamic_tables.landing import EventLanding
from snowmelt.runtime.incremental.runs import refresh_run
from snowmelt.sql import scd_checks
from snowmelt.sql.scd import IS_CURRENT, VALID_FROM, VALID_TO, Dimension, ScdEvents
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def check(run: Run, table: CatalogObject, key: str | None) -> dict[str, Any]:
    """What is wrong with the versions: `sound` if nothing is.

    `key`: the names of the key's columns, for a table that no CREATE SCD statement made.
    """
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    dimension = definition.dynamic.dimension if definition.dynamic is not None else None
    names = _key(table, definition, dimension, key)
    warehouse = definition.dynamic.warehouse if definition.dynamic is not None else run.session.warehouse or ""
    with refresh_run(run.account, table.name, table.owner, warehouse, caller=run) as inner:
        try:
            found = dict(
                zip(scd_checks.FOUND, _counts(inner, scd_checks.versions_query(str(table.name), names)), strict=True)
            )
            unplaced = 0
            if dimension is not None:
                events = _events(inner, table, dimension)
                (unplaced,) = _counts(inner, scd_checks.unplaced_query(events))
                if found["gaps"]:
                    found["gaps"] -= _counts(inner, scd_checks.explained_gaps_query(str(table.name), events))[0]
        finally:
            inner.release_warehouse()
    versions = found.pop("versions")
    answer = {"table": str(table.name), "sound": not any(found.values()), "versions": versions, "violations": found}
    return answer if dimension is None else {**answer, "events_without_sequence": unplaced}


def _key(
    table: CatalogObject, definition: TableDefinition, dimension: Dimension | None, given: str | None
) -> Sequence[str]:
    columns = {column.name for column in definition.columns}
    names: Sequence[str] = dimension.key if dimension is not None else ()
    if given is not None:
        parts = [split_name(item) for item in given.split(",")]
        names = [part[0] for part in parts if part is not None and len(part) == 1]
        if len(names) != len(parts):
            raise errors.invalid_value(given, "key_columns")
    if not names:
        raise errors.compilation(
            "001003", "42000", f"{table.name} was not made by CREATE SCD TYPE 2 TABLE.",
            hint="Name its key: SYSTEM$CHECK_SCD('name', 'key_1, key_2').",
        )  # fmt: skip
    for name in (*names, VALID_FROM, VALID_TO, IS_CURRENT):
        if name not in columns:
            raise errors.compilation("000904", "42000", f"SYSTEM$CHECK_SCD: {table.name} has no column '{name}'.")
    return names


def _events(run: Run, table: CatalogObject, dimension: Dimension) -> ScdEvents:
    if dimension.stream is None:
        return dimensions.events_of(run, dimension, dimension.source)
    return dimensions.events_of(run, *EventLanding(run, table.name, dimension, table).events())


def _counts(run: Run, query: str) -> list[int]:
    row = run.fetch(run.bind_query(SqlText(query))).rows()[0]
    return [int(value) for value in row]
