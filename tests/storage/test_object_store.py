"""Tables in an object store: a real S3 server, and what networks and busy stores do to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from snowmelt.core.errors import SnowmeltError, WriteConflictError
from snowmelt.storage.folders import ObjectFolder
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.probe import Among, find_rows
from snowmelt.storage.table import AppTransaction, DeltaStore
from tests.storage.support import COLUMNS, SMALL, TAG, names, rows, small
from tests.storage.test_undo import UNDO, theirs, they_append
from tests.support import s3_server
from tests.support.fault_proxy import Fault, FaultProxy, Plan
from tests.support.s3_server import S3Server

Opener = Callable[[], DeltaStore]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture(scope="module")
def running_proxy(server: S3Server) -> Iterator[FaultProxy]:
    with FaultProxy(server.port) as between:
        yield between


@pytest.fixture
def proxy(running_proxy: FaultProxy) -> FaultProxy:
    running_proxy.follow(Plan())
    return running_proxy


@pytest.fixture
def open_store(proxy: FaultProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    for name, value in s3_server.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    opened: list[DeltaStore] = []

    def open_one() -> DeltaStore:
        """As another process would: with a cache and a memory of its own."""
        uri = f"s3://{s3_server.BUCKET}/{tmp_path.name}"
        root = StorageRoot(uri, s3_server.options(proxy.endpoint), cache=tmp_path / f"cache-{len(opened)}")
        opened.append(DeltaStore(root))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()
        store.root.close()


@pytest.fixture
def remote(open_store: Opener) -> DeltaStore:
    return open_store()


def new_table(store: DeltaStore, name: str) -> str:
    return store.root.new_location("A", "B", name)


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


def test_another_process_sees_the_same(open_store: Opener) -> None:
    one, other = open_store(), open_store()
    where = new_table(one, "T")
    one.create(where, SMALL, change_feed=True, tag=TAG, data=small((1, "a"), (2, "b")))
    assert other.rewritable(where, 0)
    assert names(other, where) == [(1, "a"), (2, "b")]
    found = find_rows(other.files(where, 0), [Among.of("ID", small((2, None)).column("ID"))], ["NAME"], 10)
    assert found is not None and found.column("NAME").to_pylist() == ["b"]
    other.append(where, small((3, "c")), TAG)
    assert names(one, where) == [(1, "a"), (2, "b"), (3, "c")]
    assert one.changes(where, [(1, 1)]).read_all().num_rows == 1


def test_writers_at_the_same_moment_lose_nothing(open_store: Opener) -> None:
    """The store's conditional write is all that keeps two processes apart."""
    stores = [open_store() for _ in range(4)]
    where = new_table(stores[0], "T")
    stores[0].create(where, SMALL, change_feed=False, tag=TAG)

    def write(number: int) -> None:
        for each in range(5):
            stores[number].append(where, small((number * 100 + each, None)), TAG)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[1].latest_version(where) == 20
    assert sorted(key for key, _ in names(stores[2], where)) == sorted(
        n * 100 + each for n in range(4) for each in range(5)
    )


@pytest.mark.parametrize("fault", list(Fault))
def test_what_a_network_does(fault: Fault, proxy: FaultProxy, open_store: Opener) -> None:
    """Many requests meet the fault. All that was acknowledged is there, once."""
    store = open_store()
    where = new_table(store, "T")
    store.create(where, SMALL, change_feed=True, tag=TAG)
    proxy.follow(Plan(faults=(fault,), share=0.3, seed=7))
    for number in range(8):
        store.append(where, small((number, "x" * 1000)), TAG)
    cold = open_store()
    assert sorted(key for key, _ in names(cold, where)) == list(range(8))
    found = find_rows(cold.files(where, 8), [Among.of("ID", small((7, None)).column("ID"))], ["ID"], 10)
    assert found is not None and found.num_rows == 1
    assert [info.version for info in cold.commits(where, 0, 8)] == list(range(1, 9))
    assert proxy.seen()[1][fault]


