from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.model import Column
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.log import commit_name
from snowmelt.storage.table import AppTransaction, CommitTag, DeltaStore, MergeBranch, MergeSpec
from tests.storage.support import COLUMNS, SMALL, TAG, document, feed, names, rows, small

ON_ID = 't."ID" = s."ID"'


def test_a_new_table_has_the_features_it_needs_and_no_others(store: DeltaStore, wide: str) -> None:
    found = store.files(wide, 0)
    assert found.metadata.features == {"changeDataFeed", "invariants", "timestampNtz", "variantType"}
    assert found.metadata.configuration["delta.enableExpiredLogCleanup"] == "false"
    assert (found.files, found.total_rows, found.total_bytes, found.plain) == ((), 0, 0, True)


def test_create_with_data(store: DeltaStore) -> None:
    assert store.create("a/b/c-1", SMALL, change_feed=False, tag=TAG, data=small((1, "one"))) == 0
    assert names(store, "a/b/c-1") == [(1, "one")]


def test_create_refuses_an_existing_table(store: DeltaStore, location: str) -> None:
    with pytest.raises(SnowmeltError):
        store.create(location, SMALL, change_feed=True, tag=TAG)


def test_append_and_read_every_type(store: DeltaStore, wide: str) -> None:
    given = rows({"ID": 1, "NAME": "é", "DOC": '{"a": [1.50, null]}'}, {"ID": 2, "DOC": "null"}, {"ID": 3})
    result = store.append(wide, given, TAG)
    assert (result.version, result.rows_inserted, result.files_added, result.committed) == (1, 3, 1, True)
    assert result.bytes_delta == store.size(wide, 1) > 0
    assert store.read(wide, 1).equals(given)
    assert [document(row) for row in store.read(wide, 1, ["DOC"]).column("DOC").to_pylist()][1:] == [
        None,
        "NULL",
    ]
    assert store.row_count(wide, 1) == 3
    assert store.row_count(wide, 0) == 0


def test_append_fits_other_arrow_types_and_fills_missing_columns(store: DeltaStore, location: str) -> None:
    store.append(location, pa.table({"ID": pa.array([1], pa.int32())}), TAG)
    store.append(location, pa.table({"NAME": pa.array(["x"], pa.large_string()), "ID": [2]}), TAG)
    assert names(store, location) == [(1, None), (2, "x")]


def test_append_refuses_null_where_there_must_be_none(store: DeltaStore, location: str) -> None:
    with pytest.raises(SnowmeltError) as caught:
        store.append(location, small((1, "a")).set_column(0, "ID", pa.array([None], pa.int64())), TAG)
    assert caught.value.code == "100072"
    assert store.latest_version(location) == 0


def test_append_refuses_unknown_columns_and_values_that_do_not_fit(store: DeltaStore, location: str) -> None:
    for data in (pa.table({"ID": [1], "OTHER": [1]}), pa.table({"ID": ["x"]})):
        with pytest.raises(SnowmeltError):
            store.append(location, data, TAG)
    assert store.latest_version(location) == 0


def test_appending_nothing_is_still_a_commit(store: DeltaStore, location: str) -> None:
    result = store.append(location, small(), TAG, app_transactions=[AppTransaction("channel", 4)])
    assert (result.version, result.files_added) == (1, 0)
    assert store.app_version(location, "channel") == 4


def test_overwrite_delete_update(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b"), (3, "c")), TAG)
    updated = store.update(location, {"NAME": "concat(\"NAME\", '!')"}, '"ID" > 1', TAG)
    assert (updated.version, updated.rows_updated) == (2, 2)
    deleted = store.delete(location, '"ID" = 3', TAG)
    assert (deleted.version, deleted.rows_deleted) == (3, 1)
    assert names(store, location) == [(1, "a"), (2, "b!")]
    replaced = store.overwrite(location, small((9, "z")), TAG)
    assert (replaced.version, replaced.rows_inserted, replaced.rows_deleted) == (4, 1, 2)
    assert names(store, location) == [(9, "z")]
    assert names(store, location, 1) == [(1, "a"), (2, "b"), (3, "c")]


def test_nothing_matched_is_no_commit(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), TAG)
    assert not store.delete(location, '"ID" = 7', TAG).committed
    assert not store.update(location, {"NAME": "'x'"}, '"ID" = 7', TAG).committed
    assert store.latest_version(location) == 1


