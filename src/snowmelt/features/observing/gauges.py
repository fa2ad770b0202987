"""How things stand now, as samples of metrics: read from the state store at each request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.core.version import VERSION
from snowmelt.features.connectors.definitions import CONNECTOR, ConnectorDefinition, ConnectorPhase
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.observing.recording import availability as measured
from snowmelt.features.streams.definitions import STREAM
from snowmelt.features.streams.offsets import stale_after
from snowmelt.features.streams.service import Streams
from snowmelt.features.tasks.definitions import TaskStanding
from snowmelt.features.tasks.graph import task_kinds
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.observe import metrics
from snowmelt.observe.freshness import Freshness, FreshnessStatus, WatchedKind
from snowmelt.observe.levels import PoolLevel
from snowmelt.observe.metrics import Sample
from snowmelt.state.channel_model import ChannelMinute
from snowmelt.state.model import CatalogObject, ObjectKind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_STATUS = {
    FreshnessStatus.FRESH: 0,
    FreshnessStatus.WARNING: 1,
    FreshnessStatus.BREACHED: 2,
    FreshnessStatus.UNKNOWN: -1,
}
_BAD_PHASES = frozenset({ConnectorPhase.RETRYING, ConnectorPhase.FAILED})
_LATENCY_SPAN = timedelta(minutes=5)


def samples(account: Account, state: StateReader, standing: Iterable[Freshness]) -> Iterator[Sample]:
    now = account.clock.now()
    yield Sample(metrics.BUILD, (VERSION,), 1)
    yield from _freshness(standing)
    yield from _dynamic_tables(state)
    yield from _tasks(state)
    yield from _streams(account, state, now)
    yield from _channels(state, now)
    yield from _connectors(state)
    yield Sample(metrics.RECORDS_SET_ASIDE, ("query_history",), account.journal.set_aside)
    yield Sample(metrics.RECORDS_SET_ASIDE, ("audit_log",), account.audit.set_aside)
    yield Sample(metrics.QUERIES_RUNNING, (), sum(session.running is not None for session in account.sessions()))


def availability(state: StateReader, now: datetime) -> Iterator[Sample]:
    for last, found in measured(state, now, now).values():
        if last.kind == WatchedKind.DATA_PRODUCT.value and found.ratio is not None:
            yield Sample(metrics.AVAILABILITY, name_labels(last.name), found.ratio)
            if found.target is not None:
                yield Sample(metrics.AVAILABILITY_TARGET, name_labels(last.name), found.target)


def pools(found: Iterable[PoolLevel]) -> Iterator[Sample]:
    for pool in found:
        yield Sample(metrics.POOL_USED, (pool.name,), pool.used)
        yield Sample(metrics.POOL_SIZE, (pool.name,), pool.size)
        yield Sample(metrics.POOL_LEVEL, (pool.name,), pool.level)


def name_labels(name: ObjectName) -> tuple[str, str, str]:
    return name.database, name.schema, name.name


def _freshness(standing: Iterable[Freshness]) -> Iterator[Sample]:
    for item in standing:
        labels = (*name_labels(item.name), item.kind.value)
        values = (
            (metrics.BEHIND, item.behind),
            (metrics.LIMIT, item.limit),
            (metrics.SINCE_UPDATE, item.since_update),
            (metrics.INTERVAL, item.interval),
            (metrics.STATUS, _STATUS[item.status]),
        )
        for metric, value in values:
            if value is not None:
                yield Sample(metric, labels, value)


def _live(state: StateReader, kind: ObjectKind) -> list[CatalogObject]:
    return state.catalog.objects([kind])


def _dynamic_tables(state: StateReader) -> Iterator[Sample]:
    for id, dynamic in state.dynamic.all().items():
        table = state.catalog.by_id(id)
        if table is not None and table.dropped_on is None:
            yield Sample(metrics.REFRESH_FAILURES, name_labels(table.name), dynamic.failures)
            yield Sample(metrics.SUSPENDED, name_labels(table.name), dynamic.suspended)


def _tasks(state: StateReader) -> Iterator[Sample]:
    found = [item for kind in task_kinds() for item in _live(state, kind)]
    records = state[TaskRecords].records() if found else {}
    for item in found:
        record = records.get(item.id)
        failures = TaskStanding.model_validate_json(record).failures if record is not None else 0
        yield Sample(metrics.TASK_FAILURES, name_labels(item.name), failures)


def _streams(account: Account, state: StateReader, now: datetime) -> Iterator[Sample]:
    found = _live(state, STREAM)
    standings = {item.stream_id: item for item in state.streams.all()} if found else {}
    for item in found:
        standing = standings[item.id]
        until = stale_after(account.parameters, state, standing)
        yield Sample(metrics.STREAM_STALE, name_labels(item.name), max((until - now).total_seconds(), 0.0))
        try:
            since = account.services[Streams].oldest_change(state, standing)
        except SnowmeltError:
            # Its log can't be read: it is stale, or its table is gone.
            continue
        yield Sample(metrics.STREAM_LAG, name_labels(item.name), _age(since, now))


def _channels(state: StateReader, now: datetime) -> Iterator[Sample]:
    recent: dict[str, list[ChannelMinute]] = {}
    found = state.channels.all()
    for minute in state.channels.since(now - _LATENCY_SPAN) if found else ():
        recent.setdefault(minute.channel_id, []).append(minute)
    for channel in found:
        table = state.catalog.by_id(channel.table_id)
        if table is None or table.dropped_on is not None:
            continue
        labels = (*name_labels(table.name), channel.name)
        yield Sample(metrics.CHANNEL_ROWS, (*labels, "inserted"), channel.rows_inserted)
        yield Sample(metrics.CHANNEL_ROWS, (*labels, "rejected"), channel.rows_rejected)
        if channel.last_committed_on is not None:
            yield Sample(metrics.CHANNEL_SILENCE, labels, _age(channel.last_committed_on, now))
        minutes = recent.get(channel.id, [])
        batches = sum(minute.batches for minute in minutes)
        if batches:
            waited = sum(minute.waited_seconds for minute in minutes)
            yield Sample(metrics.CHANNEL_LATENCY, labels, waited / batches)


def _connectors(state: StateReader) -> Iterator[Sample]:
    for item in _live(state, CONNECTOR):
        assert isinstance(item.definition, ConnectorDefinition)
        standing, labels = state[ConnectorStandings].require(item.id), name_labels(item.name)
        phase = ConnectorPhase.PAUSED if standing.paused else standing.phase
        yield Sample(metrics.CONNECTOR_UP, (*labels, phase.value), phase not in _BAD_PHASES)
        yield Sample(metrics.CONNECTOR_CHANGES, (*labels, "landed"), standing.changes)
        yield Sample(metrics.CONNECTOR_CHANGES, (*labels, "dead_letter"), standing.dead_letters)
        yield Sample(metrics.CONNECTOR_SLOT_LIMIT, labels, item.definition.slot_warning_bytes)
        if standing.slot_bytes is not None:
            yield Sample(metrics.CONNECTOR_SLOT, labels, standing.slot_bytes)
        if standing.last_change_at is not None and standing.last_landed_at is not None:
            yield Sample(metrics.CONNECTOR_LAG, labels, _age(standing.last_change_at, standing.last_landed_at))


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max((now - since).total_seconds(), 0.0)
