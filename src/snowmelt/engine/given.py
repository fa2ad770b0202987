"""Rows that are given with a query: a handful of them as text of the query itself, more as a temporary view.

A view takes Spark some ten milliseconds, however few its rows are; a refresh gives a dozen such relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core.lazy import lazy_imports
from snowmelt.sql.dialect import identifier, to_spark_sql

with lazy_imports():
    from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_ROWS = 40
_MOST_BYTES = 16 * 1024


_VARIANT = pa.struct([
    pa.field("value", pa.binary(), nullable=False),
    pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
])  # fmt: skip
"""As PySpark knows it."""


def frame_of(session: SparkSession, data: pa.Table) -> DataFrame:
    """An Arrow table as Spark's, in which a timestamp without a zone stays one: by default it would get a zone."""
    # PySpark loses rows of a table whose columns are chunked differently, and fails where there is no chunk at all.
    whole = _with_variants(data.combine_chunks() if data.num_rows else _empty(data.schema))
    return session.createDataFrame(whole, schema=from_arrow_schema(whole.schema, prefer_timestamp_ntz=True))


def _with_variants(data: pa.Table) -> pa.Table:
    """Ours are the two parts of a VARIANT as files have them; Spark takes them in the other order, and by a mark."""
    for index, field in enumerate(data.schema):
        if pa.types.is_struct(field.type) and {part.name for part in field.type} == {"metadata", "value"}:
            parts = [_marked(chunk) for chunk in data.column(index).chunks]
            data = data.set_column(index, field.name, pa.chunked_array(parts, type=_VARIANT))
    return data


def _marked(values: pa.StructArray) -> pa.StructArray:
    # Below a NULL both parts are NULL too, which the type rules out.
    parts = [values.field(part.name).cast(pa.binary()).fill_null(b"") for part in _VARIANT]
    return pa.StructArray.from_arrays(parts, fields=list(_VARIANT), mask=values.is_null())


def _empty(schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def with_rows(sql: str, inputs: Mapping[str, pa.Table]) -> tuple[str, dict[str, pa.Table]]:
    """The query with the small inputs in its text, and the inputs that are left."""
    if sql.lstrip()[:4].upper() == "WITH":
        return sql, dict(inputs)
    written = {name: data for name, data in inputs.items() if _writable(data)}
    left = {name: data for name, data in inputs.items() if name not in written}
    if not written:
        return sql, left
    relations = ", ".join(f"{_quoted(name)} AS ({_as_text(data)})" for name, data in written.items())
    return f"WITH {relations} {sql}", left


def _writable(data: pa.Table) -> bool:
    small = data.num_rows <= _MOST_ROWS and data.nbytes <= _MOST_BYTES and data.num_columns > 0
    return small and all(_has_text(field.type) for field in data.schema)


def _has_text(type_: pa.DataType) -> bool:
    """Whether Spark casts a value's text to exactly that value."""
    plain = (
        pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_string, pa.types.is_large_string,
        pa.types.is_date32, pa.types.is_float64,
    )  # fmt: skip
    return any(test(type_) for test in plain) or (pa.types.is_timestamp(type_) and type_.unit == "us")


def _as_text(data: pa.Table) -> str:
    fields = from_arrow_schema(data.schema, prefer_timestamp_ntz=True).fields
    kinds = [(field.dataType.simpleString(), _quoted(field.name)) for field in fields]
    if not data.num_rows:
        return f"SELECT {', '.join(f'CAST(NULL AS {kind}) AS {name}' for kind, name in kinds)} WHERE FALSE"
    columns = ", ".join(f"CAST(c{index} AS {kind}) AS {name}" for index, (kind, name) in enumerate(kinds))
    rows = ", ".join(f"({', '.join(map(_text, row))})" for row in zip(*_values(data), strict=True))
    names = ", ".join(f"c{index}" for index in range(data.num_columns))
    # One partition, so that nothing has to be exchanged with others.
    return f"SELECT /*+ COALESCE(1) */ {columns} FROM VALUES {rows} AS v({names})"


def _values(data: pa.Table) -> list[list[Any]]:
    return [column.to_pylist() for column in data.columns]


def _text(value: Any) -> str:
    return "NULL" if value is None else to_spark_sql(exp.Literal.string(str(value)))


def _quoted(name: str) -> str:
    return to_spark_sql(identifier(name))
