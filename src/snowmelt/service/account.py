"""An account: one data directory with its catalog, tables and Spark, and the sessions on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from snowmelt.core.clock import Clock, SystemClock
from snowmelt.core.config import Settings, load_settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.logs import ensure_logging
from snowmelt.engine.engine import SparkEngine
from snowmelt.observe.tracing import Tracing
from snowmelt.service import parameters, tokens
from snowmelt.service.alerts.messages import Messages
from snowmelt.service.alerts.rules import Rules
from snowmelt.service.channels.service import Channels
from snowmelt.service.connectors.service import Connectors
from snowmelt.service.contracts.views import PromisedViews
from snowmelt.service.dynamic_tables.service import DynamicTables
from snowmelt.service.lineage.events import RunEvents
from snowmelt.service.lineage.service import Lineage
from snowmelt.service.loading.places import Digests
from snowmelt.service.locks import TableLocks
from snowmelt.service.metering import Metering
from snowmelt.service.objects import SYSTEM_ROLE, create_database
from snowmelt.service.observing.service import Observing
from snowmelt.service.ownership import Ownership
from snowmelt.service.purge import Purged, purge
from snowmelt.service.quality.gate import QualityGate
from snowmelt.service.recovery import Recovered, recover
from snowmelt.service.results import ResultCache
from snowmelt.service.security import founding
from snowmelt.service.security.auditing import AuditLog
from snowmelt.service.security.authority import AccessControl
from snowmelt.service.session import Session
from snowmelt.service.streams.service import Streams
from snowmelt.service.tasks.service import Tasks
from snowmelt.service.transactions import TransactionManager
from snowmelt.state.ids import new_id
from snowmelt.state.journal import QueryJournal
from snowmelt.state.model import Warehouse
from snowmelt.state.store import StateStore
from snowmelt.storage.key_filters import KeyFilters
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import DeltaStore

_log = structlog.get_logger(__name__)


class Account:
    """Everything that sessions share. Open it once a process; close it to stop Spark and let the directory go."""

    def __init__(self, data_dir: Path, settings: Settings, clock: Clock, ownership: Ownership) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.clock = clock
        self.ownership = ownership
        self._sessions: list[Session] = []
        self._lock = threading.Lock()
        self._closing = ExitStack()
        """What to undo at the end, in the opposite order; every step happens, even if another one fails."""
        with self._closing:
            self._closing.callback(ownership.release)
            self.state = StateStore.open(settings.state_url or f"sqlite:///{data_dir / 'state.db'}", clock)
            self._closing.callback(self.state.close)
            root = settings.storage_root or str(data_dir / "tables")
            self.store = DeltaStore(StorageRoot(root, settings.storage_options))
            self._closing.callback(self.store.close)
            self.engine = SparkEngine(settings.spark, data_dir / "spark", self.store.root.uri_of(""))
            self._closing.callback(self.engine.stop)
            self.access = AccessControl(self.state)
            self.audit = AuditLog(self.state, clock)
            self._closing.callback(_quietly, self.audit.flush)
            self.locks = TableLocks()
            self.transactions = TransactionManager(self.state, self.store, self.locks, settings.lock_timeout_seconds)
            self.recovered: Recovered = recover(self.state, self.store)
            self.journal = QueryJournal(self.state, jobs=self.engine.jobs)
            self._closing.callback(_quietly, self.journal.close)
            self.metering = Metering(self.state, clock)
            self.results = ResultCache()
            self.digests = Digests()
            self.key_filters = KeyFilters(data_dir / "keys")
            self.token_key = tokens.load_key(data_dir)
            self.tracing = Tracing(settings.tracing, data_dir)
            self._closing.callback(self.tracing.close)
            self.messages = Messages(self)
            self.alert_rules = Rules(self)
            self._closing.callback(self.alert_rules.conditions.stop)
            self.observing = Observing(self)
            self.dynamic_tables = DynamicTables(self)
            self.streams = Streams(self)
            self.tasks = Tasks(self)
            self.channels = Channels(self)
            self.connectors = Connectors(self)
            self.lineage = Lineage(self)
            self.promised_views = PromisedViews()
            self.run_events = RunEvents(self)
            self._closing.callback(self.run_events.close)
            self.transactions.committed = self.tasks.wake
            self.transactions.gate = QualityGate(self).check
            self.parameters: dict[str, parameters.Value] = {}
            """What ALTER ACCOUNT has set."""
            self._bootstrap()
            self.load_parameters()
            self.metering.start()
            self._closing.callback(_quietly, self.metering.stop)
            purge(self)
            self._closing = self._closing.pop_all()

    @classmethod
    def open(cls, data_dir: str | Path, *, settings: Settings | None = None, clock: Clock | None = None) -> Self:
        """Opens a data directory, making it on first use. Raises when another process owns it."""
        path = Path(data_dir).expanduser().resolve()
        chosen = settings or load_settings(path)
        ensure_logging(chosen)
        return cls(path, chosen, clock or SystemClock(), Ownership(path))

    def session(
        self, *, user: str = "ADMIN", role: str = SYSTEM_ROLE, database: str | None = None, schema: str | None = None,
        warehouse: str | None = None, secondary_roles: tuple[str, ...] = (),
        role_restriction: str | None = None,
    ) -> Session:  # fmt: skip
        """A new session, with whatever role it is given: who may have one is for `Authenticator.login` to say.

        Sessions are independent of each other; each runs one statement at a time.
        """
        session = Session(
            self,
            user=user,
            role=role,
            database=database or self.settings.default_database,
            schema=schema or "PUBLIC",
            warehouse=warehouse or self.settings.default_warehouse,
            secondary_roles=secondary_roles,
            role_restriction=role_restriction,
        )
        self.add(session)
        return session

    def add(self, session: Session) -> None:
        with self._lock:
            self._sessions.append(session)

    def load_parameters(self) -> None:
        """Reads the parameters that ALTER ACCOUNT has set, which sessions fall back to."""
        with self.state.read() as state:
            kept = state.parameters.all("ACCOUNT", "")
        self.parameters = {name: parameters.check(name, value) for name, value in kept.items()}

    def forget(self, session: Session) -> None:
        with self._lock:
            self._sessions = [known for known in self._sessions if known is not session]

    def sessions(self) -> list[Session]:
        with self._lock:
            return list(self._sessions)

    def maintain(self) -> Purged:
        """What has to happen now and then: forgetting what was dropped long enough ago."""
        return purge(self)

    def close(self) -> None:
        """Stops what runs, rolls back what is open, and lets the directory go. Again does nothing."""
        self.observing.stop()
        self.channels.stop(self.settings.stop_seconds)
        self.connectors.stop(self.settings.stop_seconds)
        self.tasks.stop(self.settings.stop_seconds)
        self.dynamic_tables.stop(self.settings.stop_seconds)
        for session in self.sessions():
            session.cancel()
        with self._closing:
            for session in self.sessions():
                self._closing.callback(session.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bootstrap(self) -> None:
        """What a new account has: a database with a PUBLIC schema, a warehouse, roles and an administrator."""
        with self.state.begin() as state:
            if not state.catalog.databases(include_dropped=True):
                create_database(state, self.settings.default_database)
            if not state.warehouses.list():
                state.warehouses.create(
                    Warehouse(
                        id=new_id(),
                        name=self.settings.default_warehouse,
                        owner=SYSTEM_ROLE,
                        created_on=state.now,
                        resumed_on=state.now,
                        altered_on=state.now,
                    )
                )
            founding.found(state, self.settings.default_database, self.settings.default_warehouse)


def _quietly(step: Callable[[], None]) -> None:
    """Writes the last records of history and usage. When that fails they are lost, and nothing else is."""
    try:
        step()
    except SnowmeltError as error:
        _log.warning("last_records_lost", error=str(error))
