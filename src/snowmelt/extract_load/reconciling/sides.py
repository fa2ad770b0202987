"""The two sides of a comparison: rows and totals of a source, and of a table here."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Date, Numeric, Table, and_, cast, func, or_, select, text

from snowmelt.core.names import literal, quote
from snowmelt.extract_load.addresses import database_errors
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.reconciling.model import (
    ComparedRow,
    ComparedTable,
    DayTotals,
    Key,
    day_text,
    number_text,
    row_of,
    totals,
)
from snowmelt.extract_load.records import Rows
from snowmelt.extract_load.sources.base import Extractor
from snowmelt.extract_load.sources.databases import DatabaseExtractor
from snowmelt.extract_load.sources.ordering import ordered
from snowmelt.extract_load.transforming import Transformed, Transformer

_CHUNK = 500
"""Keys that one query asks for."""


class Side(ABC):
    def __init__(self, compared: ComparedTable) -> None:
        self.compared = compared

    @abstractmethod
    def totals(self) -> dict[str, DayTotals]:
        """Counts and sums by day."""

    @abstractmethod
    def rows(self, days: Sequence[str] | None) -> dict[Key, ComparedRow]:
        """The rows of some days, or of all."""

    def forget(self) -> None:
        """What was read before: it is asked for again."""
        return

    def kept_out(self) -> set[Key]:
        """The keys of rows that gates kept out."""
        return set()


class SourceSide(Side):
    """Where rows come from."""

    @abstractmethod
    def fetch(self, keys: Sequence[Key]) -> Iterator[Rows]:
        """The whole rows that have one of the keys, as the source has them. Only of keys that are not hashed here."""


class TableSide(Side):
    """A table here."""

    def __init__(self, compared: ComparedTable, connection: SqlConnection) -> None:
        super().__init__(compared)
        self._connection = connection

    def totals(self) -> dict[str, DayTotals]:
        sums = "".join(f", SUM({self._named(name)})" for name in self.compared.sums)
        query = f"SELECT {self._day()}, COUNT(*){sums} FROM {self._source()} GROUP BY 1"
        return {
            day_text(day): DayTotals(int(count), tuple(number_text(value or 0) for value in values))
            for day, count, *values in self._connection.execute(query).fetchall()
        }

    def rows(self, days: Sequence[str] | None) -> dict[Key, ComparedRow]:
        listed = ", ".join(map(self._named, self.compared.columns))
        query = f"SELECT {listed} FROM {self._source()}"
        if days is not None and self.compared.day is not None:
            query += f" WHERE COALESCE(TO_VARCHAR({self._day()}), 'all') IN ({', '.join(map(literal, days))})"
        found = self._connection.execute(query).fetchall()
        return dict(
            row_of(self.compared, dict(zip(self.compared.columns, row, strict=True)), hash_keys=False) for row in found
        )

    def kept_out(self) -> set[Key]:
        """The keys of rows that gates kept out of the table."""
        if self.compared.quarantine is None:
            return set()
        keys = self.compared.key
        query = f"SELECT {', '.join(map(self._named, keys))} FROM {self.compared.quarantine}"
        found = self._connection.execute(query).fetchall()
        return {row_of(self.compared, dict(zip(keys, row, strict=True)), hash_keys=False)[0] for row in found}

    def _named(self, column: str) -> str:
        name = self.compared.called.get(column, column)
        return quote(name.upper()).lower() if name.isidentifier() else quote(name)

    def _day(self) -> str:
        day = self.compared.day
        if day is None:
            return "NULL::DATE"
        named = self._named(day)
        return f"TO_DATE(CONVERT_TIMEZONE('UTC', {named}))" if self.compared.zoned else f"TO_DATE({named})"

    def _source(self) -> str:
        condition = self.compared.condition
        return f"(SELECT * FROM {self.compared.table} WHERE {condition})" if condition else self.compared.table


class DatabaseSide(SourceSide):
    """A table of PostgreSQL or MySQL: the database itself counts and adds up."""

    def __init__(self, compared: ComparedTable, extractor: DatabaseExtractor) -> None:
        super().__init__(compared)
        self.extractor = extractor

    def totals(self) -> dict[str, DayTotals]:
        table = self.extractor.reflected()
        day = cast(table.c[self.compared.day], Date) if self.compared.day else None
        sums = [func.sum(cast(table.c[name], Numeric(38, 10))) for name in self.compared.sums]
        query = select(*([day] if day is not None else []), func.count(), *sums)
        query = query.group_by(day) if day is not None else query
        found = {}
        for row in self._read(query):
            of_day, count, *values = row if day is not None else (None, *row)
            found[day_text(of_day)] = DayTotals(int(count), tuple(number_text(value or 0) for value in values))
        return {name: item for name, item in found.items() if item.rows}

    def rows(self, days: Sequence[str] | None) -> dict[Key, ComparedRow]:
        table = self.extractor.reflected()
        query = select(*(table.c[name] for name in self.compared.columns))
        if days is not None and self.compared.day is not None:
            column = cast(table.c[self.compared.day], Date)
            named = [dt.date.fromisoformat(day) for day in days if day != "all"]
            query = query.where(or_(column.in_(named), column.is_(None)))
        return dict(
            row_of(self.compared, dict(zip(self.compared.columns, row, strict=True)), hash_keys=True)
            for row in self._read(query)
        )

    def fetch(self, keys: Sequence[Key]) -> Iterator[Rows]:
        table = self.extractor.reflected()
        given = iter(keys)
        while chunk := list(islice(given, _CHUNK)):
            yield from self.extractor.rows_where(table, or_(*(self._has(table, key) for key in chunk)))

    def _has(self, table: Table, key: Key) -> Any:
        parts = zip(self.compared.key, key, strict=True)
        return and_(*(table.c[name] == _typed(table, name, text) for name, text in parts))

    def _read(self, query: Any) -> list[Any]:
        engine = self.extractor.engine()
        with database_errors(engine), engine.connect() as source:
            reading = source.execution_options(isolation_level="REPEATABLE READ")
            if engine.dialect.name == "postgresql":
                # Days are those of UTC on both sides; MySQL's connections are always so.
                reading.execute(text("SET LOCAL TIME ZONE 'UTC'"))
            return list(reading.execute(query))


class RecordsSide(SourceSide):
    """Files, an API, a topic: everything is read once more, and goes the way that it went before."""

    def __init__(self, compared: ComparedTable, extractor: Extractor, transformer: Transformer | None) -> None:
        super().__init__(compared)
        self._extractor, self._transformer = extractor, transformer
        self._kept: dict[Key, ComparedRow] | None = None

    def totals(self) -> dict[str, DayTotals]:
        return totals(self._all().values(), len(self.compared.sums))

    def rows(self, days: Sequence[str] | None) -> dict[Key, ComparedRow]:
        return {key: row for key, row in self._all().items() if days is None or row.day in days}

    def forget(self) -> None:
        self._kept = None

    def fetch(self, keys: Sequence[Key]) -> Iterator[Rows]:
        wanted = set(keys)
        for batch in self._extractor.extract(None):
            made = self._transformed(batch.rows)
            kept = range(len(made.rows)) if made.kept is None else made.kept
            found = [
                index
                for index, record in zip(kept, made.rows.records, strict=True)
                if row_of(self.compared, record, hash_keys=False)[0] in wanted
            ]
            if found:
                yield batch.rows.take(found)

    def _transformed(self, rows: Rows) -> Transformed:
        return Transformed(rows) if self._transformer is None else self._transformer.transform_rows(rows)

    def _all(self) -> dict[Key, ComparedRow]:
        """The newest record of each key, as the table here has it."""
        if self._kept is not None:
            return self._kept
        newest: dict[Key, tuple[Any, ComparedRow]] = {}
        for batch in self._extractor.extract(None):
            for record in self._transformed(batch.rows).rows.records:
                key, row = row_of(self.compared, record, hash_keys=False)
                changed = record.get(self.compared.day) if self.compared.day else None
                at = ordered([changed]) if changed is not None else ()
                if key not in newest or newest[key][0] <= at:
                    newest[key] = (at, row)
        self._kept = {key: row for key, (_, row) in newest.items()}
        return self._kept


def _typed(table: Table, name: str, value: str) -> Any:
    kind = table.c[name].type.python_type
    if issubclass(kind, dt.datetime | dt.date):
        return kind.fromisoformat(value)
    return value if kind is str else kind(value)
