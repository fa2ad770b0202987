"""Views with a contract. What a view shows follows what it reads, so a change of that can break the view's promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.contracts import breaches
from snowmelt.features.contracts.promises import Promise, promise_of
from snowmelt.features.lineage.catalog import LineageCatalog, dataset_of
from snowmelt.features.streams.definitions import StreamDefinition
from snowmelt.govern.contracts.model import TableColumn
from snowmelt.runtime.declaring import stored_type
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.rights.privileges import OWNERSHIP
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel
from snowmelt.state.model import SELECTABLE, CatalogObject, Column, ViewDefinition
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Changed = Mapping[str, Sequence[Column] | None]
"""By id of an object, the columns that it would have; None for one that would be gone."""
_NOTHING: Changed = {}


class PromisedViews:
    """One for an account."""

    def columns(
        self, run: Run, state: StateReader, view: CatalogObject, changed: Changed = _NOTHING
    ) -> list[TableColumn]:
        """What a view shows, or would show. Raises when its query can't be bound.

        The catalog has what it showed when it was created.
        """
        definition = view.definition
        assert isinstance(definition, ViewDefinition)
        catalog = _WouldBe(run, state, definition.database, definition.schema_, changed)
        shown = QueryBinder(Environment(catalog, run.context)).view(catalog.relation_of(view, None)).columns
        return [
            TableColumn(column.name, stored_type(column.type), declared.nullable, declared.comment)
            for column, declared in zip(shown, definition.columns, strict=True)
        ]

    def check(self, run: Run, state: StateReader, changed: Changed) -> None:
        """Raises, naming each breach and who is hit, when the change would break the contract of a view."""
        for id in state.contracts.live_views():
            view = state.whole_catalog.by_id(id) if id not in changed else None
            if view is None:
                continue
            assert isinstance(view.definition, ViewDefinition)
            promise = promise_of(state, view, run.now.date())
            owner = run.account.access.of_role(view.owner)
            if promise is not None and _binds(state, view.definition, changed, owner, set()):
                self._check(run, state, view, promise, changed)

    def _check(self, run: Run, state: StateReader, view: CatalogObject, promise: Promise, changed: Changed) -> None:
        try:
            now = self.columns(run, state, view)
        except errors.SnowmeltError:
            # What can't be read is broken already.
            return
        try:
            then = self.columns(run, state, view, changed)
        except errors.SnowmeltError as error:
            hit = promise.hit([column.name for column in now])
            raise breaches.broken(promise, view, promise.versions[-1], [_reason(error)], hit) from error
        breaches.check_columns(promise, view, now, then)


def _reason(error: errors.SnowmeltError) -> str:
    """The innermost error: views are expanded one inside the other."""
    return f"its query would fail: {error.message.splitlines()[-1].rstrip('.')}"


class _WouldBe(LineageCatalog):
    """The catalog with some objects as they would be; views are what their queries give."""

    def __init__(
        self, run: Run, state: StateReader, database: str | None, schema: str | None, changed: Changed
    ) -> None:  # fmt: skip
        super().__init__(run, state, database, schema)
        self.outermost = False
        self.changed = changed

    def within(self, database: str, schema: str, owner: str | None) -> _WouldBe:
        return _WouldBe(self.run, self.state, database, schema, self.changed)

    def relation_of(self, found: CatalogObject, when: TimeTravel | None) -> Relation:
        if found.id in self.changed:
            columns = self.changed[found.id]
            if columns is None:
                raise errors.not_found("Object", str(found.name))
            return self._opaque(dataset_of(found), tuple(RelationColumn(item.name, item.type) for item in columns))
        if isinstance(found.definition, ViewDefinition):
            return self._view(found, found.definition)
        return super().relation_of(found, when)


def _binds(state: StateReader, definition: ViewDefinition, changed: Changed, owner: Authority, seen: set[str]) -> bool:
    """Whether a view reads one of the objects, through whatever views and streams, and its owner owns that, too.

    Nobody can promise what is somebody else's: who may only read a table must not be able to keep it from changing.
    """
    for parts in _names_in(definition.query):
        home = (definition.database, definition.schema_)
        found = state.whole_catalog.find(ObjectName(*home[: 3 - len(parts)], *parts), SELECTABLE)
        if found is not None and isinstance(found.definition, StreamDefinition):
            found = state.whole_catalog.by_id(found.definition.source_id)
        if found is None or found.id in seen:
            continue
        seen.add(found.id)
        if found.id in changed and owner.holds(OWNERSHIP, Owned(found.id, found.owner)):
            return True
        inner = found.definition
        if isinstance(inner, ViewDefinition) and _binds(state, inner, changed, owner, seen):
            return True
    return False


@lru_cache(maxsize=4096)
def _names_in(query: str) -> frozenset[tuple[str, ...]]:
    """Every name that a query may mean a table by."""
    named = [table.parts for table in parse_snowflake(query).find_all(exp.Table)]
    return frozenset(
        tuple(fold_identifier(part) for part in parts)
        for parts in named
        if len(parts) <= 3 and all(isinstance(part, exp.Identifier) for part in parts)
    )
