"""A first snapshot lands the same whoever reads it: all types, row for row, in mirrors and in raw tables."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import METADATA, create_statement, rows, standing
from tests.features.connectors.typed import create_everything, insert
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]

_MORE = {
    "e_time": ("time(3)", "'10:00:00.5'"),
    "e_stamp": ("timestamp(0)", "'2020-01-01 10:00'"),
    "e_stamps": ("timestamp(3)", "'2020-01-01 10:00:00.12'"),
    "e_far_stamp": ("timestamp", "'20000-01-01 10:00:01'"),
    "e_old_stamp": ("timestamp", "'0044-03-15 10:00 BC'"),
    "e_older_date": ("date", "'1500-03-01'"),
    "e_far_date": ("date", "'20000-01-01'"),
    "e_instant": ("timestamptz(3)", "'2020-01-01 10:00:00.12+02'"),
    "e_instants": ("timestamptz(0)", "'2020-01-01 10:00:00+02'"),
    "e_far_instant": ("timestamptz", "'20000-01-01 10:00+00'"),
    "e_old_instant": ("timestamptz", "'0044-03-15 10:00+00 BC'"),
    "e_old": ("timestamptz", "'1500-03-01 10:00+00'"),
    "e_number": ("numeric", "0.00000001234567890123456789012345678901234567890123"),
    "e_large": ("numeric", "1e30"),
    "e_not": ("numeric", "'NaN'"),
    "e_endless": ("numeric", "'-Infinity'"),
    "e_double": ("float8", "'NaN'"),
    "e_doubles": ("float8", "'-Infinity'"),
    "e_one": ("float8", "1"),
    "e_large_double": ("float8", "1e22"),
    "e_small_double": ("float8", "1.25e-5"),
    "e_minus": ("float8", "'-0'"),
    "e_single": ("real", "'Infinity'"),
    "e_singles": ("real", "16777216"),
    "e_interval": ("interval", "'-1 mon -00:00:00.5'"),
    "e_hours": ("interval", "'100 hours'"),
    "e_zero": ("interval", "'0'"),
    "e_zoned": ("timetz", "'10:00:00.123456-13:30'"),
    "e_bits": ("bit varying", "B'0010'"),
    "e_no_bits": ("bit varying(4)", "B''"),
    "e_byte": ("bit(8)", "B'00000001'"),
    "e_mac": ("macaddr8", "'08:00:2b:01:02:03:04:05'"),
    "e_range": ("int8range", "'[1,5]'"),
    "e_stamp_range": ("tsrange", "'[2024-01-01 00:00,2024-02-01 10:00:00.5)'"),
    "e_doubles_list": ("float8[]", "'{1,NULL,0.1}'"),
    "e_singles_list": ("real[]", "'{0.1,2}'"),
    "e_stamp_list": ("timestamp[]", "'{2020-01-01 10:00}'"),
    "e_instant_list": ("timestamptz[]", "'{2020-01-01 10:00+02}'"),
    "e_texts": ("varchar(4)[]", "'{a,NULL}'"),
    "e_chars": ("char(3)[]", "'{a}'"),
    "e_longs": ("bigint[]", "'{1}'"),
    "e_shorts": ("smallint[]", "'{1}'"),
    "e_numbers": ("numeric[]", "'{1,1.50,NULL}'"),
    '"Mixed Case"': ("text", "'m'"),
    '"{brace}"': ("int", "1"),
}
_READERS = ("auto", "debezium")


def test_the_same_whoever_reads(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> None:
    more = "".join(f", {name} {type_}" for name, (type_, _) in _MORE.items())
    for turn in range(create_everything(source, more)):
        insert(source, turn, turn)
    values = ", ".join(f"{name} = {value}" for name, (_, value) in _MORE.items())
    source.execute(f"UPDATE everything SET {values} WHERE id <= 3".encode())
    source.execute("INSERT INTO everything (id) VALUES (100)")
    home = captures.schema
    for reader in _READERS:
        captures.execute(f"CREATE SCHEMA mirror_{reader}")
        captures.execute(f"USE SCHEMA {home}")
        options = f"SNAPSHOT_READER = {reader} SNAPSHOT_MODE = INITIAL_ONLY"
        mirror = f"TARGET = MIRROR MIRROR_SCHEMA = mirror_{reader} {options}"
        captures.execute(create_statement(f"mirror_{reader}", server, ["everything"], mirror, database))
        raw = f"RAW_TABLE = raw_{reader} {options}"
        captures.execute(create_statement(f"raw_{reader}", server, ["everything"], raw, database))
    for reader, who in zip(_READERS, ("Snowmelt", "Debezium"), strict=True):
        for name in (f"mirror_{reader}", f"raw_{reader}"):
            _completed(captures, name)
            assert standing(captures, name)["dead_letters"] == 0
            assert standing(captures, name)["snapshot_by"].startswith(who)
    assert _described(captures, "mirror_auto") == _described(captures, "mirror_debezium")
    assert _differences(_mirror(captures, "mirror_auto"), _mirror(captures, "mirror_debezium")) == {}
    read = _raw(captures, "raw_auto")
    assert len(read) == len(_mirror(captures, "mirror_auto"))
    assert _differences(read, _raw(captures, "raw_debezium")) == {}
    query = (
        "SELECT operation, table_name, to_json(record_key), before IS NULL, snapshot, source_lsn > 0,"
        " source_transaction > 0, source_sequence LIKE '[null,\"%\"]' FROM {} ORDER BY 3"
    )
    assert rows(captures, query.format("raw_auto")) == rows(captures, query.format("raw_debezium"))


def _completed(session: Session, name: str) -> None:
    wait_until(lambda: standing(session, name)["state"] == "COMPLETED", lambda: standing(session, name))


def _described(session: Session, schema: str) -> list[tuple[Any, ...]]:
    return [row[:3] for row in rows(session, f"DESCRIBE TABLE {schema}.everything")]


def _mirror(session: Session, schema: str) -> dict[tuple[Any, ...], str]:
    """By row and column."""
    names = [name for name, *_ in _described(session, schema) if name not in METADATA]
    shown = ", ".join(f'to_json(to_variant("{name}"))' for name in names)
    found = rows(session, f"SELECT id, {shown} FROM {schema}.everything ORDER BY id")
    return {(row[0], name): value for row in found for name, value in zip(names, row[1:], strict=True)}


def _raw(session: Session, table: str) -> dict[tuple[Any, ...], str]:
    query = f"SELECT after:id::int, f.key, to_json(f.value) || typeof(f.value) FROM {table}, LATERAL FLATTEN(after) f"
    return {(id_, key): value for id_, key, value in rows(session, query)}


def _differences(found: dict[tuple[Any, ...], str], wanted: dict[tuple[Any, ...], str]) -> dict[tuple[Any, ...], Any]:
    every = {*found, *wanted}
    return {place: (found.get(place), wanted.get(place)) for place in every if found.get(place) != wanted.get(place)}
