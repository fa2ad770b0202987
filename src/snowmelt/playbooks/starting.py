"""The beginning of a run, and finding runs again."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from snowmelt.core.names import quote
from snowmelt.playbooks.claims import Execute
from snowmelt.playbooks.inputs import PlaybookHome
from snowmelt.playbooks.journal import Journal, created, read_events, run_ids, utc_now
from snowmelt.playbooks.model import Playbook
from snowmelt.playbooks.progress import RunProgress, RunStatus, progress_of

BEGAN = "began"


def home_of(execute: Execute) -> PlaybookHome:
    """Where the session is."""
    database, schema = execute("SELECT CURRENT_DATABASE(), CURRENT_SCHEMA()").rows()[0]
    default = PlaybookHome()
    return PlaybookHome(str(database or default.database), str(schema or default.schema))


def go_home(execute: Execute, home: PlaybookHome) -> None:
    """Names without a database or schema mean the same in every process that works on a run."""
    execute(f"USE SCHEMA {quote(home.database)}.{quote(home.schema)}")


def runs_in(folder: Path) -> list[RunProgress]:
    """All runs of playbooks, the oldest first."""
    found = (read_events(folder, run) for run in run_ids(folder))
    return [progress_of(events) for events in found if events[0]["event"] == BEGAN]


def earlier(folder: Path, playbook: Playbook, inputs: Mapping[str, str], account: str) -> RunProgress | None:
    """The last run of the same playbook with the same inputs that was not aborted."""
    same = [
        run
        for run in runs_in(folder)
        if (run.playbook, run.inputs, run.account) == (playbook.name, dict(inputs), account)
        and run.status is not RunStatus.ABORTED
    ]
    return same[-1] if same else None


def new_run_id(name: str) -> str:
    """Sorts by time, and is a word that names of tables can hold."""
    return f"{utc_now():%Y%m%d-%H%M%S}-{name}-{secrets.token_hex(2)}"


@contextmanager
def begun(
    folder: Path, playbook: Playbook, inputs: Mapping[str, str], home: PlaybookHome, account: str
) -> Iterator[Journal]:
    """The journal of a new run."""
    run = new_run_id(playbook.name)
    with created(folder, run) as journal:
        journal.append(
            BEGAN, run=run, playbook=playbook.name, text=playbook.text, account=account,
            home=[home.database, home.schema], inputs=dict(inputs),
        )  # fmt: skip
        yield journal
