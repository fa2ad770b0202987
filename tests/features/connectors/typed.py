"""All of PostgreSQL's types with values of each, for tests that compare what lands with the source."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

Source = psycopg.Connection[Any]


@dataclass(frozen=True)
class Typed:
    """A type, values of it, and how both sides write one down so that they can be compared."""

    type: str
    values: tuple[str, ...]
    there: str = "{}::text"
    here: str = "{}::varchar"
    read: Callable[[str], Any] = str
    differs: tuple[tuple[str, str | None], ...] = ()
    """What is not the same here, and what it is."""


def _json(type_: str, *values: str) -> Typed:
    return Typed(type_, values, "to_jsonb({})::text", "to_json({})", json.loads)


_STAMP = 'YYYY-MM-DD"T"HH24:MI:SS'
TYPES = [
    Typed("smallint", ("-32768", "32767")),
    Typed("integer", ("-2147483648", "2147483647")),
    Typed("bigint", ("-9223372036854775808", "9223372036854775807")),
    Typed("oid", ("4294967295",)),
    Typed("numeric(10, 2)", ("-12345678.91", "0.10")),
    Typed("numeric(38, 10)", ("1234567890123456789012345678.0123456789",)),
    Typed("numeric(6, 2)", ("'NaN'", "1"), differs=(("NaN", None),)),
    Typed("numeric", ("1e-30", "123456789012345678901234567890123456789012345678901234567890.5", "0")),
    Typed("numeric(50, 3)", ("12345678901234567890123456789012345678901234567.125",)),
    Typed("money", ("-12.34",), "{}::numeric::text"),
    Typed("real", ("1.5", "-3.25e10", "0.1"), read=float),
    Typed("double precision", ("0.1", "1.7976931348623157e308", "-5e-324"), read=float),
    Typed("boolean", ("true", "false")),
    Typed("date", ("'2024-02-29'", "'0001-01-01'", "'9999-12-31'", "'infinity'", "'-infinity'"),
          differs=(("infinity", "9999-12-31"), ("-infinity", "0001-01-01"))),
    Typed("time", ("'00:00:00'", "'23:59:59.999999'", "'12:30'", "'24:00'"), "to_char({}::interval, 'HH24:MI:SS.US')",
          "to_varchar({}, 'HH24:MI:SS.FF6')", differs=(("24:00:00.000000", "00:00:00.000000"),)),
    Typed("time(0)", ("'01:02:03'",), "to_char({}::interval, 'HH24:MI:SS')", "to_varchar({}, 'HH24:MI:SS')"),
    Typed("timestamp", ("'2024-02-29 10:11:12.123456'", "'1900-01-01'", "'9999-12-31 23:59:59.999999'", "'infinity'",
                        "'-infinity'"), f"to_char({{}}, '{_STAMP}.US')", f"to_varchar({{}}, '{_STAMP}.FF6')",
          differs=(("infinity", "9999-12-31T23:59:59.999999"), ("-infinity", "0001-01-01T00:00:00.000000"))),
    Typed("timestamptz", ("'2024-02-29 10:11:12.5+05:30'", "'1970-01-01 00:00:00-12'", "'infinity'", "'-infinity'"),
          f"to_char({{}} AT TIME ZONE 'UTC', '{_STAMP}.US')",
          f"to_varchar(convert_timezone('UTC', {{}}), '{_STAMP}.FF6')",
          differs=(("infinity", "9999-12-31T23:59:59.999999"), ("-infinity", "0001-01-01T00:00:00.000000"))),
    Typed("timetz", ("'10:11:12+02'",), "'08:11:12Z'"),
    Typed("interval", ("'1 year 2 months 3 days 04:05:06.5'",), "'P1Y2M3DT4H5M6.5S'"),
    Typed("text", ("'plain'", "''", "E'tab\\tline\\n\"quoted\" \\\\'", "'žluťoučký 🐎'", "'NULL'")),
    Typed("varchar(5)", ("'äöü'",)),
    Typed("char(5)", ("'ab'",), "rpad({}::text, 5)"),
    Typed("name", ("'pg'",)),
    Typed("mood", ("'happy'", "'sad'")),
    Typed("uuid", ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",)),
    Typed("bytea", ("'\\x00ff10'", "''"), "encode({}, 'hex')", "lower(hex_encode({}))"),
    Typed("inet", ("'192.168.0.1/24'", "'::1'"), "replace({}::text, '/128', '')"),
    Typed("cidr", ("'10.0.0.0/8'",)),
    Typed("macaddr", ("'08:00:2b:01:02:03'",)),
    Typed("bit(1)", ("B'1'",), "({}::int = 1)::text"),
    Typed("bit(10)", ("B'0000000101'",)),
    Typed("bit varying(10)", ("B'101'",)),
    Typed("int4range", ("'[1,5)'", "'empty'", "'(,5)'")),
    Typed("numrange", ("'[1.5,2.5]'",)),
    Typed("daterange", ("'[2024-01-01,2024-02-01)'",)),
    Typed("tstzrange", ("'[2024-01-01 00:00+00,)'",)),
    Typed("tsvector", ("'a:1 b:2'",)),
    Typed("json", ('\'{"b": [1, 2.5, null], "a": {"x": "y"}}\'', "'[]'"), "{}::jsonb::text",
          "to_json({})", json.loads),
    _json("jsonb", '\'{"n": 12345678901234567890.125, "t": true}\'', "'\"text\"'", "'7'"),
    _json("integer[]", "'{1,2,NULL}'", "'{}'"),
    _json("text[]", "'{a,\"b c\",NULL,\"\"}'"),
    _json("numeric(10, 2)[]", "'{1.50,2.25}'"),
    _json("boolean[]", "'{t,f}'"),
    _json("uuid[]", "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"),
    _json("date[]", "'{2024-02-29}'"),
    Typed("point", ("'(1.5,-2)'",), "'1.5 ' || -2", "{0}:x::varchar || ' ' || {0}:y::varchar"),
]  # fmt: skip


def create_everything(source: Source, more: str = "") -> int:
    """A table with a column of each type, `c0` and so on; how many rows show all values."""
    source.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    columns = ", ".join(f"c{place} {typed.type}" for place, typed in enumerate(TYPES))
    source.execute(f"CREATE TABLE everything (id int PRIMARY KEY, {columns}{more})".encode())
    return max(len(typed.values) for typed in TYPES)


def insert(source: Source, id_: int, turn: int) -> None:
    values = ", ".join(typed.values[turn % len(typed.values)] for typed in TYPES)
    source.execute(f"INSERT INTO everything VALUES ({id_}, {values})".encode())
