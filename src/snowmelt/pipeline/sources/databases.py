"""Tables of PostgreSQL, MySQL and MariaDB: what is new by a change column, by several connections, or as a whole."""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

from sqlalchemy import Column, Connection, Engine, MetaData, Select, Table, and_, func, or_, select

from snowmelt.core import errors
from snowmelt.pipeline.addresses import engine_of, mysql_engine_of, told
from snowmelt.pipeline.records import Batch, Record, plain
from snowmelt.pipeline.sources.base import BATCH_ROWS, Extractor
from snowmelt.pipeline.sources.ordering import key_positions, undivided, whole_batches
from snowmelt.pipeline.sources.ranges import Range, Ranges, read_ranges


class DatabaseExtractor(Extractor):
    """A table in the order of its change column and key: what is behind the last pair is new.

    Without a change column the whole table comes, whenever anything in it is another. Rows that are committed later
    with an earlier value of the change column are not seen: where that happens, capture the log. With `parallel`
    that many connections each read a range of the change column; the place has how far each is.
    """

    def __init__(
        self, address: str, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
        batch_rows: int = BATCH_ROWS, parallel: int = 1,
    ) -> None:  # fmt: skip
        self.address, self.table, self.key = address, table, tuple(key)
        self.change_column, self.batch_rows, self.parallel = change_column, batch_rows, parallel

    @abstractmethod
    def engine(self) -> Engine:
        """Connects to nothing yet."""

    def extract(self, after: str | None) -> Iterator[Batch]:
        schema, _, name = self.table.rpartition(".")
        engine = self.engine()
        with told(engine):
            table = Table(name, MetaData(), schema=schema or None, autoload_with=engine)
            self._check_columns(table)
            if self.change_column is not None:
                yield from self._changed(engine, table, self.change_column, after)
            else:
                yield from self._whole(engine, table, after)

    def _check_columns(self, table: Table) -> None:
        asked = [*self.key, *([self.change_column] if self.change_column else [])]
        missing = [name for name in asked if name not in table.c]
        if missing:
            raise errors.configuration(
                f"Table {self.table} has no column {', '.join(missing)}.",
                hint=f"It has {', '.join(column.name for column in table.c)}.",
            )

    def _whole(self, engine: Engine, table: Table, after: str | None) -> Iterator[Batch]:
        query = select(table).order_by(*[table.c[name] for name in self.key])
        with _reading(engine) as connection, ExitStack() as opened:

            def read() -> Iterator[list[Record]]:
                return opened.enter_context(closing(self._partitions(connection, query)))

            yield from whole_batches(read, after, self.table, self.key)

    def _changed(self, engine: Engine, table: Table, change: str, after: str | None) -> Iterator[Batch]:
        columns = [table.c[name] for name in (change, *self.key)]

        def read(part: Range) -> Iterator[tuple[Batch, list[Any]]]:
            return self._range(engine, table, columns, part)

        ranges = Ranges.read(after)
        if ranges.open:
            # Those of a run that was cut off; what is new comes behind them.
            yield from read_ranges(ranges, self.parallel, read)
            ranges = ranges.closed()
        with _reading(engine) as connection:
            self._refuse_unplaced(connection, table, change)
            ranges = self._split(connection, columns, ranges)
        yield from read_ranges(ranges, self.parallel, read)

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
        query = select(table).where(columns[0] <= _read(columns[0], part.end)).order_by(*columns)
        if part.at is not None:
            query = query.where(_behind(columns, part.at))
        with told(engine), _reading(engine) as connection, closing(self._partitions(connection, query)) as batches:
            for rows in batches if self.key else undivided(batches, columns[0].name):
                at = [rows[-1][column.name] for column in columns]
                yield Batch(rows, "", self.table, key_positions(rows, self.key)), at

    def _refuse_unplaced(self, connection: Connection, table: Table, change: str) -> None:
        """Rows without a place in the order would never come, and nobody would know."""
        unplaced = connection.execute(select(func.count()).where(table.c[change].is_(None))).scalar_one()
        if unplaced:
            raise errors.configuration(
                f"{unplaced} rows of {self.table} have no {change}.",
                hint="Fill it in, leave change_column out of the configuration, or capture the log.",
            )

    def _partitions(self, connection: Connection, query: Select[Any]) -> Generator[list[Record]]:
        """To be closed before its connection is: a result that is only half read is still on its way."""
        with connection.execute(query) as result:
            for rows in result.mappings().partitions(self.batch_rows):
                yield [plain(dict(row)) for row in rows]


class PostgresExtractor(DatabaseExtractor):
    __doc__ = DatabaseExtractor.__doc__

    def engine(self) -> Engine:
        return engine_of(self.address, "snowmelt pipeline")


class MysqlExtractor(DatabaseExtractor):
    """MySQL and MariaDB, as `DatabaseExtractor` says."""

    def engine(self) -> Engine:
        return mysql_engine_of(self.address)


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
