"""The state store: one place that says what is true.

Writers run one after the other. Each has a commit instant, `now`, later than that of every writer before it,
so that one instant names one state of all tables. Readers see one snapshot and wait for nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import DBAPIError

from snowmelt.core import errors
from snowmelt.core.clock import Clock
from snowmelt.state.access import Access
from snowmelt.state.audit import Audit
from snowmelt.state.catalog import Catalog
from snowmelt.state.channels import Channels
from snowmelt.state.connect import Engines, open_engines, tidy
from snowmelt.state.contracts import ContractLinks
from snowmelt.state.counters import Counters
from snowmelt.state.dynamic import Dynamic
from snowmelt.state.lineage import Lineage
from snowmelt.state.loads import Loads
from snowmelt.state.migrations.run import migrate
from snowmelt.state.observing import Observations
from snowmelt.state.parameters import Parameters
from snowmelt.state.projects import Projects
from snowmelt.state.quality import Quality
from snowmelt.state.queries import Queries
from snowmelt.state.repository import Repository, Scope, WriteScope
from snowmelt.state.shapes import Shapes
from snowmelt.state.sight import Sight
from snowmelt.state.streams import Streams
from snowmelt.state.tables import LEDGER
from snowmelt.state.transactions import Transactions
from snowmelt.state.trimming import Trims
from snowmelt.state.usage import Usage
from snowmelt.state.versions import Versions
from snowmelt.state.warehouses import Warehouses

_LEDGER = select(LEDGER.c.last_instant, LEDGER.c.generation)
# On PostgreSQL this row lock makes writers of several processes take turns; SQLite has its own.
_LOCK_LEDGER = _LEDGER.with_for_update()
_ADVANCE = update(LEDGER).values(last_instant=bindparam("now"), generation=bindparam("newest"))
_TICK = timedelta(microseconds=1)
_Repository = TypeVar("_Repository", bound=Repository)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the database's failures as one of ours."""
    try:
        yield
    except DBAPIError as error:
        full = getattr(error.orig, "sqlite_errorname", None) == "SQLITE_FULL" or (
            getattr(error.orig, "sqlstate", None) == "53100"
        )
        raise errors.state_failed(str(error.orig), disk_full=full) from error


class StateReader:
    """The repositories as of one snapshot. Their write methods raise an internal error."""

    def __init__(self, scope: Scope, sight: Sight | None = None) -> None:
        self._scope = scope
        self._sight = sight
        self.catalog = Catalog(scope, sight)
        self.versions = Versions(scope)
        self.shapes = Shapes(scope)
        self.warehouses = Warehouses(scope, sight)
        self.usage = Usage(scope)
        self.parameters = Parameters(scope)
        self.queries = Queries(scope)
        self.loads = Loads(scope)
        self.counters = Counters(scope)
        self.transactions = Transactions(scope)
        self.dynamic = Dynamic(scope)
        self.projects = Projects(scope)
        self.streams = Streams(scope)
        self.contracts = ContractLinks(scope)
        self.lineage = Lineage(scope)
        self.access = Access(scope)
        self.audit = Audit(scope)
        self.channels = Channels(scope)
        self.quality = Quality(scope)
        self.observations = Observations(scope)
        self.trims = Trims(scope)

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
        self._clock = clock
        self._writer = threading.Lock()
        self._writing_thread: int | None = None
        self._generation = generation
        self._highest_generation = generation
        self._rights_version = 0

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
            with self._engines.write.begin() as connection:
                ledger = connection.execute(_LOCK_LEDGER).one()
                now = max(self._clock.now(), ledger.last_instant + _TICK)
                self._highest_generation = max(self._highest_generation, ledger.generation)
                scope = WriteScope(connection, now, ledger.generation, self._next_generation, keeps_grants=keeps_grants)
                yield StateTransaction(scope, sight)
                connection.execute(_ADVANCE, {"now": now, "newest": scope.generation})
            self._generation = scope.generation
            if scope.rights_changed:
                self._rights_version += 1

    @contextmanager
    def read(self, sight: Sight | None = None) -> Iterator[StateReader]:
        """A consistent snapshot, taken at the first look-up. Never waits for a writer. `sight`: whose eyes it has."""
        with _translated(), self._engines.read.connect() as connection:
            yield StateReader(Scope(connection), sight)

    def settle(self, at: datetime | None = None) -> datetime:
        """An instant, `at` or the present one, at or before which nobody commits any more: its state is complete.

        A writer may have drawn an earlier instant and not have committed yet; this waits for it.
        """
        if at is not None:
            with _translated(), self._engines.read.connect() as connection:
                if connection.execute(_LEDGER).one().last_instant >= at:
                    return at
        with self.begin() as transaction:
            now = transaction.now
        if at is not None and at > now:
            raise errors.internal(f"the state of {at} can't be complete: it is {now}.")
        return now if at is None else at

    def last_instant(self) -> datetime:
        """When the newest transaction committed: what is committed by then is complete."""
        with _translated(), self._engines.read.connect() as connection:
            instant: datetime = connection.execute(_LEDGER).one().last_instant
        return instant

    def generation(self) -> int:
        """The catalog's newest generation as this process knows it, without asking the database.

        A snapshot may be older: what is cached for later goes by `catalog.generation()` of the reader used.
        """
        return self._generation

    def rights_version(self) -> int:
        """Changes with every change of users, roles and grants that this process committed."""
        return self._rights_version

    def tidy(self, pages: int) -> None:
        """Give room that is free inside the database's file back to the disk, at most so many pages.

        Waits for the writer before it, and for no reader: what a reader needs stays for the next time.
        """
        with self._sole_writer(), _translated():
            tidy(self._engines, pages)

    def close(self) -> None:
        """Give back all connections. The store must not be used afterwards."""
        self._engines.dispose()

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
