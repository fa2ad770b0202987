"""Tables of PostgreSQL as Arrow: the server sends them by COPY in its binary format, and ADBC makes columns of that.

What ADBC has no type for comes as text that the server writes; exact numbers too, since ADBC gives them as text.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Column, ColumnElement, Engine, Select, Table, Text, case, cast, func, literal
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.types import TypeEngine

from snowmelt.core import errors
from snowmelt.extract_load.addresses import CONNECT_SECONDS, engine_of, problem
from snowmelt.extract_load.columns import documents_field
from snowmelt.extract_load.problems import not_installed
from snowmelt.extract_load.records import cut
from snowmelt.extract_load.sources.databases import DatabaseExtractor, Tables, database

try:
    import adbc_driver_postgresql.dbapi as adbc
    from psycopg.conninfo import make_conninfo
except ModuleNotFoundError:  # An extra: snowmelt[postgres].
    adbc = None

APPLICATION = "snowmelt pipeline"

_DIALECT = PGDialect(paramstyle="named")  # type: ignore[no-untyped-call]
"""Whose marks for parameters need no doubled percent signs."""
_DAY = 86_400_000_000
"""Microseconds."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, from 1970-01-01 on."""
_WIDEST = 38
"""Digits of Arrow's common decimal."""
_NATIVE = frozenset({
    pg.BOOLEAN, pg.SMALLINT, pg.INTEGER, pg.BIGINT, pg.DOUBLE_PRECISION, pg.TEXT, pg.VARCHAR, pg.CHAR, pg.BYTEA,
    pg.DATE,
})  # fmt: skip
"""What ADBC has a type of Arrow for, with the same values."""
_JSON_ELEMENTS = _NATIVE - {pg.BYTEA}
"""What arrays may hold to be written as JSON without losing anything."""


class PostgresExtractor(DatabaseExtractor):
    __doc__ = DatabaseExtractor.__doc__

    def engine(self) -> Engine:
        if adbc is None:
            raise not_installed("adbc_driver_postgresql", "postgres")
        return engine_of(self.address, APPLICATION)

    def selected(self, table: Table) -> Sequence[ColumnElement[Any]]:
        return [_asked(column).expression.label(column.name) for column in table.columns]

    @contextmanager
    def reading(self, engine: Engine, table: Table) -> Iterator[Tables]:
        asked = [_asked(column) for column in table.columns]
        with _database_errors(engine), closing(adbc.connect(_address(engine))) as connection:
            with closing(connection.cursor()) as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                cursor.execute("SET LOCAL TIME ZONE 'UTC'")

            def tables(query: Select[Any]) -> Generator[pa.Table]:
                with _database_errors(engine), closing(connection.cursor()) as reader:
                    reader.execute(_text(query))
                    found = (pa.Table.from_batches([part]) for part in reader.fetch_record_batch())
                    yield from (_typed(part, asked) for part in cut(found, self.batch_rows))

            yield tables


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a column is asked for, and what becomes of the answer."""

    expression: ColumnElement[Any]
    decimal: pa.DataType | None = None
    """What its text is a number of."""
    documents: bool = False
    """Whether its text is JSON."""
    repeats: bool = False
    """Whether names in that JSON may stand there twice, of which the last counts."""


def _asked(column: Column[Any]) -> _Asked:
    kind: TypeEngine[Any] = column.type
    while isinstance(kind, pg.DOMAIN):
        kind = kind.data_type
    if type(kind) in _NATIVE or (isinstance(kind, pg.TIMESTAMP | pg.TIME) and not _is_zoned_time(kind)):
        return _Asked(column)
    if isinstance(kind, pg.REAL):
        # The number that is written, not the one with twice as many digits that is nearest to it.
        return _Asked(cast(cast(column, Text), pg.DOUBLE_PRECISION))
    if isinstance(kind, pg.NUMERIC):
        sized = kind.precision is not None and kind.precision <= _WIDEST and 0 <= (kind.scale or 0) <= kind.precision
        return _Asked(cast(column, Text), pa.decimal128(kind.precision, kind.scale or 0) if sized else None)
    if isinstance(kind, pg.JSON):
        return _Asked(cast(column, Text), documents=True, repeats=not isinstance(kind, pg.JSONB))
    if isinstance(kind, pg.ARRAY):
        exact = type(kind.item_type) in _JSON_ELEMENTS or isinstance(kind.item_type, pg.TIMESTAMP)
        listed = column if exact else cast(column, pg.ARRAY(Text))
        return _Asked(cast(func.to_json(listed), Text), documents=True)
    # As the server writes it, which is not what a cast gives: that of an address has its mask.
    return _Asked(case((column.is_not(None), func.format(literal("%s"), column))))


def _is_zoned_time(kind: TypeEngine[Any]) -> bool:
    return isinstance(kind, pg.TIME) and kind.timezone


def _typed(table: pa.Table, asked: Sequence[_Asked]) -> pa.Table:
    for index, item in enumerate(asked):
        column, name = table.column(index), table.column_names[index]
        if item.decimal is not None:
            # NaN is none: then the text stays.
            table = _with_decimals(table, index, item.decimal)
        elif item.documents:
            once = pa.chunked_array([pa.array(map(_once, column.to_pylist()), pa.string())]) if item.repeats else column
            table = table.set_column(index, documents_field(name), once)
        else:
            _refuse_beyond_time(column, name)
            table = table.set_column(index, pa.field(name, column.type), column)
    return table


def _refuse_beyond_time(column: Any, name: str) -> None:
    """PostgreSQL has an infinity and years that nobody else has, of which ADBC makes other times."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        days = pc.divide(column.cast(pa.int64()), _DAY) if pa.types.is_timestamp(kind) else column.cast(pa.int32())
        bounds = pc.min_max(days).as_py()
        if bounds["min"] is not None and not _FIRST_DAY <= bounds["min"] <= bounds["max"] <= _LAST_DAY:
            raise errors.configuration(
                f"Column {name} holds a time that is not in the years 1 to 9999, or infinity.",
                hint="Read a view that has NULL or another value instead.",
            )


def _with_decimals(table: pa.Table, index: int, kind: pa.DataType) -> pa.Table:
    column, name = table.column(index), table.column_names[index]
    try:
        return table.set_column(index, pa.field(name, kind), column.cast(kind))
    except pa.ArrowInvalid:
        return table.set_column(index, pa.field(name, pa.string()), column)


def _once(text: str | None) -> str | None:
    return None if text is None else json.dumps(json.loads(text))


def _text(query: Select[Any]) -> str:
    """With the values in it: COPY takes no parameters."""
    return str(query.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True}))


def _address(engine: Engine) -> str:
    """The address as libpq takes it."""
    _, asked = engine.dialect.create_connect_args(engine.url)
    # What psycopg alone understands.
    asked.pop("context", None)
    return make_conninfo("", **{"connect_timeout": CONNECT_SECONDS, "application_name": APPLICATION, **asked})


@contextmanager
def _database_errors(engine: Engine) -> Iterator[None]:
    try:
        yield
    except (adbc.Error, OSError, pa.ArrowException) as error:
        where = engine.url.set(query={}).render_as_string()
        # While rows are on their way, Arrow's words for it are all there is.
        lost = isinstance(error, adbc.OperationalError) or "connection" in str(error)
        raise problem(where, error, operational=lost) from None


POSTGRES = database(
    "postgres", PostgresExtractor, example_address="postgresql://user:password@host:5432/database", extra="postgres"
)
