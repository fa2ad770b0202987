"""Columns that are not as they are known: counted under every policy, kept, and told once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import snowmelt
from snowmelt.extract_load import (
    Batch,
    ColumnChange,
    Extractor,
    Field,
    Flow,
    FollowSchema,
    PostgresExtractor,
    RawLoader,
    RejectedRecordError,
    Rows,
    SchemaDriftError,
    SchemaPolicy,
    column_changes,
    compare_columns,
    run_flow,
)
from snowmelt.extract_load.letters import chosen_letters, open_letters, replay_letters, settle_letters
from snowmelt.extract_load.noting import (
    HEARTBEATS_DDL,
    SCHEMA_CHANGES_DDL,
    SETTLED_LETTERS_DDL,
    note_columns,
    note_heartbeats,
    place_of,
)
from tests.support.postgres import empty_schema

FIELDS = (Field("id", "NUMBER(38,0)", nullable=False), Field("city"), Field("amount", "NUMBER(12,2)"))


def seen(policy: SchemaPolicy, *records: dict[str, Any]) -> list[tuple[str, str]]:
    schema = FollowSchema(FIELDS, policy)
    for record in records:
        with suppress(RejectedRecordError, SchemaDriftError):
            schema.transform(record)
    return [(change.column, change.difference) for change in column_changes(schema)]


@pytest.mark.parametrize("policy", SchemaPolicy)
def test_changed_columns_are_counted_under_every_policy(policy: SchemaPolicy) -> None:
    whole = {"id": 1, "city": "Rome", "amount": 1}
    assert seen(policy, whole) == []
    assert seen(policy, {**whole, "phone": "1"}) == [("phone", "new")]
    assert seen(policy, {**whole, "amount": "much"}) == [("amount", "retyped")]
    assert seen(policy, {"id": 1, "city": "Rome"}) == [("amount", "missing")]
    assert seen(policy, {"id": 1, "city": "Rome", "total": 2}) == [("amount", "renamed")]
    assert seen(policy, {"id": 1, "city": "Rome", "note": "x"}) == [("note", "new"), ("amount", "missing")]
    assert seen(policy, whole, {"id": 2, "city": "Oslo"}) == [], "a record may leave a field out"


@pytest.mark.parametrize("policy", SchemaPolicy)
def test_whole_columns_are_counted_as_records_are(policy: SchemaPolicy) -> None:
    schema = FollowSchema(FIELDS, policy)
    table = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"], "total": [1, 2]})
    try:
        schema.transform_rows(Rows(table))
    except SchemaDriftError:
        assert policy is SchemaPolicy.FREEZE
    (change,) = column_changes(schema)
    assert (change.difference, change.expected, change.found) == ("renamed", "amount", "total")


def test_a_database_tells_before_any_row_is_read(postgres_url: str) -> None:
    url = empty_schema(postgres_url)
    with psycopg.connect(url, autocommit=True) as source:
        source.execute("CREATE TABLE t (id bigint, town text, amount text, at timestamptz, price numeric(20, 4))")
    table = PostgresExtractor(url, "t").reflected()
    known = [*FIELDS, Field("at", "TIMESTAMP_LTZ"), Field("price", "NUMBER(12,2)")]
    found = compare_columns(known, [(column.name, column.type) for column in table.columns])
    assert {(change.column, change.difference, change.found) for change in found} == {
        ("city", "renamed", "town"), ("amount", "retyped", "text"), ("price", "retyped", "numeric(20, 4)"),
    }  # fmt: skip


class Given(Extractor):
    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        self.records = records

    def extract(self, after: str | None) -> Iterator[Batch]:
        if after is None:
            yield Batch(self.records, "1", "given")


def test_a_flow_tells_what_changed(connection: snowmelt.Connection) -> None:
    loader = RawLoader(connection, "raw", "given", "run")
    records = [{"id": 1, "city": "Rome", "amount": 1, "phone": "1"}]
    result = run_flow(Flow("given", Given(records), loader, FollowSchema(FIELDS, SchemaPolicy.EVOLVE)))
    loader.close()
    assert [str(change) for change in result.column_changes] == ["column phone is new (VARCHAR)"]


def _open_columns(connection: snowmelt.Connection) -> dict[str, int]:
    """How many changed columns each flow has that are not over."""
    query = "SELECT flow, COUNT(*) FROM schema_changes WHERE ended_at IS NULL GROUP BY flow"
    return {flow: int(count) for flow, count in connection.execute(query).fetchall()}


def test_changes_are_told_once_and_end(connection: snowmelt.Connection) -> None:
    connection.execute(f"CREATE TABLE schema_changes {SCHEMA_CHANGES_DDL}")
    new, retyped = ColumnChange("phone", "new", "", "VARCHAR"), ColumnChange("a'b", "retyped", "NUMBER", "VARCHAR")
    assert note_columns(connection, "orders", [new, retyped], "r1", looked=True) == [new, retyped]
    assert note_columns(connection, "orders", [new, retyped], "r2", looked=True) == []
    assert _open_columns(connection) == {"orders": 2}
    assert note_columns(connection, "orders", [], "r3", looked=False) == []
    assert _open_columns(connection) == {"orders": 2}, "nothing came, so nothing is known of its columns"
    note_columns(connection, "orders", [retyped], "r4", looked=True)
    assert _open_columns(connection) == {"orders": 1}
    assert note_columns(connection, "orders", [new, retyped], "r5", looked=True) == [new], "it came back"


def test_heartbeats_and_places(connection: snowmelt.Connection) -> None:
    connection.execute(f"CREATE TABLE heartbeats {HEARTBEATS_DDL}")
    assert place_of(connection, "orders") is None
    note_heartbeats(connection, {"orders": "5", "quiet": None}, "r1")
    note_heartbeats(connection, {"orders": "7", "quiet": None}, "r2")
    assert place_of(connection, "orders") == "7"
    assert connection.execute("SELECT COUNT(*) FROM heartbeats").fetchall() == [(2,)]


def test_letters_are_replayed_or_set_aside(connection: snowmelt.Connection) -> None:
    connection.execute(f"CREATE TABLE settled_letters {SETTLED_LETTERS_DDL}")
    for number in (1, 2, 3):
        connection.execute(
            f"INSERT INTO letters SELECT 'orders', 'no key', PARSE_JSON('{{\"n\": {number}}}'), 'file', "
            f"'record {number}', 'run', CURRENT_TIMESTAMP()"
        )
    letters = open_letters(connection, "letters")
    assert [letter.record for letter in letters] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert chosen_letters(letters, [letters[1].id]) == [letters[1]]
    with pytest.raises(KeyError):
        chosen_letters(letters, ["nothing"])
    failed = replay_letters(
        connection, "letters", letters, lambda letter: "still wrong" if letter.record["n"] == 1 else None, "me"
    )
    assert failed == {letters[0].id: "still wrong"}
    settle_letters(connection, "letters", letters[:1], "set aside", "me")
    assert open_letters(connection, "letters") == []
    kept = connection.execute("SELECT settled, settled_by, COUNT(*) FROM settled_letters GROUP BY 1, 2 ORDER BY 1")
    assert kept.fetchall() == [("replayed", "me", 2), ("set aside", "me", 1)]
