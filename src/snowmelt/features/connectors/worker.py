"""The life of one connector: an engine is started, its batches land, and when it ends something is done about it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import errors
from snowmelt.core.backoff import Backoff
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.connectors.declaring import source_of
from snowmelt.features.connectors.definitions import ConnectorDefinition, ConnectorPhase, ConnectorState, Route
from snowmelt.features.connectors.feeds import open_feed
from snowmelt.features.connectors.first_snapshot import FirstSnapshots
from snowmelt.features.connectors.landing import Landing
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.ingest.cdc.debezium import snapshot_order
from snowmelt.ingest.cdc.feed import EngineFailedError, Feed, FeedBatch
from snowmelt.ingest.cdc.findings import CONNECTION, LOG, FindingStatus, SourceError, SourceFinding
from snowmelt.ingest.cdc.history import SchemaHistory, history_file
from snowmelt.ingest.cdc.kinds import kind_of
from snowmelt.ingest.cdc.quick.snapshot import StoppedError
from snowmelt.ingest.cdc.quick.tables import NotQuickError
from snowmelt.ingest.cdc.sources import CapturedSource
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_WATCH_SECONDS = 15.0
"""How often the source is asked what it keeps for the slot."""
_UNREACHABLE_SECONDS = 600.0
"""How long one that did not answer is left alone: with Kafka in between, it may be for others only."""
_RESTING = frozenset({ConnectorPhase.FAILED, ConnectorPhase.COMPLETED})


class Worker:
    """One thread and, while it captures, one feed: a process, or a query of Spark."""

    def __init__(self, account: Account, connector_id: str) -> None:
        self._account = account
        self._id = connector_id
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._feed: Feed | None = None
        self._snapshots: FirstSnapshots | None = None
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._watched = 0.0
        self._sent = 0
        """The number of the last order for a snapshot that an engine was given."""
        self._thread = threading.Thread(target=self._run, name=f"snowmelt-connector-{connector_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def engine_pid(self) -> int | None:
        """The process of the engine, while there is one."""
        with self._lock:
            return self._feed.pid if self._feed is not None and self._feed.alive else None

    def wake(self) -> None:
        """Something about the connector changed: it is paused, resumed, dropped, or is to send a signal."""
        self._woken.set()
        connector, standing = self._load()
        if connector is None or standing.paused:
            self.restart()
        elif standing.phase not in _RESTING:
            try:
                self._send_signals(connector, standing)
            except SourceError as error:
                raise errors.connector_stopped(f"The signal can't be sent: {error.orig or error}") from None

    def restart(self) -> None:
        """The engine has to be stopped, and started anew if the connector still is to run. Does not wait for it."""
        self._woken.set()
        threading.Thread(target=self._stop_engine, daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        self._woken.set()
        self._stop_engine()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    # -- the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            connector, standing = self._load()
            if connector is None:
                return
            if standing.paused or standing.phase in _RESTING:
                if standing.paused and standing.phase is not ConnectorPhase.PAUSED:
                    self._note(phase=ConnectorPhase.PAUSED)
                self._rest(connector, standing)
                continue
            try:
                self._capture(connector, standing)
                self._backoff.reset()
            except EngineFailedError as error:
                self._retry(str(error))
            except SourceError as error:
                self._retry(str(error.orig or error).strip())
            except SnowmeltError as error:
                self._fail(error)
            except Exception as error:
                _log.exception("connector_failed", connector=str(connector.name))
                self._note(phase=ConnectorPhase.FAILED, error=f"{type(error).__name__}: {error}")

    def _rest(self, connector: CatalogObject, standing: ConnectorState) -> None:
        """Until something is to be done. The source keeps its log meanwhile, which is watched."""
        definition = _definition(connector)
        source = source_of(self._account, definition)
        self._watched = 0.0
        if standing.offset is None or standing.phase is ConnectorPhase.COMPLETED:
            self._woken.wait()
        while not self._woken.wait(_WATCH_SECONDS):
            self._watch(source, definition, None)

    def _fail(self, error: SnowmeltError) -> None:
        if error.transient:
            self._retry(error.text)
        else:
            self._note(phase=ConnectorPhase.FAILED, error=error.text)

    def _retry(self, reason: str) -> None:
        if self._stopping.is_set():
            return
        _log.warning("connector_retries", connector=self._id, seconds=self._backoff.seconds, reason=reason)
        self._note(phase=ConnectorPhase.RETRYING, error=reason)
        self._woken.wait(self._backoff.seconds)
        self._backoff.lengthen()

    def _capture(self, connector: CatalogObject, standing: ConnectorState) -> None:
        """Until the engine ends, or is ended."""
        definition = _definition(connector)
        source = source_of(self._account, definition)
        kafka = definition.route is Route.KAFKA
        # Debezium in Kafka Connect asks its source itself, and is told by others when something is lacking.
        offset = standing.offset if kafka else self._starting_point(source, standing)
        if offset is None and not kafka and source.snapshot_mode != "NO_DATA":
            try:
                offset = self._first_snapshot(connector, source)
            except StoppedError:
                return
            if self._load()[1].phase in _RESTING:
                return
        landing = Landing(self._account, connector)
        watch = partial(self._watch, source, definition)
        feed = open_feed(self._account, connector.id, definition, offset, self._folder())
        with self._lock:
            self._feed = feed
            self._sent = standing.snapshot_done
            self._watched = 0.0
        try:
            current, now = self._load()
            if self._stopping.is_set() or current is None or now.paused:
                return
            for batch in feed.batches():
                landed = self._land(landing, feed, batch, watch)
                if landed is None:
                    return
                self._backoff.reset()
                watch(None)
                # With topics it is not known whether the last row of another table is still to come.
                only_rows = definition.snapshot_mode == "INITIAL_ONLY" and not kafka
                if only_rows and landed.phase is ConnectorPhase.STREAMING:
                    self._note(phase=ConnectorPhase.COMPLETED)
                    return
            if not feed.asked_to_stop:
                raise EngineFailedError("the engine ended by itself")
        finally:
            with self._lock:
                self._feed = None
            feed.close()

    def _first_snapshot(self, connector: CatalogObject, source: CapturedSource) -> dict[str, Any] | None:
        """Debezium's offset behind a first snapshot that is read here; None where Debezium has to read it.

        Raises `StoppedError` when it is not to go on.
        """
        snapshots = FirstSnapshots(self._account, connector, source)
        with self._lock:
            self._snapshots = snapshots
        try:
            current, now = self._load()
            if self._stopping.is_set() or current is None or now.paused:
                raise StoppedError
            return snapshots.take().offset
        except NotQuickError as refused:
            _log.info("snapshot_by_debezium", connector=str(connector.name), reason=str(refused))
            self._note(snapshot_by=f"Debezium: {refused}")
            return None
        finally:
            with self._lock:
                self._snapshots = None

    def _land(
        self, landing: Landing, feed: Feed, batch: FeedBatch, watch: Callable[[str], None]
    ) -> ConnectorState | None:
        """Lands a batch, however long the lake takes: the engine waits, and so does the source's log.

        None when the account is closed first.
        """
        standing = self._land_at_last(landing, batch, watch)
        if standing is None:
            return None
        feed.acknowledge(batch.number)
        if standing.snapshot_request > self._sent:
            connector, current = self._load()
            if connector is not None:
                self._send_signals(connector, current)
        return standing

    def _land_at_last(self, landing: Landing, batch: FeedBatch, watch: Callable[[str], None]) -> ConnectorState | None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                return landing.land(batch)
            except SnowmeltError as error:
                if not error.transient:
                    raise
                waits = f"Landing waits: {error.message}"
                self._note(warning=waits)
                watch(waits)
                if self._stopping.wait(backoff.seconds):
                    return None
                backoff.lengthen()

    # -- before it starts -----------------------------------------------------------------------------------------

    def _starting_point(self, source: CapturedSource, standing: ConnectorState) -> dict[str, Any] | None:
        """Debezium's offset, or None to begin anew. Raises when the source is not as it must be."""
        kind = kind_of(source)
        missing = [finding for finding in kind.check(source) if finding.status is FindingStatus.MISSING]
        if [finding.check for finding in missing] == [CONNECTION]:
            raise EngineFailedError(missing[0].detail)
        lost = [finding for finding in missing if finding.check == LOG]
        others = [finding for finding in missing if finding.check != LOG]
        if others:
            raise errors.connector_stopped(
                f"The source is not ready: {'; '.join(f'{item.check}: {item.detail}' for item in others)}",
                hint=_remedies(others),
            )
        log = kind.log_status(source, standing.offset)
        if standing.offset is None:
            if lost:
                raise errors.connector_stopped(lost[0].detail, hint=_remedies(lost))
            return None
        history_gone = kind.KEEPS_HISTORY and not SchemaHistory(history_file(self._folder())).exists
        if log.usable and not history_gone:
            return dict(standing.offset)
        gone = "history of the tables' columns" if log.usable else log.name
        if source.snapshot_mode != "WHEN_NEEDED":
            raise errors.connector_stopped(
                f"The {gone} is gone: changes since {standing.last_change_at} are lost.",
                hint="To read all tables anew: ALTER CONNECTOR … SET SNAPSHOT_MODE = WHEN_NEEDED, then RESUME. Rows "
                "that are gone from the source then go from mirrors too.",
            )
        if log.lost:
            kind.forget_log(source)
        self._note(warning=f"The {gone} was gone: all tables are read anew.")
        return None

    # -- while it runs --------------------------------------------------------------------------------------------

    def _watch(self, source: CapturedSource, definition: ConnectorDefinition, otherwise: str | None) -> None:
        """What the source keeps of its log for the connector, before its disk is full or it throws it away.

        `otherwise` is what to warn of when that is not too much.
        """
        if time.monotonic() - self._watched < _WATCH_SECONDS:
            return
        self._watched = time.monotonic()
        try:
            log = kind_of(source).log_status(source, self._load()[1].offset)
        except (SourceError, SnowmeltError):
            # The engine says so too, if it is one of ours.
            self._watched = time.monotonic() + _UNREACHABLE_SECONDS
            return
        kept = log.kept_bytes or 0
        limit = definition.slot_warning_bytes
        warning = otherwise
        if kept > limit:
            warning = f"The source keeps {kept // 2**20} MB of its log for the {log.name} (limit {limit // 2**20})."
            _log.warning("slot_grows", connector=self._id, kept_by=log.name, bytes=kept)
        self._note(slot_bytes=kept, warning=warning)

    def _send_signals(self, connector: CatalogObject, standing: ConnectorState) -> None:
        """An order for an incremental snapshot, once for each time that somebody asked."""
        with self._lock:
            feed = self._feed
        if feed is None or standing.snapshot_request <= self._sent:
            return
        definition = _definition(connector)
        tables = list(standing.requested_tables or definition.tables)
        identifier = f"snowmelt-{standing.snapshot_request}-{time.time_ns()}"
        if definition.signal_table is not None:
            source = source_of(self._account, definition)
            kind_of(source).send_signal(source, identifier, json.dumps(snapshot_order(tables)))
        else:
            feed.order_snapshot(identifier, tables)
        self._sent = standing.snapshot_request

    def _stop_engine(self) -> None:
        with self._lock:
            feed, snapshots = self._feed, self._snapshots
        if snapshots is not None:
            snapshots.stopping.set()
        if feed is not None:
            feed.stop()

    # -- state ----------------------------------------------------------------------------------------------------

    def _folder(self) -> Path:
        return self._account.data_dir / "connectors" / self._id

    def _load(self) -> tuple[CatalogObject | None, ConnectorState]:
        with self._account.state.read() as state:
            found = state.catalog.by_id(self._id)
            standing = state[ConnectorStandings].get(self._id)
        gone = found is None or found.dropped_on is not None or standing is None
        return (None if gone else found), standing or ConnectorState(connector_id=self._id)

    def _note(self, **values: Any) -> None:
        with self._account.state.begin() as state:
            standing = state[ConnectorStandings].get(self._id)
            if standing is not None:
                state[ConnectorStandings].put(standing.model_copy(update=values))


def _definition(connector: CatalogObject) -> ConnectorDefinition:
    assert isinstance(connector.definition, ConnectorDefinition)
    return connector.definition


def _remedies(findings: list[SourceFinding]) -> str:
    remedies = [finding.remedy for finding in findings if finding.remedy]
    return "Run in the source: " + " ".join(remedies) if remedies else "See ALTER CONNECTOR … CHECK."
