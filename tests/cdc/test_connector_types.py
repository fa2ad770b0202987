"""All of PostgreSQL's types in a mirror, compared with the source value by value."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from snowmelt.runtime.session import Session
from tests.cdc.capture import Capture, rows, standing

pytestmark = pytest.mark.slow
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
_TYPES = [
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


def test_every_type(captures: Session, capture: Capture, source: Source) -> None:
    """Once as rows that a snapshot reads, and once as changes."""
    source.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    columns = ", ".join(f"c{place} {typed.type}" for place, typed in enumerate(_TYPES))
    source.execute(f"CREATE TABLE everything (id int PRIMARY KEY, {columns})".encode())
    most = max(len(typed.values) for typed in _TYPES)
    for turn in range(most):
        insert(source, turn, turn)
    capture.create("shop", ["everything"], "TARGET = MIRROR")
    capture.wait_for_stream("shop")
    for turn in range(most):
        insert(source, 100 + turn, turn)
    source.execute("INSERT INTO everything (id) VALUES (200)")
    source.execute("INSERT INTO everything (id) VALUES (300)")
    source.execute("DELETE FROM everything WHERE id = 300")
    count = 2 * most + 3
    capture.wait_for(lambda: arrived(captures) == count, "shop")
    assert standing(captures, "shop")["dead_letters"] == 0, rows(captures, "SELECT reason FROM shop_dead_letters")
    wrong = {typed.type: found for place, typed in enumerate(_TYPES) if (found := differences(captures, source, place))}
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def insert(source: Source, id_: int, turn: int) -> None:
    values = ", ".join(typed.values[turn % len(typed.values)] for typed in _TYPES)
    source.execute(f"INSERT INTO everything VALUES ({id_}, {values})".encode())


def arrived(captures: Session) -> int:
    now = standing(captures, "shop")
    return int(now["changes"] + now["dead_letters"])


def differences(captures: Session, source: Source, place: int) -> list[tuple[Any, ...]]:
    """Of one column: id, what the source has, what is here."""
    typed, name = _TYPES[place], f"c{place}"
    there = dict(source.execute(f"SELECT id, {typed.there.format(name)} FROM everything".encode()).fetchall())
    endless = dict(source.execute(f"SELECT id, {name}::text FROM everything".encode()).fetchall())
    here = dict(rows(captures, f"SELECT id, {typed.here.format(name)} FROM everything"))
    differs = dict(typed.differs)
    found: list[tuple[Any, ...]] = []
    for id_, value in there.items():
        expected = None if endless[id_] is None else differs.get(endless[id_], differs.get(value, value))
        own = here.get(id_, "missing")
        same = (own is None and expected is None) or (
            own is not None and expected is not None and typed.read(own) == typed.read(expected)
        )
        if not same:
            found.append((id_, expected, own))
    return found
