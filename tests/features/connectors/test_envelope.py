from __future__ import annotations

import json
from typing import Any

import pytest

from snowmelt.ingest.cdc.envelope import (
    UNAVAILABLE,
    CapturedChange,
    Operation,
    PoisonError,
    SnapshotMark,
    is_unavailable,
    parse,
)
from tests.features.connectors.envelopes import TABLE, envelope, with_schema


def parsed(value: dict[str, Any], key: dict[str, Any] | None = None) -> CapturedChange:
    change = parse(json.dumps(key) if key is not None else None, json.dumps(value))
    assert change is not None
    return change


@pytest.mark.parametrize(
    ("op", "operation"),
    [("r", Operation.READ), ("c", Operation.INSERT), ("u", Operation.UPDATE)],
)
def test_an_envelope_says_what_happened(op: str, operation: Operation) -> None:
    change = parsed(envelope(op, after={"id": 1, "n": None}, lsn=42, tx=7), {"id": 1})
    assert change.operation is operation
    assert (change.table, change.key, change.before, change.after) == (TABLE, {"id": 1}, None, {"id": 1, "n": None})
    assert (change.lsn, change.transaction, change.ts_ms) == (42, 7, 1_700_000_000_000)


def test_a_delete_has_no_row_after_it() -> None:
    change = parsed(envelope("d", before={"id": 1}), {"id": 1})
    assert change.operation is Operation.DELETE
    assert change.after is None


def test_a_truncate_is_about_the_table_alone() -> None:
    change = parsed(envelope("t"))
    assert (change.operation, change.key, change.before, change.after) == (Operation.TRUNCATE, None, None, None)


def test_schema_or_not_makes_no_difference() -> None:
    value, key = envelope("u", after={"id": 1, "n": 2.50}), {"id": 1}
    bare = parse(json.dumps(key), json.dumps(value))
    wrapped = parse(with_schema(key), with_schema(value))
    assert bare == wrapped


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("first", SnapshotMark.FIRST), ("true", SnapshotMark.MIDDLE), ("first_in_data_collection", SnapshotMark.MIDDLE),
        ("last_in_data_collection", SnapshotMark.LAST_OF_TABLE), ("last", SnapshotMark.LAST),
        ("incremental", SnapshotMark.INCREMENTAL), ("false", SnapshotMark.NONE),
    ],
)  # fmt: skip
def test_snapshots_are_marked(word: str, expected: SnapshotMark) -> None:
    assert parsed(envelope("r", after={"id": 1}, snapshot=word)).snapshot is expected


def test_a_change_is_known_by_more_than_its_place_in_the_log() -> None:
    """One record of the log can hold many rows."""
    first = parsed(envelope("c", after={"id": 1}, lsn=9), {"id": 1})
    second = parsed(envelope("c", after={"id": 2}, lsn=9), {"id": 2})
    again = parsed(envelope("c", after={"id": 1}, lsn=9, ts_ms=1_700_000_009_999), {"id": 1})
    assert first.identity != second.identity
    assert first.identity == again.identity


@pytest.mark.parametrize(
    "text",
    [
        "not json", "[1]", "null", "{}", '{"op": "x", "source": {"table": "t"}}', '{"op": "c", "after": {"a": 1}}',
        '{"op": "c", "source": {"schema": "s", "table": "t"}}', '{"op": "u", "after": 3, "source": {"table": "t"}}',
        '{"op": "d", "source": {"schema": "s", "table": "t"}}',
    ],
)  # fmt: skip
def test_what_is_no_envelope_is_poison(text: str) -> None:
    with pytest.raises(PoisonError):
        parse(None, text)


def test_messages_and_transaction_borders_are_no_changes() -> None:
    assert parse(None, '{"op": "m", "source": {}, "message": {}}') is None
    assert parse(None, '{"status": "BEGIN", "id": "1:2"}') is None


def test_values_that_were_not_sent_are_recognised_in_every_form() -> None:
    assert is_unavailable(UNAVAILABLE)
    assert is_unavailable([UNAVAILABLE])
    assert is_unavailable("X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==")
    assert is_unavailable([ord(letter) for letter in UNAVAILABLE])
    assert not is_unavailable("text")
    assert not is_unavailable(None)
