"""Tables of PostgreSQL, MySQL and MariaDB: what is new by a change column, by several connections, or as a whole."""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    Engine,
    MetaData,
    Numeric,
    Select,
    Table,
    and_,
    func,
    not_,
    or_,
    select,
)

from snowmelt.core import errors
from snowmelt.extract_load.addresses import database_errors, mysql_engine_of
from snowmelt.extract_load.columns import plain
from snowmelt.extract_load.options import COUNT, SECONDS, Known
from snowmelt.extract_load.records import Batch, Rows, table_of_values
from snowmelt.extract_load.sources.base import BATCH_ROWS, Extractor, SourceDescription, TableToRead
from snowmelt.extract_load.sources.ordering import key_positions, undivided, whole_batches
from snowmelt.extract_load.sources.overlap import Recent
from snowmelt.extract_load.sources.ranges import Range, Ranges, read_ranges

Tables = Callable[[Select[Any]], Generator[pa.Table]]
"""The rows of a query, in tables of as many rows as a batch has. To be closed before what they come from is."""
_TABLE_OPTIONS: Known = {"batch_rows": COUNT, "parallel": COUNT, "overlap": SECONDS}
_WIDEST = 38
"""Digits of Arrow's common decimal."""


class DatabaseExtractor(Extractor):
    """A table in the order of its change column and key: what is behind the last pair is new.

    Without a change column the whole table comes, whenever anything in it is another. Rows that are committed later
    with an earlier value of the change column are seen if it is at most `overlap` seconds earlier, which needs a key
    and a change column of times. The rest is for a reconciliation to find; the log has all of them. With `parallel`
    that many connections each read a range of the change column; the place has how far each is.
    """

    def __init__(
        self, address: str, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
        batch_rows: int = BATCH_ROWS, parallel: int = 1, overlap: int = 0,
    ) -> None:  # fmt: skip
        self.address, self.table, self.key = address, table, tuple(key)
        self.change_column, self.batch_rows, self.parallel = change_column, batch_rows, parallel
        self.overlap = overlap

    @abstractmethod
    def engine(self) -> Engine:
        """Connects to nothing yet."""

    def extract(self, after: str | None) -> Iterator[Batch]:
        engine = self.engine()
        with database_errors(engine):
            table = self.reflected()
            self._check_columns(table)
            if self.change_column is not None:
                yield from self._changed(engine, table, self.change_column, after)
            else:
                yield from self._whole(engine, table, after)

    def reflected(self) -> Table:
        """The table as the database describes it now."""
        schema, _, name = self.table.rpartition(".")
        engine = self.engine()
        with database_errors(engine):
            return Table(name, MetaData(), schema=schema or None, autoload_with=engine)

    def rows_where(self, table: Table, condition: Any) -> Iterator[Rows]:
        """Whole rows for which it holds."""
        engine = self.engine()
        query = select(*self.selected(table)).where(condition)
        with database_errors(engine), self.reading(engine, table) as tables, closing(tables(query)) as found:
            yield from map(Rows, found)

    def _check_columns(self, table: Table) -> None:
        asked = [*self.key, *([self.change_column] if self.change_column else [])]
        missing = [name for name in asked if name not in table.c]
        if missing:
            raise errors.configuration(
                f"Table {self.table} has no column {', '.join(missing)}.",
                hint=f"It has {', '.join(column.name for column in table.c)}.",
            )

    @contextmanager
    def reading(self, engine: Engine, table: Table) -> Iterator[Tables]:
        """Whoever reads through it sees one state of the source, whatever happens there meanwhile."""
        with _reading(engine) as connection:

            def tables(query: Select[Any]) -> Generator[pa.Table]:
                with connection.execute(query) as result:
                    for rows in result.partitions(self.batch_rows):
                        columns = zip(table.columns, zip(*rows, strict=True), strict=True)
                        yield table_of_values({column.name: (values, _wanted(column)) for column, values in columns})

            yield tables

    def selected(self, table: Table) -> Sequence[ColumnElement[Any]]:
        """The table's columns, as they are asked for."""
        return list(table.columns)

    def _whole(self, engine: Engine, table: Table, after: str | None) -> Iterator[Batch]:
        query = select(*self.selected(table)).order_by(*[table.c[name] for name in self.key])
        with self.reading(engine, table) as tables, ExitStack() as opened:

            def read() -> Iterator[Rows]:
                return map(Rows, opened.enter_context(closing(tables(query))))

            yield from whole_batches(read, after, self.table, self.key)

    def _changed(self, engine: Engine, table: Table, change: str, after: str | None) -> Iterator[Batch]:
        columns = [table.c[name] for name in (change, *self.key)]

        def read(part: Range) -> Iterator[tuple[Batch, list[Any]]]:
            return self._range(engine, table, columns, part)

        ranges = Ranges.read(after)
        names = [column.name for column in columns]
        recent = Recent(self.overlap if self.key and _is_time(columns[0]) else 0, names, after)
        if ranges.open:
            # Those of a run that was cut off; what is new comes behind them.
            yield from _remembering(recent, read_ranges(ranges, self.parallel, read))
            ranges = ranges.closed()
        else:
            yield from self._late(table, columns, ranges, recent)
        with _reading(engine) as connection:
            self._refuse_unplaced(connection, table, change)
            ranges = self._split(connection, columns, ranges)
        yield from _remembering(recent, read_ranges(ranges, self.parallel, read))

    def _late(
        self, table: Table, columns: Sequence[Column[Any]], ranges: Ranges, recent: Recent
    ) -> Iterator[Batch]:  # fmt: skip
        """What was committed behind the place since the last run, as far back as the overlap reaches."""
        begin = recent.begin(ranges.at)
        if begin is None or ranges.at is None:
            return
        near = and_(columns[0] > _read(columns[0], begin), not_(_behind(columns, ranges.at)))
        for rows in self.rows_where(table, near):
            late = rows.take(recent.late(rows))
            if len(late):
                place = recent.with_rows(late, ranges.place())
                yield Batch(late, place, f"{self.table}, committed late", key_positions(late, self.key))

    def _split(self, connection: Connection, columns: Sequence[Column[Any]], ranges: Ranges) -> Ranges:
        """What is new, as ranges of about as many rows each. The last ends at the greatest value there is by now."""
        first = columns[0]
        query = select(func.max(first).label("value"))
        if self.parallel > 1:
            query = select(first.label("value"), func.ntile(self.parallel).over(order_by=first).label("part"))
        if ranges.at is not None:
            query = query.where(_behind(columns, ranges.at))
        if self.parallel > 1:
            found = query.subquery()
            query = select(func.max(found.c.value)).group_by(found.c.part).order_by(found.c.part)
        values = [plain(value) for value in connection.execute(query).scalars() if value is not None]
        ends = list(dict.fromkeys(values))
        starts = [ranges.at, *[[end] for end in ends[:-1]]]
        return Ranges(ranges.at, [Range(start, end) for start, end in zip(starts, ends, strict=False)])

    def _range(
        self, engine: Engine, table: Table, columns: Sequence[Column[Any]], part: Range
    ) -> Iterator[tuple[Batch, list[Any]]]:
        asked = select(*self.selected(table))
        query = asked.where(columns[0] <= _read(columns[0], part.end)).order_by(*columns)
        if part.at is not None:
            query = query.where(_behind(columns, part.at))
        with database_errors(engine), self.reading(engine, table) as tables, closing(tables(query)) as found:
            batches = map(Rows, found)
            for rows in batches if self.key else undivided(batches, columns[0].name):
                last = rows.record(len(rows) - 1)
                yield (
                    Batch(rows, "", self.table, key_positions(rows, self.key)),
                    [last[column.name] for column in columns],
                )

    def _refuse_unplaced(self, connection: Connection, table: Table, change: str) -> None:
        """Rows without a place in the order would never come, and nobody would know."""
        unplaced = connection.execute(select(func.count()).where(table.c[change].is_(None))).scalar_one()
        if unplaced:
            raise errors.configuration(
                f"{unplaced} rows of {self.table} have no {change}.",
                hint="Fill it in, leave change_column out of the configuration, or capture the log.",
            )


