"""SHOW: what exists, one kind at a time. Answered from the state store alone, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.metadata import (
    account,
    containers,
    filters,
    keys,
    layouts,
    relations,
    schema_objects,
    settings,
    table_columns,
)
from snowmelt.runtime.metadata.columns import Columns, Row, result
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.scopes import schema_scope
from snowmelt.runtime.results import Result
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_IN_SCHEMAS = frozenset(
    {
        "MATERIALIZED VIEWS", "EXTERNAL TABLES",
        "EVENT TABLES", "HYBRID TABLES", "ICEBERG TABLES", "MASKING POLICIES", "ROW ACCESS POLICIES",
        "SECRETS",
    }
)  # fmt: skip
"""Kinds whose scope is looked up even though there is nothing to list in it."""


def _empty(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    """Nothing of that kind can exist here; a scope that does not exist is an error all the same."""
    if statement.kind in _IN_SCHEMAS:
        schema_scope(run, state, statement)
    return iter(())


_LISTINGS: dict[str, Listing] = {
    **containers.LISTINGS,
    **relations.LISTINGS,
    **table_columns.LISTINGS,
    **keys.LISTINGS,
    **schema_objects.LISTINGS,
    **account.LISTINGS,
    **settings.LISTINGS,
}
_NOTHING = Listing(_empty)


def show(run: Run, statement: ShowStatement) -> Result:
    layout = layout_of(statement)
    if layout is None:
        raise errors.unsupported(f"SHOW {statement.kind}")
    filters.check_limit(statement)
    listing = listings().get(statement.kind, _NOTHING)
    with run.state.read() as state:
        found = listing.rows(run, state, statement)
        rows = filters.chosen(found, statement, listing.named, paged=listing.paged)
    return result(layout, rows, "SHOW")


def listings() -> dict[str, Listing]:
    return _LISTINGS | {word: each.listing for word, each in (all_kinds().by_plural | all_kinds().shown).items()}


def layout_of(statement: ShowStatement) -> Columns | None:
    """The columns of the answer; None when there is none."""
    own = all_kinds().by_plural.get(statement.kind)
    if own is not None:
        return own.terse() if statement.terse and own.terse is not None else own.columns()
    more = all_kinds().shown.get(statement.kind)
    if more is not None:
        return more.columns(statement)
    if statement.terse and statement.kind in layouts.TERSE:
        return layouts.TERSE[statement.kind]
    if statement.history and statement.kind in layouts.HISTORY:
        return layouts.HISTORY[statement.kind]
    return layouts.SHOW.get(statement.kind)
