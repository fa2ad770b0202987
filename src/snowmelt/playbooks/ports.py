"""What a run needs from whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

from snowmelt.playbooks.model import Checkpoint, CheckpointDecision, PlaybookStep, Probe
from snowmelt.runtime.results import Result

Wait = Callable[[float], None]
"""Lets some seconds pass."""


class PlaybookOutcome(Enum):
    FINISHED = auto()
    FAILED = auto()
    """A step failed; what was done stays, and the run can be resumed or aborted."""
    WAITING = auto()
    """At a checkpoint that nobody answered."""
    REFUSED = auto()
    """A probe says that it can't be done here."""
    ABORTED = auto()


@dataclass(frozen=True, slots=True)
class CheckpointQuestion:
    step: PlaybookStep
    checkpoint: Checkpoint
    present: str
    answered: int
    """How many answers its checkpoint got before, in this run."""


@dataclass(frozen=True, slots=True)
class CheckpointAnswer:
    decision: CheckpointDecision
    inputs: Mapping[str, str] = field(default_factory=dict)
    by: str = ""


class PlaybookOperator(Protocol):
    """Who watches and decides: a terminal, or a test."""

    def say(self, text: str) -> None: ...

    def probe(self, probe: Probe, sql: str, result: Result, problems: list[str]) -> None: ...

    def step(self, step: PlaybookStep, number: int, count: int, prose: str) -> None: ...

    def sql(self, text: str) -> None: ...

    def result(self, result: Result) -> None: ...

    def trouble(self, error: str, recovery: str) -> None: ...

    def decide(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        """The operator's answer; None if there is nobody to ask."""
        ...
