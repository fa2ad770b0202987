"""Rows of Python values as Arrow columns, without knowing the table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.ingest.channels.ports import BatchPart

Row = Mapping[str, Any]

DOCUMENTS = {b"snowmelt.documents": b"json"}
"""Metadata of a column of text that was objects and lists: what it would be declared as is VARIANT."""
_NOTHING = type(None)
_NESTED = frozenset({dict, list, tuple})
_ARROW: dict[type, pa.DataType] = {
    str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary(),
    date: pa.date32(), time: pa.time64("us"),
}  # fmt: skip


def parts_of(rows: Sequence[Row], tokens: Sequence[str | None] | None = None) -> tuple[BatchPart, ...]:
    """The rows in parts that have the same columns: one that a row does not name gets its default, not NULL."""
    if not rows:
        return ()
    first = rows[0].keys()
    if all(row.keys() == first for row in rows):
        return (_part(rows, tokens),)
    grouped: dict[tuple[str, ...], list[int]] = {}
    for index, row in enumerate(rows):
        grouped.setdefault(tuple(sorted(row)), []).append(index)
    return tuple(
        _part(
            [rows[i] for i in positions], None if tokens is None else [tokens[i] for i in positions], tuple(positions)
        )
        for positions in grouped.values()
    )


def _part(
    rows: Sequence[Row], tokens: Sequence[str | None] | None, positions: tuple[int, ...] | None = None
) -> BatchPart:
    kept = None if tokens is None else tuple(tokens)
    if not rows[0]:
        # Rows without any value are rows all the same: every column gets its default.
        return BatchPart(pa.table({"": pa.nulls(len(rows))}).select([]), kept, positions)
    fields: list[pa.Field] = []
    columns: list[pa.Array] = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        kinds = set(map(type, values)) - {_NOTHING}
        columns.append(_column(values, kinds))
        documents = DOCUMENTS if kinds and kinds <= _NESTED else None
        fields.append(pa.field(str(name), columns[-1].type, metadata=documents))
    return BatchPart(pa.Table.from_arrays(columns, schema=pa.schema(fields)), kept, positions)


def _column(values: list[Any], kinds: set[type]) -> pa.Array:
    """Values as Arrow holds them: of one type where they have one, else as text, which SQL can cast."""
    if len(kinds) == 1:
        typed = _of_kind(values, next(iter(kinds)))
        if typed is not None:
            return typed
    elif not kinds:
        return pa.nulls(len(values))
    return pa.array([_as_text(value) for value in values], pa.string())


def _of_kind(values: list[Any], kind: type) -> pa.Array | None:
    try:
        if kind in _ARROW:
            return pa.array(values, _ARROW[kind])
        if kind is datetime:
            return _instants(values)
        if kind is Decimal:
            return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        # Such as an integer beyond 64 bits, or a Decimal that is not a number: what it is worth SQL's cast says.
        return None
    return None


def _instants(values: list[Any]) -> pa.Array | None:
    """Without time zones, or all in UTC. An offset is kept as text: a TIMESTAMP_TZ column keeps it, too."""
    offsets = {value.utcoffset() for value in values if value is not None}
    if offsets == {None}:
        return pa.array(values, pa.timestamp("us"))
    return pa.array(values, pa.timestamp("us", "UTC")) if offsets == {timedelta()} else None


def _as_text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex().upper()
        case dict() | list() | tuple():
            return json_text(value)
        case datetime() | date() | time():
            return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
        case _:
            return str(value)


def json_text(value: Any) -> str:
    """A document as JSON, with numbers as exact as Python has them."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:
        # Something that JSON has no form for, such as a Decimal, which must keep all its digits.
        return _written(value)
    except (ValueError, RecursionError) as error:
        raise errors.invalid_json(str(error)) from None


def _written(value: Any) -> str:
    match value:
        case dict():
            pairs = (f"{json.dumps(str(key), ensure_ascii=False)}:{_written(item)}" for key, item in value.items())
            return "{" + ",".join(pairs) + "}"
        case list() | tuple() | set() | frozenset():
            return "[" + ",".join(_written(item) for item in value) + "]"
        case Decimal() if value.is_finite():
            return str(value)
        case None | bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return json.dumps(_as_text(value), ensure_ascii=False)
