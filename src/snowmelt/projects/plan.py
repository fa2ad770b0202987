"""The plan: what must happen for the catalog to be what a project says. Showing and applying it read the same list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, literal, quote, split_name
from snowmelt.features.contracts.statements import CreateContract
from snowmelt.features.streams.statements import CreateStream
from snowmelt.projects import comparing
from snowmelt.projects import errors as project_errors
from snowmelt.projects.catalog import LiveCatalog, Noted
from snowmelt.projects.comparing import QUERY_CHANGED, Difference, Effect
from snowmelt.projects.config import ProjectConfig
from snowmelt.projects.costs import Costs
from snowmelt.projects.definitions import CONTAINERS, RELATIONS, AnyCreate, ProjectDefinition
from snowmelt.projects.ordering import ordered
from snowmelt.runtime.kinds import InProjects, all_kinds
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView

DROP_ORDER = {ObjectType.VIEW: 70, ObjectType.TABLE: 80, ObjectType.SEQUENCE: 140}
"""What is dropped first. Features say where theirs stand among these."""
_FIXED = frozenset({ObjectType.SEQUENCE})
"""Kinds that hold something which a new one would not have: numbers handed out."""


class PlanAction(StrEnum):
    CREATE = "create"
    ALTER = "alter"
    REINITIALIZE = "re-initialise"
    """Altered, and its rows are computed anew."""
    CARRY_OVER = "carry over"
    """Altered, and its rows become those of the new query without computing all of them."""
    REPLACE = "replace"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One statement."""

    action: PlanAction
    kind: ObjectType
    name: str
    statement: str
    reasons: tuple[str, ...]
    cost: str
    rows: int | None = None
    """Rows that are read, or that go with what is dropped; None where that is not known."""
    location: str = ""
    fingerprint: str = ""
    destructive: bool = False
    """Data goes that nothing brings back."""

    def as_json(self) -> dict[str, Any]:
        return {
            "action": self.action.value, "kind": self.kind.value, "name": self.name, "reasons": list(self.reasons),
            "cost": self.cost, "rows": self.rows, "destructive": self.destructive, "place": self.location,
            "statement": self.statement,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProjectPlan:
    project: str
    """The project's key in the state store: its name and where it lives, so that two copies never touch each other."""
    steps: tuple[PlanStep, ...]
    unchanged: int
    unfinished: tuple[tuple[ObjectType, str, str], ...] = ()
    """Kind, name and fingerprint of what an interrupted run made and did not come to note."""

    @property
    def destructive(self) -> list[PlanStep]:
        return [step for step in self.steps if step.destructive]

    def as_json(self) -> dict[str, Any]:
        return {
            "project": self.project, "changes": len(self.steps), "unchanged": self.unchanged,
            "steps": [step.as_json() for step in self.steps],
        }  # fmt: skip


def make_plan(config: ProjectConfig, definitions: Sequence[ProjectDefinition], catalog: LiveCatalog) -> ProjectPlan:
    home = catalog.home
    project = f"{config.name} in {SchemaName(home.database, home.schema)}"
    noted = {(item.kind, item.name): item for item in catalog.noted(project)}
    drops = _drops(config, definitions, noted, catalog)
    planner = _Planner(catalog, noted, {step.name for step in drops})
    planner.costs = Costs(catalog, definitions)
    for definition in ordered(definitions, home):
        planner.consider(definition)
    taken = {item.name for item in definitions if item.kind in RELATIONS}
    first = [step for step in drops if step.name in taken]
    last = [step for step in drops if step.name not in taken]
    steps = [*_containers(catalog, definitions), *first, *planner.steps, *last]
    return ProjectPlan(project, tuple(steps), planner.unchanged, tuple(planner.unfinished))


def _containers(catalog: LiveCatalog, definitions: Sequence[ProjectDefinition]) -> list[PlanStep]:
    """The project's own database and schema, where they are missing and nobody defines them."""
    home = catalog.home
    defined = {(item.kind, item.name) for item in definitions}
    steps: list[PlanStep] = []
    for kind, name in (
        (ObjectType.DATABASE, quote(home.database)),
        (ObjectType.SCHEMA, str(SchemaName(home.database, home.schema))),
    ):
        # A new database has a schema PUBLIC.
        given = kind is ObjectType.SCHEMA and home.schema == "PUBLIC"
        if (kind, name) not in defined and catalog.present(kind, name) is None and not given:
            text = f"CREATE {kind} {name}"
            steps.append(PlanStep(PlanAction.CREATE, kind, name, text, ("the project lives in it",), "nothing", 0))
    return steps


@dataclass(slots=True)
class _Planner:
    catalog: LiveCatalog
    noted: dict[tuple[ObjectType, str], Noted]
    going: set[str]
    """Names that are dropped: the objects that have them are as good as gone."""
    steps: list[PlanStep] = field(default_factory=list)
    unfinished: list[tuple[ObjectType, str, str]] = field(default_factory=list)
    unchanged: int = 0
    costs: Costs = field(init=False)

    def consider(self, definition: ProjectDefinition) -> None:
        present = self.catalog.present(definition.kind, definition.name)
        if present is None or (definition.name in self.going and type(present) is not type(definition.statement)):
            cost, rows = self.costs.of_creation(definition)
            self._step(PlanAction.CREATE, definition, "CREATE", ("it does not exist",), cost, rows)
            return
        if type(present) is not type(definition.statement):
            raise project_errors.project(
                f"{definition.location}: {definition.name} should become a {definition.kind.lower()}, but "
                "something else has that name.",
                hint="It is not the project's, so the project does not drop it.",
            )
        if definition.kind in CONTAINERS:
            self.unchanged += 1
        elif definition.kind in RELATIONS:
            self._relation(definition, present)
        elif isinstance(definition.statement, CreateStream) and isinstance(present, CreateStream):
            self._stream(definition, comparing.stream(definition.statement, present, self.catalog.home))
        elif isinstance(definition.statement, CreateContract) and isinstance(present, CreateContract):
            self._contract(definition, definition.statement, present)
        else:
            self._other(definition)

    def _contract(self, definition: ProjectDefinition, wanted: CreateContract, present: CreateContract) -> None:
        """Never replaced: tables are held to it. Another document is another version, which must have its number."""
        new, mode = wanted.source.text, wanted.options.compatibility
        if new is not None and new.strip() != self.catalog.newest_document(definition.name).strip():
            change, why = f"ADD VERSION AS {literal(new)}", "its document changed"
        elif mode is not None and mode != present.options.compatibility:
            change, why = f"SET COMPATIBILITY = {mode}", f"compatibility {present.options.compatibility} → {mode}"
        elif (wanted.options.comment or None) != (present.options.comment or None):
            change, why = f"SET COMMENT = {literal(wanted.options.comment or '')}", "the comment changed"
        else:
            self._unchanged(definition)
            return
        step = PlanStep(
            PlanAction.ALTER, definition.kind, definition.name, f"ALTER CONTRACT {definition.name} {change}", (why,),
            "no rows are touched", 0, definition.location, definition.fingerprint,
        )  # fmt: skip
        self.steps.append(step)

    def _relation(self, definition: ProjectDefinition, present: AnyCreate) -> None:
        differences = _differences(definition, present, self.catalog)
        if not differences:
            self._unchanged(definition)
            return
        effect = max(item.effect for item in differences)
        recomputed = effect is Effect.RECOMPUTES
        action = PlanAction.REINITIALIZE if recomputed else PlanAction.ALTER
        cost, rows = self.costs.of_change(definition, recomputed=recomputed)
        how = self._carried_over(definition, differences) if recomputed else None
        if how is not None:
            action, cost, rows = PlanAction.CARRY_OVER, f"at the next refresh, {how}", None
        reasons = tuple(item.reason for item in differences)
        self._step(
            action, definition, "CREATE OR ALTER", reasons, cost, rows, destructive=effect is Effect.LOSES
        )  # fmt: skip

    def _carried_over(self, definition: ProjectDefinition, differences: Sequence[Difference]) -> str | None:
        statement = definition.statement
        if not isinstance(statement, CreateDynamicTable) or statement.query is None or not self.catalog.ready:
            return None
        if any(item.effect is Effect.RECOMPUTES and item.reason != QUERY_CHANGED for item in differences):
            return None
        return self.catalog.carried_over(definition.name, statement.query.text)

    def _stream(self, definition: ProjectDefinition, differences: Sequence[Difference]) -> None:
        """Altered at most, never replaced: a new one would not stand where the old one does."""
        reasons = tuple(item.reason for item in differences)
        if any(item.effect is Effect.LOSES for item in differences):
            raise project_errors.project(
                f"{definition.location}: {definition.name} can't be changed without losing its offset: "
                f"{', '.join(reasons)}.",
                hint="DROP it yourself when what it holds is consumed, and let the project create it again.",
            )
        if reasons:
            self._step(PlanAction.ALTER, definition, "CREATE OR ALTER", reasons, "no rows are touched", 0)
        else:
            self._unchanged(definition)

    def _other(self, definition: ProjectDefinition) -> None:
        """The catalog keeps these in forms that can't be compared word by word: the last definition is remembered."""
        known = self.noted.get(definition.key)
        if known is not None and known.fingerprint == definition.fingerprint:
            self._unchanged(definition)
        elif _is_fixed(definition.kind):
            if known is not None and known.fingerprint:
                raise project_errors.project(
                    f"{definition.location}: {definition.name} differs from before, and a {definition.kind.lower()} "
                    "can't be replaced without losing what it holds.",
                    hint="Use ALTER, or DROP it yourself, and let the project create it again.",
                )
            self._unchanged(definition)
        else:
            why = "its definition changed" if known is not None else "its definition is not known"
            altered = _is_altered(definition.kind)
            action, verb = (
                (PlanAction.ALTER, "CREATE OR ALTER") if altered else (PlanAction.REPLACE, "CREATE OR REPLACE")
            )
            self._step(action, definition, verb, (why,), "no rows are touched", 0)

    def _unchanged(self, definition: ProjectDefinition) -> None:
        self.unchanged += 1
        known = self.noted.get(definition.key)
        if known is not None and known.pending:
            self.unfinished.append((definition.kind, definition.name, definition.fingerprint))

    def _step(
        self,
        action: PlanAction,
        definition: ProjectDefinition,
        verb: str,
        reasons: tuple[str, ...],
        cost: str,
        rows: int | None,
        *,
        destructive: bool = False,
    ) -> None:
        self.steps.append(
            PlanStep(
                action, definition.kind, definition.name, definition.head(verb), reasons, cost, rows,
                definition.location, definition.fingerprint, destructive,
            )
        )  # fmt: skip


def _differences(definition: ProjectDefinition, present: AnyCreate, catalog: LiveCatalog) -> list[Difference]:
    match definition.statement, present:
        case CreateTable() as wanted, CreateTable() as has:
            return comparing.table(wanted, has, catalog.home)
        case CreateView() as wanted, CreateView() as has:
            return comparing.view(wanted, has)
        case CreateDynamicTable() as wanted, CreateDynamicTable() as has:
            return [] if wanted.clone is not None else comparing.dynamic_table(wanted, has)
    raise errors.internal(f"no comparison for {definition.kind}")


def _drops(
    config: ProjectConfig,
    definitions: Sequence[ProjectDefinition],
    noted: dict[tuple[ObjectType, str], Noted],
    catalog: LiveCatalog,
) -> list[PlanStep]:
    """What the project created and no longer defines."""
    defined = {definition.key for definition in definitions}
    steps: list[PlanStep] = []
    for key, item in noted.items():
        parts = split_name(item.name.partition("(")[0])
        if key in defined or not item.owned or parts is None or not config.may_own(parts[-1]):
            continue
        holds = item.kind in (ObjectType.TABLE, ObjectType.DYNAMIC_TABLE)
        rows = catalog.rows.get(ObjectName(*parts), 0) if holds else 0
        cost = f"drops {rows:,} rows" if holds else "no rows are touched"
        reason = ("the project created it and no longer defines it",)
        steps.append(
            PlanStep(PlanAction.DROP, item.kind, item.name, f"DROP {item.kind} {item.name}", reason, cost, rows,
                 destructive=True)
        )  # fmt: skip
    return sorted(steps, key=lambda step: (_drop_order(step.kind), step.name))


def _drop_order(kind: ObjectType) -> int:
    own = _in_projects(kind)
    return own.drop_order if own is not None else DROP_ORDER[kind]


def _is_altered(kind: ObjectType) -> bool:
    own = _in_projects(kind)
    return own is not None and own.is_altered


def _is_fixed(kind: ObjectType) -> bool:
    own = _in_projects(kind)
    return own.is_fixed if own is not None else kind in _FIXED


def _in_projects(kind: ObjectType) -> InProjects | None:
    return next((own.in_projects for own in all_kinds().all if own.name is kind), None)