def test_merge(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b"), (3, "c")), TAG)
    spec = MergeSpec(
        ON_ID,
        (
            MergeBranch("matched", "delete", 's."NAME" IS NULL'),
            MergeBranch("matched", "update", None, {"NAME": 's."NAME"'}),
            MergeBranch("not_matched", "insert", None, {"ID": 's."ID"', "NAME": 's."NAME"'}),
        ),
    )
    result = store.merge(location, small((1, "A"), (2, None), (4, "d")), spec, TAG)
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted) == (1, 1, 1)
    assert names(store, location) == [(1, "A"), (3, "c"), (4, "d")]


UPDATE = MergeBranch("matched", "update", None, {"NAME": 's."NAME"'})


@pytest.mark.parametrize(
    ("clauses", "allowed"),
    [
        ((UPDATE,), False),
        ((MergeBranch("matched", "delete", "s.\"NAME\" = 'x'"), UPDATE), False),
        ((MergeBranch("matched", "update", "s.\"NAME\" = 'x'", {"NAME": "'u'"}),), True),
        ((MergeBranch("matched", "delete"),), True),
        (
            (
                MergeBranch("matched", "delete", "s.\"NAME\" = 'x'"),
                MergeBranch("matched", "delete", "s.\"NAME\" = 'y'"),
            ),
            True,
        ),
        ((MergeBranch("not_matched", "insert", None, {"ID": 's."ID"'}),), True),
    ],
)
def test_merge_of_two_source_rows_into_one(
    store: DeltaStore, location: str, clauses: tuple[MergeBranch, ...], allowed: bool
) -> None:
    """As Snowflake has it: one update, or any number of deletes, but no two that could disagree."""
    store.append(location, small((1, "a"), (2, "b")), TAG)
    spec = MergeSpec(ON_ID, clauses)
    if allowed:
        store.merge(location, small((1, "x"), (1, "y")), spec, TAG)
        return
    with pytest.raises(SnowmeltError) as caught:
        store.merge(location, small((1, "x"), (1, "y")), spec, TAG)
    assert caught.value.code == "100090"
    assert store.latest_version(location) == 1
    assert store.append(location, small((3, "c")), TAG).version == 2


def test_tags_and_metrics_of_commits(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), CommitTag("t2", None), app_transactions=[AppTransaction("app", 7)])
    store.delete(location, '"ID" = 1', CommitTag("t3", "q3"))
    created, appended, deleted = store.commits(location, -1, 2)
    assert [info.tag for info in (created, appended, deleted)] == [
        TAG,
        CommitTag("t2"),
        CommitTag("t3", "q3"),
    ]
    assert [info.operation for info in (created, appended, deleted)] == ["CREATE TABLE", "WRITE", "DELETE"]
    assert appended.app_transactions == (AppTransaction("app", 7),)
    assert deleted.metrics["num_deleted_rows"] == 1
    assert (created.data_change, created.schema_change, appended.data_change) == (False, True, True)
    assert 0 < created.timestamp <= appended.timestamp <= deleted.timestamp


@pytest.mark.parametrize("text", [None, 5, "", "free text", '{"snowmelt": 1}', '{"snowmelt": {}}', "[1]", '"snowmelt"'])
def test_other_peoples_metadata_is_no_tag(text: object) -> None:
    assert CommitTag.parse({"userMetadata": text}) is None
    assert CommitTag.parse({}) is None


def test_restore_undoes_rows_schema_and_txn(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), TAG, app_transactions=[AppTransaction("one", 1)])
    store.append(location, small((2, "b")), TAG, app_transactions=[AppTransaction("one", 2), AppTransaction("two", 5)])
    store.update(location, {"NAME": "'x'"}, None, TAG)
    assert store.restore(location, 1, CommitTag("undo")) == 4
    assert names(store, location) == [(1, "a")]
    assert (store.app_version(location, "one"), store.app_version(location, "two")) == (1, None)
    assert store.app_version(location, "two", 2) == 5
    assert store.restore(location, 4, TAG) == 4
    assert store.row_count(location, 4) == 1


