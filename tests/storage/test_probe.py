"""Rows found in files by simple conditions are exactly the rows for which they hold, whoever wrote the files."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core import types
from snowmelt.state.model import Column
from snowmelt.storage import parquet
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.probe import Among, Compared, Condition, find_rows
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.table import DeltaStore
from tests.storage.support import COLUMNS, TAG, rows, small

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
_TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "ID": (pa.int64(), st.integers(-3, 3)),
    "NAME": (pa.string(), st.sampled_from(["", "a", "ab", "é", "😀", "x" * 100])),
    "AMOUNT": (pa.decimal128(12, 2), st.sampled_from([Decimal(n) / 4 for n in range(-6, 6)])),
    "SEEN": (
        pa.timestamp("us"),
        st.sampled_from([datetime(1, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1)]),
    ),
}


def holds(condition: Condition, row: dict[str, Any]) -> bool:
    value = row[condition.column]
    if value is None:
        return False
    if isinstance(condition, Among):
        return value in condition.values.to_pylist()
    return _OPERATORS[condition.operator](value, condition.value.as_py())


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(sorted(_TYPES)))
    kind, values = _TYPES[name]
    if draw(st.booleans()):
        return Among(name, pa.array(draw(st.lists(values, max_size=3)), kind))
    return Compared(name, draw(st.sampled_from(sorted(_OPERATORS))), pa.scalar(draw(values), kind))  # type: ignore[arg-type]


given_rows = st.fixed_dictionaries({
    name: st.integers(-3, 3) if name == "ID" else st.one_of(st.none(), values) for name, (_, values) in _TYPES.items()
})  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(
    batches=st.lists(st.lists(given_rows, min_size=1, max_size=8), min_size=1, max_size=3),
    chosen=st.lists(conditions(), min_size=1, max_size=2),
    group=st.sampled_from([2, 1000]),
    fixed=st.booleans(),
)
def test_random_conditions(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[dict[str, Any]]],
    chosen: list[Condition],
    group: int,
    fixed: bool,
) -> None:
    def write(data: pa.Table, path: Path) -> pq.FileMetaData:
        pq.write_table(data, path, row_group_size=group, store_decimal_as_integer=not fixed)
        return pq.read_metadata(path)

    store = DeltaStore(StorageRoot(str(tmp_path_factory.mktemp("probe"))))
    store.create("D/S/T", COLUMNS, change_feed=True, tag=TAG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snowmelt.storage.append.write_parquet", write)
        for batch in batches:
            store.append("D/S/T", rows(*batch), TAG)
    files = store.files("D/S/T", len(batches))
    found = find_rows(files, chosen, ["NAME", "ID"], 1000)
    assert found is not None
    assert found.column_names == [FILE, ROW, "NAME", "ID"]
    expected = set()
    for file in files.files:
        content = pq.read_table(file.uri.removeprefix("file://")).to_pylist()
        for place, row in enumerate(content):
            if all(holds(condition, row) for condition in chosen):
                expected.add((file.path, place, row["NAME"], row["ID"]))
    assert {tuple(row.values()) for row in found.to_pylist()} == expected
    store.close()


def test_too_many(store: DeltaStore, location: str) -> None:
    store.append(location, small(*((key, "a") for key in range(10))), TAG)
    condition = Among("NAME", pa.array(["a"]))
    assert find_rows(store.files(location, 1), [condition], [], 9) is None
    found = find_rows(store.files(location, 1), [condition], [], 10)
    assert found is not None
    assert found.num_rows == 10


def test_a_column_that_the_file_lacks(store: DeltaStore) -> None:
    location = store.root.new_location("SHOP", "PUBLIC", "GROWN")
    store.create(location, COLUMNS[:1], change_feed=True, tag=TAG)
    store.append(location, pa.table({"ID": pa.array([1, 2])}), TAG)
    store.set_columns(location, COLUMNS[:2], TAG)
    files = store.files(location, 2)
    assert find_rows(files, [Among("NAME", pa.array(["a"]))], [], 9).num_rows == 0  # type: ignore[union-attr]
    found = find_rows(files, [Among("ID", pa.array([2]))], ["NAME"], 9)
    assert found is not None
    assert [(row[ROW], row["NAME"]) for row in found.to_pylist()] == [(1, None)]


def test_row_groups_are_skipped(store: DeltaStore, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 10)
    store.append(location, small(*((key, str(key)) for key in range(100))), TAG)
    read: list[int] = []
    original = pq.ParquetFile.read_row_group

    def counted(self: pq.ParquetFile, number: int, *rest: Any, **more: Any) -> pa.Table:
        read.append(number)
        return original(self, number, *rest, **more)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    found = find_rows(store.files(location, 1), [Among("ID", pa.array([42, 47]))], ["ID"], 9)
    assert found is not None
    assert found.column(ROW).to_pylist() == [42, 47]
    assert set(read) == {4}


def test_dates(store: DeltaStore) -> None:
    location = store.root.new_location("SHOP", "PUBLIC", "DAYS")
    store.create(location, (Column(name="DAY", type=types.DATE),), change_feed=True, tag=TAG)
    store.append(location, pa.table({"DAY": [date(2024, 1, day) for day in range(1, 29)]}), TAG)
    condition = Compared("DAY", "greater_equal", pa.scalar(date(2024, 1, 27)))
    found = find_rows(store.files(location, 1), [condition], ["DAY"], 9)
    assert found is not None
    assert found.column("DAY").to_pylist() == [date(2024, 1, 27), date(2024, 1, 28)]


def test_columns_in_memory_follow_changes(store: DeltaStore, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that was searched once is not decoded again after rows changed, in whichever place they are."""
    store.append(location, small(*((key, str(key)) for key in range(70_000))), TAG)
    everything = Among("ID", pa.array(range(70_000)))
    found = find_rows(store.files(location, 1), [everything], ["NAME"], 70_000)
    assert found is not None
    places = found.select([FILE, ROW])
    changes = RowChanges(
        deleted=places.take([0, 40_000]),
        updated=[places.take([1, 69_999]).append_column("NAME", pa.array(["one", "last"]))],
        inserted=small((70_000, "new")),
    )
    store.rewrite(location, 1, changes, TAG, "MERGE")
    for name in ("read", "read_row_group"):
        monkeypatch.delattr(pq.ParquetFile, name)
    wanted = pa.array([0, 1, 2, 39_999, 40_000, 40_001, 69_999, 70_000])
    files = store.files(location, 2)
    found = find_rows(files, [Among("ID", wanted)], ["ID", "NAME"], 9)
    assert found is not None
    stored = {
        (file.path, place): (row["ID"], row["NAME"])
        for file in files.files
        for place, row in enumerate(pq.read_table(file.uri.removeprefix("file://")).to_pylist())
    }
    assert sorted((row["ID"], row["NAME"]) for row in found.to_pylist()) == [
        (1, "one"), (2, "2"), (39_999, "39999"), (40_001, "40001"), (69_999, "last"), (70_000, "new"),
    ]  # fmt: skip
    assert all(stored[row[FILE], row[ROW]] == (row["ID"], row["NAME"]) for row in found.to_pylist())
