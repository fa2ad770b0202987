"""Changing single rows: the table, its change feed and its statistics say what happened, to every reader."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.storage import packing, parquet, rewrite, rewrite_many
from snowmelt.storage.columns import COLUMNS, ColumnReader
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.origins import ORIGINS
from snowmelt.storage.probe import find_rows
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.table import DeltaStore
from tests.storage.support import SMALL, TAG, document, rows, small

Row = tuple[int, str | None]


def positions(store: DeltaStore, location: str) -> list[tuple[str, int, Row]]:
    """Every row with its file and place, as a reader of the files finds them."""
    found = []
    for file in store.files(location, store.latest_version(location)).files:
        table = pa.parquet.read_table(file.uri.removeprefix("file://"), columns=["ID", "NAME"])
        for place, row in enumerate(table.to_pylist()):
            found.append((file.path, place, (row["ID"], row["NAME"])))
    return found


def at(places: list[tuple[str, int]]) -> pa.Table:
    return pa.table({
        FILE: pa.array([file for file, _ in places], pa.string()),
        ROW: pa.array([row for _, row in places], pa.int64()),
    })  # fmt: skip


def named(places: list[tuple[str, int]], names: list[str | None]) -> pa.Table:
    return at(places).append_column("NAME", pa.array(names, pa.string()))


def feed_of(store: DeltaStore, location: str, version: int) -> Counter[tuple[str, int, str | None]]:
    changes = store.changes(location, [(version, version)]).read_all()
    return Counter((row["_change_type"], row["ID"], row["NAME"]) for row in changes.to_pylist())


def test_every_kind_of_change_in_one_commit(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b"), (3, "c")), TAG)
    store.append(location, small((4, "d")), TAG)
    store.append(location, small((5, "e")), TAG)
    where = {row[0]: (file, place) for file, place, row in positions(store, location)}
    changes = RowChanges(
        deleted=at([where[1], where[4]]), updated=[named([where[3]], ["new"])], inserted=small((9, None))
    )
    result = store.rewrite(location, 3, changes, TAG, "MERGE")
    assert (result.version, result.rows_inserted, result.rows_updated, result.rows_deleted) == (4, 1, 1, 2)
    assert sorted(row for _, _, row in positions(store, location)) == [(2, "b"), (3, "new"), (5, "e"), (9, None)]
    assert feed_of(store, location, 4) == Counter([
        ("delete", 1, "a"), ("delete", 4, "d"), ("update_preimage", 3, "c"), ("update_postimage", 3, "new"),
        ("insert", 9, None),
    ])  # fmt: skip
    assert store.row_count(location, 4) == 4
    assert store.commits(location, 3, 4)[0].tag == TAG
    # The file of row 5 was not touched.
    assert where[5][0] in store.files(location, 4).by_path


def test_rows_keep_their_places(store: DeltaStore, location: str) -> None:
    store.append(location, small(*((key, "x") for key in range(10))), TAG)
    where = {row[0]: (file, place) for file, place, row in positions(store, location)}
    store.rewrite(location, 1, RowChanges(deleted=at([where[0]]), updated=[named([where[5]], ["y"])]), TAG, "UPDATE")
    assert [row for _, _, row in positions(store, location)] == [
        (key, "y" if key == 5 else "x") for key in range(1, 10)
    ]


def test_statistics_follow(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (50, "z"), (99, None)), TAG)
    where = {row[0]: (file, place) for file, place, row in positions(store, location)}
    store.rewrite(location, 1, RowChanges(deleted=at([where[99]])), TAG, "DELETE")
    uri = store.root.uri_of(location)
    log = Path(uri) / "_delta_log" / f"{2:020d}.json"
    added = [json.loads(line)["add"] for line in log.read_text().splitlines() if '"add"' in line]
    stats = json.loads(added[0]["stats"])
    assert stats == {
        "numRecords": 2, "minValues": {"ID": 1, "NAME": "a"}, "maxValues": {"ID": 50, "NAME": "z"},
        "nullCount": {"ID": 0, "NAME": 0},
    }  # fmt: skip


def test_all_types_survive(store: DeltaStore, wide: str) -> None:
    before = [
        {"ID": 1, "NAME": "a", "AMOUNT": "1.50", "DOC": '{"k":[1,2]}', "SEEN": "2024-01-01T00:00:00"},
        {"ID": 2, "DOC": None},
        {"ID": 3, "DOC": "null"},
    ]
    loaded = rows(*[{**row, "AMOUNT": None, "SEEN": None} for row in before])
    store.append(wide, loaded, TAG)
    file = store.files(wide, 1).files[0].path
    new = rows({"ID": 0, "DOC": '"changed"'}).select(["DOC"])
    update = at([(file, 1)]).append_column(new.schema.field("DOC"), new.column("DOC"))
    store.rewrite(wide, 1, RowChanges(updated=[update], inserted=rows({"ID": 4, "DOC": "[]"})), TAG, "MERGE")
    found = {row["ID"]: document(row["DOC"]) for row in store.read(wide, 2).to_pylist()}
    assert found == {1: {"k": [1, 2]}, 2: "changed", 3: None, 4: []}
    kinds = Counter(row["_change_type"] for row in store.changes(wide, [(2, 2)]).read_all().to_pylist())
    assert kinds == {"update_preimage": 1, "update_postimage": 1, "insert": 1}


def test_clear(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b")), TAG)
    result = store.clear(location, 1, TAG, "DELETE")
    assert (result.rows_deleted, store.row_count(location, 2)) == (2, 0)
    assert feed_of(store, location, 2) == Counter([("delete", 1, "a"), ("delete", 2, "b")])


def test_without_a_change_feed(store: DeltaStore) -> None:
    location = store.root.new_location("SHOP", "PUBLIC", "QUIET")
    store.create(location, SMALL, change_feed=False, tag=TAG)
    store.append(location, small((1, "a"), (2, "b")), TAG)
    file = store.files(location, 1).files[0].path
    store.rewrite(location, 1, RowChanges(deleted=at([(file, 0)])), TAG, "DELETE")
    assert not (store.root.path(location) / "_change_data").exists()
    assert [row for _, _, row in positions(store, location)] == [(2, "b")]


def test_somebody_elses_commit_is_not_overrun(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), TAG)
    file = store.files(location, 1).files[0].path
    store.append(location, small((2, "b")), TAG)
    with pytest.raises(SnowmeltError) as failure:
        store.rewrite(location, 1, RowChanges(deleted=at([(file, 0)])), TAG, "DELETE")
    assert failure.value.transient
    assert store.latest_version(location) == 2


def test_columns_that_old_files_lack(store: DeltaStore) -> None:
    location = store.root.new_location("SHOP", "PUBLIC", "GROWN")
    store.create(location, SMALL[:1], change_feed=True, tag=TAG)
    store.append(location, pa.table({"ID": pa.array([1, 2])}), TAG)
    store.set_columns(location, SMALL, TAG)
    file = store.files(location, 2).files[0].path
    store.rewrite(location, 2, RowChanges(updated=[named([(file, 1)], ["b"])]), TAG, "UPDATE")
    assert [row for _, _, row in positions(store, location)] == [(1, None), (2, "b")]


names = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(), most_pieces=st.sampled_from([0, 4096]), group_rows=st.sampled_from([2, 32 * 1024]),
    origins=st.booleans(),
)  # fmt: skip
def test_random_changes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, most_pieces: int, group_rows: int, origins: bool
) -> None:
    """After each commit the table is what the model says, and replaying the feed gives the same.

    With small row groups most files are made of those of the file before.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "_MOST_PIECES", most_pieces)
        patch.setattr(parquet, "ROW_GROUP_ROWS", group_rows)
        patch.setattr(packing, "_MOST_GONE", 1.0)
        store = DeltaStore(StorageRoot(str(tmp_path_factory.mktemp("random"))))
        location = "D/S/T"
        store.create(location, SMALL, change_feed=True, tag=TAG)
        replayed: Counter[Row] = Counter()
        for _ in range(data.draw(st.integers(1, 4))):
            store.append(location, small(*data.draw(st.lists(st.tuples(st.integers(0, 9), names), min_size=1))), TAG)
        replayed.update(row for _, _, row in positions(store, location))
        assert kept_in_memory(store, location) == Counter(positions(store, location))
        assert kept_by_group(store, location) == Counter(positions(store, location))
        for _ in range(3):
            present = positions(store, location)
            kinds = data.draw(st.lists(st.sampled_from("kkud"), min_size=len(present), max_size=len(present)))
            gone = [(file, place) for (file, place, _), kind in zip(present, kinds, strict=True) if kind == "d"]
            updated = [item for item, kind in zip(present, kinds, strict=True) if kind == "u"]
            news = [data.draw(names) for _ in updated]
            added = data.draw(st.lists(st.tuples(st.integers(0, 9), names), max_size=3))
            half = len(updated) // 2
            places = [(file, place) for file, place, _ in updated]
            changes = RowChanges(
                deleted=at(gone),
                updated=[named(places[:half], news[:half]), named(places[half:], news[half:])],
                inserted=small(*added),
            )
            if not (gone or updated or added):
                continue
            latest = store.latest_version(location)
            version = store.rewrite(location, latest, changes, TAG, "MERGE", origins=origins).version
            expected: Counter[Row] = Counter(
                row for (_, _, row), kind in zip(present, kinds, strict=True) if kind == "k"
            )
            expected.update((item[2][0], name) for item, name in zip(updated, news, strict=True))
            expected.update(added)
            assert Counter(row for _, _, row in positions(store, location)) == expected
            assert kept_in_memory(store, location) == Counter(positions(store, location))
            assert kept_by_group(store, location) == Counter(positions(store, location))
            replay(replayed, feed_of(store, location, version))
            assert +replayed == expected
            assert store.row_count(location, version) == expected.total()
            assert DeltaTable(store.root.uri_of(location)).count() == expected.total()
        store.close()


