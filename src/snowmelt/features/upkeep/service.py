"""Upkeep of an account: what is planned, done now, or done again and again by a thread of the server."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep import facts, records
from snowmelt.features.upkeep.compacting import compact
from snowmelt.features.upkeep.purge import purge
from snowmelt.features.upkeep.vacuuming import Vacuum, Vacuumed
from snowmelt.runtime.table_events import Event
from snowmelt.scheduler import upkeep as planning
from snowmelt.scheduler.upkeep import AccountFacts, Budget, Job, UpkeepRules
from snowmelt.state.model import TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_log = structlog.get_logger(__name__)
_KEPT = 1000
"""How many of the jobs that were done last are remembered."""
_BUSY = "000625"
"""Somebody else writes the table."""
_TROUBLE = frozenset({"370002", "370003"})
"""Not of one table alone: the disk, or the state store."""
_AFTER_TROUBLE = 60.0
"""Seconds until the next look when the disk is full or the state store does not answer."""


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A job that was carried out, or could not be."""

    job: Job
    at: datetime
    seconds: float
    outcome: str
    """DONE, POSTPONED (somebody uses the table) or FAILED."""
    files: int = 0
    """Put together, or removed."""
    bytes: int = 0
    rows: int = 0
    """Of records: versions, log entries, history."""
    message: str = ""


