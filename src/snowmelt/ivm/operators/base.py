"""What every operator says about itself. See `docs/design/incremental-maintenance.md`.

An operator is one class in one file of this package; the passes know none of them and call these methods. Where one is
not abstract, what is here is right for any operator, though perhaps more careful than it need be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

from sqlglot import exp

from snowmelt.ivm import state_rows
from snowmelt.ivm.algebra import Fresh, PlanColumn, When, columns_in
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.reasons import NoIdentityError, NotIncrementalError, Reason
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, ScanOrigin, moves
from snowmelt.ivm.states import GroupState
from snowmelt.ivm.top_rows import TopRows
from snowmelt.ivm.trees import substituted


@dataclass(frozen=True, eq=False)
class Operator(ABC):
    """A node of a query's algebra. Nodes are compared by identity: one node may be the input of several (a CTE)."""

    words: ClassVar[str] = "An operator"
    """What users call it. Empty where it does not matter whether what it computes with is the same each time."""
    no_identity: ClassVar[str] = "subqueries"
    """What users call it, in the error that its rows have no identity."""
    finds_clock: ClassVar[bool] = False
    """Whether its rule finds the rows that come and go with time; others must not name the clock."""

    # -- what it is made of ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def columns(self) -> tuple[PlanColumn, ...]: ...

    @property
    @abstractmethod
    def inputs(self) -> tuple[Operator, ...]: ...

    @property
    @abstractmethod
    def expressions(self) -> tuple[exp.Expr, ...]:
        """Everything that it computes from columns of its inputs."""

    @abstractmethod
    def over(self, inputs: Sequence[Operator]) -> Operator:
        """The same over other inputs, which have at least the columns that it needs."""

    @property
    def constants(self) -> tuple[exp.Expr, ...]:
        """Expressions that name no column of the view."""
        return ()

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(column.id for column in self.columns)

    @cached_property
    def tables(self) -> frozenset[str]:
        """The base tables below."""
        return frozenset().union(*(node.tables for node in self.inputs))

    @cached_property
    def moves(self) -> bool:
        """Whether its rows may change by time alone."""
        return any(moves(tree) for node in self.walk() for tree in node.expressions)

    @cached_property
    def inexact_ids(self) -> frozenset[str]:
        """Columns here and below whose values may differ in their last bits, or in their choice, when computed again:
        sums of FLOAT, the element that ANY_VALUE picks, lists without an order."""
        found: set[str] = set()
        for node in self.walk():
            found.update(node.inexact(found))
        return frozenset(found)

    @property
    def free_ids(self) -> frozenset[str]:
        """The ids that expressions here or below name and nothing there produces: those of a query around."""
        nodes = list(self.walk())
        used = columns_in(*(tree for node in nodes for tree in node.expressions))
        return used - frozenset().union(*(node.ids for node in nodes))

    def walk(self) -> Iterable[Operator]:
        """Every node once, inputs first."""
        found: dict[int, Operator] = {}

        def visit(node: Operator) -> None:
            if id(node) not in found:
                for below in node.inputs:
                    visit(below)
                found[id(node)] = node

        visit(self)
        return found.values()

    # -- its rows and its rule ------------------------------------------------------------------------------------

    @abstractmethod
    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        """Its rows at one side of the refresh, with as much of the restriction as goes below it."""

    @abstractmethod
    def change(self, rules: ChangeRules) -> Change | None:
        """From the changes of its inputs to its own; None when its rows surely did not change."""

    def rows_meeting(
        self, renderer: PlanRenderer, when: When, restriction: Restriction | None, conditions: Sequence[exp.Expr]
    ) -> RenderedRows:
        """Its rows, of which only those are needed that meet the conditions; others do no harm."""
        return renderer.some_rows(self, when, restriction)

    def state(self, name: str, types: Mapping[str, str]) -> GroupState | None:
        """The sums that it keeps beside the table, if it has any; `types` are Spark's types of their columns."""
        return None

    def state_rows(self, renderer: PlanRenderer, state: GroupState, rows: exp.Select) -> exp.Select:
        """The rows of its state, computed from those of its input."""
        return state_rows.initial(renderer, state, rows)

    def grow(self, rules: ChangeRules) -> bool:
        """Adds the stages with what the refresh adds to its state; whether there is anything."""
        return False

    # -- pruning, exactness and checks ----------------------------------------------------------------------------

    def needs(self, needed: set[str], below: Operator) -> Iterable[str]:
        """What it needs of an input to make these columns."""
        return needed | columns_in(*self.expressions)

    def pruned(self, needed: set[str], inputs: Sequence[Operator]) -> Operator:
        """With these columns at least, over inputs that were pruned."""
        return self.over(inputs)

    def inexact(self, found: set[str]) -> Iterable[str]:
        """Columns of its own that are not the same each time they are computed, given those below."""
        below = frozenset().union(*(node.ids for node in self.inputs))
        return self.ids - below if columns_in(*self.expressions) & found else ()

    def exact_keys(self) -> Iterable[tuple[str, Iterable[str]]]:
        """Columns whose values must be the same each time, and where they stand, in words of SQL."""
        return [(self.words, columns_in(*self.expressions))] if self.words else []

    def problem(self) -> NotIncrementalError | None:
        """Why it has no rule, if it has none."""
        return None

    # -- what a plan can make of it -------------------------------------------------------------------------------

    @property
    def group_keys(self) -> tuple[PlanColumn, ...] | None:
        """Columns by which its rows change together, all rows with the same values at once. None if each row may change
        alone; empty if any change may change all of them."""
        return None

    def unique_by(self, conditions: Sequence[exp.Expr]) -> tuple[PlanColumn, ...] | None:
        """Columns of which no two of its rows that meet the conditions have the same values, if its form says so."""
        return None

    def affected(self, rules: ChangeRules) -> Restriction | None:
        """The group keys that changed; None when none did."""
        raise NotImplementedError

    def passage(self) -> Passage:
        """The first node below that is more than a projection or a filter."""
        return Passage(self, {column.id: column.id for column in self.columns})

    def origin(self) -> ScanOrigin | None:
        """The table that it only filters and projects, if it does no more."""
        return None

    def keys_below(
        self, rules: ChangeRules, keys: tuple[PlanColumn, ...]
    ) -> tuple[Operator, tuple[PlanColumn, ...]] | None:
        """A node below whose change says which values of these columns changed, and the columns there."""
        return None

    def top_rows(self, rules: ChangeRules, names: Mapping[str, str]) -> TopRows | None:
        """A short way to its new rows from those of the table, whose names are given by id."""
        return None

    # -- under another definition ---------------------------------------------------------------------------------

    def peeled(self) -> tuple[list[exp.Expr], Operator]:
        """The conditions of the filters on top, lowest first, and what is below them."""
        return [], self

    @property
    def joining(self) -> tuple[exp.Expr, ...]:
        """Conditions that might as well be tested on top."""
        return ()

    def joined_by(self, conditions: Sequence[exp.Expr]) -> Operator:
        """The same with these in place of `joining`."""
        return self

    def unfold(self, block: Unfolding, *, top: bool) -> None:
        """Adds itself to a level of a query, taken apart as far as that goes. `top`: nothing but projections, filters
        and outer or semi joins is above it."""
        block.parts.append(self)

    # -- rewriting ------------------------------------------------------------------------------------------------

    def with_state(self, fresh: Fresh, inexact: frozenset[str]) -> Operator | None:
        """The same rows by operators that keep a state, where this one has none."""
        return None

    def first_row(self, condition: exp.Expr, inexact: frozenset[str]) -> Operator | None:
        """Its rows that meet a condition which asks for the first row of each group, by an operator that keeps a state;
        None if the condition does not, or that operator would be of no use."""
        return None

    def hoist(self) -> Hoisted | None:
        """Itself without the conditions that name outer columns, and those; None when that can't be."""
        free = self.free_ids
        return self.hoisted(free) if free else (self, [])

    def hoisted(self, free: frozenset[str]) -> Hoisted | None:
        """The same, where these outer columns are named."""
        return None

    def joined_with(self, domain: OuterDomain) -> Joined:
        """Itself for each row of the domain, with columns for its values."""
        raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "correlated subquery", "Write it as a join.")

    @property
    def has_one_row(self) -> bool:
        return False

    def value_for(self, outer: Operator, fresh: Fresh) -> Hoisted | None:
        """Each outer row with this node's one row for it, and the conditions under which there is one."""
        return None

    def filtered_below(self, condition: exp.Expr, make: Callable[[Operator, exp.Expr], Operator]) -> Operator | None:
        """Itself with the condition tested below it, where that is better."""
        return None

    def identified(self, identify: Identify) -> Identified:
        """With columns that tell its rows apart, made of those of its inputs."""
        raise NoIdentityError(self.no_identity)


