"""Change tracking: switched on for a table or view, and for the tables that a view reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.streams import views
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.rights.privileges import OWNERSHIP
from snowmelt.state.model import CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def tables_behind(run: Run, name: ObjectName, view: ViewDefinition) -> list[str]:
    """The ids of the tables of a view whose changes can be tracked. Raises for one whose changes can't."""
    with run.state.read() as state:
        catalog = StatementCatalog(run, state, name.database, name.schema)
        bound = views.bind_query(catalog, name, view.query, run.now, None)
        tables = list(bound.bound.sources.values())
    for table in tables:
        require_feed(table)
    return [table.id for table in tables]


def require_feed(table: CatalogObject) -> TableDefinition:
    """Raises for a table whose changes its owner does not want to be kept."""
    assert isinstance(table.definition, TableDefinition)
    if not table.definition.change_feed:
        raise errors.change_tracking_missing(str(table.name))
    return table.definition


def track_all(run: Run, table_ids: list[str]) -> None:
    with run.state.begin() as state:
        for id in table_ids:
            track(run, state, id)


def track(run: Run, state: StateTransaction, table_id: str) -> None:
    """Change tracking of a table is on from now on, as Snowflake does it for the owner's first stream.

    Raises where it was off and the role does not own the table.
    """
    table = state.catalog.by_id(table_id)
    if table is None or table.dropped_on is not None or not isinstance(table.definition, TableDefinition):
        raise errors.cannot_operate()
    if not table.definition.change_tracking and table.definition.dynamic is None:
        _require_owner(run, table)
    wanted = table.definition.model_copy(update={"change_tracking": True, "change_feed": True})
    if wanted != table.definition:
        state.catalog.update(table.model_copy(update={"definition": wanted}))


def _require_owner(run: Run, source: CatalogObject) -> None:
    if not run.authority.holds(OWNERSHIP, Owned(source.id, source.owner)):
        kind = "stream source without CHANGE_TRACKING enabled"
        error = errors.insufficient_privileges(kind, source.name.name)
        run.account.audit.denied(run, (OWNERSHIP,), f"{source.kind} {source.name}", error)
        raise error


def track_view(run: Run, state: StateTransaction, view_id: str) -> None:
    view = state.catalog.by_id(view_id)
    if view is None or view.dropped_on is not None or not isinstance(view.definition, ViewDefinition):
        raise errors.cannot_operate()
    if not view.definition.change_tracking:
        _require_owner(run, view)
    definition = view.definition.model_copy(update={"change_tracking": True})
    state.catalog.update(view.model_copy(update={"definition": definition}))
