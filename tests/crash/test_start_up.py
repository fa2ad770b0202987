"""What a start looks at, counted rather than timed: nothing that grows with what is in the tables."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.recovery import Recovered
from snowmelt.storage.log import LocalLogStore
from tests.crash.test_processes import environment

TABLES, COMMITS = 12, 6
HEAVY = ("pandas", "sqlalchemy", "deltalake", "starlette", "uvicorn", "snowmelt.runtime.account", "snowmelt.serve.app")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with open_account(tmp_path / "data", settings=Settings()) as account:
        session = account.session()
        for number in range(TABLES):
            session.execute(f"CREATE TABLE t{number} (id INT)")
            for row in range(COMMITS):
                session.execute(f"INSERT INTO t{number} VALUES ({row})")
    return tmp_path / "data"


def test_a_table_at_rest_costs_three_look_ups(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery asks of each table whether its visible version is there and the next one is not. It reads no log."""
    asked: Counter[str] = Counter()
    for name in [name for name, value in vars(LocalLogStore).items() if not name.startswith("_") and callable(value)]:
        real = getattr(LocalLogStore, name)

        def counting(self: LocalLogStore, *given: object, name: str = name, real: object = real) -> object:
            asked[name] += 1
            return real(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(LocalLogStore, name, counting)
    with open_account(directory, settings=Settings()) as account:
        found = Counter(asked)
        assert account.recovered == Recovered()
        # Each of them counts here when somebody asks for it.
        account.session().execute("INSERT INTO t0 VALUES (99)")
    assert asked.keys() - found.keys(), "the counting counts nothing"
    assert sum(found.values()) <= 3 * TABLES, found
    assert set(found) <= {"exists"}, found


def test_java_is_started_before_the_rest_is_imported() -> None:
    """The server's own imports take as long as Java's start: they are done beside it."""
    code = "import sys, snowmelt.cli.serving; print(*sorted(sys.modules))"
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True
    ).stdout.split()
    assert "snowmelt.engine.application" in told
    assert not [name for name in told if re.match("|".join(rf"{heavy}(\.|$)" for heavy in HEAVY), name)]
