"""The paths taken in an object store, run over delta-rs' client for local files."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import AppTransaction, DeltaStore
from tests.unit.storage.support import COLUMNS, TAG, names, rows


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeltaStore:
    root = StorageRoot(str(tmp_path))
    root.uri, root.is_local = f"file://{tmp_path}", False
    monkeypatch.setattr(root, "is_local_table", lambda location: False)
    monkeypatch.setattr(root, "uri_of", lambda location: f"{root.uri}/{location}")
    return DeltaStore(root)


def test_the_life_of_a_table(remote: DeltaStore) -> None:
    where = remote.root.new_location("A", "B", "C")
    assert remote.create(where, COLUMNS, change_feed=True, tag=TAG, data=rows({"ID": 1, "DOC": "{}"})) == 1
    with pytest.raises(SnowmeltError):
        remote.create(where, COLUMNS, change_feed=True, tag=TAG)
    result = remote.append(where, rows({"ID": 2}), TAG, app_transactions=[AppTransaction("app", 3)])
    assert (result.version, result.rows_inserted, result.files_added) == (2, 1, 1)
    assert remote.app_version(where, "app") == 3
    remote.update(where, {"NAME": "'x'"}, '"ID" = 1', TAG)
    assert names(remote, where) == [(1, "x"), (2, None)]
    assert remote.restore(where, 1, TAG) == 4
    assert names(remote, where) == [(1, None)]
    assert [info.tag for info in remote.commits(where, -1, 4)] == [TAG] * 5
    assert remote.files(where, 4).total_rows == 1
    remote.sync(where, 4)
    clone = remote.root.new_location("A", "B", "CLONE")
    remote.clone(where, 3, clone, TAG)
    assert sorted(remote.root.locations()) == sorted([where, clone])
    remote.remove(where)
    assert list(remote.root.locations()) == [clone]
    assert names(remote, clone) == [(1, "x"), (2, None)]
    assert remote.changes(clone, [(0, 0)]).read_all().num_rows == 2