def kept_in_memory(store: DeltaStore, location: str) -> Counter[tuple[str, int, Row]]:
    """As `positions`, by the columns that searches keep and that changes hand on to the new files."""
    found = find_rows(store.files(location, store.latest_version(location)), [], ["ID", "NAME"], 1000)
    assert found is not None
    return Counter((row[FILE], row[ROW], (row["ID"], row["NAME"])) for row in found.to_pylist())


def kept_by_group(store: DeltaStore, location: str) -> Counter[tuple[str, int, Row]]:
    """The same, of single row groups."""
    found: Counter[tuple[str, int, Row]] = Counter()
    files = store.files(location, store.latest_version(location))
    fields = [files.metadata.arrow_schema.field(name) for name in ("ID", "NAME")]
    for file in files.files:
        with ColumnReader(file.uri) as reader:
            for group, (start, count) in enumerate(zip(reader.footer.starts, reader.footer.rows, strict=True)):
                columns = reader.read(group, fields)
                values = [columns[name].take(np.arange(count)).to_pylist() for name in ("ID", "NAME")]
                found.update((file.path, int(start) + row, pair) for row, pair in enumerate(zip(*values, strict=True)))
    return found


def test_row_groups_stay_in_memory_when_others_change(store: DeltaStore, location: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 2)
    store.append(location, small(*((number, "a") for number in range(8))), TAG)
    assert kept_by_group(store, location).total() == 8
    file = positions(store, location)[0][0]
    changes = RowChanges(updated=[named([(file, 2)], ["b"])], deleted=at([(file, 5)]))
    store.rewrite(location, store.latest_version(location), changes, TAG, "MERGE")
    (new,) = store.files(location, store.latest_version(location)).files
    path = new.uri.removeprefix("file://")
    assert [sorted(COLUMNS.of_group(path, group)) for group in range(4)] == [["ID", "NAME"]] * 4
    assert kept_by_group(store, location) == Counter(positions(store, location))


