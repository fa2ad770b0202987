"""Tables in which a pipeline keeps what it saw: heartbeats, changed columns, reconciliations, settled dead letters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from snowmelt.core.names import literal
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.drift import ColumnChange
from snowmelt.extract_load.reconciling.model import Reconciliation

HEARTBEATS_DDL = (
    "(flow VARCHAR NOT NULL COMMENT 'what was looked at', "
    "looked_at TIMESTAMP_LTZ NOT NULL COMMENT 'when all that the source had was read', "
    "place VARCHAR COMMENT 'how far changes were looked through', run_id VARCHAR NOT NULL)"
)
SCHEMA_CHANGES_DDL = (
    "(flow VARCHAR NOT NULL, column_name VARCHAR NOT NULL, "
    "difference VARCHAR NOT NULL COMMENT 'new, missing, renamed or retyped', "
    "expected VARCHAR, found VARCHAR, records NUMBER NOT NULL, run_id VARCHAR NOT NULL, "
    "first_seen TIMESTAMP_LTZ NOT NULL, "
    "ended_at TIMESTAMP_LTZ COMMENT 'when the source was as its columns say again')"
)
RECONCILIATIONS_DDL = (
    "(flow VARCHAR NOT NULL, source_rows NUMBER NOT NULL, table_rows NUMBER NOT NULL, missing NUMBER NOT NULL, "
    "different NUMBER NOT NULL, extra NUMBER NOT NULL, repaired NUMBER NOT NULL, "
    "breaches NUMBER NOT NULL COMMENT 'what is left, and should not be', "
    "days ARRAY COMMENT 'on which counts or sums differed', examples ARRAY COMMENT 'keys', "
    "run_id VARCHAR NOT NULL, checked_at TIMESTAMP_LTZ NOT NULL)"
)
SETTLED_LETTERS_DDL = (
    "(flow VARCHAR NOT NULL, reason VARCHAR NOT NULL, record VARIANT NOT NULL, origin VARCHAR NOT NULL, "
    "source_position VARCHAR NOT NULL, run_id VARCHAR NOT NULL, loaded_at TIMESTAMP_LTZ NOT NULL, "
    "settled VARCHAR NOT NULL COMMENT 'replayed, or set aside', settled_by VARCHAR NOT NULL, "
    "settled_at TIMESTAMP_LTZ NOT NULL)"
)


def note_heartbeats(connection: SqlConnection, places: Mapping[str, str | None], run_id: str) -> None:
    """All that these sources had was read now, whether it was anything or not: they are quiet, and not dead."""
    for flow, place in places.items():
        connection.execute(
            f"MERGE INTO heartbeats USING (SELECT {literal(flow)} AS looked) ON flow = looked "
            f"WHEN MATCHED THEN UPDATE SET looked_at = CURRENT_TIMESTAMP(), place = {_text(place)}, "
            f"run_id = {literal(run_id)} "
            f"WHEN NOT MATCHED THEN INSERT (flow, looked_at, place, run_id) "
            f"VALUES (looked, CURRENT_TIMESTAMP(), {_text(place)}, {literal(run_id)})"
        )


def place_of(connection: SqlConnection, flow: str) -> str | None:
    row = connection.execute(f"SELECT place FROM heartbeats WHERE flow = {literal(flow)}").fetchone()
    return None if row is None else row[0]


def note_columns(
    connection: SqlConnection, flow: str, changes: Sequence[ColumnChange], run_id: str, *, looked: bool
) -> list[ColumnChange]:
    """Those that nobody was told of yet. `looked`: the source was seen, so that what is not among them is over."""
    still = f"flow = {literal(flow)} AND ended_at IS NULL"
    query = f"SELECT column_name, difference, found FROM schema_changes WHERE {still}"
    known = {tuple(row) for row in connection.execute(query).fetchall()}
    now = {(item.column, item.difference, item.found): item for item in changes}
    for mark in known - now.keys() if looked else ():
        column, difference, found = map(literal, mark)
        connection.execute(
            f"UPDATE schema_changes SET ended_at = CURRENT_TIMESTAMP() WHERE {still} "
            f"AND column_name = {column} AND difference = {difference} AND found = {found}"
        )
    fresh = [item for mark, item in now.items() if mark not in known]
    for item in fresh:
        texts = ", ".join(map(literal, (flow, item.column, item.difference, item.expected, item.found)))
        connection.execute(
            "INSERT INTO schema_changes "
            "(flow, column_name, difference, expected, found, records, run_id, first_seen) "
            f"SELECT {texts}, {item.count}, {literal(run_id)}, CURRENT_TIMESTAMP()"
        )
    return fresh


def note_reconciliation(connection: SqlConnection, found: Reconciliation, run_id: str) -> None:
    numbers = (
        found.source_rows, found.table_rows, found.count("missing"), found.count("different"), found.count("extra"),
        found.repaired, found.breaches,
    )  # fmt: skip
    connection.execute(
        "INSERT INTO reconciliations (flow, source_rows, table_rows, missing, different, extra, repaired, breaches, "
        "days, examples, run_id, checked_at) "
        f"SELECT {literal(found.compared.flow)}, {', '.join(map(str, numbers))}, {_array(found.days)}, "
        f"{_array(found.examples())}, {literal(run_id)}, CURRENT_TIMESTAMP()"
    )


def seconds_since_reconciliation(connection: SqlConnection, flow: str) -> float | None:
    """The seconds since the last reconciliation; None before the first one."""
    age = "DATEDIFF('second', MAX(checked_at), CURRENT_TIMESTAMP())"
    row = connection.execute(f"SELECT {age} FROM reconciliations WHERE flow = {literal(flow)}").fetchone()
    return None if row is None or row[0] is None else float(row[0])


def last_breaches(connection: SqlConnection, flow: str) -> int:
    """What was left the last time; 0 before the first one."""
    row = connection.execute(
        f"SELECT breaches FROM reconciliations WHERE flow = {literal(flow)} ORDER BY checked_at DESC LIMIT 1"
    ).fetchone()
    return 0 if row is None else int(row[0])


def _array(values: Iterable[Any]) -> str:
    return f"PARSE_JSON({literal(json.dumps(list(values)))})::ARRAY"


def _text(value: str | None) -> str:
    return "NULL" if value is None else literal(value)
