"""Batches as the engine hands them over, landed without an engine, a source or Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.names import ObjectName
from snowmelt.features.connectors.definitions import CONNECTOR, ConnectorState
from snowmelt.features.connectors.landing import Landing
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.ingest.cdc.envelope import UNAVAILABLE
from snowmelt.ingest.cdc.feed import FeedBatch, FeedEvent, TopicSchema
from snowmelt.runtime.account import Account
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.storage import variant
from tests.features.connectors.envelopes import column, envelope, key_schema, value_schema

TOPIC = "snowmelt.public.items"
_ID = column("id", "int32", "INT4")
_BODY = column("body", "string", "TEXT")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    folder: Path = tmp_path_factory.mktemp("landing")
    with open_account(folder, settings=Settings()) as opened:
        yield opened


class Lander:
    """A connector that exists on paper, and what landed through it."""

    def __init__(self, account: Account, name: str, options: str, *before: str) -> None:
        self.account = account
        session = account.session()
        session.execute(f"CREATE SCHEMA {name}")
        for statement in before:
            session.execute(statement)
        session.execute(
            f"CREATE CONNECTOR {name}.c TYPE = POSTGRES HOST = 'h' DATABASE = 'd' USER = 'u'"
            f" TABLES = ('public.items') INITIALLY_PAUSED = TRUE {options}"
        )
        self.database, self.schema = session.database or "", name.upper()
        session.close()
        self.batches = 0
        self.restart()

    def restart(self) -> None:
        """A new process: what was not kept is forgotten."""
        found = self._find("C", CONNECTOR)
        assert found is not None
        self.landing = Landing(self.account, found)

    def land(
        self,
        *events: tuple[dict[str, Any] | None, dict[str, Any] | str],
        columns: Sequence[dict[str, Any]] = (_ID, _BODY),
    ) -> None:
        self.batches += 1
        schema = TopicSchema(self.batches, TOPIC, key_schema("id"), value_schema(*columns))
        records = tuple(
            FeedEvent(
                TOPIC,
                self.batches,
                json.dumps(key) if key is not None else "",
                value if isinstance(value, str) else json.dumps(value),
            )
            for key, value in events
        )
        self.landing.land(FeedBatch(self.batches, (schema,), records, {"lsn": self.batches}))

    def rows(self, table: str) -> list[dict[str, Any]]:
        found = self._find(table, ObjectKind.TABLE)
        assert found is not None and isinstance(found.definition, TableDefinition)
        with self.account.state.read() as state:
            version = state.versions.visible(found.id)
        assert version is not None
        return [
            {name: _plain(value) for name, value in row.items()}
            for row in sorted(
                self.account.store.read(found.definition.location, version.version).to_pylist(),
                key=lambda row: row.get("CHANGE_NUMBER") or 0,
            )
        ]

    def items(self, *names: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row[name] for name in names or ("ID", "BODY")) for row in self.rows("ITEMS"))

    @property
    def standing(self) -> ConnectorState:
        found = self._find("C", CONNECTOR)
        assert found is not None
        with self.account.state.read() as state:
            return state[ConnectorStandings].require(found.id)

    def _find(self, name: str, kind: ObjectKind) -> CatalogObject | None:
        with self.account.state.read() as state:
            return state.catalog.find(ObjectName(self.database, self.schema, name), [kind])


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"metadata", "value"}:
        return variant.decode(value["metadata"], value["value"])
    return value


def put(id_: int, body: Any, lsn: int, op: str = "c", **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"id": id_}, envelope(op, after={"id": id_, "body": body, **more}, lsn=lsn, table="items")


def read(id_: int, body: str, lsn: int, snapshot: str = "true") -> tuple[dict[str, Any], dict[str, Any]]:
    after = {"id": id_, "body": body}
    return {"id": id_}, envelope("r", after=after, lsn=lsn, snapshot=snapshot, table="items")


def delete(id_: int, lsn: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"id": id_}, envelope("d", before={"id": id_, "body": None}, lsn=lsn, table="items")


def test_changes_that_come_again_land_once(account: Account) -> None:
    raw = Lander(account, "again", "")
    raw.land(put(1, "a", 1), put(2, "b", 1))
    raw.restart()
    raw.land(put(2, "b", 1), put(3, "c", 2))
    assert [(row["OPERATION"], row["AFTER"]["id"]) for row in raw.rows("RAW_CHANGES")] == [
        ("INSERT", 1), ("INSERT", 2), ("INSERT", 3),
    ]  # fmt: skip


def test_a_long_transaction_that_comes_again_from_its_beginning(account: Account) -> None:
    """However long it was: within a transaction the place in the log only grows."""
    raw = Lander(account, "long", "")
    raw.land(put(1, "a", 1), put(2, "b", 2), put(3, "c", 3))
    raw.land(*(put(id_, "x", 10_000 + id_, op="u") for id_ in range(8_200)))
    raw.restart()
    # What landed first is forgotten by identity.
    raw.land(put(0, "x", 10_000, op="u"), put(1, "x", 10_001, op="u"))
    assert len(raw.rows("RAW_CHANGES")) == 3 + 8_200


def test_what_snapshots_read_is_never_taken_for_a_repetition(account: Account) -> None:
    mirror = Lander(account, "reread", "TARGET = MIRROR")
    mirror.land(read(1, "a", 5, "incremental"))
    mirror.land(put(1, "b", 6, op="u"))
    mirror.land(read(1, "c", 5, "incremental"))
    assert mirror.items() == [(1, "c")]


def test_a_raw_row_says_everything(account: Account) -> None:
    raw = Lander(account, "raw_row", "")
    raw.land(put(1, "a", 7, op="u"), delete(1, 8), (None, envelope("t", lsn=9, table="items")))
    update, deletion, truncate = raw.rows("RAW_CHANGES")
    assert (update["TABLE_NAME"], update["BEFORE"], update["AFTER"]) == ("public.items", None, {"id": 1, "body": "a"})
    assert (update["SOURCE_LSN"], update["RECORD_KEY"], update["SNAPSHOT"]) == (7, {"id": 1}, None)
    # NULL, and not the null of JSON.
    assert deletion["AFTER"] is None
    assert (truncate["OPERATION"], truncate["BEFORE"], truncate["AFTER"]) == ("TRUNCATE", None, None)


def test_a_raw_table_of_the_user_is_filled_by_names(account: Account) -> None:
    table = "CREATE TABLE own.raw_changes (operation STRING, after VARIANT, ts_ms NUMBER, mine STRING)"
    raw = Lander(account, "own", "", table)
    raw.land(put(1, "a", 1))
    (row,) = raw.rows("RAW_CHANGES")
    assert (row["OPERATION"], row["AFTER"], row["MINE"]) == ("INSERT", {"id": 1, "body": "a"}, None)


def test_a_snapshot_once_more_begins_with_a_truncate(account: Account) -> None:
    raw = Lander(account, "resnap", "")
    raw.land(read(1, "a", 10, "first"), read(2, "b", 10))
    raw.restart()
    raw.land(read(2, "b", 20, "first"), read(3, "c", 20, "last"))
    operations = [(row["OPERATION"], (row["AFTER"] or {}).get("id")) for row in raw.rows("RAW_CHANGES")]
    assert operations == [("READ", 1), ("READ", 2), ("TRUNCATE", None), ("READ", 2), ("READ", 3)]


def test_reads_can_be_left_out(account: Account) -> None:
    raw = Lander(account, "noreads", "CAPTURE_READS = FALSE")
    raw.land(read(1, "a", 10, "first"), read(2, "b", 10, "last"), put(3, "c", 11))
    assert [row["OPERATION"] for row in raw.rows("RAW_CHANGES")] == ["INSERT"]


def test_poison_is_a_dead_letter_and_the_rest_goes_on(account: Account) -> None:
    raw = Lander(account, "poison", "")
    raw.land(put(1, "a", 1), (None, "not json"), ({"id": 2}, '{"op": "z"}'), put(3, "c", 2))
    assert [row["AFTER"]["id"] for row in raw.rows("RAW_CHANGES")] == [1, 3]
    letters = raw.rows("C_DEAD_LETTERS")
    assert [row["RECORD"] for row in letters] == ["not json", '{"op": "z"}']
    assert all(row["REASON"] for row in letters)


def test_a_mirror_is_upserted_by_key(account: Account) -> None:
    mirror = Lander(account, "upserts", "TARGET = MIRROR")
    mirror.land(put(1, "a", 1), put(2, "b", 2), put(3, "c", 3))
    mirror.land(put(1, "a2", 4, op="u"), delete(2, 5), put(1, "a3", 6, op="u"), put(4, "d", 7), delete(4, 8))
    assert mirror.items() == [(1, "a3"), (3, "c")]
    assert mirror.items("ID", "_SNOWMELT_LSN") == [(1, 6), (3, 3)]
    mirror.land(delete(9, 9), (None, envelope("t", lsn=10, table="items")), put(5, "e", 11))
    assert mirror.items() == [(5, "e")]


def test_keys_of_any_type_are_found_again(account: Account) -> None:
    mirror = Lander(account, "keys", "TARGET = MIRROR")
    stamp = column("id", "string", "TIMESTAMP", name="io.debezium.time.IsoTimestamp")
    key = {"id": "2024-02-29T10:11:12.5Z"}
    mirror.land((key, envelope("c", after={**key, "body": "a"}, lsn=1, table="items")), columns=(stamp, _BODY))
    mirror.land((key, envelope("u", after={**key, "body": "b"}, lsn=2, table="items")), columns=(stamp, _BODY))
    assert mirror.items("BODY") == [("b",)]


def test_a_mirror_keeps_values_that_were_not_sent(account: Account) -> None:
    mirror = Lander(account, "toast", "TARGET = MIRROR")
    flag = column("flag", "boolean", "BOOL")
    columns = (_ID, _BODY, flag)
    mirror.land(put(1, "large", 1, flag=False), put(2, "other", 2, flag=False), columns=columns)
    mirror.land(put(1, UNAVAILABLE, 3, op="u", flag=True), put(2, "new", 4, op="u", flag=True), columns=columns)
    mirror.land(put(2, UNAVAILABLE, 5, op="u", flag=False), columns=columns)
    assert mirror.items("ID", "BODY", "FLAG") == [(1, "large", True), (2, "new", False)]


def test_a_mirror_follows_columns(account: Account) -> None:
    mirror = Lander(account, "columns", "TARGET = MIRROR")
    price = column("price", "string", "NUMERIC", length=6, scale=2)
    mirror.land(put(1, "a", 1, price="1.50"), columns=(_ID, _BODY, price))
    stars = column("stars", "int32", "INT4", default=3)
    wider = column("price", "string", "NUMERIC", length=12, scale=2)
    mirror.land(
        ({"id": 2}, envelope("c", after={"id": 2, "price": "1234567890.25", "stars": 5}, lsn=2, table="items")),
        columns=(_ID, wider, stars),
    )
    assert [str(value) for value in mirror.items("PRICE")[0]] == ["1.50"]
    assert mirror.items("ID", "STARS") == [(1, 3), (2, 5)]
    assert "BODY" not in mirror.rows("ITEMS")[0]


def test_a_mirror_asks_for_what_a_new_type_lost(account: Account) -> None:
    mirror = Lander(account, "retyped", "TARGET = MIRROR")
    mirror.land(put(1, "7", 1))
    mirror.land(put(2, 8, 2), columns=(_ID, column("body", "int32", "INT4")))
    assert mirror.items() == [(1, None), (2, 8)]
    with account.state.read() as state:
        connector = state.catalog.find(ObjectName(mirror.database, mirror.schema, "C"), [CONNECTOR])
        assert connector is not None
        standing = state[ConnectorStandings].require(connector.id)
    assert (standing.snapshot_request, standing.requested_tables) == (1, ("public.items",))


def test_what_a_snapshot_does_not_find_is_gone(account: Account) -> None:
    mirror = Lander(account, "gone", "TARGET = MIRROR")
    mirror.land(read(1, "a", 10, "first"), read(2, "b", 10, "last"), put(3, "c", 9))
    mirror.restart()
    mirror.land(read(2, "b", 20, "first"))
    assert mirror.items("ID") == [(1,), (2,), (3,)]
    mirror.land(read(4, "d", 20, "last"))
    assert mirror.items("ID") == [(2,), (4,)]


def test_soft_deletes_mark(account: Account) -> None:
    mirror = Lander(account, "soft", "TARGET = MIRROR DELETES = SOFT")
    mirror.land(put(1, "a", 1), put(2, "b", 2))
    mirror.land(delete(1, 3))
    assert mirror.items("ID", "BODY", "_SNOWMELT_DELETED") == [(1, "a", True), (2, "b", False)]
    mirror.land(put(1, "again", 4))
    assert mirror.items("ID", "BODY", "_SNOWMELT_DELETED") == [(1, "again", False), (2, "b", False)]


def test_a_value_that_does_not_fit_is_a_dead_letter(account: Account) -> None:
    mirror = Lander(account, "unfit", "TARGET = MIRROR")
    small = column("body", "string", "NUMERIC", length=4, scale=2)
    mirror.land(put(1, "1.25", 1), put(2, "123456.25", 2), put(3, "2.50", 3), columns=(_ID, small))
    assert [str(row[1]) for row in mirror.items()] == ["1.25", "2.50"]
    (letter,) = mirror.rows("C_DEAD_LETTERS")
    assert json.loads(letter["RECORD_KEY"]) == {"id": 2}


def test_changes_right_behind_a_snapshot_stay(account: Account) -> None:
    """They come in one batch with its last row when the lake is slow, and their place in the log is another."""
    mirror = Lander(account, "behind", "TARGET = MIRROR")
    mirror.land(read(1, "a", 10, "first"), read(2, "b", 10))
    mirror.land(read(3, "c", 10, "last"), put(4, "d", 11), put(1, "changed", 12, op="u"))
    assert mirror.items() == [(1, "changed"), (2, "b"), (3, "c"), (4, "d")]


def test_a_topic_knows_the_end_of_its_own_snapshot(account: Account) -> None:
    """The last row of all may be in another topic, and be read before or after."""
    kafka = "ROUTE = KAFKA BOOTSTRAP_SERVERS = 'b:9092' TOPIC_PREFIX = 'snowmelt' TARGET = MIRROR"
    mirror = Lander(account, "topic_end", kafka)
    mirror.land(read(1, "a", 10), read(2, "b", 10, "last_in_data_collection"), put(3, "c", 11))
    assert mirror.items("ID") == [(1,), (2,), (3,)]
    mirror.restart()
    mirror.land(read(2, "b", 20), read(4, "d", 20, "last_in_data_collection"))
    assert mirror.items("ID") == [(2,), (4,)]


def test_a_large_value_goes_with_its_row_to_another_key(account: Account) -> None:
    """Debezium tells an update of a key as a deletion and an insertion, without the values that it left alone."""
    mirror = Lander(account, "moved", "TARGET = MIRROR")
    mirror.land(put(1, "large", 1), put(2, "other", 2), put(3, "third", 3))
    mirror.land(delete(1, 4), put(10, UNAVAILABLE, 4))
    # Twice in one batch, and behind an update that left it alone too.
    mirror.land(put(10, UNAVAILABLE, 5, op="u"), delete(10, 6), put(11, UNAVAILABLE, 6), delete(11, 7),
                put(12, UNAVAILABLE, 7), delete(3, 8), put(13, "new", 8))  # fmt: skip
    assert mirror.items() == [(2, "other"), (12, "large"), (13, "new")]
    assert mirror.standing.snapshot_request == 0


def test_a_large_value_that_is_nowhere_is_asked_for(account: Account) -> None:
    """The end of a batch came between the deletion and the insertion: the table is read anew, beside its changes."""
    mirror = Lander(account, "nowhere", "TARGET = MIRROR")
    mirror.land(put(1, "large", 1))
    mirror.land(delete(1, 2))
    mirror.land(put(10, UNAVAILABLE, 2))
    assert mirror.items() == [(10, None)]
    assert (mirror.standing.snapshot_request, mirror.standing.requested_tables) == (1, ("public.items",))
    mirror.land(read(10, "large", 3, "incremental"))
    assert mirror.items() == [(10, "large")]
