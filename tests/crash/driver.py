"""Lives and deaths of a process on one data directory, each followed by a check of what it left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.crash.workload import SHARED, State, read_log, views
from tests.support.waiting import DEADLINE

FOREIGN = "foreign"
ROOT = Path(__file__).parents[2]


class Zygote:
    """The process that forks the others; see child.py."""

    def __init__(self, module: str = "tests.crash.child") -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "SNOWMELT_LOG_LEVEL": "ERROR"}
        environment.pop("SNOWMELT_TEST_KILL_AT", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
            cwd=ROOT, text=True,
        )  # fmt: skip

    def run(self, order: dict[str, Any], kill_after: float | None) -> int:
        """Runs one life and returns how it ended: an exit code, or minus the signal."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        pid = self._answer()["pid"]
        timer = threading.Timer(kill_after, _kill, [pid]) if kill_after is not None else None
        if timer is not None:
            timer.start()
        status: int = self._answer()["status"]
        if timer is not None:
            timer.cancel()
            timer.join()
        return status

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE)
        self._process.stdout.close()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@dataclass
class Directory:
    """A data directory over many lives."""

    zygote: Zygote
    folder: Path
    seed: int
    sessions: int = 3
    spark: bool = False
    shared_only: bool = False
    upkeep: bool = False
    """Whether small files are put together, and versions and files removed, all the time beside the sessions."""
    life: int = 0
    known: dict[int, State] = field(default_factory=dict)
    log: Path | None = None
    """What the last life that worked acknowledged; its effects are not checked yet."""
    deaths: int = 0
    foreign: list[list[Any]] = field(default_factory=list)
    """Rows that another tool wrote."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.known = {session: {name: [] for name in SHARED} for session in range(self.sessions)}

    def live(
        self,
        *,
        kill_at: str | None = None,
        kill_after: float | None = None,
        units: int = 30,
        close: bool = False,
    ) -> bool:
        """One life; then what the one before it left is checked. True when it was killed."""
        self.life += 1
        paths = {name: self.folder / f"{self.life}.{name}" for name in ("report", "log", "error", "output")}
        order = {
            "data": str(self.folder / "data"), "seed": self.seed, "life": self.life, "sessions": self.sessions,
            "units": units, "kill_at": kill_at, "close": close, "spark": self.spark, "shared_only": self.shared_only,
            "upkeep": self.upkeep,
            **{name: str(path) for name, path in paths.items()},
        }  # fmt: skip
        status = self.zygote.run(order, kill_after)
        where = f"seed {self.seed}, life {self.life}, killed at {kill_at or kill_after}, in {self.folder}"
        assert status in (0, -signal.SIGKILL), f"{where}: {_text(paths['error'])}"
        self.deaths += status != 0
        if paths["report"].exists():
            self._check(json.loads(paths["report"].read_text()), where)
            self.log = paths["log"]
        return status != 0

    def _check(self, tables: dict[str, Any], where: str) -> None:
        """Every session's state is what it acknowledged, with or without the unit that was under way."""
        found = views(tables, range(self.sessions))
        if self.log is not None:
            for session, possible in read_log(self.log, self.known).items():
                assert possible.allows(found[session]), (
                    f"{where}: session {session}\nfound     {found[session]}\nexpected  {possible.certain}\n"
                    f"or        {possible.perhaps}\nafter     {possible.under_way}"
                )
        foreign = sorted(row for name in SHARED for row in tables[name] if row[1] == FOREIGN)
        assert foreign == sorted(self.foreign), f"{where}: others wrote {self.foreign}, found {foreign}"
        counted = sum(len(found[session][name]) for session in found for name in SHARED)
        assert counted + len(foreign) == sum(len(tables[name]) for name in SHARED), f"{where}: rows of nobody"
        self.known = found

    def write_from_outside(self) -> None:
        """Another tool, that knows nothing of us, adds a row to each of the shared tables."""
        for name in SHARED:
            uri = next((self.folder / "data" / "tables").glob(f"*/*/{name.lower()}-*"))
            row = [-1 - len(self.foreign), FOREIGN]
            data = pa.table({"ID": pa.array([row[0]], pa.decimal128(38, 0)), "NOTE": [row[1]]})
            write_deltalake(uri, data.cast(pa.schema(DeltaTable(uri).schema().to_arrow())), mode="append")
            self.foreign.append(row)

    def rest(self) -> None:
        """A last life without work, to check what the one before left."""
        assert not self.live(units=0, close=True)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else "died without a word"
