"""What a playbook is, once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from snowmelt.core.patterns import UserPattern
from snowmelt.playbooks.conditions import Condition
from snowmelt.playbooks.inputs import InputSpec


class FrontMatter(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    playbook: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    """Its name."""
    objective: str = Field(min_length=1)
    inputs: dict[str, InputSpec] = Field(default_factory=dict)
    prerequisites: tuple[str, ...] = ()


class CheckpointSeverity(StrEnum):
    REVIEW = "review"
    CRITICAL = "critical"


class CheckpointDecision(StrEnum):
    APPROVE = "approve"
    MODIFY = "modify"
    ABORT = "abort"
    DIFFERENT_APPROACH = "different-approach"


class Recovery(StrEnum):
    RETRY = "retry"
    FIX = "fix"
    ESCALATE = "escalate"


class ProbeTime(StrEnum):
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Sql:
    """A fenced block of SQL, with placeholders."""

    text: str
    line: int
    transaction: bool = False
    """All its statements take effect together."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the rows of a result must be."""

    text: str
    line: int
    rows: bool | None = None
    """TRUE: there are some; FALSE: there are none."""
    column: str | None = None
    wanted: tuple[str, ...] = ()
    negated: bool = False
    """Of a column in every row: its value is (not) among these."""


@dataclass(frozen=True, slots=True)
class ProbeCapture:
    """A value of a probe's first row that later SQL and conditions can use."""

    name: str
    column: str


@dataclass(frozen=True, slots=True)
class Probe:
    id: str
    title: str
    line: int
    prose: str
    sql: tuple[Sql, ...]
    expectations: tuple[Expectation, ...] = ()
    captures: tuple[ProbeCapture, ...] = ()
    otherwise: str = ""
    warns: bool = False
    """Whether the run goes on when it fails."""
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    line: int
    severity: CheckpointSeverity
    at: ProbeTime = ProbeTime.AFTER
    present: str = ""
    sql: tuple[Sql, ...] = ()
    options: tuple[CheckpointDecision, ...] = (CheckpointDecision.APPROVE, CheckpointDecision.ABORT)
    alternative: Mapping[str, str] = field(default_factory=dict)
    """The inputs that a different approach sets."""


@dataclass(frozen=True, slots=True)
class Created:
    kind: str
    name: str
    """With placeholders."""
    line: int


@dataclass(frozen=True, slots=True)
class Compensation:
    line: int
    sql: tuple[Sql, ...]
    prose: str


@dataclass(frozen=True, slots=True)
class ExpectedError:
    pattern: UserPattern
    recovery: Recovery
    retryable: bool
    advice: str
    fix: str | None
    line: int


@dataclass(frozen=True, slots=True)
class PlaybookStep:
    id: str
    title: str
    line: int
    prose: str
    sql: tuple[Sql, ...]
    when: Condition | None = None
    creates: tuple[Created, ...] = ()
    checkpoint: Checkpoint | None = None
    compensation: Compensation | None = None
    errors: tuple[ExpectedError, ...] = ()
    fixes: Mapping[str, tuple[Sql, ...]] = field(default_factory=dict)
    done_when: Sql | None = None
    expectations: tuple[Expectation, ...] = ()
    """Of the last result."""
    otherwise: str = ""
    attempts: int = 5
    wait_seconds: float = 1.0

    def all_sql(self) -> tuple[Sql, ...]:
        """Every piece of SQL that belongs to the step."""
        parts = [*self.sql, *(self.checkpoint.sql if self.checkpoint else ())]
        parts += [*(self.compensation.sql if self.compensation else ()), *([self.done_when] if self.done_when else [])]
        return (*parts, *(sql for fix in self.fixes.values() for sql in fix))


@dataclass(frozen=True, slots=True)
class Playbook:
    front: FrontMatter
    title: str
    text: str
    """The file, as it was read."""
    probes: tuple[Probe, ...]
    steps: tuple[PlaybookStep, ...]

    @property
    def name(self) -> str:
        return self.front.playbook

    @property
    def facts(self) -> set[str]:
        """Names of what probes capture."""
        return {capture.name for probe in self.probes for capture in probe.captures}

    def step(self, step_id: str) -> PlaybookStep:
        return next(step for step in self.steps if step.id == step_id)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something about a playbook's file that its author should see to."""

    line: int
    text: str
    warning: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {'warning: ' if self.warning else ''}{self.text}"
