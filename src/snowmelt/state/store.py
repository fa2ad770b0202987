"""The state store: one place that says what is true.

Writers run one after the other. Each has a commit instant, `now`, later than that of every writer before it,
so that one instant names one state of all tables. Readers see one snapshot and wait for nobody.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import DBAPIError

from snowmelt.core import errors
from snowmelt.core.clock import Clock
from snowmelt.state.access import AccessRecords
from snowmelt.state.audit import Audit
from snowmelt.state.catalog import Catalog
from snowmelt.state.channels import ChannelRecords
from snowmelt.state.connect import Engines, open_engines, rewrite, tidy
from snowmelt.state.connections import Connections
from snowmelt.state.contracts import ContractLinks
from snowmelt.state.counters import Counters
from snowmelt.state.dynamic import Dynamic
from snowmelt.state.loads import Loads
from snowmelt.state.migrations.run import migrate
from snowmelt.state.observing import Observations
from snowmelt.state.parameters import Parameters
from snowmelt.state.policies import PolicyReferences
from snowmelt.state.prepared import Prepared
from snowmelt.state.projects import Projects
from snowmelt.state.quality import Quality
from snowmelt.state.queries import Queries
from snowmelt.state.repository import ReadScope, Repository, WriteScope
from snowmelt.state.shapes import Shapes
from snowmelt.state.sight import Sight
from snowmelt.state.streams import StreamRecords
from snowmelt.state.tables import LEDGER
from snowmelt.state.transactions import Transactions
from snowmelt.state.trimming import Trims
from snowmelt.state.usage import Usage
from snowmelt.state.versions import Versions
from snowmelt.state.warehouses import Warehouses

_LEDGER = select(LEDGER.c.last_instant, LEDGER.c.generation)
_READ_LEDGER = Prepared(_LEDGER)
# On PostgreSQL this row lock makes writers of several processes take turns; SQLite has its own.
_LOCK_LEDGER = Prepared(_LEDGER.with_for_update())
_ADVANCE = Prepared(update(LEDGER).values(last_instant=bindparam("now"), generation=bindparam("newest")))
_TICK = timedelta(microseconds=1)
_Repository = TypeVar("_Repository", bound=Repository)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the database's failures as one of ours."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        failure = error.orig if isinstance(error, DBAPIError) else error
        full = getattr(failure, "sqlite_errorname", None) == "SQLITE_FULL" or (
            getattr(failure, "sqlstate", None) == "53100"
        )
        raise errors.state_failed(str(failure), disk_full=full) from error


class _Part(Generic[_Repository]):
    """A repository of a snapshot, made when it is first asked for."""

    def __init__(self, type_: type[_Repository], *, sighted: bool = False) -> None:
        """`sighted`: it has the reader's eyes; others see everything."""
        self._type = type_
        self._sighted = sighted
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, reader: StateReader, owner: type) -> _Repository:
        made = self._type(reader._scope, reader._sight if self._sighted else None)
        reader.__dict__[self._name] = made
        return made


class StateReader:
    """The repositories as of one snapshot. Their write methods raise an internal error."""

    catalog = _Part(Catalog, sighted=True)
    versions = _Part(Versions)
    shapes = _Part(Shapes)
    warehouses = _Part(Warehouses, sighted=True)
    usage = _Part(Usage)
    parameters = _Part(Parameters)
    queries = _Part(Queries)
    loads = _Part(Loads)
    counters = _Part(Counters)
    transactions = _Part(Transactions)
    dynamic = _Part(Dynamic)
    projects = _Part(Projects)
    streams = _Part(StreamRecords)
    contracts = _Part(ContractLinks)
    access = _Part(AccessRecords)
    audit = _Part(Audit)
    channels = _Part(ChannelRecords)
    quality = _Part(Quality)
    observations = _Part(Observations)
    trims = _Part(Trims)
    policies = _Part(PolicyReferences)

    def __init__(self, scope: ReadScope, sight: Sight | None = None) -> None:
        self._scope = scope
        self._sight = sight

    def __getitem__(self, type_: type[_Repository]) -> _Repository:
        """What a feature keeps in the store, by its repository."""
        return type_(self._scope)

    @property
    def whole_catalog(self) -> Catalog:
        """The catalog without anybody's limits, for what must reach objects that the role does not see."""
        return self.catalog if self._sight is None else Catalog(self._scope)

    def seen_by(self, sight: Sight | None) -> StateReader:
        """The same snapshot with other eyes."""
        return StateReader(self._scope, sight)


class StateTransaction(StateReader):
    """The repositories inside one atomic transaction, which see its own writes."""

    def __init__(self, scope: WriteScope, sight: Sight | None = None) -> None:
        super().__init__(scope, sight)
        self._write_scope = scope
        self._now = scope.now

    def without_limits(self) -> StateTransaction:
        """The same transaction, seeing everything: for what the system has to do on the way."""
        return StateTransaction(self._write_scope)

    @property
    def now(self) -> datetime:
        """The instant at which this commits: later than every earlier one, even if the clock stands still."""
        return self._now


