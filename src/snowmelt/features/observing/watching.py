"""Where every table and data product stands, from the state store alone.

Asked often, so what does not change between two looks is kept: definitions until the catalog changes, and the instants
of the last updates, from which the usual interval follows.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.data_products.describing import freshness_of, promised_at
from snowmelt.observe.freshness import Freshness, WatchedKind, usual_interval
from snowmelt.scheduler.periods import due_tick, expected_duration, instant, micros, refresh_period
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.dynamic_model import DynamicRefresh, DynamicState, RefreshState
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_REMEMBERED = 300
"""Updates from which the usual interval is taken. Loads come in bursts of many."""
_REFRESHES = 12


@dataclass(frozen=True, slots=True)
class _Product:
    item: CatalogObject
    definition: DataProductDefinition
    limit: int | None
    objects: tuple[CatalogObject, ...]
    promised_at: datetime


@dataclass(slots=True)
class _Catalog:
    """What there is to watch, as of one generation of the catalog."""

    generation: int = -1
    relations: dict[str, CatalogObject] = field(default_factory=dict)
    by_name: dict[ObjectName, CatalogObject] = field(default_factory=dict)
    products: list[_Product] = field(default_factory=list)
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """The tables below a view, by its id."""
    broken: set[str] = field(default_factory=set)
    """Views over something that is not there."""


class FreshnessWatch:
    """Safe to use from several threads."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._catalog = _Catalog()
        self._dynamic: dict[str, tuple[str, DynamicState]] = {}
        self._updates: dict[str, deque[datetime]] = {}
        self._took: dict[str, timedelta] = {}
        """How long after its data timestamp a dynamic table last had its rows."""
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
            return standing + [self._product(product, by_id, now) for product in self._catalog.products]

    def refreshed(self, row: DynamicRefresh) -> None:
        """A table got newer: told when it happens, since two looks may be further apart than two updates."""
        at = row.ended_at or row.data_timestamp
        with self._lock:
            self._took[row.table_id] = at - row.data_timestamp
            known = self._updates.get(row.table_id)
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
            if version is not None and not version.has_new_rows:
                version = next(iter(state.versions.newest_data(id, 1)), None)
            at = version.committed_at if version is not None else None
            updates = self._known_updates(state, id, at)
            interval = usual_interval(list(updates), regular=False)
            yield Freshness(id, WatchedKind.TABLE, item.name, now, at, at, interval=interval)

    def _dynamic_table(
        self, state: StateReader, item: CatalogObject, standing: DynamicState, now: datetime
    ) -> Freshness:
        assert isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None
        declared, at = item.definition.dynamic, standing.data_timestamp
        updates = self._known_refreshes(state, item.id, at)
        updated_at = updates[-1] if updates else None
        interval = None
        if declared.scheduled and declared.target_lag is not None and at is not None and updated_at is not None:
            usual = usual_interval(list(updates), regular=True)
            due = self._due(item.id, at, declared.target_lag)
            # After a refresh by hand the next one is due by the lag, however short the pauses were before.
            interval = max(usual, (due - updated_at).total_seconds()) if usual is not None else None
        return Freshness(
            item.id, WatchedKind.DYNAMIC_TABLE, item.name, now, at, updated_at,
            limit=declared.target_lag if declared.scheduled else None,
            interval=interval, suspended=standing.suspended, promised_at=item.altered_on,
        )  # fmt: skip

    def _due(self, table_id: str, stands_at: datetime, lag: float) -> datetime:
        """When the scheduler will have the table newer than it is."""
        whole, took = int(lag * 1_000_000), self._took.get(table_id, timedelta())
        completion = expected_duration([took])
        period = refresh_period(whole, completion)
        return instant(due_tick(micros(stands_at), whole, completion, period)) + took

    def _known_updates(self, state: StateReader, table_id: str, at: datetime | None) -> deque[datetime]:
        """When rows came to a table; `at` is the last time."""
        known = self._updates.get(table_id)
        if known is None:
            past = reversed(state.versions.newest_data(table_id, _REMEMBERED))
            known = self._updates[table_id] = deque((version.committed_at for version in past), _REMEMBERED)
        return _with(known, at)

    def _known_refreshes(self, state: StateReader, table_id: str, at: datetime | None) -> deque[datetime]:
        """When a dynamic table got newer. One that found no change took no time: it is known by its data timestamp."""
        known = self._updates.get(table_id)
        if known is None:
            past = [row for row in state.dynamic.newest(table_id, _REFRESHES) if row.state is RefreshState.SUCCEEDED]
            ended = sorted({row.ended_at or row.data_timestamp for row in past})
            known = self._updates[table_id] = deque(ended, _REFRESHES)
            if past:
                self._took[table_id] = (past[0].ended_at or past[0].data_timestamp) - past[0].data_timestamp
        return _with(known, at)

    # -- views ----------------------------------------------------------------------------------------------------

    def _view(self, item: CatalogObject, tables: dict[str, Freshness], now: datetime) -> Freshness:
        """How old a view is: as the oldest dynamic table below it; over plain tables, as their last change."""
        below = [tables[id] for id in self._catalog.sources.get(item.id, ()) if id in tables]
        refreshed = [each for each in below if each.kind is WatchedKind.DYNAMIC_TABLE]
        chosen = _oldest(refreshed) if refreshed else _newest(below)
        if chosen is None:
            return Freshness(item.id, WatchedKind.VIEW, item.name, now, None, None)
        return Freshness(
            item.id,
            WatchedKind.VIEW,
            item.name,
            now,
            chosen.data_timestamp,
            chosen.updated_at,
            interval=chosen.interval,
        )

    # -- products -------------------------------------------------------------------------------------------------

    def _product(self, product: _Product, found: dict[str, Freshness], now: datetime) -> Freshness:
        """How old a product is: as its oldest part. With a part gone nobody can use it, however new the others are."""
        worst = _oldest(found[item.id] for item in product.objects if item.id in found)
        broken = any(item.id in self._catalog.broken for item in product.objects)
        return Freshness(
            product.item.id, WatchedKind.DATA_PRODUCT, product.item.name, now,
            worst.data_timestamp if worst is not None else None,
            worst.updated_at if worst is not None else None,
            limit=product.limit,
            interval=worst.interval if worst is not None else None,
            suspended=worst.suspended if worst is not None else False,
            tier=product.definition.availability_tier,
            promised_at=product.promised_at,
            missing=broken or len(product.objects) < len(product.definition.objects),
        )  # fmt: skip


