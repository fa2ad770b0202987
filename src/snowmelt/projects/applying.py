"""Carrying out a plan, statement by statement. What an interrupted run left undone is in the next plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snowmelt.core.errors import SnowmeltError
from snowmelt.projects import errors as project_errors
from snowmelt.projects.catalog import LiveCatalog
from snowmelt.projects.definitions import CONTAINERS
from snowmelt.projects.plan import PlanAction, PlanStep, ProjectPlan

Announce = Callable[[PlanStep, int, int], None]
"""A step that begins: the step, its number, how many there are."""


def apply_plan(plan: ProjectPlan, catalog: LiveCatalog, *, allow_drop: bool, announce: Announce) -> None:
    """Stops at the first statement that fails; what was done until then stays done."""
    if plan.destructive and not allow_drop:
        raise project_errors.project(
            f"The plan loses data: {', '.join(_descriptions(plan.destructive))}. Nothing was changed.",
            hint="Run it with --allow-drop if that is meant.",
        )
    for kind, name, fingerprint in plan.unfinished:
        catalog.call("END", plan.project, kind.value, name, fingerprint)
    for number, step in enumerate(plan.steps, start=1):
        announce(step, number, len(plan.steps))
        try:
            _apply_step(plan, step, catalog)
        except SnowmeltError as error:
            where = f"{step.location}: " if step.location else ""
            left = len(plan.steps) - number
            raise SnowmeltError(
                error.code, error.sqlstate,
                f"{where}{step.action} of {step.name} failed: {error.message}",
                hint=f"{error.hint + ' ' if error.hint else ''}Done before: {number - 1}; not begun: {left}. "
                "Applying again goes on from here.",
            ) from error  # fmt: skip


def _descriptions(steps: Sequence[PlanStep]) -> list[str]:
    return [f"{step.action} {step.name}" for step in steps]


def _apply_step(plan: ProjectPlan, step: PlanStep, catalog: LiveCatalog) -> None:
    if step.kind in CONTAINERS:
        catalog.execute(step.statement)
        catalog.forget()
        return
    if not catalog.ready:
        raise project_errors.project(f"The schema {catalog.home.database}.{catalog.home.schema} does not exist.")
    if step.action is PlanAction.DROP:
        catalog.execute(step.statement)
        catalog.call("FORGET", plan.project, step.kind.value, step.name)
        return
    catalog.call("BEGIN", plan.project, step.kind.value, step.name)
    catalog.execute(step.statement)
    catalog.call("END", plan.project, step.kind.value, step.name, step.fingerprint)
