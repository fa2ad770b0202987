"""Whether two results are the same: as multisets of rows, decimals exactly, floats within 1e-9.

A float beside a decimal may also differ by what the decimal was rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = Sequence[Any]
FLOAT_TOLERANCE = 1e-9


def difference_of_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> str | None:
    """The first difference between two multisets of rows; None when there is none."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows against {len(theirs)}"
    for one, other in zip(sorted(ours, key=_sort_key), sorted(theirs, key=_sort_key), strict=True):
        if len(one) != len(other) or not all(map(same_value, one, other)):
            return f"{tuple(one)!r} against {tuple(other)!r}"
    return None


def same_value(one: Any, other: Any) -> bool:
    """Whether two values stand for the same result."""
    if one is None or other is None:
        return one is other
    if isinstance(one, float) or isinstance(other, float):
        near = FLOAT_TOLERANCE * max(1.0, abs(float(one)), abs(float(other)))
        return abs(float(one) - float(other)) <= near + _half_unit(one) + _half_unit(other)
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _same_decimal(Decimal(one), Decimal(other))
    return bool(one == other)


def _half_unit(value: Any) -> float:
    """By how much a decimal may have been rounded that stands beside a float: DuckDB divides in floats."""
    return float(Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2) if isinstance(value, Decimal) else 0.0


def _same_decimal(one: Decimal, other: Decimal) -> bool:
    """Equal; or, where the scales differ, both the rounding of one and the same number.

    Snowflake and Spark give an average or a quotient different scales: then the two may lie half a unit of each
    scale apart, and no more.
    """
    if one == other:
        return True
    exponents = [int(value.as_tuple().exponent) for value in (one, other)]
    if exponents[0] == exponents[1]:
        return False
    return abs(one - other) <= sum((Decimal(1).scaleb(exponent) for exponent in exponents), Decimal()) / 2


def difference_of_tables(ours: pa.Table, theirs: pa.Table, key: str) -> str | None:
    """The same for whole tables with a unique key, quickly. Columns are matched by name in any case."""
    sides = [_in_order(table, key.upper()) for table in (ours, theirs)]
    if sides[0].num_rows != sides[1].num_rows:
        return f"{sides[0].num_rows} rows against {sides[1].num_rows}"
    names = [set(side.column_names) for side in sides]
    if names[0] != names[1]:
        return f"columns {sorted(names[0])} against {sorted(names[1])}"
    for name in sides[0].column_names:
        if not sides[0].column(name).cast(sides[1].column(name).type).equals(sides[1].column(name)):
            return f"column {name} has other values"
    return None


def _in_order(table: pa.Table, key: str) -> pa.Table:
    renamed = table.rename_columns([name.upper() for name in table.column_names])
    return renamed.sort_by(key)


def _sort_key(row: Row) -> tuple[tuple[Any, ...], ...]:
    # Values that two engines may round differently order rows only among those that are otherwise equal.
    return (tuple(map(_exact_key, row)), tuple(map(_inexact_key, row)))


def _exact_key(value: Any) -> tuple[int, Any]:
    if value is None or isinstance(value, float | Decimal):
        return (0, 0)
    if isinstance(value, date | datetime):
        return (1, value.isoformat())
    return (2, value) if isinstance(value, int) else (3, str(value))


def _inexact_key(value: Any) -> tuple[int, float]:
    return (1, float(value)) if isinstance(value, float | Decimal) else (int(value is not None), 0.0)
