"""Values on which two engines like to differ, for each type of the quick lane."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from itertools import product

import pyarrow as pa

from snowmelt.core.types import UNDEFINED
from snowmelt.engine.quick.types import SparkType, named
from snowmelt.storage.variant import encode, encode_json

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
DOCUMENTS = (
    "null", "true", "0", "1", "-1", "300", "2147483648", "9223372036854775807", "9223372036854775808", "12.50", "0.05",
    "-0.5", "1.000", "-0.0", "100.0", "1e3", "1.5e300", "0.1e0", '"a"', '""', '"12"', '"-7.5"', '" 12"', '"true"',
    '"2020-01-31"', '"2020-02-30"', '"ß🤦"', f'"{UNDEFINED}"', '"a\\"b\\\\\\n\\t/"', '"\\u0001"', '{}', '[]',
    '{"a": 1}',
    '{"a": "x", "b": {"c": [1, 2.50, null]}}', '{"b": {"c": []}, "a": null}', '[1, "a", null]', '[[1], [2, 3]]',
    '{"a b": 1, "A": 2, "é": 3}', '[1, 2.5]', '[{"a": 1}, {"a": 2}]', '[null]', '{"z": true, "y": [1, 2, 3]}',
    "12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678", "[1.50, 2.50]",
    '{"long": "' + "x" * 100 + '"}', "[" + ", ".join(map(str, range(300))) + "]", "[1e2]",
)  # fmt: skip
"""Texts of JSON."""
_VARIANTS = [
    {"metadata": metadata, "value": value}
    for metadata, value in [
        *map(encode_json, DOCUMENTS),
        *map(encode, (date(2020, 1, 31), _MOMENTS[2], _MOMENTS[2].replace(tzinfo=UTC), b"ab", 1.5, float("nan"), -0.0)),
        encode({"day": date(1, 1, 1), "at": [_MOMENTS[2]]}),
    ]
]
VALUES: dict[str, list[object]] = {
    "BIGINT": [None, 0, 1, -1, 2, 3, 7, -7, 10, 1 << 31, -(1 << 31), (1 << 53) + 1, (1 << 63) - 1, -(1 << 63)],
    "INT": [None, 0, 1, -1, 3, 12, -13, (1 << 31) - 1, -(1 << 31)],
    "DOUBLE": [None, 0.0, -0.0, 1.5, -2.5, 0.1, 1e300, 1e-5, float("nan"), float("inf"), float("-inf"), 3.0],
    "STRING": [
        None, "", " ", "a", "abc", "ABC", " a ", "ß", "É", "\u0131", "🤦x", "a🤦b", "1", "-12", "+7", "12.5", " 12",
        "1e3", "007", "abc,def,", ",", "%", "_", "a%b", "it's", "\t", "a\nb", "2020-01-31", "2020-1-5", "2020-02-30",
        "true", "0001-01-01", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1.", ".5",
        "2020-01-01 10:11:12.5", "\u00a0a\u00a0", "\u2028", " \x0b\n",
        "2020-01-01 10:11", "2020-01-01T10:11:12", "2020-01-01 24:00:00", "2020-01-01 10:11:12.123456Z",
        "2020-01-01 10:11Z", "10:11:12", "10:11:12.50", "24:00:00", "9:00:00",
    ],
    "BOOLEAN": [None, True, False],
    "BINARY": [None, b"", b"\x00\xff", b"abc"],
    "DATE": [None, *(moment.date() for moment in _MOMENTS), date(2021, 1, 3)],
    "TIMESTAMP_NTZ": [None, *_MOMENTS],
    "TIMESTAMP": [None, *(moment.replace(tzinfo=UTC) for moment in _MOMENTS)],
    "TIME(6)": [None, *(moment.time() for moment in _MOMENTS)],
    "VARIANT": [None, *_VARIANTS],
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


def documents() -> pa.Table:
    """A column A with texts of JSON, and with some that are none."""
    texts = [
        *DOCUMENTS,
        "",
        " ",
        "{",
        "[1,]",
        '{"a": 1, "a": 2}',
        "01",
        "NaN",
        "'a'",
        " [1] ",
        "1 2",
        "[undefined]",
        None,
    ]
    return pa.table({"A": pa.array(texts, pa.string())})


def pairs(left: str, right: str) -> pa.Table:
    """Columns A and B with pairs of values, first and last ones among them."""
    rows = list(product(_some(VALUES[left]), _some(VALUES[right])))
    return pa.table({
        "A": pa.array([row[0] for row in rows], named(left).arrow),
        "B": pa.array([row[1] for row in rows], named(right).arrow),
    })  # fmt: skip
