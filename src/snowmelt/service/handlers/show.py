"""SHOW: what exists, one kind at a time. Answered from the state store alone, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.service.alerts import listing as alerts_listing
from snowmelt.service.channels import listing as channels_listing
from snowmelt.service.connectors import listing as connectors_listing
from snowmelt.service.contracts import listing as contracts_listing
from snowmelt.service.data_products import listing as products_listing
from snowmelt.service.dynamic_tables import listing
from snowmelt.service.metadata import (
    access,
    account,
    containers,
    filters,
    keys,
    layouts,
    relations,
    routines,
    schema_objects,
    settings,
    table_columns,
)
from snowmelt.service.metadata.columns import Columns, Row, result
from snowmelt.service.metadata.listing import Listing
from snowmelt.service.metadata.scopes import schema_scope
from snowmelt.service.quality import listing as quality_listing
from snowmelt.service.results import Result
from snowmelt.service.streams import listing as streams_listing
from snowmelt.service.tasks import listing as tasks
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run

_IN_SCHEMAS = frozenset(
    {
        "PIPES", "MATERIALIZED VIEWS", "EXTERNAL TABLES",
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


LISTINGS: dict[str, Listing] = {
    **containers.LISTINGS,
    **relations.LISTINGS,
    **listing.LISTINGS,
    **streams_listing.LISTINGS,
    **connectors_listing.LISTINGS,
    **contracts_listing.LISTINGS,
    **products_listing.LISTINGS,
    **tasks.LISTINGS,
    **alerts_listing.LISTINGS,
    **channels_listing.LISTINGS,
    **quality_listing.LISTINGS,
    **table_columns.LISTINGS,
    **keys.LISTINGS,
    **schema_objects.LISTINGS,
    **routines.LISTINGS,
    **account.LISTINGS,
    **access.LISTINGS,
    **settings.LISTINGS,
}
_NOTHING = Listing(_empty)


def show(run: Run, statement: ShowStatement) -> Result:
    if statement.kind == "GRANTS":
        with run.state.read() as state:
            answer, granted = access.grants(run, state, statement)
            return result(answer, granted, "SHOW")
    layout = _layout(statement)
    if layout is None:
        raise errors.unsupported(f"SHOW {statement.kind}")
    filters.check_limit(statement)
    listing = LISTINGS.get(statement.kind, _NOTHING)
    with run.state.read() as state:
        found = listing.rows(run, state, statement)
        rows = filters.chosen(found, statement, listing.named, paged=listing.paged)
    return result(layout, rows, "SHOW")


def _layout(statement: ShowStatement) -> Columns | None:
    if statement.terse and statement.kind in layouts.TERSE:
        return layouts.TERSE[statement.kind]
    if statement.history and statement.kind in layouts.HISTORY:
        return layouts.HISTORY[statement.kind]
    return layouts.SHOW.get(statement.kind)


HANDLERS: dict[type[Statement], Any] = {ShowStatement: show}