def test_changes_of_ranges_pass_over_what_was_undone(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b")), TAG)
    store.delete(location, '"ID" = 1', TAG)
    store.restore(location, 1, TAG)
    store.update(location, {"NAME": "'c'"}, '"ID" = 2', TAG)
    reader = store.changes(location, [(1, 1), (4, 4)])
    assert reader.schema.names == ["ID", "NAME", "_change_type", "_commit_version"]
    assert feed(reader.read_all()) == {
        ("insert", 1, 1, "a", "'NULL'"): 1,
        ("insert", 1, 2, "b", "'NULL'"): 1,
        ("update_preimage", 4, 2, "b", "'NULL'"): 1,
        ("update_postimage", 4, 2, "c", "'NULL'"): 1,
    }
    assert store.changes(location, []).read_all().num_rows == 0


def test_versions(store: DeltaStore, location: str) -> None:
    for version in range(1, 13):
        assert store.append(location, small((version, None)), TAG).version == version
        assert store.latest_version(location) == version
    assert store.has_version(location, 12)
    assert not store.has_version(location, 13)
    assert not store.has_version(location, -1)
    assert DeltaStore(store.root).latest_version(location) == 12


def test_there_is_no_table(store: DeltaStore) -> None:
    for call in (
        store.latest_version,
        lambda where: store.files(where, 0),
        lambda where: store.read(where, 0),
    ):
        with pytest.raises(SnowmeltError):
            call("no/such/table-1")


def test_checkpoints_do_not_change_what_is_there(store: DeltaStore, location: str) -> None:
    for key in range(205):
        store.append(location, small((key, None)), TAG)
    store.close()
    log = store.root.path(location) / "_delta_log"
    assert (log / "00000000000000000200.checkpoint.parquet").exists()
    reopened = DeltaStore(store.root)
    assert reopened.latest_version(location) == 205
    assert set(reopened.files(location, 205).files) == set(store.files(location, 205).files)
    assert len(reopened.files(location, 77).files) == 77


def test_what_a_crash_leaves_behind(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), TAG)
    folder = store.root.path(location)
    log = folder / "_delta_log"
    (log / f".{commit_name(2)}.123.tmp").write_text('{"commitInfo":{"ti')
    (log / "_commit_5f.json.tmp").write_text('{"comm')
    (log / "_last_checkpoint").write_text('{"vers')
    (folder / "part-00000-orphan-c000.zstd.parquet").write_bytes(b"PAR1")
    reopened = DeltaStore(store.root)
    assert reopened.latest_version(location) == 1
    assert reopened.append(location, small((2, "b")), TAG).version == 2
    assert names(reopened, location) == [(1, "a"), (2, "b")]
    (log / "_last_checkpoint").write_text(json.dumps({"version": 900, "size": 1}))
    assert DeltaStore(store.root).latest_version(location) == 2
    (log / "_last_checkpoint").unlink()
    assert DeltaStore(store.root).latest_version(location) == 2


def test_a_log_whose_beginning_was_cleaned_away(store: DeltaStore, location: str) -> None:
    for key in range(101):
        store.append(location, small((key, None)), TAG)
    store.close()
    log = store.root.path(location) / "_delta_log"
    for version in range(100):
        (log / commit_name(version)).unlink()
    (log / "_last_checkpoint").unlink()
    reopened = DeltaStore(store.root)
    assert reopened.latest_version(location) == 101
    assert reopened.row_count(location, 101) == 101


