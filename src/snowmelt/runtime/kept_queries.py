"""Translations of queries that come again and again.

Parsing, binding and translating a small query takes longer than computing it. So what the quick lane was asked is kept
by the query's shape (`query_shapes`), for everyone with the same rights, schema and parameters, and asked again for as
long as the catalog, the rights and the versions of the tables are the same. Only queries over tables are kept: no
views, streams, functions of users, nor anything that tells the time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from snowmelt.engine.lanes import Engine
from snowmelt.engine.model import TableFiles
from snowmelt.engine.quick.scopes import DuckQuery
from snowmelt.runtime import parameters
from snowmelt.runtime.query_shapes import QueryShape, ShapeTemplate, template
from snowmelt.runtime.results import Result, ResultColumn
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader, StateStore
from snowmelt.storage.table import DeltaStore

_MOST = 5_000
_FEW_ROWS = 10
_REUSE = "USE_CACHED_RESULT"
Key = tuple[object, ...]


class SharingAccount(Protocol):
    """The account, as far as kept translations ask it."""

    @property
    def engine(self) -> Engine: ...
    @property
    def state(self) -> StateStore: ...
    @property
    def store(self) -> DeltaStore: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


class SharingSession(Protocol):
    """A session, as far as it decides whether a translation is the same for it."""

    hides: tuple[int, bool] | None

    @property
    def account(self) -> SharingAccount: ...
    @property
    def id(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def secondary_roles(self) -> tuple[str, ...]: ...
    @property
    def acts_as_owner(self) -> bool: ...
    @property
    def database(self) -> str | None: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def transaction(self) -> object: ...
    @property
    def script(self) -> object: ...
    @property
    def running(self) -> object: ...
    @property
    def task(self) -> object: ...


class SharingStatement(Protocol):
    """A statement, as far as its translation is kept: what it read, and what speaks against keeping it."""

    input_bytes: int

    @property
    def account(self) -> SharingAccount: ...
    @property
    def session(self) -> SharingSession: ...
    @property
    def shape(self) -> QueryShape | None: ...
    @property
    def named(self) -> dict[str, CatalogObject]: ...
    @property
    def tables(self) -> dict[str, TableFiles]: ...
    @property
    def tag(self) -> str: ...
    @property
    def pool(self) -> str: ...
    @property
    def autocommits(self) -> bool: ...
    @property
    def open_transaction(self) -> object: ...
    @property
    def bodies(self) -> Mapping[str, object]: ...
    @property
    def streams(self) -> Mapping[str, object]: ...
    @property
    def sequences(self) -> Mapping[str, object]: ...
    @property
    def inputs(self) -> Mapping[str, object]: ...
    @property
    def frames(self) -> Mapping[Any, object]: ...
    @property
    def staged(self) -> Mapping[str, object]: ...
    @property
    def adopted(self) -> Mapping[str, object]: ...
    def forget_tables(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CatalogMark:
    """What a translation rests on, besides the versions of its tables."""

    generation: int
    rights: int


@dataclass(frozen=True, slots=True)
class KeptQuery:
    mark: CatalogMark
    named: Mapping[str, CatalogObject]
    tables: Mapping[str, TableFiles]
    versions: Mapping[str, tuple[str, int]]
    """By a table's id, its location and the version that was read."""
    bytes: int
    columns: tuple[ResultColumn, ...]
    query: DuckQuery | pa.Table
    """What the quick lane is asked; the rows themselves if they are constants."""
    values: tuple[str, ...]
    template: ShapeTemplate | None = None
    """Once two queries of this shape were seen that differ in their values alone."""

    def for_values(self, values: tuple[str, ...]) -> DuckQuery | pa.Table | None:
        if values == self.values:
            return self.query
        text = self.template.filled(values) if self.template is not None else None
        return None if text is None or isinstance(self.query, pa.Table) else replace(self.query, sql=text)

    def joined(self, older: KeptQuery) -> KeptQuery:
        """This one, which also answers for other values if the older one shows how."""
        mine, before = self.query, older.query
        if isinstance(mine, pa.Table) or isinstance(before, pa.Table):
            return self
        alike = (self.mark, self.versions, self.columns, mine.columns)
        if alike != (older.mark, older.versions, older.columns, before.columns):
            return self
        return replace(self, template=template(before.sql, older.values, mine.sql, self.values))