def test_a_commit_that_fails_leaves_nothing(open_store: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = open_store(), open_store()
    where = new_table(store, "T")
    store.create(where, SMALL, change_feed=False, tag=TAG)
    publish = ObjectFolder.publish

    def overtaken(folder: ObjectFolder, relatives: Iterable[str]) -> None:
        monkeypatch.setattr(ObjectFolder, "publish", publish)
        publish(folder, relatives)
        other.set_columns(where, COLUMNS[:3], TAG)

    monkeypatch.setattr(ObjectFolder, "publish", overtaken)
    with pytest.raises(WriteConflictError):
        store.append(where, small((1, None)), TAG)
    assert names(store, where) == []


def test_upkeep(open_store: Opener) -> None:
    """Small files are put together, checkpoints made, and what no version needs goes; a newcomer reads what is left."""
    store = open_store()
    where = new_table(store, "T")
    store.create(where, SMALL, change_feed=True, tag=TAG)
    for number in range(20):
        store.append(where, small((number, None)), TAG)
    chosen = store.files(where, 20).files
    actions = store.write_together(where, 20, chosen)
    assert store.put_together(where, 20, actions, TAG).version == 21
    assert len(store.files(where, 21).files) == 1
    store.care.make_checkpoint(where, 21)
    assert store.care.since_checkpoint(where, 21) == 0
    assert store.care.remove_unneeded(where, 21, strict=False).files == 20
    assert store.care.clean_log(where, 21) == 21
    stray = store.root.path(where) / "part-stray.parquet"
    stray.write_bytes((store.root.folder(where).present(next(iter(store.files(where, 21).by_path)))).read_bytes())
    assert store.root.cache is not None
    store.root.cache.publish([f"{where}/part-stray.parquet"])
    found, upto = store.care.find_orphans(where, 21, -60.0)
    assert (found, upto) == (["part-stray.parquet"], 21)
    assert store.care.remove_orphans(where, found, upto, 0.0).files == 1
    newcomer = open_store()
    assert sorted(key for key, _ in names(newcomer, where)) == list(range(20))
    assert newcomer.append(where, small((99, None)), TAG).version == 22


def test_copies_are_bounded(open_store: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snowmelt.storage.object_caches._IN_USE_SECONDS", 0.0)
    writer, reader = open_store(), open_store()
    where = new_table(writer, "T")
    writer.create(where, SMALL, change_feed=False, tag=TAG)
    for number in range(8):
        writer.append(where, small((number, "x" * 2000)), TAG)
    cache = reader.root.cache
    assert cache is not None
    cache._most_bytes = 3 * writer.files(where, 8).files[0].size
    # In one process two of them have one address.
    writer.root.close()
    for number in range(8):
        wanted = [Among.of("ID", small((number, None)).column("ID"))]
        found = find_rows(reader.files(where, 8), wanted, ["NAME"], 10)
        assert found is not None and found.num_rows == 1
    assert 0 < cache.bytes <= cache._most_bytes
    assert sum(path.stat().st_size for path in cache.folder.rglob("*.parquet")) == cache.bytes


def test_of_a_large_file_only_parts_are_read(
    proxy: FaultProxy, open_store: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snowmelt.storage.object_caches._LARGE", 1 << 20)
    writer = open_store()
    where = new_table(writer, "T")
    count = 400_000
    noise = np.random.default_rng(3).integers(0, 1 << 62, count)
    table = pa.table({"ID": pa.array(range(count), pa.int64()), "NAME": pa.array(noise).cast(pa.string())})
    writer.create(where, SMALL, change_feed=False, tag=TAG, data=table)
    writer.root.close()
    reader = open_store()
    files = reader.files(where, 0)
    proxy.follow(Plan())
    found = find_rows(files, [Among.of("ID", table.slice(250_000, 1).column("ID"))], ["NAME"], 10)
    assert found is not None and found.column("NAME").to_pylist() == [str(noise[250_000])]
    asked = [request["range"] for request in proxy.seen()[0] if "range" in request]
    ends = [each.removeprefix("bytes=").split("-") for each in asked]
    assert 0 < sum(int(end) - int(start) + 1 for start, end in ends) < files.total_bytes / 3
    assert len(proxy.seen()[0]) <= 8
    assert reader.root.cache is not None and reader.root.cache.bytes == 0


def test_what_others_wrote_stays(remote: DeltaStore) -> None:
    location = remote.root.new_location("A", "B", "C")
    base = remote.create(location, SMALL, change_feed=True, tag=TAG, data=small((1, "a"), (2, "b")))
    remote.append(location, small((3, "ours")), TAG)
    they_append(remote, location, (4, "theirs"))
    theirs(remote, location).delete('"ID" = 1')
    undone = remote.undo(location, base, UNDO)
    assert undone is not None
    assert undone.lost == ()
    assert names(remote, location) == [(2, "b"), (4, "theirs")]
