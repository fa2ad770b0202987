"""A run that is cut off at any place and resumed, or aborted, comes to what an uninterrupted one comes to."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.playbooks import journal as journals
from snowmelt.playbooks import performing
from snowmelt.playbooks.inputs import PlaybookHome
from snowmelt.playbooks.journal import opened, run_ids
from snowmelt.playbooks.library import parsed
from snowmelt.playbooks.model import CheckpointDecision
from snowmelt.playbooks.ports import CheckpointAnswer, PlaybookOutcome
from snowmelt.playbooks.running import PlaybookRunner
from snowmelt.playbooks.starting import begun
from snowmelt.playbooks.values import resolved
from tests.playbooks.world import Script, World

TEXT = """---
playbook: example
objective: Fill two tables.
inputs:
  first: {type: name, default: FIRST}
  second: {type: name, default: SECOND}
  value: {type: integer, default: 1}
  way: {type: word, choices: [ONE, OTHER], default: ONE}
---
## Probes

### Look

```sql
SHOW TABLES LIKE {{ first.name | like }} IN SCHEMA {{ first.database }}.{{ first.schema }}
```

- expect: no rows
- otherwise: {{ first }} is there

## Steps

### Make the first

```sql
CREATE TABLE IF NOT EXISTS {{ first }} (id INT);
INSERT INTO {{ first }} VALUES ({{ value }});
INSERT INTO {{ first }} VALUES (2)
```

#### Creates

- TABLE {{ first }}

#### Expected errors

| pattern | recovery | retryable | what to do |
|---|---|---|---|
| `busy` | retry | yes | again |
| `lost` | fix: remake | yes | made again |
| `broken` | escalate | no | Call somebody. |

#### Fix: remake

```sql
CREATE TABLE IF NOT EXISTS {{ first }} (id INT)
```

### Change it

```sql transaction
DELETE FROM {{ first }} WHERE id = {{ value }};
INSERT INTO {{ first }} VALUES (10)
```

#### Compensation

```sql transaction
DELETE FROM {{ first }} WHERE id = 10;
INSERT INTO {{ first }} VALUES ({{ value }})
```

#### Checkpoint

- severity: review
- present: It is {{ value }} no more.
- options: approve, abort

### Make the second in one way

- when: way = ONE

```sql
CREATE TABLE IF NOT EXISTS {{ second }} (id INT);
INSERT INTO {{ second }} VALUES (3)
```

#### Creates

- TABLE {{ second }}

#### Checkpoint

- severity: critical
- options: approve, modify, abort, different-approach
- different-approach: way = OTHER

### Make the second in the other way

- when: way = OTHER

```sql
CREATE TABLE IF NOT EXISTS {{ second }} (id INT);
INSERT INTO {{ second }} VALUES (4)
```

#### Creates

