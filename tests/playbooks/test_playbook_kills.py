"""kill -9 of the runner at every stage of a run: resumed it comes to the same, aborted it leaves nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.playbooks.journal import run_ids
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.crash.driver import Zygote
from tests.playbooks.lives import Commands, zygote
from tests.playbooks.shop import PIPELINE, SUMMARY, objects, open_shop, summary, tracked
from tests.support.slt import drop_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

FILLING = """---
playbook: filling
objective: Rows that must be there once.
inputs:
  target: {type: name, default: FILLED}
---
## Probes

### Look

```sql
SHOW TABLES LIKE {{ target.name | like }} IN SCHEMA {{ target.database }}.{{ target.schema }}
```

- expect: no rows

## Steps

### Fill

```sql
CREATE TABLE IF NOT EXISTS {{ target }} (id INT, note VARCHAR);
INSERT INTO {{ target }} SELECT id, 'first' FROM orders;
UPDATE {{ target }} SET id = id + 100 WHERE note = 'first';
```

#### Creates

- TABLE {{ target }}

#### Checkpoint

- severity: review
- options: approve, abort

### Take from the source

```sql transaction
INSERT INTO {{ target }} SELECT id, 'moved' FROM orders WHERE id >= 3;
DELETE FROM orders WHERE id >= 3
```

#### Compensation

```sql transaction
INSERT INTO orders (id) SELECT id FROM {{ target }} WHERE note = 'moved';
DELETE FROM {{ target }} WHERE note = 'moved'
```
"""
FILLED = [(3, "moved"), (4, "moved"), (101, "first"), (102, "first"), (103, "first"), (104, "first")]


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    started = zygote()
    yield started
    started.close()


@pytest.fixture
def sessions(account: Account) -> Iterator[Iterator[Session]]:
    """As many as are asked for, each in a database of its own."""
    made: list[Session] = []

    def fresh() -> Iterator[Session]:
        while True:
            session = account.session()
            session.execute(f"CREATE DATABASE KILL_{session.id}")
            made.append(session)
            yield session

    yield fresh()
    for session in made:
        name = str(session.database)
        session.close()
        drop_database(account, name)


def places(step: int) -> Iterator[str]:
    """Right before and after each line of the journal, and each unit."""
    for nth in itertools.count(1, step):
        yield f"journal after:{nth}"
        yield f"unit before:{nth}"
        yield f"unit after:{nth}"


def killed_runs(
    commands: Commands, arguments: tuple[str, ...], sessions: Iterator[Session], step: int
) -> Iterator[tuple[Session, Commands, str]]:
    """Runs that were killed, each at another place, until no place of any kind is left."""
    alive: set[str] = set()
    for place in places(step):
        kind = place.split(":")[0]
        if len(alive) == 3:
            return
        if kind in alive:
            continue
        session = next(sessions)
        open_shop(session)
        mine = Commands(commands._zygote, commands._url, commands.folder / place.replace(":", "-").replace(" ", "-"))
        life = mine.run(*arguments, "--database", str(session.database), kill_at=place)
        if not life.killed:
            alive.add(kind)
            assert life.code == 0, life.output
        yield session, mine, place


@pytest.mark.parametrize("then", ["resume", "abort"])
def test_the_streaming_pipeline(
    children: Zygote, url: str, tmp_path: Path, sessions: Iterator[Session], then: str
) -> None:
    inputs = [part for name, value in PIPELINE.items() for part in ("-i", f"{name}={value}")]
    arguments = ("playbook", "run", "build-streaming-pipeline", *inputs, "--approve", "critical")
    commands = Commands(children, url, tmp_path / "all")
    count = 0
    for session, mine, place in killed_runs(commands, arguments, sessions, step=3):
        count += 1
        run = (run_ids(mine.runs) or [None])[0]
        if run is None:
            continue
        before = {
            ("TABLES", "ORDERS"),
            ("TABLES", "CUSTOMERS"),
            ("SCHEMAS", "PUBLIC"),
            ("SCHEMAS", "INFORMATION_SCHEMA"),
        }
        if then == "resume":
            assert mine.run("playbook", "resume", run, "--approve", "critical").code == 0, place
            assert summary(session) == SUMMARY, place
            made = {name for kind, name in objects(session) - before}
            assert made == {"ORDERS_STAGED", "ORDERS_ENRICHED", "ORDERS_SUMMARY"}, place
        elif mine.run("playbook", "abort", run).code == 0:
            assert objects(session) <= before, place
            assert tracked(session, "ORDERS") == "OFF", place
    assert count > 10


@pytest.mark.parametrize("then", ["resume", "abort"])
def test_rows_are_there_once(
    children: Zygote, url: str, tmp_path: Path, sessions: Iterator[Session], then: str
) -> None:
    file = tmp_path / "filling.md"
    file.write_text(FILLING, encoding="utf-8")
    arguments = ("playbook", "run", str(file), "--approve", "critical")
    commands = Commands(children, url, tmp_path / "all")
    for session, mine, place in killed_runs(commands, arguments, sessions, step=1):
        run = (run_ids(mine.runs) or [None])[0]
        if run is None:
            continue
        if then == "resume":
            assert mine.run("playbook", "resume", run, "--approve", "critical").code == 0, place
            assert session.execute("SELECT * FROM filled ORDER BY id").rows() == FILLED, place
            assert session.execute("SELECT id FROM orders ORDER BY id").rows() == [(1,), (2,)], place
        elif mine.run("playbook", "abort", run).code == 0:
            assert session.execute("SELECT id FROM orders ORDER BY id").rows() == [(1,), (2,), (3,), (4,)], place
            tables = {name for kind, name in objects(session) if kind == "TABLES"}
            assert tables == {"ORDERS", "CUSTOMERS"}, place
