"""Upkeep in SQL: what there is to do, doing it now, and what was done."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.rights import enforcement
from snowmelt.scheduler.upkeep import Job, kind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.features.upkeep.service import FinishedJob
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

_RIGHT = "MANAGE ACCOUNT"
HISTORY_COLUMNS = columns("JOB, NAME, DONE_ON:ts, OUTCOME, DURATION_MS:n, FILES:n, BYTES:n, RECORDS:n, MESSAGE")


def planned(run: Run, _state: StateReader, _: Sequence[Any]) -> str:
    """SYSTEM$UPKEEP_PLAN(): what upkeep would do now, as JSON. Nothing is done."""
    enforcement.require_on_account(run, _RIGHT)
    return json.dumps([described(job) for job in run.account.services[Upkeep].plan()])


def run_upkeep(run: Run, _state: StateReader, _: Sequence[Any]) -> str:
    """SYSTEM$UPKEEP(): does what there is to do now, whatever the share of time, and says what was done, as JSON."""
    enforcement.require_on_account(run, _RIGHT)
    done = run.account.services[Upkeep].run(lambda _seconds: run.cancelled, asked_by=run)
    run.check_cancelled()
    return json.dumps([{**described(item.job), **_outcome(item)} for item in done])


def history(run: Run, _state: StateReader, arguments: Arguments) -> list[Row]:
    """The newest first, since the server started. For who may see the whole account."""
    if not run.authority.on_account("MONITOR EXECUTION"):
        return []
    found = reversed(list(run.account.services[Upkeep].done))
    rows: list[Row] = [
        {
            "JOB": kind(item.job).upper(),
            "NAME": getattr(item.job, "name", None),
            "DONE_ON": item.at,
            "OUTCOME": item.outcome,
            "DURATION_MS": round(item.seconds * 1000),
            "FILES": item.files,
            "BYTES": item.bytes,
            "RECORDS": item.rows,
            "MESSAGE": item.message or None,
        }
        for item in found
    ]
    return rows[: arguments.limit(100)]


def described(job: Job) -> dict[str, Any]:
    return {"job": kind(job), **dataclasses.asdict(job)}


def _outcome(item: FinishedJob) -> dict[str, Any]:
    return {
        "outcome": item.outcome, "seconds": item.seconds, "files": item.files, "bytes": item.bytes,
        "records": item.rows, "message": item.message,
    }  # fmt: skip
