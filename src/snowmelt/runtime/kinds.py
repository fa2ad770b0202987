"""One description for each kind of object that a feature brings.

A feature says everything of a kind in one `KindDescription`, which is part of its `Feature`. `snowmelt.accounts` lists
the features and installs their kinds. The runtime never names such a kind: it asks `all_kinds()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from snowmelt.core import errors
from snowmelt.core.composing import Composed
from snowmelt.core.names import ObjectName
from snowmelt.runtime.metadata.columns import Columns, Row
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.results import DONE, Result
from snowmelt.runtime.rights.asks import Ask, RightsRequest
from snowmelt.sql.statements import kinds as syntax
from snowmelt.sql.statements.base import Action, Annotation, ObjectType, Statement
from snowmelt.sql.statements.changes import Drop
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state import definitions
from snowmelt.state.model import CatalogObject, Database, ParameterLevel
from snowmelt.state.record import Definition
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader, StateTransaction

Run = Any
"""A `runtime.run.Run`, which is above this module: functions in descriptions declare it."""
Requests = Callable[[Any], RightsRequest | Sequence[RightsRequest]]
Rename = Callable[[ObjectName], ObjectName]
Handler = Callable[[Run, Any], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class InProjects:
    """How `snowmelt apply` creates, changes and drops a kind."""

    statement: type[Statement]
    drop_order: int
    """What is dropped first has the lowest: see `projects.plan.DROP_ORDER`."""
    is_fixed: bool = False
    """It holds something that a new one would not have, so it is never replaced."""
    is_altered: bool = False
    """By CREATE OR ALTER: what is replaced would be suspended, and forget its history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedKind:
    """What there is to say of every kind, wherever its objects live."""

    syntax: syntax.KindSyntax
    noun: str
    """How messages call it, such as `Data product`."""
    handlers: Mapping[type[Statement], Handler]
    listing: Listing
    """SHOW."""
    columns: Callable[[], Columns]
    """The columns of SHOW."""
    terse: Callable[[], Columns] | None = None
    """The columns of SHOW TERSE, if they differ."""
    privileges: tuple[str, ...]
    """What can be granted on it, besides OWNERSHIP."""
    rules: Mapping[str, tuple[Ask, ...]]
    """The rights that its statements ask for. `requests` names these rules."""
    requests: Mapping[type[Statement], Requests]
    account_privileges: Mapping[str, str] = field(default_factory=dict)
    """Privileges on the account, and which role has them from the start."""
    is_renamed: bool = False
    """Whether RENAME may move it to another schema, which asks for CREATE there."""
    in_projects: InProjects | None = None
    """How a project handles it; None for what a project can't hold."""

    @property
    def name(self) -> ObjectType:
        return self.syntax.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountKind(DescribedKind):
    """A kind whose objects live in no database: users and roles. Rights know them by their names."""

    find: Callable[[StateReader, str], Owned | None]
    drop: Callable[[Run, Drop], str | None]
    """The name of what is gone; None when nothing was there."""
    change: Callable[[StateTransaction, str, Mapping[str, Any]], bool]
    """Gives it another owner or comment; False when it is not there."""
    describe: Callable[[Run, StateReader, str], tuple[Columns, Iterable[Row]]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKind(DescribedKind):
    """A kind that is a table to the catalog, with its name, its definition and its life: dynamic tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDescription(DescribedKind):
    """A kind whose objects live in schemas."""

    created_noun: str | None = None
    """Where the answer of CREATE calls it something else."""
    definition: type[Definition]
    describe: Callable[[Run, StateReader, CatalogObject], tuple[Columns, Iterable[Row]]] | None = None
    ddl: Callable[[CatalogObject, bool], str]
    """The statement that creates the object again. The flag asks for its full name."""
    script_order: int
    """Where it stands in the script of a schema: see `ddl_scripts.SCRIPT_ORDER`."""
    in_order: Callable[[list[CatalogObject]], list[CatalogObject]] | None = None
    """Objects of one schema such that each comes behind those that it needs; by name where nothing is said."""
    is_cloned: bool = True
    """Whether a clone of its schema has one too."""
    clone: Callable[[Run, StateTransaction, CatalogObject, Rename, Mapping[str, tuple[str, int]]], None] | None = None
    """Makes the one in a clone of its schema, where a copy of the definition does not do. It is told where names go,
    and the clone of each table with its first version."""
    follow: Callable[[StateTransaction, Rename], None] | None = None
    """Called when names have changed that objects of this kind may remember."""
    leads_out: bool = False
    """Whether its texts are addresses of other systems: their secrets are shown to nobody."""
    before_drop: Callable[[StateTransaction, CatalogObject], None] | None = None
    """Raises when the object is needed, or undoes what depends on it."""
    after_drop: Callable[[Run, CatalogObject], None] | None = None
    """Called when it is gone for everybody."""
    forget: Callable[[StateTransaction, CatalogObject], None] | None = None
    """Deletes what the state store keeps beside the object, once it is purged."""
    has_history: bool = False
    """Whether table functions have rows about it, which only those see who see the object."""
    is_guarded: bool = False
    """Whether only its owner sees it in a plan that it is part of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What can be said of other objects and their columns, such as SET TAG."""

    syntax: syntax.AnnotationSyntax
    actions: tuple[type[Annotation], ...]
    on_relation: Callable[[Run, CatalogObject, Sequence[Any]], None]
    on_container: Callable[[Run, StateTransaction, ParameterLevel, str, Any], None]
    on_created: Callable[[Run, StateTransaction, CatalogObject, Any], None] | None = None
    """What CREATE says, in the step that makes the object; for a syntax that CREATE has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClauses:
    """Clauses of ALTER TABLE and ALTER DYNAMIC TABLE, such as ADD QUALITY CHECK."""

    syntax: tuple[syntax.ClauseSyntax, ...]
    handlers: Mapping[type[Action], Callable[[Run, CatalogObject, Any], str | None]]
    """What carries out an action on a table. It may give the message of the statement."""
    on_created: Callable[[Run, StateTransaction, CatalogObject, Any], None] | None = None
    """As of `Annotations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementGroup:
    """Statements that are about no kind of object of the feature's own."""

    syntax: syntax.StatementSyntax
    handlers: Mapping[type[Statement], Handler]
    rules: Mapping[str, tuple[Ask, ...]] = field(default_factory=dict)
    requests: Mapping[type[Statement], Requests] = field(default_factory=dict)
    """The rights that statements ask for. A statement that is not listed asks for none by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """What SHOW lists that is no kind of object with statements of its own."""

    word: str
    listing: Listing
    columns: Callable[[ShowStatement], Columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationView:
    """A view of INFORMATION_SCHEMA. Its rows are those of one database."""

    name: str
    columns: str
    """As `metadata.columns` reads them."""
    rows: Callable[[Run, StateReader, Database], Iterable[Row]]


@dataclass(frozen=True, eq=False)
class Kinds:
    """All that features describe, by what the runtime asks. Equal to itself alone, so that tables are kept for it."""

    all: tuple[DescribedKind, ...]
    annotations: tuple[Annotations, ...] = ()
    clauses: tuple[AlterClauses, ...] = ()
    groups: tuple[StatementGroup, ...] = ()
    shows: tuple[ShownRows, ...] = ()
    information: tuple[Callable[[], tuple[InformationView, ...]], ...] = ()

    @cached_property
    def views(self) -> dict[str, InformationView]:
        return {view.name: view for views in self.information for view in views()}

    @cached_property
    def descriptions(self) -> tuple[KindDescription, ...]:
        """The descriptions of kinds that live in schemas."""
        return tuple(kind for kind in self.all if isinstance(kind, KindDescription))

    @cached_property
    def of_account(self) -> dict[ObjectType, AccountKind]:
        """The kinds that live in no database."""
        return {kind.name: kind for kind in self.all if isinstance(kind, AccountKind)}

    @cached_property
    def nouns(self) -> dict[ObjectType, str]:
        return {kind.name: kind.noun for kind in self.all}

    @cached_property
    def by_name(self) -> dict[ObjectType, KindDescription]:
        return {kind.name: kind for kind in self.descriptions}

    @cached_property
    def by_plural(self) -> dict[str, DescribedKind]:
        words = ((kind, (kind.syntax.plural, *kind.syntax.shown_as)) for kind in self.all)
        return {word: kind for kind, own in words for word in own}

    @cached_property
    def parts(self) -> tuple[DescribedKind | StatementGroup, ...]:
        """All that has statements."""
        return (*self.all, *self.groups)

    @cached_property
    def rules(self) -> dict[str, tuple[Ask, ...]]:
        return {name: asks for part in self.parts for name, asks in part.rules.items()}

    @cached_property
    def requests(self) -> dict[type[Statement], Requests]:
        return {statement: request for part in self.parts for statement, request in part.requests.items()}

    @cached_property
    def shown(self) -> dict[str, ShownRows]:
        return {each.word: each for each in self.shows}


_KINDS: Composed[Kinds] = Composed()


def install(kinds: Kinds) -> None:
    """Makes these the kinds of the whole process, in every layer that has a part of a description."""
    names = [kind.name for kind in kinds.all]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise errors.internal(f"Two features describe the kind {twice[0]}.")
    syntax.install(
        syntax.Grammar(
            tuple(kind.syntax for kind in kinds.all),
            tuple(each.syntax for each in kinds.annotations),
            tuple(clause for each in kinds.clauses for clause in each.syntax),
            tuple(each.syntax for each in kinds.groups),
            tuple(each.word for each in kinds.shows),
        )
    )
    definitions.install(list(dict.fromkeys(kind.definition for kind in kinds.descriptions)))
    _KINDS.set(kinds)


def all_kinds() -> Kinds:
    return _KINDS.get()


# -- what is said of objects ------------------------------------------------------------------------------------------


def annotate_relation(run: Run, item: CatalogObject, actions: Sequence[Action]) -> str | None:
    """Carries out the clauses of features, such as SET TAG, on a table or view; None when there are none.

    What the statement answers.
    """
    for clauses in all_kinds().clauses:
        handler = clauses.handlers.get(type(actions[0]))
        if handler is not None:
            return handler(run, item, actions[0]) or DONE
    for each in all_kinds().annotations:
        found = [action for action in actions if isinstance(action, each.actions)]
        if found and len(found) < len(actions):
            raise errors.unsupported(f"SET {each.syntax.word} together with other changes")
        if found:
            each.on_relation(run, item, found)
            return DONE
    return None


def annotate_created(run: Run, state: StateTransaction, item: CatalogObject) -> None:
    """Carries out what the CREATE that runs says of the object, and of its columns."""
    known = all_kinds()
    for action in run.annotations:
        of_annotations = [each.on_created for each in known.annotations if isinstance(action, each.actions)]
        of_clauses = [each.on_created for each in known.clauses if type(action) in each.handlers]
        for carry_out in (*of_annotations, *of_clauses):
            if carry_out is not None:
                carry_out(run, state, item, action)


def annotate_container(run: Run, state: StateTransaction, level: ParameterLevel, id: str, action: Annotation) -> None:
    for each in all_kinds().annotations:
        if isinstance(action, each.actions):
            each.on_container(run, state, level, id, action)