class KeptQueries:
    """The translations of an account. Safe to use from many threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, KeptQuery] = OrderedDict()
        self._checked: dict[Key, tuple[int, Mapping[str, tuple[str, int]]]] = {}
        """How many transactions there had been when the versions were last looked at."""
        self._lock = threading.Lock()

    def knows(self, run: SharingStatement, shape: QueryShape) -> bool:
        """Whether the text is that of a query which was run before: it need not be parsed to be known for one."""
        return _key(run.session, shape) in self._kept

    def answer(self, run: SharingStatement) -> Result | None:
        """The result by a kept translation, if there is one for this statement and it still holds."""
        if run.shape is None:
            return None
        key = _key(run.session, run.shape)
        kept = self._kept.get(key)
        query = kept.for_values(run.shape.values) if kept is not None else None
        if kept is None or query is None:
            return None
        if not self._holds(run, key, kept):
            return None
        if isinstance(query, pa.Table):
            return Result(kept.columns, query, statement_type="SELECT")
        run.named.update(kept.named)
        run.tables.update(kept.tables)
        run.input_bytes = kept.bytes
        _ = run.pool
        data = run.account.engine.again(query, tag=run.tag, reuse=_reuses(run.session))
        if data is None:
            run.forget_tables()
            self._forget(key)
            return None
        return Result(kept.columns, data, statement_type="SELECT")

    def _holds(self, run: SharingStatement, key: Key, kept: KeptQuery) -> bool:
        if kept.mark != mark_of(run):
            return False
        state, store = run.account.state, run.account.store
        commits = state.commits()
        if kept.versions and (commits is None or self._checked.get(key) != (commits, kept.versions)):
            with state.read() as reader:
                if not _is_current(reader, kept.versions):
                    return False
            if commits is not None:
                self._checked[key] = commits, kept.versions
        # Another tool may have written a table, which nobody tells.
        return not any(store.has_version(location, version + 1) for location, version in kept.versions.values())

    def mark(self, run: SharingStatement) -> CatalogMark | None:
        """The conditions as of now, for a statement that is about to be bound and may be remembered."""
        return None if run.shape is None else mark_of(run)

    def remember(
        self, run: SharingStatement, mark: CatalogMark | None, result: Result, asked: DuckQuery | None
    ) -> None:
        """Keeps what the quick lane was asked for a statement, or its constants, if the next one may have the same.

        `mark` was taken before the statement was bound.
        """
        if run.shape is None or mark is None or not _may_be_kept(run):
            return
        versions = _versions(run)
        query = asked if asked is not None else _constants(run, result)
        if versions is None or query is None:
            return
        made = KeptQuery(
            mark, dict(run.named), dict(run.tables), versions, run.input_bytes, result.columns, query, run.shape.values
        )
        key = _key(run.session, run.shape)
        with self._lock:
            older = self._kept.pop(key, None)
            self._kept[key] = made if older is None else made.joined(older)
            while len(self._kept) > _MOST:
                gone, _ = self._kept.popitem(last=False)
                self._checked.pop(gone, None)

    def _forget(self, key: Key) -> None:
        with self._lock:
            self._kept.pop(key, None)


def may_be_shared(session: SharingSession) -> bool:
    """Whether the session reads as all others do: nothing of its own is open or hides what others see."""
    return session.transaction is None and session.script is None and session.running is None and session.task is None


def mark_of(run: SharingStatement) -> CatalogMark | None:
    """None for a session whose temporary objects may hide others."""
    state, session = run.account.state, run.session
    generation = state.generation()
    if state.commits() is None:
        with state.read() as reader:
            generation = reader.catalog.generation()
    if session.hides is None or session.hides[0] != generation:
        with state.read() as reader:
            session.hides = generation, reader.whole_catalog.has_temporary(session.id)
    return None if session.hides[1] else CatalogMark(generation, state.rights_version())


def _key(session: SharingSession, shape: QueryShape) -> Key:
    return (
        shape.text, session.database, session.schema, session.user, session.role, session.secondary_roles,
        session.acts_as_owner, tuple(sorted(session.parameters.items())),
        tuple(sorted(session.account.parameters.items())),
    )  # fmt: skip


def _reuses(session: SharingSession) -> bool:
    return bool(session.parameters.get(_REUSE, session.account.parameters.get(_REUSE, parameters.default(_REUSE))))


def _may_be_kept(run: SharingStatement) -> bool:
    others = (run.bodies, run.streams, run.sequences, run.inputs, run.frames, run.staged, run.adopted)
    return run.autocommits and run.open_transaction is None and not any(others)


def _versions(run: SharingStatement) -> dict[str, tuple[str, int]] | None:
    """The tables that were read, all as they are now; None where one is not, or there is something else."""
    found: dict[str, tuple[str, int]] = {}
    for table in run.tables.values():
        for id, item in run.named.items():
            if table.reference == f"t_{id}_{table.version}" and isinstance(item.definition, TableDefinition):
                found[id] = item.definition.location, table.version
    plain = all(table.sources is None and table.delta_path is None for table in run.tables.values())
    return found if plain and len(found) == len(run.tables) == len(run.named) else None


def _constants(run: SharingStatement, result: Result) -> pa.Table | None:
    """The rows of a query without tables, which was computed without an engine."""
    if run.named or run.account.engine.use_of(run.tag).lane is not None or result.row_count > _FEW_ROWS:
        return None
    return result.data


def _is_current(state: StateReader, versions: Mapping[str, tuple[str, int]]) -> bool:
    visible = state.versions.snapshot(versions)
    return all(id in visible and visible[id].version == version for id, (_, version) in versions.items())