def _parsed(record: str) -> DynamicState:
    return DynamicState.model_validate_json(record)


def _with(known: deque[datetime], at: datetime | None) -> deque[datetime]:
    if at is not None and (not known or known[-1] < at):
        known.append(at)
    return known


def _oldest(found: Iterable[Freshness]) -> Freshness | None:
    """The one that is furthest behind; one without data is further than all."""
    listed = list(found)
    return max(listed, key=lambda each: float("inf") if each.behind is None else each.behind, default=None)


def _newest(found: Iterable[Freshness]) -> Freshness | None:
    known = [(each.data_timestamp, each) for each in found if each.data_timestamp is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


# -- the catalog ------------------------------------------------------------------------------------------------------


def _load(state: StateReader, generation: int) -> _Catalog:
    found = state.whole_catalog.objects({*RELATIONS, DATA_PRODUCT})
    catalog = _Catalog(generation, relations={item.id: item for item in found if item.kind in RELATIONS})
    catalog.by_name = {item.name: item for item in catalog.relations.values()}
    for item in found:
        if isinstance(item.definition, DataProductDefinition):
            objects = tuple(catalog.by_name[name] for name in item.definition.objects if name in catalog.by_name)
            limit, at = freshness_of(state, item.definition), promised_at(state, item)
            catalog.products.append(_Product(item, item.definition, limit, objects, at))
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
    locals_ = {cte.alias.upper() for cte in tree.find_all(exp.CTE)}
    for named in tree.find_all(exp.Table):
        if not isinstance(named.this, exp.Identifier):
            # A table function, or VALUES.
            continue
        parts = [part.name if part.args.get("quoted") else part.name.upper() for part in named.parts]
        home = [view.definition.database, view.definition.schema_]
        if 1 <= len(parts) <= 3:
            item = catalog.by_name.get(ObjectName(*[*home[: 3 - len(parts)], *parts]))
            if item is not None and item.kind is ObjectKind.TABLE:
                yield item.id
            elif item is not None:
                yield from _tables_below(catalog, item, seen)
                if item.id in catalog.broken:
                    catalog.broken.add(view.id)
            elif named.name and "INFORMATION_SCHEMA" not in parts and not (len(parts) == 1 and parts[0] in locals_):
                catalog.broken.add(view.id)
