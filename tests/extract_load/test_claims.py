"""Two runs of one flow into files: one goes on, the other is told; whoever is killed is in nobody's way."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.synchronize import Event
from pathlib import Path

import pyarrow.parquet
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import Batch, Extractor, FilesLoader, Flow, run_flow
from snowmelt.extract_load.destinations.claims import Claim
from snowmelt.extract_load.stores.local import LocalStore
from tests.support.waiting import DEADLINE, wait_until

NOW = "2024-01-01T00:00:00+00:00"


class Numbers(Extractor):
    def __init__(self, end: int) -> None:
        self.end = end

    def extract(self, after: str | None) -> Iterator[Batch]:
        for number in range(int(after or 0) + 1, self.end + 1):
            yield Batch([{"id": number}], str(number), "numbers")


def loader(folder: Path) -> FilesLoader:
    return FilesLoader(folder, "numbers", "flow", "run")


def written(folder: Path) -> list[int]:
    tables = [pyarrow.parquet.read_table(path) for path in sorted((folder / "numbers").glob("*.parquet"))]
    return sorted(int(row["id"]) for table in tables for row in table.to_pylist())


def hold(folder: Path, loaded: Event) -> None:
    """A run that has loaded one batch, and then takes its time."""
    slow = loader(folder)
    slow.load(Batch([{"id": 1}], "1", "numbers"), NOW)
    loaded.set()
    signal.pause()


@pytest.mark.slow
def test_one_of_two_runs_goes_on(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    loaded = context.Event()
    other = context.Process(target=hold, args=(tmp_path, loaded))
    other.start()
    try:
        assert loaded.wait(DEADLINE)
        with closing(loader(tmp_path)) as refused, pytest.raises(SnowmeltError, match="Another run of flow writes"):
            run_flow(Flow("flow", Numbers(5), refused, attempts=1))
        assert written(tmp_path) == [1]
    finally:
        assert other.pid is not None
        os.kill(other.pid, signal.SIGKILL)
        other.join()
    with closing(loader(tmp_path)) as next_run:
        run_flow(Flow("flow", Numbers(5), next_run, attempts=1))
    assert written(tmp_path) == [1, 2, 3, 4, 5]
    assert not list((tmp_path / "numbers" / "_snowmelt").glob("*.lock")), "it is let go"


def test_a_run_that_began_before_another_ended_goes_on_behind_it(tmp_path: Path) -> None:
    with closing(loader(tmp_path)) as late:
        with closing(loader(tmp_path)) as first:
            run_flow(Flow("flow", Numbers(3), first))
        with pytest.raises(SnowmeltError, match="Another run of flow loaded numbers") as told:
            late.load(Batch([{"id": 1}], "1", "numbers"), NOW)
        assert told.value.transient
        run_flow(Flow("flow", Numbers(5), late))
    assert written(tmp_path) == [1, 2, 3, 4, 5]


def test_a_claim_of_another_machine_is_taken_when_it_no_longer_beats(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    foreign = {"owner": "them", "host": "elsewhere", "pid": 1, "started": "then", "beats": 7}
    store.put_text(json.dumps(foreign), "x.lock")
    quick = Claim(lambda: LocalStore(tmp_path), "x.lock", "flow", beat_seconds=0.05, lost_seconds=0.5)
    assert quick.hold(store)
    beats = (tmp_path / "x.lock").read_text(encoding="utf-8")
    wait_until(lambda: (tmp_path / "x.lock").read_text(encoding="utf-8") != beats, "it beats")
    second = Claim(lambda: LocalStore(tmp_path), "x.lock", "flow", lost_seconds=60)
    with pytest.raises(SnowmeltError, match="Another run of flow"):
        second.hold(store)
    quick.release(store)
    slow = Claim(lambda: LocalStore(tmp_path), "x.lock", "flow", beat_seconds=60)
    assert slow.hold(store) and not slow.hold(store)
    store.put_text(json.dumps(foreign), "x.lock")
    with pytest.raises(SnowmeltError, match="Another run of flow"):
        slow.hold(store)
    slow.release(store)
    assert json.loads((tmp_path / "x.lock").read_text(encoding="utf-8")) == foreign, "it was not ours to remove"