def replay(table: Counter[Row], feed: Counter[Any]) -> None:
    for (kind, *row), count in feed.items():
        sign = 1 if kind in ("insert", "update_postimage") else -1
        table[row[0], row[1]] += sign * count


def test_a_file_that_says_nothing_of_births_is_not_decoded_to_say_it(
    store: DeltaStore, location: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 2)
    monkeypatch.setattr(rewrite_many, "slices", None)  # what reads whole files
    store.append(location, small(*((number, "a") for number in range(8))), TAG)
    born = {row[0]: (file, place) for file, place, row in positions(store, location)}
    for version, (changed, gone) in enumerate([(2, 5), (7, 0)], start=2):
        where = {row[0]: (file, place) for file, place, row in positions(store, location)}
        changes = RowChanges(updated=[named([where[changed]], ["b"])], deleted=at([where[gone]]))
        assert store.rewrite(location, version - 1, changes, TAG, "MERGE", origins=True).version == version
    (file,) = store.files(location, store.latest_version(location)).files
    found = pa.parquet.read_table(file.uri.removeprefix("file://"), columns=["ID", "NAME", *ORIGINS]).to_pylist()
    assert [(row["ID"], row["NAME"], tuple(row[name] for name in ORIGINS)) for row in found] == [
        (number, "b" if number in (2, 7) else "a", born[number]) for number in (1, 2, 3, 4, 6, 7)
    ]