class StateStore:
    def __init__(self, engines: Engines, clock: Clock, generation: int) -> None:
        """Use `open`."""
        self._engines = engines
        self._connections = Connections(engines)
        self._clock = clock
        self._writer = threading.Lock()
        self._writing_thread: int | None = None
        self._generation = generation
        self._highest_generation = generation
        self._rights_version = 0
        self._commits = 0
        self._alone = engines.write.dialect.name == "sqlite"
        self._settled: datetime | None = None
        """The newest instant at or before which nobody may commit any more. Changed by the sole writer only."""

    @classmethod
    def open(cls, url: str, clock: Clock) -> StateStore:
        """Open the store at a `sqlite:///` or `postgresql://` URL, creating or upgrading its tables.

        Raises a configuration error when it can't be reached or was written by a newer Snowmelt.
        """
        engines = open_engines(url)
        try:
            migrate(engines.write)
            with engines.read.connect() as connection:
                generation = connection.execute(_LEDGER).one().generation
        except DBAPIError as error:
            engines.dispose()
            shown = engines.write.url.render_as_string(hide_password=True)
            raise errors.configuration(f"The state store at {shown} cannot be opened: {error.orig}") from error
        except BaseException:
            engines.dispose()
            raise
        return cls(engines, clock, generation)

    @contextmanager
    def begin(self, sight: Sight | None = None, *, keeps_grants: bool = False) -> Iterator[StateTransaction]:
        """One atomic transaction: commits at the end of the block, rolls back when an exception leaves it.

        Waits for the writer before it. Keep the block short, and never begin a second one inside it. Raises
        `state_failed` when the database refuses: then nothing of the block remains.
        """
        with self._sole_writer(), _translated():
            with self._connections.writing() as opened:
                [(last, generation)] = _LOCK_LEDGER.rows(opened, {})
                now = self._next_instant(last)
                self._highest_generation = max(self._highest_generation, generation)
                scope = WriteScope(
                    opened.connection, opened.driver, now, generation, self._next_generation, keeps_grants=keeps_grants
                )
                yield StateTransaction(scope, sight)
                _ADVANCE.write(opened, {"now": now, "newest": scope.generation})
            self._generation = scope.generation
            self._commits += 1
            if scope.rights_changed:
                self._rights_version += 1

    @contextmanager
    def read(self, sight: Sight | None = None) -> Iterator[StateReader]:
        """A consistent snapshot, taken at the first look-up. Never waits for a writer. `sight`: whose eyes it has."""
        with _translated(), self._connections.reading() as opened:
            yield StateReader(ReadScope(opened.connection, opened.driver), sight)

    def settle(self, at: datetime | None = None) -> datetime:
        """An instant, `at` or the present one, at or before which nobody commits any more: its state is complete.

        A writer may have drawn an earlier instant and not have committed yet; this waits for it. Nothing is written:
        whoever keeps the instant does so in a later transaction, and that one's instant is later.
        """
        if at is not None and self.last_instant() >= at:
            return at
        with self._sole_writer(), _translated(), self._connections.locking() as opened:
            now = self._next_instant(_LOCK_LEDGER.rows(opened, {})[0][0])
            self._settled = now
        if at is not None and at > now:
            raise errors.internal(f"the state of {at} can't be complete: it is {now}.")
        return now if at is None else at

    def last_instant(self) -> datetime:
        """When the newest transaction committed: what is committed by then is complete."""
        with _translated(), self._connections.reading() as opened:
            instant: datetime = _READ_LEDGER.rows(opened, {})[0][0]
        return instant

    def generation(self) -> int:
        """The catalog's newest generation as this process knows it, without asking the database.

        A snapshot may be older: what is cached for later goes by `catalog.generation()` of the reader used.
        """
        return self._generation

    def commits(self) -> int | None:
        """How many transactions were committed: what was read at the same number is still so, without asking again.

        None on a database that processes may share. A file has one process, which owns its directory.
        """
        return self._commits if self._alone else None

    def rights_version(self) -> int:
        """Changes with every change of users, roles and grants that this process committed."""
        return self._rights_version

    def tidy(self, pages: int) -> None:
        """Give room that is free inside the database's file back to the disk, at most so many pages.

        Waits for the writer before it, and for no reader: what a reader needs stays for the next time.
        """
        with self._sole_writer(), _translated():
            tidy(self._engines, pages)

    def rewrite(self) -> None:
        """Write the database's file anew, so that nothing is left in it of what was changed or deleted."""
        with self._sole_writer(), _translated():
            rewrite(self._engines)

    def close(self) -> None:
        """Give back all connections. The store must not be used afterwards."""
        self._connections.close()
        self._engines.dispose()

    def _next_instant(self, last: datetime) -> datetime:
        """Called by the sole writer only: later than all that was committed or settled."""
        later = last if self._settled is None else max(last, self._settled)
        return max(self._clock.now(), later + _TICK)

    def _next_generation(self) -> int:
        """Called by the sole writer only. A rolled-back value is not used again: caches may know it."""
        self._highest_generation += 1
        return self._highest_generation

    @contextmanager
    def _sole_writer(self) -> Iterator[None]:
        me = threading.get_ident()
        if self._writing_thread == me:
            raise errors.internal("a state transaction was begun inside another one of the same thread.")
        with self._writer:
            self._writing_thread = me
            try:
                yield
            finally:
                self._writing_thread = None
