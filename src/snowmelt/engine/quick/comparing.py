"""Whether two results are the same rows, for what is computed by both engines to be compared."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core.user_code import PREFIX, VOLATILE
from snowmelt.storage import variant

_PARTS = {"metadata", "value"}
_FREE = frozenset({"row_number", "lag", "lead", "first_value", "last_value", "nth_value", "any_value", "ntile"})
"""Functions that may give other rows each time, where the order leaves a choice."""


def is_comparable(query: exp.Expr) -> bool:
    """Whether the query has one right result, whatever order its inputs come in."""
    if query.find(exp.Limit, exp.Offset) is not None:
        return False
    if any(spec.args.get("kind") == "ROWS" for spec in query.find_all(exp.WindowSpec)):
        return False
    calls = list(query.find_all(exp.Anonymous))
    if any(call.name.startswith(PREFIX + VOLATILE) for call in calls):
        return False
    return all(call.name.lower() not in _FREE and not _is_free_list(call) for call in calls)


def _is_free_list(call: exp.Anonymous) -> bool:
    """Whether it is a list of values in whichever order they come."""
    parent = call.parent
    sorts = isinstance(parent, exp.Anonymous) and parent.name.lower() == "sort_array"
    return call.name.lower() == "collect_list" and not sorts


def difference(found: pa.Table, wanted: pa.Table) -> str | None:
    """What differs, without values of rows; None if nothing does."""
    kinds = [(one.name, one.type, other.type) for one, other in zip(found.schema, wanted.schema, strict=False)]
    for name, one, other in kinds:
        if _kind(one) != _kind(other):
            return f"column {name} is {one} instead of {other}"
    if found.shape != wanted.shape:
        return f"{found.shape[0]} rows of {found.shape[1]} columns instead of {wanted.shape[0]} of {wanted.shape[1]}"
    if rows_of(found) == rows_of(wanted):
        return None
    columns = [
        field.name
        for index, field in enumerate(found.schema)
        if rows_of(found.select([index])) != rows_of(wanted.select([index]))
    ]
    return f"other values in {', '.join(columns) or 'the combination of columns'}"


def _kind(type_: pa.DataType) -> str:
    """The type, whatever else is said of it: that it is never NULL, or how a text is laid out."""
    if pa.types.is_struct(type_) and {field.name for field in type_} == _PARTS:
        return "variant"
    return str(type_).replace(" not null", "").replace("large_", "")


def rows_of(data: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows as a multiset, with NaN equal to itself."""
    columns = [map(_comparable, column.to_pylist()) for column in data.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): data.num_rows})


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if isinstance(value, dict) and value.keys() == _PARTS:
        # Two writers order the names in it differently.
        return _typed(variant.decode(value["metadata"], value["value"]))
    if isinstance(value, dict):
        return tuple((key, _comparable(part)) for key, part in value.items())
    return tuple(map(_comparable, value)) if isinstance(value, list) else value


def _typed(value: Any) -> Any:
    """What a VARIANT holds, with each value's type: 1 is not true, and not 1.0."""
    if isinstance(value, dict):
        return tuple((key, _typed(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return "array", tuple(map(_typed, value))
    return type(value).__name__, _comparable(value)