class Upkeep:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._memory = facts.Memory()
        self._facts = AccountFacts()
        self._vacuum = Vacuum(account)
        self._bucket = _Bucket(account.settings.upkeep.bytes_per_hour)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._one_at_a_time = threading.RLock()
        self._in_trouble = False
        self.finished: Event[[FinishedJob]] = Event()
        self.done: deque[FinishedJob] = deque(maxlen=_KEPT)
        """The newest last."""

    # -- a look at everything -------------------------------------------------------------------------------------

    def plan(self) -> list[Job]:
        """What there is to do now. Changes nothing."""
        settings = self._account.settings.upkeep
        now = self._account.clock.now()
        rules = UpkeepRules(
            vacuum_every=timedelta(seconds=settings.vacuum_seconds),
            histories_every=timedelta(seconds=settings.history_seconds),
        )
        with self._one_at_a_time:
            known = facts.gather(self._account, self._memory, now)
            return planning.plan(known, self._facts, now, self._bucket.left(now), rules)

    def run(self, pause: Callable[[float], bool] = lambda _: False, asked_by: Run | None = None) -> list[FinishedJob]:
        """Does what there is to do now, one job after the other.

        `pause` is told how long a job took, and says whether to stop. `asked_by`: the statement that waits for it.
        """
        with self._one_at_a_time:
            self._vacuum.asked_by = asked_by
            finished: list[FinishedJob] = []
            for job in self.plan():
                done = self._run_job(job)
                finished.append(done)
                self.done.append(done)
                self.finished(done)
                if done.outcome == "FAILED" and self._in_trouble:
                    break
                if pause(done.seconds):
                    break
            return finished

    def forget_before(self, table_id: str, clean: int, asked_by: Run) -> Vacuumed | str:
        """Forgets what a table was before a version; who needs it still, if somebody does. The caller has the table."""
        with self._one_at_a_time:
            return self._vacuum.everything_before(table_id, clean, self._account.clock.now(), asked_by)

    # -- in the background ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """From now on, until the account is closed, if the settings say so."""
        if self._thread is None and self._account.settings.upkeep.enabled:
            self._thread = threading.Thread(target=self._run, name="snowmelt-upkeep", daemon=True)
            self._thread.start()

    def stop(self, timeout: float) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = None

    def _run(self) -> None:
        settings = self._account.settings.upkeep
        while not self._stopping.wait(_AFTER_TROUBLE if self._in_trouble else settings.every_seconds):
            began = time.monotonic()
            try:
                self.run(self._rest)
            except Exception as error:
                self._trouble(error)
            # Looking costs time as well: so much of it that the share holds.
            self._rest(min(time.monotonic() - began, settings.every_seconds))

    def _rest(self, seconds: float) -> bool:
        share = self._account.settings.upkeep.share
        return self._stopping.wait(seconds * (1 - share) / share)

    # -- one job --------------------------------------------------------------------------------------------------

    def _run_job(self, job: Job) -> FinishedJob:
        now = self._account.clock.now()
        began = time.monotonic()
        try:
            done = self._do(job, now)
            self._in_trouble = False
        except SnowmeltError as error:
            done = self._not_done(job, now, error)
        except OSError as error:
            done = FinishedJob(job, now, 0.0, "FAILED", message=str(error))
            self._memory.look_again(getattr(job, "table_id", None))
            self._trouble(error)
        except Exception as error:
            # A defect of ours: this job is left for a while, the others go on.
            _log.exception("upkeep failed unexpectedly", job=planning.kind(job))
            self._memory.failed(getattr(job, "table_id", None), now)
            done = FinishedJob(job, now, 0.0, "FAILED", message=f"{type(error).__name__}: {error}")
        done = replace(done, seconds=time.monotonic() - began)
        _log.info(
            "upkeep", job=planning.kind(job), table=getattr(job, "name", None), outcome=done.outcome, files=done.files,
            bytes=done.bytes, rows=done.rows, seconds=round(done.seconds, 4), message=done.message or None,
        )  # fmt: skip
        return done

    def _not_done(self, job: Job, now: datetime, error: SnowmeltError) -> FinishedJob:
        table_id = getattr(job, "table_id", None)
        if error.code == _BUSY:
            self._memory.look_again(table_id)
            return FinishedJob(job, now, 0.0, "POSTPONED", message=error.text)
        if table_id is None or error.code in _TROUBLE:
            self._memory.look_again(table_id)
            self._trouble(error)
        else:
            self._memory.failed(table_id, now)
            _log.warning("upkeep_of_table_failed", table=getattr(job, "name", None), error=error.text)
        return FinishedJob(job, now, 0.0, "FAILED", message=error.text)

    def _trouble(self, error: Exception) -> None:
        """Says so once, until something works again: a full disk is not made better by a full log."""
        if not self._in_trouble:
            _log.warning("upkeep_stopped_for_now", error=str(error), exc_info=not isinstance(error, SnowmeltError))
        self._in_trouble = True

    def _do(self, job: Job, now: datetime) -> FinishedJob:
        account = self._account
        match job:
            case planning.Compact():
                self._bucket.take(job.bytes, now)
                count = compact(account, job.table_id, account.settings.upkeep.small_files, most=1)
                self._memory.look_again(job.table_id)
                return FinishedJob(job, now, 0.0, "DONE", files=count, bytes=job.bytes if count else 0)
            case planning.CheckpointJob():
                with account.state.read() as state:
                    table = state.catalog.by_id(job.table_id)
                if table is not None and isinstance(table.definition, TableDefinition):
                    account.store.care.make_checkpoint(table.definition.location, job.version)
                self._memory.look_again(job.table_id)
                return FinishedJob(job, now, 0.0, "DONE")
            case planning.VacuumJob():
                return self._vacuumed(job, now)
            case planning.Purge():
                gone = purge(account, account.readers.oldest(now) - timedelta(
                    seconds=account.settings.upkeep.grace_seconds
                ))  # fmt: skip
                self._facts = replace(self._facts, purged_at=now)
                return FinishedJob(job, now, 0.0, "DONE", rows=len(gone.objects) + gone.schemas + gone.databases)
            case planning.TrimHistories():
                trimmed = records.trim_histories(account, now)
                self._facts = replace(self._facts, trimmed_at=now)
                message = ", ".join(f"{name} {count}" for name, count in trimmed.items())
                return FinishedJob(job, now, 0.0, "DONE", rows=sum(trimmed.values()), message=message)
            case planning.RemoveLeftovers():
                removed = records.remove_leftovers(account)
                self._facts = replace(self._facts, leftovers_at=now)
                return FinishedJob(job, now, 0.0, "DONE", files=removed)
            case planning.TidyStore():
                records.tidy_store(account)
                self._facts = replace(self._facts, tidied_at=now)
                return FinishedJob(job, now, 0.0, "DONE")

    def _vacuumed(self, job: planning.VacuumJob, now: datetime) -> FinishedJob:
        found = self._vacuum.table(job.table_id, now, orphans=job.orphans)
        rows = found.versions + found.removed.entries
        if not found.finished:
            return FinishedJob(
                job, now, 0.0, "POSTPONED", rows=rows, message="statements under way may still read the files"
            )
        self._memory.vacuumed(job.table_id, found.floor, now, orphans=job.orphans)
        return FinishedJob(job, now, 0.0, "DONE", files=found.removed.files, bytes=found.removed.bytes, rows=rows)


class _Bucket:
    """What is left of the bytes of an hour."""

    def __init__(self, per_hour: int) -> None:
        self._per_hour = per_hour
        self._left = float(per_hour)
        self._at: datetime | None = None

    def left(self, now: datetime) -> Budget:
        if self._at is not None:
            hours = max((now - self._at).total_seconds(), 0.0) / 3600
            self._left = min(self._left + hours * self._per_hour, float(self._per_hour))
        self._at = now
        return Budget(max(int(self._left), 0), full=self._left >= self._per_hour)

    def take(self, count: int, now: datetime) -> None:
        self.left(now)
        self._left -= count
