"""Carrying out units of SQL, with the recovery that a step knows for its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snowmelt.core.backoff import pause_after
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.claims import Claims, Execute
from snowmelt.playbooks.expecting import unmet
from snowmelt.playbooks.inputs import InputValue
from snowmelt.playbooks.model import PlaybookStep, Recovery, Sql
from snowmelt.playbooks.ports import PlaybookOperator, Wait
from snowmelt.playbooks.statements import Repeating, Unit, units_of
from snowmelt.playbooks.templates import filled
from snowmelt.runtime.results import Result

_LONGEST_WAIT = 30.0
Note = Callable[..., None]
"""Writes an event into the journal."""


class StepFailedError(Exception):
    """A step can't go on; the text says why, and what to do."""


def units_in(blocks: Sequence[Sql], values: Mapping[str, InputValue]) -> list[Unit]:
    """All units of some blocks, their inputs filled in."""
    units: list[Unit] = []
    for sql in blocks:
        try:
            text = filled(sql.text, values)
        except ValueError as error:
            raise playbook_errors.playbook(f"SQL of line {sql.line} can't be filled in: {error}.") from None
        units += units_of(text, transaction=sql.transaction)
    return units


class Performer:
    def __init__(self, execute: Execute, claims: Claims, operator: PlaybookOperator, wait: Wait, note: Note) -> None:
        self._execute = execute
        self._claims = claims
        self._operator = operator
        self._wait = wait
        self._note = note

    def send(self, unit: Unit, claim: str) -> Result | int | None:
        """The result of a statement; of claimed ones how many rows they changed, None when that was done before."""
        reached("unit before")
        outcome: Result | int | None
        if unit.repeating is Repeating.CLAIMED:
            outcome = self._claims.once(claim, unit.statements)
        else:
            outcome = self._execute(unit.sql)
        reached("unit after")
        return outcome

    def perform(
        self,
        step: PlaybookStep,
        unit: Unit,
        claim: str,
        values: Mapping[str, InputValue],
        fixed: set[str],
        *,
        last: bool,
    ) -> Result | int | None:
        """Carries out a unit of a step, whatever its table of errors allows for. Raises StepFailedError."""
        for attempt in range(1, step.attempts + 1):
            try:
                outcome = self.send(unit, claim)
                if last and isinstance(outcome, Result):
                    self._check(step, outcome)
                return outcome
            except SnowmeltError as error:
                self._recover(step, error, claim, values, fixed, more=attempt < step.attempts)
                if step.wait_seconds:
                    self._wait(pause_after(attempt, step.wait_seconds, _LONGEST_WAIT))
        raise AssertionError("the last attempt returns or raises")

    def _check(self, step: PlaybookStep, result: Result) -> None:
        problems = unmet(step.expectations, result)
        if problems:
            self._operator.result(result)
            raise playbook_errors.playbook(f"Expectation not met: {'; '.join(problems)}. {step.otherwise}".rstrip())

    def _recover(
        self,
        step: PlaybookStep,
        error: SnowmeltError,
        claim: str,
        values: Mapping[str, InputValue],
        fixed: set[str],
        *,
        more: bool,
    ) -> None:
        """Returns when the unit is to be carried out again."""
        text = str(error)
        expected = next((item for item in step.errors if item.pattern.is_in(text)), None)
        recovery = expected.recovery if expected else Recovery.RETRY if error.transient else None
        again = more and (expected.retryable if expected else error.transient)
        self._note("failed", step=step.id, error=text, recovery=recovery or "none")
        self._operator.trouble(text, f"{recovery}: {expected.advice}" if expected else recovery or "not expected")
        advice = f" {expected.advice}" if expected and expected.advice else ""
        if recovery is None or recovery is Recovery.ESCALATE:
            raise StepFailedError(f"{text}{advice}") from error
        if recovery is Recovery.FIX and expected is not None and expected.fix is not None:
            if expected.fix in fixed:
                raise StepFailedError(f"{text} It came back after its fix '{expected.fix}'.{advice}") from error
            self._fix(step, expected.fix, claim, values)
            fixed.add(expected.fix)
        if not again:
            raise StepFailedError(f"{text}{advice}") from error

    def _fix(self, step: PlaybookStep, fix: str, claim: str, values: Mapping[str, InputValue]) -> None:
        for number, unit in enumerate(units_in(step.fixes[fix], values)):
            self._operator.sql(unit.sql)
            try:
                self.send(unit, f"{claim}/fix/{fix}/{number}")
            except SnowmeltError as error:
                raise StepFailedError(f"The fix '{fix}' failed: {error}") from error
        self._note("fixed", step=step.id, fix=fix)
