"""The tables of a PostgreSQL as its catalog has them: how they are asked for, or why only Debezium can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snowmelt.ingest.cdc.quick.asking import AskedColumn, PostgresType, asked
from snowmelt.ingest.cdc.shapes import CapturedColumn, CapturedShape

if TYPE_CHECKING:
    from psycopg.rows import DictRow

with suppress(ModuleNotFoundError):  # An extra, snowmelt[cdc]: nothing here is called without it.
    import psycopg
    from psycopg import sql
    from psycopg.rows import dict_row

_CHUNK_PAGES = 4096
"""Of 8 kilobytes: what a reader takes at a time."""
_OLDEST_WITH_RANGES = 140000
"""From this version on PostgreSQL reads a range of pages without looking at the others."""

_TABLES = """
SELECT c.oid, n.nspname || '.' || c.relname AS name, c.relkind AS kind, c.relhassubclass AS parent,
    c.relfilenode::bigint AS file, pg_relation_filenode(c.oid)::bigint AS file_now,
    pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages,
    ARRAY(SELECT a.attname::text FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, ordinal)
        JOIN pg_attribute a ON a.attnum = k.number WHERE i.indrelid = c.oid AND i.indisprimary
        AND a.attrelid = c.oid AND k.ordinal <= i.indnkeyatts ORDER BY k.ordinal) AS key
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname || '.' || c.relname = ANY(%s)
"""
_COLUMNS = """
SELECT a.attrelid AS table, a.attname AS name, NOT a.attnotnull AS optional, a.attgenerated <> '' AS generated,
    a.atttypmod AS modifier, t.typname AS type, t.typtype AS kind, e.typname AS element,
    format_type(a.atttypid, a.atttypmod) AS written
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum
"""


class NotQuickError(Exception):
    """Something that only Debezium reads. The text says what."""


class TornSnapshotError(Exception):
    """A table was written anew since the snapshot, which therefore does not see its rows. Another snapshot does."""


@dataclass(frozen=True, slots=True)
class QuickTable:
    """A table that can be read at a snapshot."""

    name: str
    """`schema.table`."""
    shape: CapturedShape
    asked: tuple[AskedColumn, ...]
    """In the order of the shape's columns."""
    chunks: tuple[sql.Composable, ...]
    """Conditions that part its rows, by where they lie."""

    def query(self, chunk: sql.Composable, *, documents: bool) -> sql.Composable:
        """Rows of a chunk, with columns for a mirror or for documents."""
        columns = [
            sql.SQL(item.document(_quoted(column.name)) if documents else self.expression(item, column))
            for item, column in zip(self.asked, self.shape.columns, strict=True)
        ]
        named = [
            sql.SQL("{} AS {}").format(column, sql.Identifier(f"c{index}")) for index, column in enumerate(columns)
        ]
        return sql.SQL("SELECT {} FROM ONLY {} WHERE {}").format(
            sql.SQL(", ").join(named), sql.Identifier(*self.name.split(".")), chunk
        )

    def expression(self, item: AskedColumn, column: CapturedColumn) -> str:
        quoted = _quoted(column.name)
        return item.column(quoted) or item.document(quoted)


def describe_tables(connection: psycopg.Connection[Any], names: Sequence[str]) -> list[QuickTable]:
    """The tables as the connection's snapshot sees them, in the given order. The connection has locked them.

    Raises `NotQuickError` for what only Debezium reads, and `TornSnapshotError`.
    """
    ranges = connection.info.server_version >= _OLDEST_WITH_RANGES
    with connection.cursor(row_factory=dict_row) as cursor:
        found = {row["name"]: row for row in cursor.execute(_TABLES, [list(names)])}
        cursor.execute(_COLUMNS, [[row["oid"] for row in found.values()]])
        columns = cursor.fetchall()
    described: list[QuickTable] = []
    for name in names:
        table = found.get(name)
        if table is None:
            raise TornSnapshotError(f"{name} is not in the snapshot.")
        own = [column for column in columns if column["table"] == table["oid"]]
        _check(table)
        described.append(_described(table, own, ranges=ranges))
    return described


def _check(table: DictRow) -> None:
    name = table["name"]
    if table["kind"] != "r" or table["parent"]:
        raise NotQuickError(f"{name} has partitions or tables that inherit from it")
    if not table["key"]:
        raise NotQuickError(f"{name} has no primary key")
    if table["file"] != table["file_now"]:
        raise TornSnapshotError(f"{name} was rewritten since the snapshot.")


def _described(table: DictRow, columns: Sequence[DictRow], *, ranges: bool) -> QuickTable:
    name = table["name"]
    asks = [_asked(name, column) for column in columns]
    shape = CapturedShape(
        name,
        tuple(
            CapturedColumn(column["name"], item.type, item.source_type, column["optional"], None)
            for column, item in zip(columns, asks, strict=True)
        ),
        tuple(table["key"]),
    )
    return QuickTable(name, shape, tuple(asks), tuple(_chunks(table["pages"] if ranges else 0)))


def _asked(table: str, column: DictRow) -> AskedColumn:
    where = f"{table}.{column['name']}"
    if column["generated"]:
        raise NotQuickError(f"{where} is a generated column")
    found = asked(PostgresType(column["type"], column["kind"], column["modifier"], column["element"]))
    if found is None:
        raise NotQuickError(f"{where} is of the type {column['written']}")
    return found


def _chunks(pages: int) -> Iterator[sql.Composable]:
    """The last has no end: the table may have grown since it was measured."""
    for first in range(0, max(pages, 1), _CHUNK_PAGES):
        begin = sql.SQL("ctid >= {}::tid").format(sql.Literal(f"({first},0)"))
        if first + _CHUNK_PAGES >= pages:
            yield begin
        else:
            end = sql.SQL("ctid < {}::tid").format(sql.Literal(f"({first + _CHUNK_PAGES},0)"))
            yield sql.SQL("{} AND {}").format(begin, end)


def _quoted(name: str) -> str:
    """An identifier as PostgreSQL takes it, in an expression that is formatted no more."""
    return '"' + name.replace('"', '""') + '"'
