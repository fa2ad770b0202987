"""What is remembered of files and tables: enough for a thousand tables that change in turn, within a bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.storage.columns import Footers, row_count
from snowmelt.storage.handles import Handles
from snowmelt.storage.parquet import write_parquet
from snowmelt.storage.snapshot import FileListCache
from snowmelt.storage.table import DeltaStore
from tests.storage.support import SMALL, TAG


def test_tables_that_change_in_turn_find_the_list_of_the_version_before(store: DeltaStore, location: str) -> None:
    first = store.files(location, 0)
    cache = FileListCache()
    names = [f"tables/{number}" for number in range(1_500)]
    for version in range(3):
        for name in names:
            before = cache.nearest_before(name, version)
            assert version == 0 or (before is not None and before.version == version - 1)
            cache.put(name, replace(first, version=version))
    cache.forget(names[0])
    assert cache.nearest_before(names[0], 9) is None and cache.get(names[0], 2) is None
    assert cache.get(names[1], 2) is not None


def test_only_so_many_lists_are_kept(store: DeltaStore, location: str) -> None:
    first = store.files(location, 0)
    cache = FileListCache(max_lists=3)
    for version in range(5):
        cache.put("tables/t", replace(first, version=version))
    assert [cache.get("tables/t", version) is not None for version in range(5)] == [False, False, True, True, True]
    newest = cache.nearest_before("tables/t", 4)
    assert newest is not None and newest.version == 3 and cache.nearest_before("tables/t", 2) is None


def test_more_handles_are_kept_than_tables_are_loaded(store: DeltaStore) -> None:
    for number in range(4):
        store.create(f"tables/{number}", SMALL, change_feed=True, tag=TAG)
    handles = Handles(store.root, limit=4, loaded=2)
    opened = []
    for number in range(4):
        opened.append(handles.get(f"tables/{number}"))
        assert opened[-1].loaded().version() == 0
    assert [handle.is_loaded for handle in opened] == [False, False, True, True]
    with opened[2].lock:
        assert handles.get("tables/0") is opened[0] and opened[0].loaded().version() == 0, "it comes back when needed"


def test_footers_are_those_of_the_files(tmp_path: Path) -> None:
    footers = Footers(most_chunks=30)
    paths = [tmp_path / f"{number}.parquet" for number in range(6)]
    for number, path in enumerate(paths):
        written = write_parquet(pa.table({"a": range(number, number + 3), "b": ["x", None, "y"]}), path)
        footer = footers.keep(str(path), written)
        assert footer.metadata.equals(pq.read_metadata(path)) and footer.bounds(0, "a") == (number, number + 2)
    assert footers.kept == 3
    read = footers.get(str(paths[0]))
    assert (read.total, read.names, read.bounds(0, "a")) == (3, frozenset("ab"), (0, 2))
    assert row_count(str(paths[0])) == 3
