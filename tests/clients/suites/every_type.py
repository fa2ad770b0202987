"""Every type at every scale, and what Snowflake's own clients make of it. Plain Python, for every environment.

Where the expectations come from:

* Python values: the connector's documentation, "Data type mappings", and what both generations did with JSON all along.
* pandas and Arrow types: the table "Snowflake to pandas data mapping" of the same documentation (a NUMBER without
  decimals is int64, one with decimals float64, one that 64 bits do not hold a decimal), and the connector's converter
  itself (`CArrowTableIterator.cpp` in 4.x, `ArrowTableConverter.cpp` in 5.x): the unit of a TIMESTAMP is the coarsest
  of seconds, milli-, micro- and nanoseconds that holds its scale, and microseconds where nanoseconds overflow.
* The text of semi-structured values: the session parameter JSON_INDENT, 2 unless set.
"""

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

ZONE = "America/New_York"
TABLE = "every_type"
UTC = dt.UTC
_HALF_PAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
_WEST = dt.timezone(-dt.timedelta(hours=11))


@dataclass(frozen=True)
class Column:
    """A type, four values of it (ordinary, before 1970 or negative, largest, least), and what clients make of them."""

    name: str
    type: str
    sql: tuple[str, str, str, str]
    values: tuple[Any, Any, Any, Any]
    arrow: str
    """The type in `fetch_arrow_all` for all rows."""
    near: str
    """The same for the first two rows alone."""
    dtype: str
    """The pandas type of the first two rows."""


def _numbers() -> list[Column]:
    found = []
    sizes = [
        (1, 0),
        (9, 0),
        (18, 0),
        (19, 0),
        (38, 0),
        (1, 1),
        (2, 1),
        (9, 2),
        (18, 2),
        (18, 18),
        (19, 4),
        (38, 2),
        (38, 10),
        (38, 37),
    ]
    for precision, scale in sizes:
        for wide in (False, True) if precision > 18 else (False,):
            digits = precision if wide or precision <= 18 else 18
            largest = Decimal((0, (9,) * digits, -scale))
            values = (Decimal((0, (1,), -scale)), Decimal((1, (7,), -scale)), largest, largest.copy_negate())
            near = "int64" if scale == 0 else "double"
            found.append(
                Column(
                    f"N{precision}_{scale}" + ("_WIDE" if wide else ""), f"NUMBER({precision}, {scale})",
                    tuple(f"'{value:f}'" for value in values),
                    tuple(int(value) if scale == 0 else value for value in values),
                    f"decimal128({precision}, {scale})" if wide else near, near, "int64" if scale == 0 else "float64",
                )
            )  # fmt: skip
    most = 2**63 - 1
    integers = (1, -7, most, -most)
    found.append(Column("I", "INT", tuple(map(str, integers)), integers, "int64", "int64", "int64"))
    return found


_MOMENTS = (
    dt.datetime(2024, 7, 1, 1, 2, 3, 123456), dt.datetime(1969, 12, 31, 23, 59, 58, 123456),
    dt.datetime(9999, 12, 31, 12, 59, 59, 999999), dt.datetime(1, 1, 2, 0, 0, 0, 1),
)  # fmt: skip


