"""Values on which two engines like to differ, for each type of the quick lane."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from itertools import product

import pyarrow as pa

from snowmelt.engine.quick.types import SparkType, named

_MOMENTS = (
    datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2020, 2, 29, 12, 34, 56, 789000),
    datetime(2020, 1, 31, 0, 0, 0, 5), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(1582, 10, 15, 6), datetime(2021, 12, 31, 23, 59, 59), datetime(2024, 12, 30, 1),
)  # fmt: skip
_NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "-7",
    "10",
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "-2.5",
    "0.05",
    "1.005",
    "99999",
    "-99999.99",
)
VALUES: dict[str, list[object]] = {
    "BIGINT": [None, 0, 1, -1, 2, 3, 7, -7, 10, 1 << 31, -(1 << 31), (1 << 53) + 1, (1 << 63) - 1, -(1 << 63)],
    "INT": [None, 0, 1, -1, 3, 12, -13, (1 << 31) - 1, -(1 << 31)],
    "DOUBLE": [None, 0.0, -0.0, 1.5, -2.5, 0.1, 1e300, 1e-5, float("nan"), float("inf"), float("-inf"), 3.0],
    "STRING": [
        None, "", " ", "a", "abc", "ABC", " a ", "ß", "É", "\u0131", "🤦x", "a🤦b", "1", "-12", "+7", "12.5", " 12",
        "1e3", "007", "abc,def,", ",", "%", "_", "a%b", "it's", "\t", "a\nb", "2020-01-31", "2020-1-5", "2020-02-30",
        "true", "0001-01-01", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1.", ".5",
        "2020-01-01 10:11:12.5", "\u00a0a\u00a0",
    ],
    "BOOLEAN": [None, True, False],
    "BINARY": [None, b"", b"\x00\xff", b"abc"],
    "DATE": [None, *(moment.date() for moment in _MOMENTS), date(2021, 1, 3)],
    "TIMESTAMP_NTZ": [None, *_MOMENTS],
    "TIMESTAMP": [None, *(moment.replace(tzinfo=UTC) for moment in _MOMENTS)],
}  # fmt: skip
_MOST_OF_A_PAIR = 12
_DECIMALS = ("DECIMAL(10, 2)", "DECIMAL(38, 0)", "DECIMAL(5, 5)", "DECIMAL(18, 6)", "DECIMAL(38, 10)", "DECIMAL(1, 0)")


def _decimals(type_: SparkType) -> list[object]:
    """Those that fit, and the largest one."""
    with localcontext(prec=80):
        step = Decimal(1).scaleb(-type_.scale)
        most = Decimal(10**type_.precision - 1).scaleb(-type_.scale)
        found = {Decimal(text).quantize(step) for text in _NUMBERS}
        return [None, *sorted(number for number in found if abs(number) <= most), most, most.copy_negate()]


for _name in _DECIMALS:
    VALUES[_name] = _decimals(named(_name))


def _some(values: list[object]) -> list[object]:
    """At most twelve: the first and the last ones, where the extremes are, and some between them."""
    if len(values) <= _MOST_OF_A_PAIR:
        return values
    step = (len(values) - 8) / 4
    return [*values[:4], *(values[4 + int(step * number)] for number in range(4)), *values[-4:]]


def one(name: str) -> pa.Table:
    """A column A with every value of a type."""
    return pa.table({"A": pa.array(VALUES[name], named(name).arrow)})


def pairs(left: str, right: str) -> pa.Table:
    """Columns A and B with pairs of values, first and last ones among them."""
    rows = list(product(_some(VALUES[left]), _some(VALUES[right])))
    return pa.table({
        "A": pa.array([row[0] for row in rows], named(left).arrow),
        "B": pa.array([row[1] for row in rows], named(right).arrow),
    })  # fmt: skip
