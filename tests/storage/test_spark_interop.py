"""One table, two writers: whatever Spark writes we read, and the other way round."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from pyspark.sql import SparkSession

from snowmelt.runtime.account import Account
from snowmelt.storage import parquet
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.table import AppTransaction, CommitTag, DeltaStore, MergeBranch, MergeSpec
from snowmelt.storage.variant import decode, encode_json
from tests.storage.support import COLUMNS, TAG, document, feed, rows, small
from tests.storage.test_variant import documents, same

UPSERT = MergeSpec(
    't."ID" = s."ID"',
    (
        MergeBranch("matched", "update", None, {"DOC": 's."DOC"', "NAME": 's."NAME"'}),
        MergeBranch("not_matched", "insert", None, {column.name: f's."{column.name}"' for column in COLUMNS}),
    ),
)


@pytest.fixture(scope="module")
def spark(account: Account) -> SparkSession:
    """A plain session of the application that serves all tests: there can be one in a process."""
    session = account.engine.session().newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def delta(store: DeltaStore, location: str) -> str:
    return f"delta.`{store.root.uri_of(location)}`"


def by_spark(spark: SparkSession, source: str) -> dict[int, tuple[Any, ...]]:
    found = spark.sql(f"SELECT ID, NAME, AMOUNT, to_json(DOC) AS DOC, SEEN, AT.INSTANT AS I FROM {source}").collect()
    return {row.ID: (row.NAME, row.AMOUNT, row.DOC, row.SEEN, row.I) for row in found}


def ours(store: DeltaStore, location: str, version: int) -> dict[int, Any]:
    found = store.read(location, version).to_pylist()
    return {row["ID"]: (row["NAME"], document(row["DOC"])) for row in found}


def test_both_writers_on_one_table(spark: SparkSession, store: DeltaStore, wide: str) -> None:
    table = delta(store, wide)
    store.append(wide, rows({"ID": 1, "NAME": "rs", "AMOUNT": Decimal("1.50"), "DOC": '{"a": [1, 2.5]}'}), TAG)
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", CommitTag("t", "spark").user_metadata())
    spark.sql(
        f"INSERT INTO {table} SELECT 2L, 'spark', 2.25, parse_json('{{\"b\": null}}'),"
        " TIMESTAMP_NTZ'2024-01-02 03:04:05.678901',"
        " named_struct('INSTANT', TIMESTAMP'2024-01-02 03:04:05Z', 'OFFSET_MINUTES', 60)"
    )
    spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
    assert store.latest_version(wide) == 2
    store.append(wide, rows({"ID": 3}), TAG)
    store.merge(wide, rows({"ID": 2, "NAME": "merged by rs", "DOC": "[true]"}, {"ID": 4, "DOC": "1e3"}), UPSERT, TAG)
    spark.sql(
        f"MERGE INTO {table} t"
        " USING (SELECT 1L AS ID, parse_json('\"s\"') AS DOC UNION ALL SELECT 5L, NULL) s ON t.ID = s.ID"
        " WHEN MATCHED THEN UPDATE SET NAME = 'merged by spark', DOC = s.DOC"
        " WHEN NOT MATCHED THEN INSERT (ID, DOC) VALUES (s.ID, s.DOC)"
    )
    spark.sql(f"DELETE FROM {table} WHERE ID = 3")
    store.delete(wide, '"ID" = 4', TAG)
    latest = store.latest_version(wide)
    assert latest == 7
    assert ours(store, wide, latest) == {
        1: ("merged by spark", "s"),
        2: ("merged by rs", [True]),
        5: (None, "NULL"),
    }
    assert by_spark(spark, table).keys() == {1, 2, 5}
    assert by_spark(spark, table)[2][:3] == ("merged by rs", Decimal("2.25"), "[true]")
    tags = [info.tag for info in store.commits(wide, -1, latest)]
    assert tags == [TAG, TAG, CommitTag("t", "spark"), TAG, TAG, None, None, TAG]
    assert store.files(wide, latest).plain

    read = (
        spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
        .load(store.root.uri_of(wide))
    )  # fmt: skip
    theirs = {
        (row._change_type, row._commit_version, row.ID, row.NAME, row.DOC)
        for row in read.selectExpr("ID", "NAME", "to_json(DOC) AS DOC", "_change_type", "_commit_version").collect()
    }
    changes = store.changes(wide, [(1, latest)]).read_all()
    assert len(theirs) == changes.num_rows == sum(feed(changes).values())
    assert {entry[:4] for entry in theirs} == {entry[:4] for entry in feed(changes)}
    assert {
        (row["_change_type"], row["_commit_version"], row["ID"], shown_by_spark(row["DOC"]))
        for row in changes.to_pylist()
    } == {(kind, version, key, shown) for kind, version, key, _, shown in theirs}


def shown_by_spark(stored: dict[str, bytes] | None) -> str | None:
    return None if stored is None else json.dumps(decode(**stored), separators=(",", ":"), default=float)


def test_spark_reads_a_file_list(spark: SparkSession, store: DeltaStore, wide: str) -> None:
    store.append(wide, rows({"ID": 1, "DOC": '{"a": 1}'}, {"ID": 2}), TAG)
    spark.sql(f"INSERT INTO {delta(store, wide)} (ID, DOC) VALUES (3L, parse_json('7'))")
    store.update(wide, {"NAME": "'u'"}, '"ID" = 1', TAG)
    files = store.files(wide, 3)
    schema = ", ".join(f"{column.name} {column.type.stored}" for column in COLUMNS)
    spark.read.schema(schema).parquet(*files.uris).createOrReplaceTempView("listed")
    assert by_spark(spark, "listed") == by_spark(spark, delta(store, wide))
    assert by_spark(spark, "listed")[3][2] == "7"
    assert files.total_rows == 3


def test_statistics_of_ours_never_hide_rows_from_spark(spark: SparkSession, store: DeltaStore, wide: str) -> None:
    moment = datetime(2024, 1, 2, 3, 4, 5, 678901)
    store.append(
        wide,
        rows({"ID": 1, "NAME": "x" * 40, "AMOUNT": Decimal("9999999999.99"), "SEEN": moment}, {"ID": 2}),
        TAG,
    )
    table = delta(store, wide)
    for condition in (
        "NAME = repeat('x', 40)",
        "AMOUNT = 9999999999.99",
        "SEEN = TIMESTAMP_NTZ'2024-01-02 03:04:05.678901'",
        "SEEN >= TIMESTAMP_NTZ'2024-01-02 03:04:05.678901'",
        "NAME IS NULL AND ID = 2",
    ):
        assert spark.sql(f"SELECT count(*) AS n FROM {table} WHERE {condition}").collect()[0].n == 1, condition
    # A TIMESTAMP literal would have nanoseconds, which delta-rs can't compare with a column of microseconds.
    literal = "arrow_cast('2024-01-02T03:04:05.678901', 'Timestamp(Microsecond, None)')"
    assert store.delete(wide, f'"SEEN" >= {literal}', TAG).rows_deleted == 1


def test_checkpoints_of_both(spark: SparkSession, store: DeltaStore, wide: str) -> None:
    table = delta(store, wide)
    for key in range(99):
        store.append(wide, rows({"ID": key, "DOC": str(key)}), TAG)
    spark.sql(f"INSERT INTO {table} (ID) VALUES (1000L)")
    log = Path(store.root.uri_of(wide)) / "_delta_log"
    assert (log / f"{100:020d}.checkpoint.parquet").exists()
    # Spark would refuse a pointer that does not have this checksum.
    assert (log / "._last_checkpoint.crc").exists()
    for key in range(100, 200):
        store.append(wide, rows({"ID": key, "DOC": str(key)}), TAG, app_transactions=[AppTransaction("app", key)])
    store.close()
    assert json.loads((log / "_last_checkpoint").read_text())["version"] == 200
    assert not (log / "._last_checkpoint.crc").exists()
    fresh = spark.newSession()
    assert len(by_spark(fresh, table)) == 200
    reopened = DeltaStore(store.root)
    assert reopened.app_version(wide, "app") == 199
    assert reopened.row_count(wide, reopened.latest_version(wide)) == 200


def test_restore_and_clone_are_readable_by_spark(spark: SparkSession, store: DeltaStore, wide: str) -> None:
    store.append(wide, rows({"ID": 1, "DOC": "{}"}), TAG)
    spark.sql(f"UPDATE {delta(store, wide)} SET NAME = 'later'")
    store.restore(wide, 1, TAG)
    assert by_spark(spark, delta(store, wide))[1][0] is None
    store.clone(wide, 2, "shop/public/clone-1", TAG)
    clone = delta(store, "shop/public/clone-1")
    assert by_spark(spark, clone)[1][0] == "later"
    spark.sql(f"INSERT INTO {clone} (ID) VALUES (2L)")
    spark.sql(f"DELETE FROM {clone} WHERE ID = 1")
    assert ours(store, "shop/public/clone-1", 2) == {2: (None, "NULL")}
    assert by_spark(spark, delta(store, wide)).keys() == {1}


@settings(max_examples=8, deadline=None)
@given(documents)
def test_variants_are_what_spark_makes_of_the_same_json(spark: SparkSession, document: Any) -> None:
    text = json.dumps(document)
    theirs = spark.createDataFrame([(text,)], "t string").selectExpr("parse_json(t) AS v").collect()[0].v
    assert same(decode(theirs.metadata, theirs.value), decode(*encode_json(text)))


def test_spark_reads_what_we_encode(spark: SparkSession, store: DeltaStore, wide: str) -> None:
    texts = [
        "null", "true", "-1", "300", "70000", "9223372036854775807", "92233720368547758070", "1.5", "1e300",
        '"short"', json.dumps("long " * 20), "[]", "{}", '{"b": {"c": [1, {"d": "é"}]}, "a": null}',
        json.dumps({f"k{n}": n for n in range(300)}), json.dumps(list(range(300))),
    ]  # fmt: skip
    store.append(wide, rows(*({"ID": key, "DOC": text} for key, text in enumerate(texts))), TAG)
    found = spark.sql(f"SELECT ID, to_json(DOC) AS shown FROM {delta(store, wide)}").collect()
    assert {row.ID: json.loads(row.shown) for row in found} == {key: json.loads(text) for key, text in enumerate(texts)}
    kinds = spark.sql(f"SELECT ID, schema_of_variant(DOC) AS kind FROM {delta(store, wide)} WHERE ID < 9").collect()
    parsed = spark.createDataFrame(list(enumerate(texts)), "ID long, t string")
    expected = parsed.selectExpr("ID", "schema_of_variant(parse_json(t)) AS kind").where("ID < 9").collect()
    assert {(row.ID, row.kind) for row in kinds} == {(row.ID, row.kind) for row in expected}


def test_other_readers(store: DeltaStore, wide: str) -> None:
    """DuckDB over the Arrow data that delta-rs gives, as any tool without Spark would read it."""
    duckdb = pytest.importorskip("duckdb")
    store.append(wide, rows({"ID": 1, "NAME": "a", "DOC": "1"}, {"ID": 2}), TAG)
    connection = duckdb.connect()
    connection.register("found", store.read(wide, 1, ["ID", "NAME", "AT"]))
    assert connection.execute('SELECT count("NAME"), sum("ID") FROM found').fetchone() == (1, 3)


def test_spark_reads_files_made_of_row_groups_of_others(
    spark: SparkSession, store: DeltaStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 1000)
    store.append(location, small(*((key, f"name {key}") for key in range(10_000))), TAG)
    for step, key in enumerate((4500, 9999, 0)):
        version = store.latest_version(location)
        (file,) = [one.path for one in store.files(location, version).files]
        place = pa.table({FILE: pa.array([file]), ROW: pa.array([key - (step if key else 0)], pa.int64())})
        store.rewrite(location, version, RowChanges(deleted=place), TAG, "DELETE", origins=True)
    found = spark.sql(f"SELECT count(*), sum(ID), min(NAME) FROM {delta(store, location)}").collect()[0]
    assert tuple(found) == (9997, sum(range(10_000)) - 4500 - 9999 - 0, "name 1")
    some = spark.sql(f"SELECT ID FROM {delta(store, location)} WHERE ID BETWEEN 4498 AND 4502 OR NAME = 'name 9998'")
    assert sorted(row.ID for row in some.collect()) == [4498, 4499, 4501, 4502, 9998]