class Unfolding(Protocol):
    """One level of a query, taken apart."""

    values: dict[str, exp.Expr]
    conditions: list[exp.Expr]
    parts: list[Operator]
    joins: list[Any]
    """Outer and semi joins, from the top down."""


class OuterNames(dict[str, PlanColumn]):
    """A subquery's own columns for the values of outer ones, by the ids of those."""

    def put_into(self, tree: exp.Expr) -> exp.Expr:
        return substituted(tree, {name: column.ref for name, column in self.items()})


Joined = tuple[Operator, OuterNames]
Hoisted = tuple[Operator, list[exp.Expr]]
Identified = tuple[Operator, tuple[PlanColumn, ...]]


class Identify(Protocol):
    def __call__(self, node: Operator) -> Identified: ...

    def fresh(self) -> PlanColumn: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """What projections and filters above a node let through."""

    bottom: Operator
    names: Mapping[str, str]
    """The ids at the top, by those of the bottom, of columns that come through unchanged."""
    conditions: tuple[exp.Expr, ...] = ()


class OuterDomain(Protocol):
    """The distinct values of the outer columns that a subquery names."""

    columns: tuple[PlanColumn, ...]
    ids: frozenset[str]
    fresh: Fresh

    def join(self, node: Operator) -> Joined: ...

    def copy(self) -> Joined: ...


@dataclass(frozen=True, eq=False)
class Unary(Operator):
    """An operator over one input."""

    input: Operator

    @property
    def columns(self) -> tuple[PlanColumn, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    def over(self, inputs: Sequence[Operator]) -> Self:
        return replace(self, input=inputs[0])

    def rows_below(
        self, renderer: PlanRenderer, when: When, restriction: Restriction | None, keys: frozenset[str]
    ) -> RenderedRows:
        """The input's rows, restricted by these columns alone, and whether that was the whole restriction."""
        inside = restriction.only(keys) if restriction is not None else None
        below, exact = renderer.some_rows(self.input, when, inside)
        return below, exact and inside == restriction


@dataclass(frozen=True, eq=False)
class Leaf(Operator):
    """Rows that no other operator makes: columns, and what they are called where they come from."""

    items: tuple[tuple[PlanColumn, str], ...]

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return tuple(column for column, _ in self.items)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return ()

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return ()

    def over(self, inputs: Sequence[Operator]) -> Self:
        return self

    def pruned(self, needed: set[str], inputs: Sequence[Operator]) -> Self:
        """At least one column, where only the rows count."""
        kept = tuple(item for item in self.items if item[0].id in needed) or self.items[:1]
        return replace(self, items=kept)
