"""An account: one data directory with its catalog, tables and Spark, and the sessions on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from snowmelt.core import private_files
from snowmelt.core.clock import Clock, SteadyClock, SystemClock
from snowmelt.core.config import Settings, load_settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.logs import ensure_logging
from snowmelt.core.slots import Slots
from snowmelt.engine.application import SPARK_FOLDER
from snowmelt.engine.lanes import Engine
from snowmelt.observe.tracing import Tracing
from snowmelt.runtime import parameters, tokens
from snowmelt.runtime.events import Events, Lifecycle
from snowmelt.runtime.feature import Features, Services
from snowmelt.runtime.kept_queries import KeptQueries
from snowmelt.runtime.locks import TableLocks
from snowmelt.runtime.metering import Metering
from snowmelt.runtime.objects import SYSTEM_ROLE, create_database
from snowmelt.runtime.ownership import Ownership
from snowmelt.runtime.ports import (
    ChangeReader,
    ChannelDoors,
    Contracts,
    MetadataViews,
    PolicySource,
    SetAside,
    StagedFiles,
    UsageViews,
    VisibilityGate,
)
from snowmelt.runtime.readers import Readers
from snowmelt.runtime.recovery import Recovered, recover
from snowmelt.runtime.results import ResultCache
from snowmelt.runtime.rights import founding
from snowmelt.runtime.rights.auditing import AuditLog
from snowmelt.runtime.rights.authority import AccessControl
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.runtime.stopping import StopTimes, stop_all
from snowmelt.runtime.storage_roots import open_root, spark_settings
from snowmelt.runtime.transactions import TransactionManager
from snowmelt.state.ids import new_id
from snowmelt.state.journal import QueryJournal
from snowmelt.state.model import Warehouse
from snowmelt.state.store import StateStore
from snowmelt.storage.key_filters import KeyFilters
from snowmelt.storage.table import DeltaStore

_log = structlog.get_logger(__name__)


class Account:
    """Everything that sessions share. Open it once a process; close it to stop Spark and let the directory go."""

    changes: ChangeReader
    """Reads streams, and the changes of tables."""
    metadata_views: MetadataViews
    usage_views: UsageViews
    contracts: Contracts
    gate: VisibilityGate
    staged_files: StagedFiles
    channel_doors: ChannelDoors
    policies: PolicySource
    """What a role sees of rows and values that it may read."""

    def __init__(
        self, data_dir: Path, settings: Settings, clock: Clock, ownership: Ownership, features: Features
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.clock = SteadyClock(clock)
        self.ownership = ownership
        self.features = features
        self.services = Services()
        self.events: Events[Run] = Events()
        self.lifecycle: Lifecycle[Run] = Lifecycle()
        self._sessions: list[Session] = []
        self._lock = threading.Lock()
        self._closing = ExitStack()
        """What to undo at the end, in the opposite order; every step happens, even if another one fails."""
        with self._closing:
            self._closing.callback(ownership.release)
            self.state = StateStore.open(settings.state_url or f"sqlite:///{data_dir / 'state.db'}", self.clock)
            self._closing.callback(self.state.close)
            self.clock.not_before(self.state.last_instant())
            root = open_root(settings, data_dir)
            self._closing.callback(root.close)
            self.store = DeltaStore(root)
            self._closing.callback(self.store.close)
            self.token_key = tokens.load_key(data_dir)
            self.engine = Engine(
                spark_settings(settings, root),
                data_dir / SPARK_FOLDER,
                self.store.root.uri_of(""),
                self.token_key,
                settings.cancel_seconds,
                settings.quick,
                settings.silence_seconds,
                settings.python_memory_bytes,
            )
            self._closing.callback(self.engine.stop)
            self.access = AccessControl(self.state)
            self.audit = AuditLog(self.state, self.clock)
            self._closing.callback(_quietly, self.audit.flush)
            self.locks = TableLocks()
            self.slots = Slots(settings.parallel_statements)
            self.readers = Readers()
            self.transactions = TransactionManager(
                self.state, self.store, self.locks, self.events, settings.lock_timeout_seconds
            )
            self.recovered: Recovered = recover(self.state, self.store)
            self.journal = QueryJournal(self.state, jobs=self.engine.jobs)
            self._closing.callback(_quietly, self.journal.close)
            self.metering = Metering(self.state, self.clock)
            self.results = ResultCache()
            self.kept_queries = KeptQueries()
            self.key_filters = KeyFilters(data_dir / "keys")
            self.tracing = Tracing(settings.tracing, data_dir)
            self._closing.callback(self.tracing.close)
            self.parameters: dict[str, parameters.Value] = {}
            """What ALTER ACCOUNT has set."""
            self.set_aside: list[SetAside] = []
            """Who knows tables that hold rows which were meant for others."""
            features.begin(self)
            self._bootstrap()
            self.load_parameters()
            self.metering.start()
            self.journal.write_beside(self.metering.save)
            self._closing.callback(_quietly, self.metering.stop)
            features.opened(self)
            self._closing = self._closing.pop_all()

    @classmethod
    def open(
        cls,
        data_dir: str | Path,
        features: Features,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Opens a data directory, making it on first use. Raises when another process owns it.

        `snowmelt.accounts.open_account` gives it all features.
        """
        path = Path(data_dir).expanduser().resolve()
        chosen = settings or load_settings(path)
        private_files.prepare(path)
        return cls.of(Ownership(path), features, chosen, clock)

    @classmethod
    def of(cls, ownership: Ownership, features: Features, settings: Settings, clock: Clock | None = None) -> Self:
        """Opens a data directory that this process owns already."""
        ensure_logging(settings)
        return cls(ownership.data_dir, settings, clock or SystemClock(), ownership, features)

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

    def at_close(self, step: Callable[[], None]) -> None:
        """Adds a step to the closing of the account: the newest runs first, and each even if another one fails."""
        self._closing.callback(step)

    def close(self) -> None:
        """Stops what runs, rolls back what is open, and lets the directory go. Again does nothing."""
        times = StopTimes(self.settings.stop_seconds)
        stop_all(self.features.stops(self, times), times.grace + times.cancelling)
        for session in self.sessions():
            session.cancel()
        with self._closing:
            for session in self.sessions():
                self._closing.callback(session.close, times.for_sessions())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bootstrap(self) -> None:
        """Gives a new account a database with a PUBLIC schema, a warehouse, roles and an administrator."""
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
