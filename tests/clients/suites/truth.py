"""Values of every type, and how each is written when it arrives unharmed. Plain Python, for every environment."""

import datetime as dt
import decimal
import json
from collections.abc import Iterable
from typing import Any

_WIDE = "12345678901234567890123456789012345678"
COLUMNS = (
    ("ID", "NUMBER(38, 0)", "1", "number", "1"),
    ("WIDE", "NUMBER(38, 0)", _WIDE, "number", _WIDE),
    ("MONEY", "NUMBER(10, 2)", "-1.5", "number", "-1.50"),
    ("FRACTION", "NUMBER(38, 37)", "0.0000000000000000000000000000000000001", "number", "1E-37"),
    ("REAL", "FLOAT", "0.1", "float", "0.1"),
    ("mixed Case", "VARCHAR", "'naïve — \"x\" \\n☃'", "text", 'naïve — "x" \n☃'),
    ("EMPTY", "VARCHAR(10)", "''", "text", ""),
    ("YES", "BOOLEAN", "TRUE", "boolean", "true"),
    ("BYTES", "BINARY", "TO_BINARY('00FF10', 'HEX')", "binary", "00ff10"),
    ("DAY", "DATE", "'1969-12-31'", "text", "1969-12-31"),
    ("CLOCK", "TIME", "'23:59:59.123456'", "text", "23:59:59.123456"),
    ("PLAIN", "TIMESTAMP_NTZ", "'2024-02-29 01:02:03.000004'", "instant", "2024-02-29 01:02:03.000004"),
    ("OLD", "TIMESTAMP_NTZ", "'1901-01-01 00:00:00.5'", "instant", "1901-01-01 00:00:00.500000"),
    ("LOCAL", "TIMESTAMP_LTZ", "'2024-07-01 12:00:00.75 +0000'", "instant", "2024-07-01 08:00:00.750000-04:00"),
    ("ZONED", "TIMESTAMP_TZ", "'2024-07-01 12:00:00.25 +0530'", "instant", "2024-07-01 12:00:00.250000+05:30"),
    ("ANYTHING", "VARIANT", 'PARSE_JSON(\'{"a": [1, null, "x"]}\')', "json", '{"a": [1, null, "x"]}'),
    ("THINGS", "ARRAY", "ARRAY_CONSTRUCT(1, 'x')", "json", '[1, "x"]'),
    ("THING", "OBJECT", "OBJECT_CONSTRUCT('k', TRUE)", "json", '{"k": true}'),
)
"""Name, type, SQL, what kind of text the value has, and that text."""
CREATE = "CREATE TABLE all_types ({})".format(", ".join(f'"{name}" {type_}' for name, type_, *_ in COLUMNS))
FILL = (
    "INSERT INTO all_types SELECT {}".format(", ".join(f"{sql}::{type_}" for _, type_, sql, *_ in COLUMNS)),
    "INSERT INTO all_types SELECT {}".format(", ".join(f"NULL::{type_}" for _, type_, *_ in COLUMNS)),
)
SETTINGS = (
    "ALTER SESSION SET TIMEZONE = 'America/New_York', DATE_OUTPUT_FORMAT = 'YYYY-MM-DD', "
    "TIME_OUTPUT_FORMAT = 'HH24:MI:SS.FF6', TIMESTAMP_NTZ_OUTPUT_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6', "
    "TIMESTAMP_LTZ_OUTPUT_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6TZH:TZM', "
    "TIMESTAMP_TZ_OUTPUT_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6TZH:TZM'"
)
QUERY = "SELECT * FROM all_types ORDER BY 1 NULLS LAST"


def written(value: Any) -> Any:
    """A value of Python's as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, (dt.datetime, dt.time)):
        return value.isoformat(timespec="microseconds")
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def printed(names: list[str], rows: Iterable[Iterable[Any]]) -> str:
    return json.dumps({"names": names, "rows": [[written(value) for value in row] for row in rows]})


def differences(names: list[str], rows: list[list[Any]]) -> list[str]:
    """What is not as it should be, in words."""
    wanted = [name for name, *_ in COLUMNS]
    if names != wanted or len(rows) != 2:
        return [f"columns {names}, {len(rows)} rows"]
    found = [
        f"{name}: {text!r} is not {truth!r}"
        for (name, _, _, kind, truth), text in zip(COLUMNS, rows[0], strict=True)
        if text is None or _meaning(kind, text) != _meaning(kind, truth)
    ]
    not_null = [(name, text) for name, text in zip(names, rows[1], strict=True) if text is not None]
    return found + [f"{name}: {text!r} is not NULL" for name, text in not_null]


def _meaning(kind: str, text: str) -> Any:
    if kind == "number":
        return decimal.Decimal(text).as_tuple()
    if kind == "float":
        return float(text)
    if kind == "json":
        return json.loads(text)
    if kind == "instant":
        return text.replace("T", " ")
    return text.lower() if kind in ("boolean", "binary") else text