def test_two_writers_that_race_for_a_version(store: DeltaStore, location: str) -> None:
    """The callers promise one writer; should another tool join in, no commit is lost."""
    other = DeltaStore(store.root)
    barrier = threading.Barrier(2)

    def write(writer: DeltaStore, first: int) -> None:
        barrier.wait()
        for key in range(first, first + 20):
            writer.append(location, small((key, None)), TAG)

    threads = [threading.Thread(target=write, args=(one, at)) for one, at in ((store, 0), (other, 100))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.latest_version(location) == 40
    assert store.row_count(location, 40) == 40


def test_threads_on_different_tables(store: DeltaStore) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            where = f"a/b/t{number}-1"
            store.create(where, SMALL, change_feed=True, tag=TAG)
            for key in range(10):
                store.append(where, small((key, "x")), TAG)
            store.delete(where, '"ID" < 5', TAG)
            assert store.row_count(where, store.latest_version(where)) == 5
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(list(store.root.locations())) == 6


def test_sync_flushes_files_log_and_folders(store: DeltaStore, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(location, small((1, "a"), (2, "b")), TAG)
    store.update(location, {"NAME": "'x'"}, '"ID" = 1', TAG)
    flushed: list[Path] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    store.sync(location, 2)
    folder = store.root.path(location)
    changes = {path for path in flushed if path.parent == folder / "_change_data"}
    (data,) = (Path(uri.removeprefix("file://")) for uri in store.files(location, 2).uris)
    assert set(flushed) == changes | {
        data, folder, folder / "_delta_log", folder / "_change_data", folder / "_delta_log" / commit_name(2)
    }  # fmt: skip
    assert changes
    # Content before the names that lead to it.
    assert flushed.index(data) < flushed.index(folder)
    flushed.clear()
    store.sync(location, 0)
    assert Path(store.root.uri) in flushed


def test_locations_and_removal(store: DeltaStore, location: str, wide: str) -> None:
    assert sorted(store.root.locations()) == sorted([location, wide])
    store.remove(wide)
    store.remove(wide)
    assert list(store.root.locations()) == [location]
    assert not store.has_version(wide, 0)


def test_names_of_folders(tmp_path: Path) -> None:
    root = StorageRoot("file:///data/root%20one")
    assert root.uri == "/data/root one"
    made = root.new_location("SHOP", "My Schema", "../Ünsafe*name?")
    assert made.startswith("shop/my_schema/nsafe_name-")
    assert root.new_location("A", "B", "C") != root.new_location("A", "B", "C")
    assert root.uri_of("a/b") == "/data/root one/a/b"
    assert root.uri_of("s3://bucket/t/") == "s3://bucket/t"
    assert root.uri_of("/elsewhere/t") == "/elsewhere/t"
    remote = StorageRoot("s3://bucket/prefix/", cache=tmp_path / "cache")
    assert not remote.is_local
    assert remote.uri_of("a") == "s3://bucket/prefix/a"
    assert remote.path("a") == tmp_path / "cache" / "a"
    remote.close()
    with pytest.raises(SnowmeltError):
        StorageRoot("/data/[x]")
    with pytest.raises(SnowmeltError):
        remote.path("s3://elsewhere/a")


def test_every_type_has_a_column(store: DeltaStore) -> None:
    kinds = [
        types.INTEGER, types.number(38, 0), types.number(9, 4), types.FLOAT, types.VARCHAR, types.BINARY,
        types.BOOLEAN, types.DATE, types.TIME, types.TIMESTAMP_NTZ, types.TIMESTAMP_LTZ, types.TIMESTAMP_TZ,
        types.VARIANT, types.OBJECT, types.ARRAY,
    ]  # fmt: skip
    columns = [Column(name=f'C "{n}"', type=kind, comment="c") for n, kind in enumerate(kinds)]
    store.create("a/b/types-1", columns, change_feed=True, tag=TAG)
    schema = store.files("a/b/types-1", 0).metadata.arrow_schema
    data = pa.table([pa.nulls(2, field.type) for field in schema], schema=schema)
    store.append("a/b/types-1", data, TAG)
    assert store.read("a/b/types-1", 1).equals(data)
    assert store.changes("a/b/types-1", [(1, 1)]).read_all().num_rows == 2


def test_wide_table_merge_keeps_variants(store: DeltaStore, wide: str) -> None:
    store.append(wide, rows({"ID": 1, "DOC": '{"a": 1}'}, {"ID": 2}), TAG)
    spec = MergeSpec(
        ON_ID,
        (
            MergeBranch("matched", "update", None, {"DOC": 's."DOC"'}),
            MergeBranch("not_matched", "insert", None, {column.name: f's."{column.name}"' for column in COLUMNS}),
        ),
    )
    store.merge(wide, rows({"ID": 2, "DOC": "[1.5]"}, {"ID": 3, "NAME": "n"}), spec, TAG)
    found = {row["ID"]: repr(document(row["DOC"])) for row in store.read(wide, 2).to_pylist()}
    assert found == {1: "{'a': 1}", 2: "[Decimal('1.5')]", 3: "'NULL'"}
