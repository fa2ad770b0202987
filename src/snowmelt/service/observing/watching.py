"""Where every table and data product stands, from the state store alone.

Asked often, so what does not change between two looks is kept: definitions until the catalog changes, and the instants
of the last updates, from which the usual interval follows.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.observe.freshness import Freshness, Watched, usual_interval
from snowmelt.service.data_products.describing import freshness_of
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.contract_model import DataProductDefinition
from snowmelt.state.dynamic_model import DynamicState, RefreshState
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.account import Account

_REMEMBERED = 12
"""Updates from which the usual interval is taken."""


@dataclass(frozen=True, slots=True)
class _Product:
    item: CatalogObject
    definition: DataProductDefinition
    limit: int | None
    objects: tuple[CatalogObject, ...]


@dataclass(slots=True)
class _Catalog:
    """What there is to watch, as of one generation of the catalog."""

    generation: int = -1
    relations: dict[str, CatalogObject] = field(default_factory=dict)
    by_name: dict[ObjectName, CatalogObject] = field(default_factory=dict)
    products: list[_Product] = field(default_factory=list)
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """The tables below a view, by its id."""


class Watch:
    """Safe to use from several threads."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._catalog = _Catalog()
        self._dynamic: dict[str, tuple[str, DynamicState]] = {}
        self._updates: dict[str, deque[datetime]] = {}
        self._lock = threading.Lock()

    def look(self, state: StateReader, *, every_table: bool = False) -> list[Freshness]:
        """Dynamic tables, what data products consist of, and the products; with `every_table` the other tables, too."""
        # What is kept here is for everybody: who may see which row is for the caller to say.
        state = state.seen_by(None)
        with self._lock:
            self._load(state)
            now = self._account.clock.now()
            watched = self._watched(every_table=every_table)
            below = {source for item in watched for source in self._catalog.sources.get(item.id, ())}
            tables = [item for item in watched if item.kind is ObjectKind.TABLE]
            tables += [self._catalog.relations[id] for id in below if id in self._catalog.relations]
            found = {item.id: item for item in self._tables(state, {item.id: item for item in tables}, now)}
            views = [self._view(item, found, now) for item in watched if item.kind is ObjectKind.VIEW]
            standing = [found[item.id] for item in watched if item.id in found] + views
            by_id = {item.id: item for item in standing}
            return standing + [_of_product(product, by_id, now) for product in self._catalog.products]

    def updated(self, table_id: str, at: datetime) -> None:
        """A table got newer: told when it happens, since two looks may be further apart than two updates."""
        with self._lock:
            known = self._updates.get(table_id)
            if known is not None and (not known or known[-1] < at):
                known.append(at)

    # -- what there is --------------------------------------------------------------------------------------------

    def _load(self, state: StateReader) -> None:
        generation = state.catalog.generation()
        if generation != self._catalog.generation:
            self._catalog = _load(state, generation)
            live = self._catalog.relations
            self._updates = {id: known for id, known in self._updates.items() if id in live}
        known = self._dynamic
        self._dynamic = {
            id: known[id] if id in known and known[id][0] == record else (record, _parsed(record))
            for id, record in state.dynamic.records()
            if id in self._catalog.relations
        }

    def _watched(self, *, every_table: bool) -> list[CatalogObject]:
        offered = {item.id for product in self._catalog.products for item in product.objects}
        chosen = [
            item
            for id, item in self._catalog.relations.items()
            if id in self._dynamic or id in offered or (every_table and item.kind is ObjectKind.TABLE)
        ]
        return sorted(chosen, key=lambda item: item.name)

    # -- tables ---------------------------------------------------------------------------------------------------

    def _tables(self, state: StateReader, items: dict[str, CatalogObject], now: datetime) -> Iterator[Freshness]:
        plain = [id for id in items if id not in self._dynamic]
        versions = state.versions.snapshot(plain)
        for id, item in items.items():
            if id in self._dynamic:
                yield self._dynamic_table(state, item, self._dynamic[id][1], now)
                continue
            version = versions.get(id)
            at = version.committed_at if version is not None else None
            yield Freshness(
                id, Watched.TABLE, item.name, now, at, at, interval=self._interval(state, id, at, regular=False)
            )

    def _dynamic_table(
        self, state: StateReader, item: CatalogObject, standing: DynamicState, now: datetime
    ) -> Freshness:
        assert isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None
        declared, at = item.definition.dynamic, standing.data_timestamp
        return Freshness(
            item.id, Watched.DYNAMIC_TABLE, item.name, now, at, at,
            limit=declared.target_lag if declared.scheduled else None,
            interval=self._interval(state, item.id, at, regular=True) if declared.scheduled else None,
            suspended=standing.suspended,
        )  # fmt: skip

    def _interval(self, state: StateReader, table_id: str, at: datetime | None, *, regular: bool) -> float | None:
        if at is None:
            return None
        known = self._updates.get(table_id)
        if known is None:
            known = self._updates[table_id] = deque(_past(state, table_id, regular=regular), _REMEMBERED)
        if not known or known[-1] < at:
            known.append(at)
        return usual_interval(list(known), regular=regular)

    # -- views ----------------------------------------------------------------------------------------------------

    def _view(self, item: CatalogObject, tables: dict[str, Freshness], now: datetime) -> Freshness:
        """As old as the oldest dynamic table below it; over plain tables, as new as their last change."""
        below = [tables[id] for id in self._catalog.sources.get(item.id, ()) if id in tables]
        refreshed = [each for each in below if each.kind is Watched.DYNAMIC_TABLE]
        chosen = _oldest(refreshed) if refreshed else _newest(below)
        if chosen is None:
            return Freshness(item.id, Watched.VIEW, item.name, now, None, None)
        return Freshness(
            item.id, Watched.VIEW, item.name, now, chosen.data_timestamp, chosen.updated_at, interval=chosen.interval
        )


