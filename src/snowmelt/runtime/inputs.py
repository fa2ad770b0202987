"""Arrow tables that a statement reads by name, beside the tables it pins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from snowmelt.runtime.metadata.columns import Row, cells
from snowmelt.runtime.results import ResultColumn, table_result
from snowmelt.runtime.statement import WithInputs
from snowmelt.sql.relations import Relation, RelationColumn


def attach(run: WithInputs, key: str, build: Callable[[], pa.Table]) -> str:
    """The name under which the statement's query reads the table; one built before under the same key is used again.

    Names are unique in the account: statements of many sessions share one Spark session.
    """
    digest = hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()[:16]
    reference = f"input_{run.query_id.replace('-', '')}_{digest}"
    if reference not in run.inputs:
        run.inputs[reference] = build()
    return reference


def rows_table(columns: Sequence[ResultColumn], rows: Iterable[Row]) -> pa.Table:
    """Metadata rows as an Arrow table with columns named by position."""
    return named_by_position(table_result(columns, cells(columns, rows)).data)


def table_relation(name: str, columns: Sequence[ResultColumn], reference: str) -> Relation:
    """A relation over an Arrow table whose columns are named by position, as `named_by_position` does."""
    return Relation(
        name=name,
        columns=tuple(
            RelationColumn(column.name, column.type, column.nullable, key=f"c{index}")
            for index, column in enumerate(columns)
        ),
        reference=reference,
        json_text=any(column.type.is_semi_structured for column in columns),
    )


def named_by_position(table: pa.Table) -> pa.Table:
    """c0, c1, …: names of results may occur twice or differ in case only, which Spark can't have."""
    return table.rename_columns([f"c{index}" for index in range(table.num_columns)])
