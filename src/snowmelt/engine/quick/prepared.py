"""Queries over given rows that DuckDB has prepared: the same query of a refresh comes again with other rows.

To parse, bind and plan a query of ten joins takes ten times as long as to run it over a few rows. A prepared one reads
its rows through holders, which stand in one connection under the names that the query has for them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    import duckdb

RUN = "EXECUTE kept"
_MOST = 256
_GROWTH = 16
"""A plan that was made for few rows is not for so many times as many."""
_FEW_ROWS = 256
Key = tuple[str, tuple[pa.Schema, ...]]


class RowHolder:
    """Rows that DuckDB asks for each time it runs the statement."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    def __arrow_c_schema__(self) -> Any:
        return self.rows.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A statement in a connection of its own. One at a time uses it."""

    key: Key
    connection: duckdb.DuckDBPyConnection
    holders: Mapping[str, RowHolder]
    most_rows: Mapping[str, int]

    def suits(self, given: Mapping[str, pa.Table]) -> bool:
        return all(rows.num_rows <= self.most_rows[name] for name, rows in given.items())

    def hold(self, given: Mapping[str, pa.Table]) -> None:
        for name, rows in given.items():
            self.holders[name].rows = rows

    def let_go(self) -> None:
        """Nothing of the rows stays in memory for its sake."""
        for holder in self.holders.values():
            holder.rows = holder.rows.schema.empty_table()


class PreparedQueries:
    """Those used last. Safe to use from many threads."""

    def __init__(self, cursor: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._cursor = cursor
        self._lock = threading.Lock()
        self._idle: OrderedDict[Key, PreparedQuery] = OrderedDict()
        self._closed = False

    def take(self, sql: str, given: Mapping[str, pa.Table]) -> PreparedQuery:
        """The statement with these rows, to be run with `RUN`; for the caller alone until it is given back."""
        key = (sql, tuple(rows.schema for rows in given.values()))
        with self._lock:
            found = self._idle.pop(key, None)
        if found is not None and not found.suits(given):
            found.connection.close()
            found = None
        if found is None:
            return self._prepare(key, given)
        found.hold(given)
        return found

    def _prepare(self, key: Key, given: Mapping[str, pa.Table]) -> PreparedQuery:
        connection = self._cursor()
        try:
            holders = {name: RowHolder(rows) for name, rows in given.items()}
            for name, holder in holders.items():
                connection.register(name, holder)
            connection.execute(f"PREPARE kept AS {key[0]}")
        except BaseException:
            connection.close()
            raise
        most = {name: _GROWTH * max(rows.num_rows, _FEW_ROWS) for name, rows in given.items()}
        return PreparedQuery(key, connection, holders, most)

    def give_back(self, prepared: PreparedQuery) -> None:
        prepared.let_go()
        with self._lock:
            gone = [prepared] if self._closed or prepared.key in self._idle else []
            if not gone:
                self._idle[prepared.key] = prepared
            while len(self._idle) > _MOST:
                gone.append(self._idle.popitem(last=False)[1])
        for one in gone:
            one.connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            gone, self._idle = list(self._idle.values()), OrderedDict()
        for one in gone:
            one.connection.close()
