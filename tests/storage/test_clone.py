from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.storage.table import CommitTag, DeltaStore
from tests.storage.support import TAG, names, rows, small

CLONE = "shop/public/clone-1"


def test_clone_shares_files_and_nothing_else(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), TAG)
    store.append(location, small((2, "b")), TAG)
    assert store.clone(location, 1, CLONE, CommitTag("clone")) == 0
    assert names(store, CLONE) == [(1, "a")]
    (original, _), (linked,) = store.files(location, 2).uris, store.files(CLONE, 0).uris
    assert Path(original.removeprefix("file://")).samefile(linked.removeprefix("file://"))
    assert store.commits(CLONE, -1, 0)[0].tag == CommitTag("clone")
    assert store.files(CLONE, 0).metadata == store.files(location, 1).metadata


def test_writes_to_either_side_stay_there(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a"), (2, "b")), TAG)
    store.clone(location, 1, CLONE, TAG)
    store.update(location, {"NAME": "'source'"}, '"ID" = 1', TAG)
    store.delete(CLONE, '"ID" = 2', TAG)
    store.append(CLONE, small((3, "clone")), TAG)
    assert names(store, location) == [(1, "source"), (2, "b")]
    assert names(store, CLONE) == [(1, "a"), (3, "clone")]
    assert store.changes(CLONE, [(0, 2)]).read_all().num_rows == 4


def test_clone_outlives_its_source(store: DeltaStore, location: str) -> None:
    store.append(location, small((1, "a")), TAG)
    store.clone(location, 1, CLONE, TAG)
    store.clone(CLONE, 0, "shop/public/clone-2", TAG)
    store.remove(location)
    store.remove(CLONE)
    assert names(store, "shop/public/clone-2") == [(1, "a")]


def test_clone_keeps_statistics_from_before_and_after_a_checkpoint(store: DeltaStore, location: str) -> None:
    for key in range(102):
        store.append(location, small((key, "a")), TAG)
    store.close()
    store.clone(location, 102, CLONE, TAG)
    log = store.root.path(CLONE) / "_delta_log" / "00000000000000000000.json"
    adds = [json.loads(line)["add"] for line in log.read_text().splitlines() if line.startswith('{"add"')]
    assert sorted(json.loads(add["stats"])["minValues"]["ID"] for add in adds) == list(range(102))


def test_clone_across_file_systems_copies(store: DeltaStore, wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(wide, rows({"ID": 1, "DOC": "{}"}), TAG)
    link = os.link

    def refuse(source: Path, target: Path) -> None:
        if str(source).endswith(".parquet"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(os, "link", refuse)
    store.clone(wide, 1, CLONE, TAG)
    assert store.read(CLONE, 0).equals(store.read(wide, 1))


def test_clone_does_not_overwrite_a_table(store: DeltaStore, location: str, wide: str) -> None:
    with pytest.raises(SnowmeltError):
        store.clone(location, 0, wide, TAG)