- TABLE {{ second }}
"""
PLAYBOOK = parsed(TEXT, "example")
FIRST, SECOND = "SNOWMELT.PUBLIC.FIRST", "SNOWMELT.PUBLIC.SECOND"
DONE = {FIRST: ["2", "10"], SECOND: ["3"]}


class Crash(BaseException):
    """The end of the process."""


def crash_at(monkeypatch: pytest.MonkeyPatch, nth: int | None) -> None:
    count = itertools.count(1)

    def reached(_: str) -> None:
        if next(count) == nth:
            raise Crash

    for module in (journals, performing):
        monkeypatch.setattr(module, "reached", reached)


def start(world: World, folder: Path, script: Script, **inputs: str) -> PlaybookOutcome:
    values = resolved(PLAYBOOK, inputs, PlaybookHome(), lambda *_: None)
    with begun(folder, PLAYBOOK, values, PlaybookHome(), "here") as journal:
        return PlaybookRunner(world.execute, PLAYBOOK, journal, script, lambda _: None).go_on()


def later(
    world: World, folder: Path, script: Script, work: Callable[[PlaybookRunner], PlaybookOutcome]
) -> PlaybookOutcome:
    with opened(folder, run_ids(folder)[-1]) as journal:
        return work(PlaybookRunner(world.execute, PLAYBOOK, journal, script, lambda _: None))


def go_on(world: World, folder: Path, script: Script) -> PlaybookOutcome:
    return later(world, folder, script, PlaybookRunner.go_on)


def abort(world: World, folder: Path, script: Script) -> PlaybookOutcome:
    return later(world, folder, script, lambda runner: runner.abort("test"))


def test_an_uninterrupted_run(tmp_path: Path) -> None:
    world, script = World(), Script()
    assert start(world, tmp_path, script) is PlaybookOutcome.FINISHED
    assert world.tables == DONE
    assert go_on(world, tmp_path, script) is PlaybookOutcome.FINISHED
    assert abort(world, tmp_path, script) is PlaybookOutcome.FINISHED, "a finished run stays"
    assert world.tables == DONE


@pytest.mark.parametrize("then", ["resume", "abort"])
def test_cut_off_at_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    """Also twice: the second time while it resumes or aborts."""
    aborted = 0
    for nth in itertools.count(1):
        folder, world = tmp_path / str(nth), World()
        crash_at(monkeypatch, nth)
        try:
            start(world, folder, Script())
            break
        except Crash:
            pass
        if not run_ids(folder):
            # Nothing was begun, so nothing can be resumed.
            assert world.tables == {}
            continue
        work = go_on if then == "resume" else abort
        crash_at(monkeypatch, 1 + nth % 7)
        try:
            work(world, folder, Script())
        except Crash:
            crash_at(monkeypatch, None)
            work(world, folder, Script())
        crash_at(monkeypatch, None)
        outcome = work(world, folder, Script())
        if then == "resume":
            assert (outcome, world.tables) == (PlaybookOutcome.FINISHED, DONE), nth
        else:
            # What had finished before the end of its process stays.
            ends = ((PlaybookOutcome.ABORTED, {}), (PlaybookOutcome.FINISHED, DONE))
            assert (outcome, world.tables) in ends, nth
            aborted += outcome is PlaybookOutcome.ABORTED
    assert nth > 40
    assert then == "resume" or aborted > 40


def test_a_torn_line_is_cut(tmp_path: Path) -> None:
    world = World()
    assert start(world, tmp_path, Script({"change-it": []})) is PlaybookOutcome.WAITING
    (path,) = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"event": "finis')
    assert go_on(world, tmp_path, Script()) is PlaybookOutcome.FINISHED
    assert world.tables == DONE


def test_two_processes_do_not_work_on_one_run(tmp_path: Path) -> None:
    world = World()
    start(world, tmp_path, Script({}))
    with opened(tmp_path, run_ids(tmp_path)[0]), pytest.raises(SnowmeltError, match="Another process"):
        go_on(world, tmp_path, Script())


def test_checkpoints_wait_and_go_on(tmp_path: Path) -> None:
    world = World()
    assert start(world, tmp_path, Script({})) is PlaybookOutcome.WAITING
    assert world.tables[FIRST] == ["2", "10"], "the checkpoint is behind its step"
    approved = {"change-it": [CheckpointAnswer(CheckpointDecision.APPROVE)]}
    assert go_on(world, tmp_path, Script(approved)) is PlaybookOutcome.WAITING
    answers = {**approved, "make-the-second-in-one-way": [CheckpointAnswer(CheckpointDecision.APPROVE)]}
    assert go_on(world, tmp_path, Script(answers)) is PlaybookOutcome.FINISHED
    assert world.tables == DONE


def test_abort_at_a_checkpoint_leaves_nothing(tmp_path: Path) -> None:
    world = World()
    world.tables["SNOWMELT.PUBLIC.OTHER"] = ["7"]
    script = Script({"change-it": [CheckpointAnswer(CheckpointDecision.ABORT)]})
    assert start(world, tmp_path, script) is PlaybookOutcome.ABORTED
    assert world.tables == {"SNOWMELT.PUBLIC.OTHER": ["7"]}
    undone = [text for text in script.said if text.startswith("Undoing")]
    assert undone == ["Undoing 'Change it'", "Undoing 'Make the first'"], "newest first"


def test_a_different_approach_undoes_the_step_and_takes_the_other_branch(tmp_path: Path) -> None:
    world = World()
    answers = {
        "change-it": [CheckpointAnswer(CheckpointDecision.APPROVE)],
        "make-the-second-in-one-way": [CheckpointAnswer(CheckpointDecision.DIFFERENT_APPROACH)],
    }
    assert start(world, tmp_path, Script(answers)) is PlaybookOutcome.FINISHED
    assert world.tables == {FIRST: ["2", "10"], SECOND: ["4"]}


def test_modify_undoes_the_step_and_does_it_anew(tmp_path: Path) -> None:
    world = World()
    modify = CheckpointAnswer(CheckpointDecision.MODIFY, {"second": "THIRD"})
    answers = {
        "change-it": [CheckpointAnswer(CheckpointDecision.APPROVE)],
        "make-the-second-in-one-way": [modify, CheckpointAnswer(CheckpointDecision.APPROVE)],
    }
    assert start(world, tmp_path, Script(answers)) is PlaybookOutcome.FINISHED
    assert world.tables == {FIRST: ["2", "10"], "SNOWMELT.PUBLIC.THIRD": ["3"]}


def test_an_input_that_a_finished_step_used_stays(tmp_path: Path) -> None:
    world = World()
    modify = CheckpointAnswer(CheckpointDecision.MODIFY, {"value": "5"})
    answers = {"change-it": [CheckpointAnswer(CheckpointDecision.APPROVE)], "make-the-second-in-one-way": [modify]}
    script = Script(answers)
    assert start(world, tmp_path, script) is PlaybookOutcome.FAILED
    assert any("can't be changed any more" in text for text in script.said)


def test_what_is_there_already_is_not_touched(tmp_path: Path) -> None:
    world = World()
    world.tables[SECOND] = ["7"]
    script = Script()
    assert start(world, tmp_path, script) is PlaybookOutcome.FAILED
    assert any("exists already" in text for text in script.said)
    assert abort(world, tmp_path, script) is PlaybookOutcome.ABORTED
    assert world.tables == {SECOND: ["7"]}


def test_a_probe_stops_before_anything_is_made(tmp_path: Path) -> None:
    world = World()
    world.tables[FIRST] = []
    assert start(world, tmp_path, Script()) is PlaybookOutcome.REFUSED
    assert world.tables == {FIRST: []}
    del world.tables[FIRST]
    assert go_on(world, tmp_path, Script()) is PlaybookOutcome.FINISHED, "once that is mended"


def failure(text: str) -> SnowmeltError:
    return errors.configuration(text)


def test_errors_meet_their_recovery(tmp_path: Path) -> None:
    world = World()
    insert = "INSERT INTO SNOWMELT.PUBLIC.FIRST VALUES (1)"
    world.fails = {insert: [failure("busy"), failure("lost"), failure("busy")]}
    script = Script()
    assert start(world, tmp_path, script) is PlaybookOutcome.FINISHED
    assert world.tables == DONE
    assert sum("-> retry" in text for text in script.said) == 2
    assert sum("-> fix" in text for text in script.said) == 1


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["broken"], "Call somebody."),
        (["unheard of"], "unheard of"),
        (["busy"] * 5, "busy"),
        (["lost", "lost"], "back after its fix"),
    ],
)
def test_what_can_not_be_recovered_stops_and_can_be_resumed(tmp_path: Path, texts: list[str], told: str) -> None:
    world, script = World(), Script()
    world.fails = {"VALUES (2)": [failure(text) for text in texts]}
    assert start(world, tmp_path, script) is PlaybookOutcome.FAILED
    assert told in script.said[-1]
    assert go_on(world, tmp_path, Script()) is PlaybookOutcome.FINISHED
    assert world.tables == DONE


def test_a_compensation_that_fails_stops_the_abort_which_goes_on_later(tmp_path: Path) -> None:
    world = World()
    start(world, tmp_path, Script({}))
    world.fails = {"WHERE id = 10": [failure("locked")]}
    script = Script()
    assert abort(world, tmp_path, script) is PlaybookOutcome.FAILED
    assert "The undoing stopped" in script.said[-1]
    assert go_on(world, tmp_path, script) is PlaybookOutcome.ABORTED, "resuming goes on with the abort"
    assert world.tables == {}