def _cut(moment: Any, scale: int) -> Any:
    """To so many digits of a second."""
    unit = 10 ** max(0, 6 - scale)
    return moment.replace(microsecond=moment.microsecond // unit * unit)


def _unit(scale: int) -> str:
    return "s" if scale == 0 else "ms" if scale <= 3 else "us" if scale <= 6 else "ns"


def _times() -> list[Column]:
    found = []
    for scale in range(10):
        values = tuple(_cut(moment.time(), scale) for moment in _MOMENTS)
        arrow = f"time{'32' if scale <= 3 else '64'}[{_unit(min(scale, 6))}]"
        found.append(
            Column(
                f"T{scale}", f"TIME({scale})", tuple(f"'{value}'" for value in values), values, arrow, arrow, "object"
            )
        )
    return found


def _timestamps() -> list[Column]:
    found = []
    for kind in ("NTZ", "LTZ", "TZ"):
        for scale in range(10):
            zones = {"NTZ": (None,) * 4, "LTZ": (UTC,) * 4, "TZ": (_HALF_PAST, _WEST, UTC, UTC)}[kind]
            values = tuple(
                _cut(moment, scale).replace(tzinfo=zone) for moment, zone in zip(_MOMENTS, zones, strict=True)
            )
            zone = "" if kind == "NTZ" else f", tz={ZONE}"
            arrow = f"timestamp[{_unit(min(scale, 6))}{zone}]"
            near = f"timestamp[{_unit(scale)}{zone}]"
            dtype = f"datetime64[{_unit(scale)}{zone.replace(' tz=', ' ')}]"
            texts = tuple(f"'{_written(value)}'" for value in values)
            found.append(Column(f"{kind}{scale}", f"TIMESTAMP_{kind}({scale})", texts, values, arrow, near, dtype))
    return found


def _written(moment: dt.datetime) -> str:
    text = moment.isoformat(sep=" ", timespec="microseconds")
    return text if moment.tzinfo is None else f"{text[:-6]} {text[-6:]}"


def _pretty(*values: Any) -> tuple[str, ...]:
    return tuple(json.dumps(value, indent=2, ensure_ascii=False) for value in values)


def _others() -> list[Column]:
    text = ("string", "string", "text")
    days = (dt.date(2024, 2, 29), dt.date(1969, 12, 31), dt.date(9999, 12, 31), dt.date(1, 1, 1))
    floats = (0.1, -1.5e-300, 1.7976931348623157e308, -1.7976931348623157e308)
    anything = ({"a": [1, None, "x"], "b": {}}, [], 'naïve "☃"', -1.5)
    lists = ([1, "x", [2]], [], [None, True], [{"k": "v"}])
    things = ({"k": True}, {}, {"a": {"b": [1]}}, {"é": 'q"\\{[,:'})
    parsed = [tuple(f"PARSE_JSON($${json.dumps(value)}$$)" for value in values) for values in (anything, lists, things)]
    return [
        Column("F", "FLOAT", tuple(map(repr, floats)), floats, "double", "double", "float64"),
        Column("YES", "BOOLEAN", ("TRUE", "FALSE") * 2, (True, False) * 2, "bool", "bool", "bool"),
        Column("TEXT", "VARCHAR(20)", ("'x'", "''", "'naïve ☃ 𝄞'", "'a\\nb'"), ("x", "", "naïve ☃ 𝄞", "a\nb"), *text),
        Column(
            "BYTES", "BINARY", tuple(f"TO_BINARY('{text}', 'HEX')" for text in ("00FF", "", "7F", "80")),
            (b"\x00\xff", b"", b"\x7f", b"\x80"), "binary", "binary", "object",
        ),
        Column("DAY", "DATE", tuple(f"'{day}'" for day in days), days, "date32[day]", "date32[day]", "object"),
        Column("ANYTHING", "VARIANT", parsed[0], _pretty(*anything), *text),
        Column("LIST", "ARRAY", tuple(f"{text}::ARRAY" for text in parsed[1]), _pretty(*lists), *text),
        Column("THING", "OBJECT", tuple(f"{text}::OBJECT" for text in parsed[2]), _pretty(*things), *text),
    ]  # fmt: skip


COLUMNS = (*_numbers(), *_others(), *_times(), *_timestamps())
NAMES = [column.name for column in COLUMNS]
CREATE = f"CREATE OR REPLACE TABLE {TABLE} (ROW_NUMBER INT, {', '.join(f'{c.name} {c.type}' for c in COLUMNS)})"
_CAST = [", ".join(f"{c.sql[row]}::{c.type} AS {c.name}" for c in COLUMNS) for row in range(4)]
_NULLS = ", ".join(f"NULL::{column.type}" for column in COLUMNS)
FILL = f"INSERT INTO {TABLE} " + " UNION ALL ".join(
    [*(f"SELECT {row}, {cast}" for row, cast in enumerate(_CAST)), f"SELECT 4, {_NULLS}"]
)
QUERY = f"SELECT {', '.join(NAMES)} FROM {TABLE} ORDER BY ROW_NUMBER"
NEAR = f"SELECT {', '.join(NAMES)} FROM {TABLE} WHERE ROW_NUMBER < 2 ORDER BY ROW_NUMBER"
COPIES = 250
MANY = f"SELECT {', '.join(NAMES)} FROM {TABLE}, TABLE(GENERATOR(ROWCOUNT => {COPIES})) ORDER BY ROW_NUMBER"
"""More than one part: the narrow values come before the wide ones, and all parts have the same types."""


MANY_WIDE_FIRST = MANY.replace("ORDER BY ROW_NUMBER", "ORDER BY MOD(8 - ROW_NUMBER, 5)")
"""For JSON: connector 5.2 takes the types of all its parts from the values of the first, and reads garbage if they are
wider in another."""


def expected(rows: int = 5) -> list[tuple[Any, ...]]:
    """The rows as Python values."""
    full = [tuple(column.values[row] for column in COLUMNS) for row in range(4)] + [(None,) * len(COLUMNS)]
    return full[:rows]


def differences(rows: list[Any], wanted: list[tuple[Any, ...]], where: str) -> list[str]:
    """What is not as it should be, in words. Instants are equal whatever their zone, Decimals to their last digit."""
    if len(rows) != len(wanted):
        return [f"{where}: {len(rows)} rows, not {len(wanted)}"]
    return [
        f"{where}: {column.name}[{number}] is {found!r}, not {truth!r}"
        for number, (row, values) in enumerate(zip(rows, wanted, strict=True))
        for column, found, truth in zip(COLUMNS, row, values, strict=True)
        if not same(found, truth)
    ]


def same(found: Any, truth: Any) -> bool:
    if isinstance(found, bytearray):
        found = bytes(found)
    if found is None or truth is None or type(found) is not type(truth):
        return found is truth
    if isinstance(truth, Decimal):
        return found.as_tuple() == truth.as_tuple()
    if isinstance(truth, dt.datetime):
        return found == truth and (found.tzinfo is None) == (truth.tzinfo is None)
    return bool(found == truth)
