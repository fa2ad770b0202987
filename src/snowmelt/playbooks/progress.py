"""Where a run stands: a fold over the events of its journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from snowmelt.playbooks.inputs import PlaybookHome
from snowmelt.playbooks.journal import Event


class RunStatus(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"
    FAILED = "failed"
    ABORTING = "aborting"
    ABORTED = "aborted"
    FINISHED = "finished"

    @property
    def ended(self) -> bool:
        return self in (RunStatus.ABORTED, RunStatus.FINISHED)


@dataclass(slots=True)
class StepProgress:
    attempt: int = 1
    """Grows each time the step is undone, to be done differently."""
    began: bool = False
    done: bool = False
    skipped: bool = False
    units: set[int] = field(default_factory=set)
    """That are done."""
    begun: set[int] = field(default_factory=set)
    """Units that were sent."""
    fixed: set[str] = field(default_factory=set)
    created: list[tuple[str, str]] = field(default_factory=list)
    """Kind and name of what is the run's, oldest first."""
    looked: bool = False
    """Whether collisions were looked for."""
    approved: set[str] = field(default_factory=set)
    """`before`, `after`."""
    answers: int = 0
    """How many were given at its checkpoint."""
    undoing: bool = False
    units_undone: set[int] = field(default_factory=set)
    inputs_after: dict[str, str] = field(default_factory=dict)
    """Inputs that change once it is undone."""


@dataclass(slots=True)
class RunProgress:
    run: str = ""
    playbook: str = ""
    text: str = ""
    account: str = ""
    home: PlaybookHome = field(default_factory=PlaybookHome)
    began_at: str = ""
    last_at: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    probed: dict[str, bool] = field(default_factory=dict)
    """Whether it passed."""
    steps: dict[str, StepProgress] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Steps that began and are not undone, oldest first."""
    status: RunStatus = RunStatus.RUNNING
    problem: str = ""

    def step(self, name: str) -> StepProgress:
        return self.steps.setdefault(name, StepProgress())

    def take(self, event: Event) -> None:
        values = {key: value for key, value in event.items() if key not in ("event", "at")}
        self.last_at = event["at"]
        getattr(self, f"_{event['event']}")(**values)

    # One for each event, by its name.

    def _began(
        self, *, run: str, playbook: str, text: str, account: str, home: list[str], inputs: dict[str, str]
    ) -> None:
        self.run, self.playbook, self.text, self.account = run, playbook, text, account
        self.home = PlaybookHome(*home)
        self.inputs = dict(inputs)
        self.began_at = self.last_at

    def _probed(self, *, probe: str, passed: bool, facts: dict[str, str]) -> None:
        self.probed[probe] = passed
        self.facts |= facts
        self.status = RunStatus.RUNNING

    def _step(self, *, step: str) -> None:
        self.step(step).began = True
        self.order.append(step)
        self.status = RunStatus.RUNNING

    def _creating(self, *, step: str, objects: list[list[str]]) -> None:
        self.step(step).created = [(kind, name) for kind, name in objects]
        self.step(step).looked = True

    def _skipped(self, *, step: str) -> None:
        self.step(step).skipped = True

    def _unit(self, *, step: str, unit: int, sql: str) -> None:
        self.step(step).begun.add(unit)
        self.status = RunStatus.RUNNING

    def _unit_done(self, *, step: str, unit: int, outcome: Any) -> None:
        self.step(step).units.add(unit)

    def _fixed(self, *, step: str, fix: str) -> None:
        self.step(step).fixed.add(fix)

    def _failed(self, *, step: str, error: str, recovery: str) -> None:
        self.problem = error

    def _stopped(self, *, status: str, problem: str) -> None:
        self.problem = problem
        if self.status is not RunStatus.ABORTING:
            self.status = RunStatus(status)

    def _decided(
        self, *, step: str, place: str, decision: str, inputs: dict[str, str], reprobe: list[str], by: str
    ) -> None:
        progress = self.step(step)
        progress.answers += 1
        self.status = RunStatus.ABORTING if decision == "abort" else RunStatus.RUNNING
        for probe in reprobe:
            self.probed.pop(probe, None)
        if decision == "approve":
            progress.approved.add(place)
        elif progress.began:
            # The step is undone with the inputs it had.
            progress.inputs_after = dict(inputs)
        else:
            self.inputs |= inputs

    def _step_done(self, *, step: str) -> None:
        self.step(step).done = True

    def _undoing(self, *, step: str) -> None:
        self.step(step).undoing = True

    def _unit_undone(self, *, step: str, unit: int) -> None:
        self.step(step).units_undone.add(unit)

    def _undone(self, *, step: str) -> None:
        before = self.step(step)
        self.inputs |= before.inputs_after
        self.steps[step] = StepProgress(attempt=before.attempt + 1, answers=before.answers)
        self.order.remove(step)

    def _aborting(self, *, by: str) -> None:
        self.status = RunStatus.ABORTING

    def _aborted(self) -> None:
        self.status, self.problem = RunStatus.ABORTED, ""

    def _finished(self) -> None:
        self.status, self.problem = RunStatus.FINISHED, ""


def progress_of(events: Iterable[Event]) -> RunProgress:
    progress = RunProgress()
    for event in events:
        progress.take(event)
    return progress
