"""Files that are asked for again and again, decoded: as tables of the lane's database.

Reading a column of 100,000 rows out of a Parquet file takes longer than all else that a small query does. Files never
change, so what was read of them is right for as long as somebody asks for the same ones. A table is dropped when nobody
has asked for a while, or when others need the room.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    import duckdb

_FILES = r"'/[^'\[\]]+'(?:, '/[^'\[\]]+')*"
_READ = re.compile(rf"read_parquet\(\[({_FILES})\], hive_partitioning = false(?:, union_by_name = true)?\)")
"""As `sources` writes it. No text of a user's looks so: inside of texts quotes are doubled."""
_PATH = re.compile(r"'([^']+)'")
_AFTER = 3
"""The time that files are decoded, of all times that they are asked for."""
_MOST_BYTES, _ALL_BYTES = 16 << 20, 48 << 20
"""Of files: those of one table, and all together."""
_MOST_COUNTED = 1_000
UNUSED_SECONDS = 120.0


@dataclass(slots=True)
class _Decoded:
    name: str
    bytes: int
    users: int = 0
    used_at: float = field(default_factory=time.monotonic)


class DecodedFiles:
    """Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, int] = OrderedDict()
        self._tables: OrderedDict[str, _Decoded] = OrderedDict()
        self._made = 0

    @contextmanager
    def reading(self, connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[str]:
        """The query as it reads tables where there are some, which stay until the block ends."""
        used: dict[str, _Decoded] = {}
        try:
            for match in _READ.finditer(sql):
                if match[0] not in used and (table := self._use(connection, match[0], match[1])) is not None:
                    used[match[0]] = table
            yield _READ.sub(lambda match: used[match[0]].name if match[0] in used else match[0], sql) if used else sql
        finally:
            self._leave(used)

    def _use(self, connection: duckdb.DuckDBPyConnection, source: str, files: str) -> _Decoded | None:
        with self._lock:
            table = self._tables.get(source)
            if table is not None:
                self._tables.move_to_end(source)
                table.users += 1
                table.used_at = time.monotonic()
                return table
            asked = self._asked.pop(source, 0) + 1
            self._asked[source] = asked
            if len(self._asked) > _MOST_COUNTED:
                self._asked.popitem(last=False)
        return self._decode(connection, source, files) if asked == _AFTER else None

    def _leave(self, used: dict[str, _Decoded]) -> None:
        if used:
            with self._lock:
                for table in used.values():
                    table.users -= 1

    def _decode(self, connection: duckdb.DuckDBPyConnection, source: str, files: str) -> _Decoded | None:
        """The table, for its first user. None if it is too large, or DuckDB can't hold it: files are read then."""
        try:
            size = sum(Path(path).stat().st_size for path in _PATH.findall(files))
        except OSError:
            return None
        if size > _MOST_BYTES or not self._make_room(connection, size):
            return None
        with self._lock:
            self._made += 1
            table = _Decoded(f"decoded_{self._made}", size, users=1)
        try:
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM {source}")
        except duckdb.Error:
            return None
        with self._lock:
            self._tables[source] = table
        return table

    def _make_room(self, connection: duckdb.DuckDBPyConnection, size: int) -> bool:
        gone: list[_Decoded] = []
        with self._lock:
            taken = size + sum(table.bytes for table in self._tables.values())
            for source, table in list(self._tables.items()):
                if taken > _ALL_BYTES and not table.users:
                    gone.append(self._tables.pop(source))
                    taken -= table.bytes
        _drop(connection, gone)
        return taken <= _ALL_BYTES

    def has_unused(self, now: float) -> bool:
        with self._lock:
            return any(_is_unused(table, now) for table in self._tables.values())

    def drop_unused(self, connection: duckdb.DuckDBPyConnection, now: float) -> None:
        """Forgets files that were not read for a while. They can come back when they are read often again."""
        with self._lock:
            sources = [source for source, table in self._tables.items() if _is_unused(table, now)]
            gone = [self._tables.pop(source) for source in sources]
            for source in sources:
                self._asked.pop(source, None)
        _drop(connection, gone)


def _is_unused(table: _Decoded, now: float) -> bool:
    return not table.users and now - table.used_at > UNUSED_SECONDS


def _drop(connection: duckdb.DuckDBPyConnection, tables: list[_Decoded]) -> None:
    for table in tables:
        connection.execute(f"DROP TABLE {table.name}")