def _parsed(record: str) -> DynamicState:
    return DynamicState.model_validate_json(record)


def _past(state: StateReader, table_id: str, *, regular: bool) -> list[datetime]:
    """The instants of a table's last updates, ascending."""
    if not regular:
        return [version.committed_at for version in reversed(state.versions.newest(table_id, _REMEMBERED))]
    refreshes = state.dynamic.newest(table_id, _REMEMBERED)
    return sorted({item.data_timestamp for item in refreshes if item.state is RefreshState.SUCCEEDED})


def _oldest(found: Iterable[Freshness]) -> Freshness | None:
    """The one that is furthest behind; one without data is further than all."""
    listed = list(found)
    return max(listed, key=lambda each: float("inf") if each.behind is None else each.behind, default=None)


def _newest(found: Iterable[Freshness]) -> Freshness | None:
    known = [(each.data_timestamp, each) for each in found if each.data_timestamp is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _of_product(product: _Product, found: dict[str, Freshness], now: datetime) -> Freshness:
    """As old as the oldest of what it consists of."""
    worst = _oldest(found[item.id] for item in product.objects if item.id in found)
    missing = worst is None or len(product.objects) < len(product.definition.objects)
    return Freshness(
        product.item.id, Watched.DATA_PRODUCT, product.item.name, now,
        None if missing or worst is None else worst.data_timestamp,
        None if missing or worst is None else worst.updated_at,
        limit=product.limit,
        interval=worst.interval if worst is not None else None,
        suspended=worst.suspended if worst is not None else False,
        tier=product.definition.availability_tier,
    )  # fmt: skip


# -- the catalog ------------------------------------------------------------------------------------------------------


def _load(state: StateReader, generation: int) -> _Catalog:
    found = state.whole_catalog.objects({*RELATIONS, ObjectKind.DATA_PRODUCT})
    catalog = _Catalog(generation, relations={item.id: item for item in found if item.kind in RELATIONS})
    catalog.by_name = {item.name: item for item in catalog.relations.values()}
    for item in found:
        if isinstance(item.definition, DataProductDefinition):
            objects = tuple(catalog.by_name[name] for name in item.definition.objects if name in catalog.by_name)
            limit = freshness_of(state, item.definition)
            catalog.products.append(_Product(item, item.definition, limit, objects))
    for product in catalog.products:
        for item in product.objects:
            if isinstance(item.definition, ViewDefinition):
                catalog.sources[item.id] = frozenset(_tables_below(catalog, item, set()))
    return catalog


def _tables_below(catalog: _Catalog, view: CatalogObject, seen: set[str]) -> Iterator[str]:
    assert isinstance(view.definition, ViewDefinition)
    if view.id in seen:
        return
    seen.add(view.id)
    try:
        tree = parse_snowflake(view.definition.query)
    except SnowmeltError:
        return
    for named in tree.find_all(exp.Table):
        parts = [part.name if part.args.get("quoted") else part.name.upper() for part in named.parts]
        place = [view.definition.database, view.definition.schema_]
        if 1 <= len(parts) <= 3:
            item = catalog.by_name.get(ObjectName(*[*place[: 3 - len(parts)], *parts]))
            if item is not None and item.kind is ObjectKind.TABLE:
                yield item.id
            elif item is not None:
                yield from _tables_below(catalog, item, seen)
