"""SIGKILL before and behind every step that leaves a trace, again and again: each record is there once."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import closing
from pathlib import Path

import pytest

import snowmelt
from snowmelt.extract_load import DEAD_LETTERS_DDL, RAW_DDL
from tests.extract_load import child
from tests.extract_load.loading import records, rows
from tests.extract_load.test_destinations import DeltaTarget, FilesTarget, PostgresTarget
from tests.extract_load.test_iceberg import Readers, Table
from tests.support.waiting import DEADLINE

FILES = 3
pytestmark = pytest.mark.slow


def run_killed_at(step: int, kind: str, target: str, folder: Path) -> bool:
    """Whether it was killed, and did not come to its end. Forked by a server that has imported all there is."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.extract_load.child"])
    process = context.Process(target=child.main, args=(kind, target, str(folder), str(step)))
    process.start()
    process.join(DEADLINE)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


@pytest.mark.parametrize("kind", ["snowmelt", "postgres", "delta", "parquet"])
def test_killed_at_every_step(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with snowmelt.connect(tmp_path / "data") as connection:
        connection.execute(f"CREATE TABLE raw {RAW_DDL}")
        connection.execute(f"CREATE TABLE letters {DEAD_LETTERS_DDL}")
    source = tmp_path / "in"
    source.mkdir()
    postgres = PostgresTarget(request.getfixturevalue("postgres_url")) if kind == "postgres" else None
    target = postgres.address if postgres is not None else str(tmp_path / "target")
    step, files = 1, 0
    while True:
        if step % 3 == 1 and files < FILES:
            # The source goes on meanwhile: what is repeated is not what was cut off.
            files += 1
            text = "".join(f"{number},n\n" for number in range(files * 10, files * 10 + 3))
            (source / f"{FILES - files}.csv").write_text(f"id,name\n{text}bad,line,here\n", encoding="utf-8")
        if not run_killed_at(step, kind, target, tmp_path):
            break
        step += 1
    assert files == FILES
    expected = sorted(number for file in range(1, files + 1) for number in range(file * 10, file * 10 + 3))
    if postgres is not None:
        found = postgres.rows()
    elif kind == "snowmelt":
        found = records(tmp_path / "data")
    else:
        found = (DeltaTarget if kind == "delta" else FilesTarget)(target, {}, kind).rows()
    assert sorted(int(row["id"]) for row in found) == expected
    if kind == "delta":
        with closing(Readers()) as readers:
            assert readers.read(Table(target)) == Table(target).rows(), "Iceberg's metadata followed"
    letters = rows(tmp_path / "data", "letters")
    assert len(letters) == files and len({row["ORIGIN"] for row in letters}) == files
