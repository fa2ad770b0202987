"""Tables, dynamic tables and views of Snowmelt, for destinations elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta, timezone
from typing import Any

import pyarrow as pa

from snowmelt.core.names import literal, quote
from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET
from snowmelt.extract_load.columns import column_of, documents_field, text_of
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.records import Batch, Rows
from snowmelt.extract_load.sources.base import BATCH_ROWS, Extractor, SourceDescription
from snowmelt.extract_load.sources.ordering import changed_batches, parts, read_place, whole_batches

_DOCUMENTS = frozenset({"VARIANT", "OBJECT", "ARRAY"})


class SnowmeltExtractor(Extractor):
    """What is new by a change column, or the whole whenever anything in it is another.

    Names that are all capitals are given in small letters, as they are written elsewhere.
    """

    def __init__(
        self, connection: SqlConnection, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:  # fmt: skip
        self.connection, self.table, self.batch_rows = connection, table, batch_rows
        self.key = tuple(name.lower() for name in key)
        self.change_column = change_column.lower() if change_column is not None else None

    def extract(self, after: str | None) -> Iterator[Batch]:
        if self.change_column is None:
            rows = self._rows(f"SELECT * FROM {self.table}{self._order()}")
            yield from whole_batches(lambda: parts(rows, self.batch_rows), after, self.table, self.key)
            return
        at, _ = read_place(after)
        condition = f" WHERE {_name(self.change_column)} >= {_value(at[0])}" if at is not None else ""
        yield from changed_batches(
            self._rows(f"SELECT * FROM {self.table}{condition}"), after, self.table, key=self.key,
            change=self.change_column, size=self.batch_rows,
        )  # fmt: skip

    def _order(self) -> str:
        return f" ORDER BY {', '.join(map(_name, self.key))}" if self.key else " ORDER BY ALL"

    def _rows(self, query: str) -> Rows:
        cursor = self.connection.execute(query)
        table = cursor.fetch_arrow_table()
        kinds = [str(item[1]).upper() for item in cursor.description]
        made = [_column(field, table.column(index), kinds[index]) for index, field in enumerate(table.schema)]
        fields, columns = zip(*made, strict=True)
        return Rows(pa.Table.from_arrays(list(columns), schema=pa.schema(fields)))


def _column(field: pa.Field, column: Any, kind: str) -> tuple[pa.Field, Any]:
    name = field.name.lower() if field.name.isupper() else field.name
    if kind in _DOCUMENTS:
        return documents_field(name), column
    if kind == "TIMESTAMP_TZ":
        return column_of(name, [_moment(value) for value in column.to_pylist()])
    if pa.types.is_decimal(field.type) and field.type.scale == 0:
        # Whole numbers are numbers: as text, 10 would come before 9.
        try:
            return pa.field(name, pa.int64()), column.cast(pa.int64())
        except pa.ArrowInvalid:
            return documents_field(name), text_of(column, field)
    return pa.field(name, field.type), column


def _moment(value: Any) -> str | None:
    """With the offset that it was written with."""
    if value is None:
        return None
    return str(value[TZ_INSTANT].astimezone(timezone(timedelta(minutes=value[TZ_OFFSET]))).isoformat())


def _name(name: str) -> str:
    return quote(name.upper())


def _value(value: Any) -> str:
    return literal(value) if isinstance(value, str) else str(value)


# Its extractor reads by a connection, which whoever runs the flow has.
SNOWMELT = SourceDescription("snowmelt", {}, {}, None)
