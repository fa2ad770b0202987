"""Running a playbook: what comes next follows from its text and its journal alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.claims import Claims, Execute
from snowmelt.playbooks.expecting import column, is_true, unmet
from snowmelt.playbooks.inputs import InputValue
from snowmelt.playbooks.journal import Journal
from snowmelt.playbooks.model import Checkpoint, CheckpointDecision, Playbook, PlaybookStep, Probe, ProbeTime
from snowmelt.playbooks.objects import IF_MISSING, dropping, exists, full_name
from snowmelt.playbooks.performing import Performer, StepFailedError, units_in
from snowmelt.playbooks.ports import CheckpointAnswer, CheckpointQuestion, PlaybookOperator, PlaybookOutcome, Wait
from snowmelt.playbooks.progress import RunProgress, RunStatus, progress_of
from snowmelt.playbooks.statements import Repeating, Unit, units_of
from snowmelt.playbooks.templates import filled, names_in, plainly_filled
from snowmelt.playbooks.values import values_of
from snowmelt.runtime.results import Result


class _StoppedError(Exception):
    """The run ends here for now."""

    def __init__(self, outcome: PlaybookOutcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def claims_of(execute: Execute, progress: RunProgress) -> Claims:
    name = f"SNOWMELT_CLAIMS_{progress.run}".upper().replace("-", "_")
    return Claims(execute, ObjectName(progress.home.database, progress.home.schema, name))


class PlaybookRunner:
    """Goes on with a run from where its journal says it is. `go_on` and `abort` may be called again and again."""

    def __init__(
        self, execute: Execute, playbook: Playbook, journal: Journal, operator: PlaybookOperator, wait: Wait
    ) -> None:
        self._execute = execute
        self.playbook = playbook
        self._journal = journal
        self._operator = operator
        self.progress = progress_of(journal.events)
        self._claims = claims_of(execute, self.progress)
        self._performer = Performer(execute, self._claims, operator, wait, self._note)

    def go_on(self) -> PlaybookOutcome:
        """Up to the end, a failure, or a question that nobody answers."""
        if self.progress.status is RunStatus.ABORTING:
            return self.abort("an earlier abort")
        if self.progress.status.ended:
            return PlaybookOutcome.FINISHED if self.progress.status is RunStatus.FINISHED else PlaybookOutcome.ABORTED
        try:
            while True:
                self._probe_all()
                step = self._next_step()
                if step is None:
                    break
                self._run_step(step)
            self._claims.drop()
            self._note("finished")
        except _StoppedError as stopped:
            return stopped.outcome
        except (StepFailedError, SnowmeltError) as error:
            return self._stop(PlaybookOutcome.FAILED, RunStatus.FAILED, str(error))
        return PlaybookOutcome.FINISHED

    def abort(self, by: str) -> PlaybookOutcome:
        """Undoes every step that began, newest first."""
        if self.progress.status.ended:
            return PlaybookOutcome.ABORTED if self.progress.status is RunStatus.ABORTED else PlaybookOutcome.FINISHED
        if self.progress.status is not RunStatus.ABORTING:
            self._note("aborting", by=by)
        try:
            for step_id in reversed(list(self.progress.order)):
                self._undo(self.playbook.step(step_id))
            self._claims.drop()
            self._note("aborted")
        except (StepFailedError, SnowmeltError) as error:
            return self._stop(PlaybookOutcome.FAILED, RunStatus.FAILED, f"The undoing stopped: {error}")
        return PlaybookOutcome.ABORTED

    def _note(self, event: str, **values: Any) -> None:
        self.progress.take(self._journal.append(event, **values))

    def _stop(self, outcome: PlaybookOutcome, status: RunStatus, problem: str) -> PlaybookOutcome:
        self._note("stopped", status=status.value, problem=problem)
        self._operator.say(problem)
        return outcome

    @property
    def _values(self) -> dict[str, InputValue]:
        progress = self.progress
        return values_of(self.playbook, progress.inputs, progress.facts, progress.home)

    def _plain(self) -> dict[str, str]:
        """What conditions look at."""
        return {**self.progress.facts, **self.progress.inputs}

    # -- probes ---------------------------------------------------------------------------------------------------

    def _probe_all(self) -> None:
        failed = [
            probe
            for probe in self.playbook.probes
            if (probe.when is None or probe.when.holds(self._plain())) and not self._passed(probe)
        ]
        if failed:
            text = "; ".join(f"{probe.title}: {self._filled(probe.otherwise) or 'not as expected'}" for probe in failed)
            raise _StoppedError(
                self._stop(
                    PlaybookOutcome.REFUSED, RunStatus.FAILED, f"A probe failed, so the run goes no further. {text}"
                )
            )

    def _passed(self, probe: Probe) -> bool:
        if self.progress.probed.get(probe.id):
            return True
        facts: dict[str, str] = {}
        problems: list[str] = []
        for unit in units_in(probe.sql, self._values):
            result = self._execute(unit.sql)
            found = unmet(probe.expectations, result)
            self._operator.probe(probe, unit.sql, result, found)
            problems += found
            if result.data.num_rows:
                captured = {item.name: column(result, item.column)[0] for item in probe.captures}
                facts |= {name: value for name, value in captured.items() if value is not None}
        passed = not problems or probe.warns
        self._note("probed", probe=probe.id, passed=passed, facts=facts)
        return passed

    # -- steps ----------------------------------------------------------------------------------------------------

    def _next_step(self) -> PlaybookStep | None:
        for step in self.playbook.steps:
            progress = self.progress.step(step.id)
            if progress.done or progress.skipped:
                continue
            if progress.began or step.when is None or step.when.holds(self._plain()):
                return step
            self._note("skipped", step=step.id)
        return None

    def _run_step(self, step: PlaybookStep) -> None:
        """Brings a step to its end, or to where it has to begin anew."""
        progress = self.progress.step(step.id)
        if progress.undoing or progress.inputs_after:
            self._undo(step)
            return
        values = self._values
        units = units_in(step.sql, values)
        number = self.playbook.steps.index(step) + 1
        self._operator.step(step, number, len(self.playbook.steps), self._filled(step.prose))
        for unit in units:
            self._operator.sql(unit.sql)
        if not self._goes_on(step, ProbeTime.BEFORE):
            return
        objects = self._to_create(step, values) if not progress.looked else []
        if not progress.began:
            self._note("step", step=step.id)
        if not progress.looked:
            self._note("creating", step=step.id, objects=objects)
        self._perform(step, units, values)
        if self._goes_on(step, ProbeTime.AFTER):
            self._note("step_done", step=step.id)

    def _to_create(self, step: PlaybookStep, values: Mapping[str, InputValue]) -> list[list[str]]:
        """The objects that the run will own. Raises for one that exists already and is not the run's."""
        objects: list[list[str]] = []
        for created in step.creates:
            name = full_name(created, values, self.progress.home)
            if not exists(self._execute, created.kind, name):
                objects.append([created.kind, name])
            elif not created.name.endswith(IF_MISSING):
                raise playbook_errors.playbook(
                    f"{created.kind.capitalize()} {name} exists already, and this run did not make it.",
                    hint="Choose another name (an input), or drop it, and resume; or abort.",
                )
        return objects

    def _perform(self, step: PlaybookStep, units: list[Unit], values: Mapping[str, InputValue]) -> None:
        progress = self.progress.step(step.id)
        if len(progress.units) == len(units):
            return
        if step.done_when is not None and self._is_done(step, values):
            for number in range(len(units)):
                self._note("unit_done", step=step.id, unit=number, outcome="was done")
            return
        for number, unit in enumerate(units):
            if number in progress.units:
                continue
            self._note("unit", step=step.id, unit=number, sql=unit.sql)
            claim = self._claim(step, number)
            last = number == len(units) - 1
            outcome = self._performer.perform(step, unit, claim, values, progress.fixed, last=last)
            if isinstance(outcome, Result):
                self._operator.result(outcome)
            else:
                self._operator.say("Done before." if outcome is None else f"{outcome} rows changed.")
            shown = outcome.data.num_rows if isinstance(outcome, Result) else outcome
            self._note("unit_done", step=step.id, unit=number, outcome=shown)

    def _is_done(self, step: PlaybookStep, values: Mapping[str, InputValue]) -> bool:
        assert step.done_when is not None
        (unit,) = units_of(filled(step.done_when.text, values), transaction=False)
        return is_true(self._execute(unit.sql))

    def _filled(self, prose: str) -> str:
        return plainly_filled(prose, self._values)

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def _goes_on(self, step: PlaybookStep, at: ProbeTime) -> bool:
        """Whether the step goes on behind its checkpoint; not when it has to begin anew."""
        checkpoint = step.checkpoint
        progress = self.progress.step(step.id)
        if checkpoint is None or checkpoint.at is not at or at in progress.approved:
            return True
        for unit in units_in(checkpoint.sql, self._values):
            self._operator.result(self._execute(unit.sql))
        question = CheckpointQuestion(step, checkpoint, self._filled(checkpoint.present), progress.answers)
        answer = self._operator.decide(question)
        if answer is None:
            text = f"Waiting for an answer to the {checkpoint.severity} checkpoint of '{step.title}' ({step.id})."
            raise _StoppedError(self._stop(PlaybookOutcome.WAITING, RunStatus.WAITING, text))
        changed = self._changed(step, checkpoint, answer)
        self._note(
            "decided", step=step.id, place=at.value, decision=answer.decision.value, inputs=changed,
            reprobe=self._to_probe_again(step, changed), by=answer.by,
        )  # fmt: skip
        if answer.decision is CheckpointDecision.ABORT:
            raise _StoppedError(self.abort(answer.by))
        return answer.decision is CheckpointDecision.APPROVE

    def _changed(self, step: PlaybookStep, checkpoint: Checkpoint, answer: CheckpointAnswer) -> dict[str, str]:
        """The inputs that the answer gives other values. Raises for an answer that is not possible here."""
        if answer.decision not in checkpoint.options:
            raise playbook_errors.playbook(
                f"'{answer.decision}' is not an option of the checkpoint of '{step.id}': "
                f"{', '.join(checkpoint.options)}."
            )
        changed = dict(
            checkpoint.alternative if answer.decision is CheckpointDecision.DIFFERENT_APPROACH else answer.inputs
        )
        if answer.decision is CheckpointDecision.MODIFY and not changed:
            raise playbook_errors.playbook(f"The answer to '{step.id}' modifies nothing: it needs inputs.")
        used = self._used_before(step)
        for name in changed:
            if name not in self.playbook.front.inputs:
                raise playbook_errors.playbook(f"There is no input '{name}'.")
            if name in used:
                raise playbook_errors.playbook(
                    f"The input '{name}' can't be changed any more: the step '{used[name]}' used it.",
                    hint="Abort, and run the playbook with another value.",
                )
        try:
            values_of(self.playbook, changed, {}, self.progress.home)
        except ValueError as error:
            raise playbook_errors.playbook(f"The answer to '{step.id}' is not valid: {error}.") from None
        return changed

    def _to_probe_again(self, step: PlaybookStep, changed: Mapping[str, str]) -> list[str]:
        """Probes of what has changed; not those that would find what this run has made since."""
        used = self._used_before(step).keys()
        named = {probe.id: {name for sql in probe.sql for name in names_in(sql.text)} for probe in self.playbook.probes}
        return [probe for probe, names in named.items() if names & changed.keys() and not names & used]

    def _used_before(self, step: PlaybookStep) -> dict[str, str]:
        """Inputs that other steps of the run have used, and by which."""
        used: dict[str, str] = {}
        for step_id in self.progress.order:
            other = self.playbook.step(step_id)
            if other is not step:
                names = {name for sql in other.all_sql() for name in names_in(sql.text)}
                names |= {name for created in other.creates for name in names_in(created.name)}
                used |= dict.fromkeys(names, step_id)
        return used

    # -- undoing --------------------------------------------------------------------------------------------------

    def _undo(self, step: PlaybookStep) -> None:
        """The compensation of a step, and then whatever it made is dropped, newest first."""
        progress = self.progress.step(step.id)
        values = self._values
        compensation = units_in(step.compensation.sql, values) if step.compensation is not None else []
        drops = [dropping(kind, name) for kind, name in reversed(progress.created)]
        units = [*compensation, *(unit for drop in drops for unit in units_of(drop, transaction=False))]
        self._operator.say(f"Undoing '{step.title}'")
        if step.compensation is not None and step.compensation.prose:
            self._operator.say(self._filled(step.compensation.prose))
        if not progress.undoing:
            self._note("undoing", step=step.id)
        self._take_claims(step, values)
        for number, unit in enumerate(units):
            if number in progress.units_undone:
                continue
            self._operator.sql(unit.sql)
            self._performer.send(unit, f"{step.id}/{progress.attempt}/undo/{number}")
            self._note("unit_undone", step=step.id, unit=number)
        self._note("undone", step=step.id)

    def _take_claims(self, step: PlaybookStep, values: Mapping[str, InputValue]) -> None:
        """Takes the claims of a step, so that what a server begins late, for a process that died, finds them taken."""
        progress = self.progress.step(step.id)
        pending = progress.begun - progress.units
        if pending:
            for number, unit in enumerate(units_in(step.sql, values)):
                if number in pending and unit.repeating is Repeating.CLAIMED:
                    self._claims.once(self._claim(step, number), ())

    def _claim(self, step: PlaybookStep, unit: int) -> str:
        return f"{step.id}/{self.progress.step(step.id).attempt}/{unit}"
