"""INSERT … VALUES of plain literals, without Spark.

A row of literals needs no engine: one such INSERT takes milliseconds instead of a tenth of a second. Only values whose
conversion is beyond doubt are taken; everything else, defaults that compute included, goes the general way, which also
produces the error messages.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.constants import UNKNOWN
from snowmelt.runtime.defaults import sequence_default
from snowmelt.runtime.sequences import numbers
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.schema import arrow_schema

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.variables import Variable

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?\Z")
_TYPED_TEXT = {exp.DType.DATE: Kind.DATE, exp.DType.TIMESTAMPNTZ: Kind.TIMESTAMP_NTZ}
_INPUT_FORMATS = {Kind.DATE: "DATE_INPUT_FORMAT", Kind.TIMESTAMP_NTZ: "TIMESTAMP_INPUT_FORMAT"}
_FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE)
_EXACT_DIGITS = 15
_EXACT_FLOATS = 1e15
_MAX_ROWS = 20_000
_INT64 = 1 << 63
_WIDE = Context(prec=120)
"""Python's usual 28 digits are fewer than a NUMBER has."""


def literal_rows(run: Run, table: CatalogObject, tree: exp.Expr, columns: tuple[str, ...] | None) -> pa.Table | None:
    """The rows in stored form, when every value is a literal that needs no computing; otherwise None."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    if not isinstance(tree, exp.Values) or len(tree.expressions) > _MAX_ROWS:
        return None
    if definition.checks or definition.spark_only or any(c.type.is_semi_structured for c in definition.columns):
        return None
    formats = {_INPUT_FORMATS[c.type.kind] for c in definition.columns if c.type.kind in _INPUT_FORMATS}
    if any(str(run.session.parameter(name)).upper() != "AUTO" for name in formats):
        return None
    names = list(columns) if columns is not None else [column.name for column in definition.columns]
    if len(set(names)) != len(names):
        return None
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in tree.expressions]
    if any(len(row) != len(names) for row in rows):
        return None
    if not set(names) <= {column.name for column in definition.columns}:
        return None
    schema = arrow_schema(definition.columns)
    arrays: dict[str, pa.Array] = {}
    # Numbers are taken last: those of a statement that goes the general way after all would be lost.
    for column in sorted(definition.columns, key=lambda column: column.name not in names):
        values = _column_values(run, table, column, names, rows)
        if values is None:
            return None
        arrays[column.name] = pa.array(values, type=schema.field(column.name).type)
    return pa.table([arrays[name] for name in schema.names], schema=schema)


def _column_values(
    run: Run, table: CatalogObject, column: Column, names: list[str], rows: list[list[exp.Expr]]
) -> list[Any] | None:
    if column.name in names:
        index = names.index(column.name)
        values = _of_one_type([_literal(run, row[index], column.type) for row in rows])
        values = [_converted(value, column.type) for value in values]
    elif column.identity is not None:
        with run.state.begin() as state:
            identity = column.identity
            first = state.counters.take(table.id, column.name, len(rows), identity.start, identity.step)
        values = [first + number * identity.step for number in range(len(rows))]
        if not column.type.int64:
            values = [Decimal(value) for value in values]
    elif column.default is not None and (sequence := sequence_default(run, column.default)) is not None:
        values = [_converted(Decimal(value), column.type) for value in numbers(run, sequence, len(rows))]
    else:
        default = _literal(run, parse_snowflake(column.default), column.type) if column.default is not None else None
        values = [_converted(default, column.type)] * len(rows)
    if any(value is UNKNOWN for value in values) or (not column.nullable and any(value is None for value in values)):
        return None
    return values


def _literal(run: Run, node: exp.Expr, type_: DataType) -> Any:
    """The Python value of a literal as written, or of a scripting variable; UNKNOWN for anything else."""
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _number(str(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        value = _number(str(node.this.this))
        return -value if value is not UNKNOWN else UNKNOWN
    if isinstance(node, exp.Placeholder) and node.this:
        return _held(run.local(node.name))
    if type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.this.is_string:
        if node.to.this in _FLOATS:
            return _float(str(node.this.this))
        # DATE '2024-01-31' for a DATE column is that text; for a column of another type it is not.
        return str(node.this.this) if _TYPED_TEXT.get(node.to.this) is type_.kind else UNKNOWN
    return UNKNOWN


def _of_one_type(values: list[Any]) -> list[Any]:
    """Numbers beside a FLOAT are FLOATs too, and those of many digits then change."""
    if not any(isinstance(value, float) for value in values):
        return values
    return [UNKNOWN if isinstance(v, Decimal) and len(v.as_tuple().digits) > _EXACT_DIGITS else v for v in values]


def literal_value(run: Run, node: exp.Expr, type_: DataType) -> Any:
    """A literal as a value of a column in stored form; UNKNOWN for anything that needs computing."""
    return _converted(_literal(run, node, type_), type_)


def _held(variable: Variable | None) -> Any:
    """A variable's value in the form that a literal of it would have."""
    if variable is None or variable.type.kind not in (Kind.NUMBER, Kind.VARCHAR, Kind.BOOLEAN):
        return UNKNOWN
    value = variable.value
    return Decimal(value) if variable.type.kind is Kind.NUMBER and value is not None else value


def _number(text: str) -> Any:
    if "e" in text.lower():
        return UNKNOWN
    try:
        return Decimal(text)
    except InvalidOperation:
        return UNKNOWN


def _float(text: str) -> Any:
    """Only what Python writes for a finite number: the general way knows the other forms."""
    try:
        value = float(text)
    except ValueError:
        return UNKNOWN
    return value if math.isfinite(value) and repr(value) == text else UNKNOWN


def _converted(value: Any, type_: DataType) -> Any:
    """The value in the column's stored form; UNKNOWN where only the general way can tell."""
    if value is None or value is UNKNOWN:
        return value
    match type_.kind:
        case Kind.NUMBER:
            return _as_number(value, type_)
        case Kind.FLOAT:
            return float(value) if isinstance(value, Decimal | float) else UNKNOWN
        case Kind.VARCHAR:
            return value if isinstance(value, str) and len(value) <= (type_.length or 0) else UNKNOWN
        case Kind.BOOLEAN:
            return value if isinstance(value, bool) else UNKNOWN
        case Kind.DATE:
            return _parsed(date.fromisoformat, value, _DATE)
        case Kind.TIMESTAMP_NTZ if type_.precision is None or type_.precision >= 6:
            return _parsed(datetime.fromisoformat, value, _TIMESTAMP)
        case _:
            return UNKNOWN


def _as_number(value: Any, type_: DataType) -> Any:
    if isinstance(value, float):
        # As Spark does: by way of the shortest text. Beyond these bounds Java's shortest is not always Python's.
        value = Decimal(repr(value)) if abs(value) < _EXACT_FLOATS else UNKNOWN
    if not isinstance(value, Decimal):
        return UNKNOWN
    scale = type_.scale or 0
    rounded = value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=_WIDE)
    if abs(rounded) >= Decimal(10) ** ((type_.precision or 38) - scale):
        return UNKNOWN
    if type_.int64:
        return int(rounded) if -_INT64 <= rounded < _INT64 else UNKNOWN
    return rounded


def _parsed(parse: Any, value: Any, shape: re.Pattern[str]) -> Any:
    if not isinstance(value, str) or not shape.match(value):
        return UNKNOWN
    try:
        return parse(value)
    except ValueError:
        return UNKNOWN
