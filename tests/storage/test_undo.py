"""Undoing our own commits while another tool commits to the same table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.schema import Field, PrimitiveType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.model import Column
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import AppTransaction, CommitTag, DeltaStore
from tests.storage.support import SMALL, TAG, names, small

UNDO = CommitTag("undo")


def theirs(store: DeltaStore, location: str) -> DeltaTable:
    """The table as another tool opens it."""
    return DeltaTable(store.root.uri_of(location), storage_options=store.root.options or None)


def they_append(store: DeltaStore, location: str, *pairs: tuple[int, str | None], **more: Any) -> None:
    write_deltalake(theirs(store, location), small(*pairs), mode="append", **more)


def test_nothing_of_ours(store: DeltaStore, location: str) -> None:
    they_append(store, location, (1, "theirs"))
    assert store.undo(location, 0, UNDO) is None
    assert store.latest_version(location) == 1


def test_their_rows_stay_wherever_they_stand(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "old")), TAG)
    they_append(store, location, (2, "theirs"))
    store.append(location, small((3, "ours")), TAG)
    they_append(store, location, (4, "theirs"))
    store.delete(location, '"ID" = 1', TAG)
    they_append(store, location, (5, "theirs"))
    undone = store.undo(location, 1, UNDO)
    assert names(store, location) == [(1, "old"), (2, "theirs"), (4, "theirs"), (5, "theirs")]
    assert undone is not None
    assert (undone.version, undone.first, undone.restored) == (9, 3, 7)
    assert (undone.kept, undone.lost) == ((2, 4, 6), ())
    assert pa.table(theirs(store, location).scan().read_all()).num_rows == 4
    # What counts in the change feed: their first commit, and the two that were made once more.
    changes = store.changes(location, [(2, 2), (8, 9)]).read_all().to_pylist()
    assert sorted((row["ID"], row["_change_type"]) for row in changes) == [(2, "insert"), (4, "insert"), (5, "insert")]
    assert all(info.tag == UNDO for info in store.commits(location, 6, 9))


def test_their_changes_of_visible_rows_stay(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b")), TAG)
    store.append(location, small((3, "ours")), TAG)
    theirs(store, location).delete('"ID" = 1')
    theirs(store, location).update(new_values={"NAME": "c"}, predicate='"ID" = 2')
    undone = store.undo(location, 1, UNDO)
    assert undone is not None
    assert undone.lost == ()
    assert names(store, location) == [(2, "c")]
    changes = store.changes(location, [(undone.restored + 1, undone.version)]).read_all().to_pylist()
    kinds = Counter((row["ID"], row["NAME"], row["_change_type"]) for row in changes)
    assert kinds[(1, "a", "delete")] == 1
    assert kinds[(2, "c", "update_postimage")] == 1


def test_their_change_of_our_rows_goes_with_them(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "old")), TAG)
    store.append(location, small((2, "ours"), (3, "ours")), TAG)
    theirs(store, location).delete('"ID" = 2')
    they_append(store, location, (4, "theirs"))
    undone = store.undo(location, 1, UNDO)
    assert undone is not None
    assert (undone.kept, undone.lost) == ((4,), (3,))
    assert names(store, location) == [(1, "old"), (4, "theirs")]


def test_their_overwrite_stays_though_it_removed_our_rows(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "old")), TAG)
    store.append(location, small((2, "ours")), TAG)
    write_deltalake(theirs(store, location), small((3, "theirs")), mode="overwrite")
    undone = store.undo(location, 1, UNDO)
    assert undone is not None
    assert undone.lost == ()
    assert names(store, location) == [(3, "theirs")]
    theirs(store, location).delete()
    store.append(location, small((4, "ours")), TAG)
    theirs(store, location).delete()
    undone = store.undo(location, undone.version + 1, UNDO)
    assert undone is not None
    assert undone.lost == ()
    assert names(store, location) == []


def test_their_tidying_is_no_loss(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "old")), TAG)
    store.append(location, small((2, "old")), TAG)
    store.append(location, small((3, "ours")), TAG)
    theirs(store, location).optimize.compact()
    undone = store.undo(location, 2, UNDO)
    assert undone is not None
    assert (undone.kept, undone.lost) == ((), ())
    assert names(store, location) == [(1, "old"), (2, "old")]


def test_their_new_column_stays_and_ours_does_not(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "old")), TAG)
    store.append(location, small((2, "ours")), TAG)
    theirs(store, location).alter.add_columns([Field("MORE", PrimitiveType("long"))])
    undone = store.undo(location, 1, UNDO)
    assert undone is not None
    assert undone.lost == ()
    assert store.files(location, undone.version).metadata.arrow_schema.names == ["ID", "NAME", "MORE"]
    before = undone.version
    columns = (*SMALL, Column(name="MORE", type=types.INTEGER), Column(name="OURS", type=types.INTEGER))
    store.set_columns(location, columns, TAG)
    they_append(store, location, (3, "theirs"), schema_mode="merge")
    undone = store.undo(location, before, UNDO)
    assert undone is not None
    assert undone.lost == (before + 2,), "its files were written for columns that never were visible"
    assert store.files(location, undone.version).metadata.arrow_schema.names == ["ID", "NAME", "MORE"]
    assert names(store, location) == [(1, "old")]


def test_their_replayed_batch_is_recognised_again(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "ours")), TAG, app_transactions=[AppTransaction("app", 7)])
    they_append(
        store, location, (2, "theirs"), commit_properties=CommitProperties(app_transactions=[Transaction("job", 3)])
    )
    store.undo(location, 0, UNDO)
    assert (store.app_version(location, "app"), store.app_version(location, "job")) == (None, 3)


def test_a_second_undo_finds_nothing_new(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "ours")), TAG)
    they_append(store, location, (2, "theirs"))
    first = store.undo(location, 0, UNDO)
    # Killed before its end was written down, an undo is simply made again.
    second = store.undo(location, 0, UNDO)
    assert first is not None
    assert second is not None
    assert (second.first, second.restored, second.kept) == (1, first.version + 1, (2,))
    assert names(store, location) == [(2, "theirs")]


def test_they_commit_while_we_undo(store: DeltaStore, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(location, small((1, "ours")), TAG)
    they_append(store, location, (2, "theirs"))
    restore: Callable[..., int] = store.restore
    pending = [(3, "in the middle"), (4, "in the middle")]

    def disturbed(where: str, version: int, tag: CommitTag) -> int:
        if len(pending) == 2:
            they_append(store, location, pending.pop())
        restored = restore(where, version, tag)
        if len(pending) == 1:
            they_append(store, location, pending.pop())
        return restored

    monkeypatch.setattr(store, "restore", disturbed)
    undone = store.undo(location, 0, UNDO)
    assert undone is not None
    assert undone.lost == ()
    assert names(store, location) == [(2, "theirs"), (3, "in the middle"), (4, "in the middle")]


def test_they_never_stop(store: DeltaStore, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(location, small((1, "ours")), TAG)
    restore: Callable[..., int] = store.restore

    def disturbed(where: str, version: int, tag: CommitTag) -> int:
        they_append(store, location, (2, "theirs"))
        return restore(where, version, tag)

    monkeypatch.setattr(store, "restore", disturbed)
    with pytest.raises(SnowmeltError, match="Another writer") as caught:
        store.undo(location, 0, UNDO)
    assert caught.value.transient


OPERATIONS = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["append", "delete", "overwrite", "optimize"])), min_size=1, max_size=7
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
def test_any_mixture(tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[bool, str]]) -> None:
    """Rows carry who wrote them and when: none of ours may be left, and all of theirs that nobody of them deleted."""
    store = DeltaStore(StorageRoot(str(tmp_path_factory.mktemp("undo"))))
    location = store.root.new_location("A", "B", "C")
    store.create(location, SMALL, change_feed=True, tag=TAG, data=small((0, "visible")))
    expected = {(0, "visible")}
    for number, (ours, operation) in enumerate(operations, start=1):
        row = (number, "ours" if ours else "theirs")
        if operation == "append":
            if ours:
                store.append(location, small(row), TAG)
            else:
                they_append(store, location, row)
                expected.add(row)
        elif operation == "overwrite":
            if ours:
                store.overwrite(location, small(row), TAG)
            else:
                write_deltalake(theirs(store, location), small(row), mode="overwrite")
                expected = {row}
        elif operation == "delete" and ours:
            store.delete(location, '"ID" = 0', TAG)
        elif operation == "optimize" and not ours:
            theirs(store, location).optimize.compact()
    undone = store.undo(location, 0, UNDO)
    assert undone is None or undone.lost == ()
    assert set(names(store, location)) == expected
    assert store.row_count(location, store.latest_version(location)) == len(expected)
    store.close()


def test_torn_entries_are_set_aside(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "visible")), TAG)
    assert store.discard_torn(location, 1) == []
    store.append(location, small((2, "ours")), TAG)
    folder = store.root.path(location) / "_delta_log"
    for version, content in ((3, b""), (4, json.dumps({"add": {}}).encode()), (5, b'{"commitInfo": {"ti')):
        (folder / f"{version:020d}.json").write_bytes(content)
    again = DeltaStore(store.root)
    assert again.discard_torn(location, 1) == [3, 4, 5]
    assert again.latest_version(location) == 2
    assert again.undo(location, 1, UNDO) is not None
    assert names(again, location) == [(1, "visible")]
    assert len(list(folder.glob("*.torn"))) == 3
    again.close()


def test_unfinished_tables(store: DeltaStore, location: str, tmp_path: Path) -> None:
    root = store.root
    made = root.new_location("A", "B", "MADE")
    store.create(made, SMALL, change_feed=True, tag=TAG)
    empty = root.new_location("A", "B", "EMPTY")
    (root.path(empty) / "_delta_log").mkdir(parents=True)
    half = root.new_location("A", "B", "HALF")
    (root.path(half) / "_delta_log").mkdir(parents=True)
    (root.path(half) / "_delta_log" / ".00000000000000000000.json.x.tmp").write_text("{")
    foreign = root.new_location("A", "B", "FOREIGN")
    write_deltalake(root.uri_of(foreign), small((1, "theirs")))
    notes = root.path("a/b/notes")
    notes.mkdir()
    assert sorted(store.unfinished_locations({location})) == sorted([made, empty, half])
    assert sorted(store.unfinished_locations({location, made})) == sorted([empty, half])
