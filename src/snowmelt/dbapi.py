"""DB-API 2.0 (PEP 249) in the process: `snowmelt.connect(data_dir)`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.ending import Ending, at_end
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.runtime.account import Account
from snowmelt.runtime.binds import merged_insert, sql_literal
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.sql.tokens import SqlText

with lazy_imports():
    from snowmelt.features.connectors import service as connectors

apilevel = "2.0"
threadsafety = 2
"""Threads may share the module and connections; statements of one connection wait for each other."""
paramstyle = "qmark"
"""`?` with a sequence; `%(name)s` with a mapping and `%s` work too."""

Error = SnowmeltError


class _Accounts:
    """Accounts that connections of this process share: one Spark application per data directory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, tuple[Account, int]] = {}

    def acquire(self, data_dir: Path, settings: Settings | None) -> Account:
        with self._lock:
            account, users = self._open.get(data_dir, (None, 0))
            if account is None:
                account = open_account(data_dir, settings=settings)
            self._open[data_dir] = (account, users + 1)
            return account

    def release(self, data_dir: Path) -> None:
        with self._lock:
            account, users = self._open[data_dir]
            if users > 1:
                self._open[data_dir] = (account, users - 1)
                return
            del self._open[data_dir]
            account.close()

    def close_all(self) -> None:
        """When the program ends: what it left open is closed, as a file would be."""
        with self._lock:
            while self._open:
                _, (account, _) = self._open.popitem()
                account.close()


_ACCOUNTS = _Accounts()
at_end(Ending.CLOSE_ACCOUNTS, _ACCOUNTS.close_all)


def connect(
    data_dir: str | Path, *, database: str | None = None, schema: str | None = None, warehouse: str | None = None,
    settings: Settings | None = None, autocommit: bool = True,
) -> Connection:  # fmt: skip
    """A connection to the account in a data directory, which this process then owns until the last one is closed."""
    path = Path(data_dir).expanduser().resolve()
    account = _ACCOUNTS.acquire(path, settings)
    try:
        session = account.session(database=database, schema=schema, warehouse=warehouse)
    except BaseException:
        _ACCOUNTS.release(path)
        raise
    session.parameters["AUTOCOMMIT"] = autocommit
    return Connection(session, path)


class Connection:
    """PEP 249 connection. Commits by itself after each statement unless told otherwise or after BEGIN."""

    Error = SnowmeltError

    def __init__(self, session: Session, data_dir: Path) -> None:
        self.session = session
        self._data_dir = data_dir
        self._closed = False

    def cursor(self) -> Cursor:
        return Cursor(self)

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Cursor:
        """A cursor on which the statement has run."""
        return self.cursor().execute(sql, parameters)

    def channel_door(self) -> ChannelDoor:
        """What a `snowmelt.ingest.StreamingIngestClient` writes through."""
        return self.session.channel_door()

    def start_connectors(self) -> None:
        """From now on this process captures for the account's connectors, until the last connection is closed."""
        self.session.account.services[connectors.Connectors].start()

    def commit(self) -> None:
        self.session.execute("COMMIT")

    def rollback(self) -> None:
        self.session.execute("ROLLBACK")

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.session.close()
            _ACCOUNTS.release(self._data_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Cursor:
    """PEP 249 cursor."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.result: Result | None = None
        self._fetched: list[tuple[Any, ...]] | None = None
        self._position = 0

    @property
    def _rows(self) -> list[tuple[Any, ...]]:
        """Made when one is asked for: who takes the result as Arrow needs none."""
        if self._fetched is None:
            self._fetched = self.result.shown().rows() if self.result is not None else []
        return self._fetched

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        if self.result is None:
            return None
        return [
            (c.name, c.type.kind.value, None, c.type.length, c.type.precision, c.type.scale, c.nullable)
            for c in self.result.columns
        ]

    @property
    def rowcount(self) -> int:
        if self.result is None:
            return -1
        return self.result.data.num_rows if self.result.rows_affected is None else self.result.rows_affected

    @property
    def sfqid(self) -> str | None:
        """The query's id, under the name that Snowflake's connector gives it."""
        return self.result.query_id if self.result is not None else None

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Self:
        text, values = _prepared(sql, parameters)
        return self._run(SqlText(text, around=sql), values)

    def _run(self, text: SqlText, values: Sequence[Any] | None = None) -> Self:
        self.result = self.connection.session.execute(text, values)
        self._fetched = None
        self._position = 0
        return self

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> Self:
        """Runs the statement for each row; INSERT … VALUES with one placeholder list becomes one INSERT."""
        merged = merged_insert(sql, rows)
        if merged is not None:
            return self._run(SqlText(merged, around=sql))
        for row in rows:
            self.execute(sql, row)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        if self._position >= len(self._rows):
            return None
        self._position += 1
        return self._rows[self._position - 1]

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        count = self.arraysize if size is None else size
        found = self._rows[self._position : self._position + count]
        self._position += len(found)
        return found

    def fetchall(self) -> list[tuple[Any, ...]]:
        found = self._rows[self._position :]
        self._position = len(self._rows)
        return found

    def fetch_arrow_table(self) -> pa.Table:
        """The result as Arrow, with the columns' names."""
        if self.result is None:
            return pa.table({})
        return self.result.shown().data.rename_columns([column.name for column in self.result.columns])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def close(self) -> None:
        self._fetched = []

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing to prepare: PEP 249 allows that."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing to prepare: PEP 249 allows that."""


def _prepared(sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None) -> tuple[str, Sequence[Any] | None]:
    if not parameters:
        return sql, None
    if isinstance(parameters, Mapping):
        return sql % {name: sql_literal(value) for name, value in parameters.items()}, None
    if "%s" in sql and "?" not in sql:
        return sql % tuple(sql_literal(value) for value in parameters), None
    return sql, parameters
