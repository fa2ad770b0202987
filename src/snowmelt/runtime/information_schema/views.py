"""From a name such as DB.INFORMATION_SCHEMA.TABLES to the relation it means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.runtime import inputs
from snowmelt.runtime.information_schema import constraints, containers, relations
from snowmelt.runtime.information_schema.rows import Rows
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.metadata.information_schema import view_columns
from snowmelt.sql.relations import Relation
from snowmelt.state.model import Database
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _nothing(_: Run, __: StateReader, ___: Database) -> Iterable[Row]:
    return ()


_OWN: dict[str, Rows] = {
    **containers.ROWS,
    **relations.ROWS,
    **constraints.ROWS,
    "PACKAGES": _nothing,
}


def view_rows() -> dict[str, Rows]:
    """What gives the rows of each view, those that features bring among them."""
    return _OWN | {name: view.rows for name, view in all_kinds().views.items()}


def view(run: Run, state: StateReader, name: ObjectName) -> Relation:
    """The view as a relation over the rows of its database. Raises the not-found error that names it."""
    database = state.catalog.database(name.database)
    if database is None:
        raise errors.not_found("Database", quote(name.database))
    rows = view_rows().get(name.name)
    if rows is None:
        raise errors.not_found("Object", str(name))
    columns = view_columns()[name.name]
    reference = inputs.attach(run, str(name), lambda: inputs.rows_table(columns, rows(run, state, database)))
    return inputs.table_relation(str(name), columns, reference)
