"""The paths taken in an object store, run over delta-rs' client for local files."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import AppTransaction, DeltaStore
from tests.storage.support import COLUMNS, TAG, names, rows


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeltaStore:
    root = StorageRoot(str(tmp_path))
    root.uri, root.is_local = f"file://{tmp_path}", False
    monkeypatch.setattr(root, "is_local_table", lambda location: False)
    monkeypatch.setattr(root, "uri_of", lambda location: f"{root.uri}/{location}")
    return DeltaStore(root)


def new_table(store: DeltaStore, name: str) -> str:
    location = store.root.new_location("A", "B", name)
    # An object store has no folders to make; the client for local files insists on one.
    Path(store.root.uri.removeprefix("file://"), location).mkdir(parents=True)
    return location


def test_the_life_of_a_table(remote: DeltaStore) -> None:
    where = new_table(remote, "C")
    first = remote.create(where, COLUMNS, change_feed=True, tag=TAG, data=rows({"ID": 1, "DOC": "{}"}))
    assert "invariants" in remote.files(where, first).metadata.features
    with pytest.raises(SnowmeltError):
        remote.create(where, COLUMNS, change_feed=True, tag=TAG)
    result = remote.append(where, rows({"ID": 2}), TAG, app_transactions=[AppTransaction("app", 3)])
    assert (result.version, result.rows_inserted, result.files_added) == (first + 1, 1, 1)
    assert remote.app_version(where, "app") == 3
    remote.update(where, {"NAME": "'x'"}, '"ID" = 1', TAG)
    assert names(remote, where) == [(1, "x"), (2, None)]
    assert remote.restore(where, first, TAG) == first + 3
    assert names(remote, where) == [(1, None)]
    assert [info.tag for info in remote.commits(where, -1, first + 3)] == [TAG] * (first + 4)
    assert remote.files(where, first + 3).total_rows == 1
    remote.sync(where, first + 3)
    clone = new_table(remote, "CLONE")
    cloned = remote.clone(where, first + 2, clone, TAG)
    assert sorted(remote.root.locations()) == sorted([where, clone])
    remote.remove(where)
    assert list(remote.root.locations()) == [clone]
    assert names(remote, clone) == [(1, "x"), (2, None)]
    assert remote.changes(clone, [(0, cloned)]).read_all().num_rows == 2