class MysqlExtractor(DatabaseExtractor):
    """MySQL and MariaDB, as `DatabaseExtractor` says."""

    def engine(self) -> Engine:
        return mysql_engine_of(self.address)


def database(kind: str, extractor: type[DatabaseExtractor], *, example_address: str, extra: str) -> SourceDescription:
    """A kind of database, whose tables that class reads."""

    def read(table: TableToRead) -> Extractor:
        numbers = {name: int(value) for name, value in table.options.items()}
        return extractor(
            table.endpoint.where(), table.name, key=table.key, change_column=table.change_column, **numbers
        )

    return SourceDescription(kind, _TABLE_OPTIONS, {}, read, example_address, extra, has_catalog=True)


MYSQL = tuple(
    database(kind, MysqlExtractor, example_address="mysql://user:password@host:3306/database", extra="mysql")
    for kind in ("mysql", "mariadb")
)


def _remembering(recent: Recent, batches: Iterator[Batch]) -> Iterator[Batch]:
    return (replace(batch, place=recent.with_rows(batch.rows, batch.place)) for batch in batches)


def _is_time(column: Column[Any]) -> bool:
    return issubclass(column.type.python_type, dt.datetime)


def _wanted(column: Column[Any]) -> pa.DataType | None:
    """The type of Arrow that a column is to have; None where its values say it best."""
    kind = column.type
    if isinstance(kind, JSON):
        return None
    if isinstance(kind, Numeric) and kind.asdecimal:
        sized = kind.precision is not None and kind.precision <= _WIDEST
        return pa.decimal128(kind.precision, kind.scale or 0) if sized else None
    try:
        return _ARROW.get(kind.python_type)
    except NotImplementedError:
        return None


_ARROW: dict[type, pa.DataType] = {
    str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary(),
    dt.date: pa.date32(), dt.datetime: pa.timestamp("us"),
}  # fmt: skip


def _reading(engine: Engine) -> Connection:
    """Whatever else happens in the source meanwhile, one connection sees one state of it."""
    return engine.connect().execution_options(isolation_level="REPEATABLE READ", stream_results=True)


def _behind(columns: Sequence[Column[Any]], at: Sequence[Any]) -> Any:
    """Behind a pair of change value and key. A place of the change value alone is behind all of its rows."""
    first, value = columns[0], _read(columns[0], at[0])
    if len(at) == 1:
        return first > value
    rest = _lexical(columns[1:], at[1:])
    # Written so that an index on the change column alone is of use, in MySQL too.
    return and_(first >= value, or_(first > value, rest))


def _lexical(columns: Sequence[Column[Any]], at: Sequence[Any]) -> Any:
    column, value = columns[0], _read(columns[0], at[0])
    if len(columns) == 1:
        return column > value
    return or_(column > value, and_(column == value, _lexical(columns[1:], at[1:])))


def _read(column: Column[Any], value: Any) -> Any:
    """A value of a place as the source's own type."""
    kind = column.type.python_type
    if issubclass(kind, dt.datetime | dt.date):
        return kind.fromisoformat(value)
    return kind(value) if isinstance(value, str) and kind is not str else value
