"""The algebra that queries are lowered to. See `docs/design/incremental-maintenance.md`.

Columns have ids that are unique in a whole view, so that expressions name them without a qualifier and self joins
never clash. Nodes are compared by identity: one node may be the input of several (a CTE, both halves of a full join).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from sqlglot import exp

from snowmelt.core.types import DataType


@dataclass(frozen=True, slots=True)
class Column:
    id: str
    type: DataType | None = None
    """None when nobody noted it: a computed key or argument, never VARIANT."""

    @property
    def ref(self) -> exp.Column:
        return exp.column(exp.Identifier(this=self.id, quoted=True))


@dataclass(frozen=True, slots=True)
class Item:
    """A computed column."""

    column: Column
    value: exp.Expr


class JoinKind(StrEnum):
    LEFT = "LEFT"
    SEMI = "SEMI"
    ANTI = "ANTI"


@dataclass(frozen=True, eq=False)
class Node:
    @property
    def columns(self) -> tuple[Column, ...]:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        raise NotImplementedError

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """Everything this node itself computes."""
        return ()

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(column.id for column in self.columns)

    @cached_property
    def tables(self) -> frozenset[str]:
        """The base tables below."""
        return frozenset().union(*(node.tables for node in self.inputs))

    def walk(self) -> Iterator[Node]:
        """Every node once, inputs first."""
        seen: set[int] = set()

        def visit(node: Node) -> Iterator[Node]:
            if id(node) in seen:
                return
            seen.add(id(node))
            for below in node.inputs:
                yield from visit(below)
            yield node

        yield from visit(self)


@dataclass(frozen=True, eq=False)
class Scan(Node):
    table: str
    items: tuple[tuple[Column, str], ...]
    """Columns and their names in the table."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in self.items)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @cached_property
    def tables(self) -> frozenset[str]:
        return frozenset({self.table})


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """Rows that never change: VALUES, SELECT without FROM, GENERATOR."""

    query: exp.Query
    items: tuple[tuple[Column, str], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in self.items)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def parts(self) -> tuple[exp.Expr, ...]:
        """What it is made of; no part of it names a column of the view."""
        return (self.query,)

    @cached_property
    def tables(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, eq=False)
class Project(Node):
    input: Node
    items: tuple[Item, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(item.column for item in self.items)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(item.value for item in self.items)


@dataclass(frozen=True, eq=False)
class Filter(Node):
    input: Node
    condition: exp.Expr

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return (self.condition,)


@dataclass(frozen=True, eq=False)
class Union(Node):
    """UNION ALL: columns correspond by place."""

    branches: tuple[Node, ...]
    outputs: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.outputs

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches


@dataclass(frozen=True, eq=False)
class InnerJoin(Node):
    """Any number of inputs, each change of which is joined with all the others."""

    parts: tuple[Node, ...]
    conditions: tuple[exp.Expr, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for part in self.parts for column in part.columns)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return self.conditions


@dataclass(frozen=True, eq=False)
class Join(Node):
    """LEFT, SEMI or ANTI: what follows the left side row by row. RIGHT is swapped, FULL is a union."""

    kind: JoinKind
    left: Node
    right: Node
    condition: exp.Expr

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.left.columns, *self.right.columns) if self.kind is JoinKind.LEFT else self.left.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return (self.condition,)


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    """Keys are columns of the input and keep their ids; without keys there is always exactly one row."""

    input: Node
    keys: tuple[Column, ...]
    items: tuple[Item, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.keys, *(item.column for item in self.items))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(item.value for item in self.items)


@dataclass(frozen=True, eq=False)
class Window(Node):
    """The input's columns and window functions that all have one partition, whose keys are columns of the input."""

    input: Node
    partition: tuple[Column, ...]
    items: tuple[Item, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *(item.column for item in self.items))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(item.value for item in self.items)


@dataclass(frozen=True, eq=False)
class Unnest(Node):
    """Each row of the input with the rows that a call makes of it: LATERAL inline(…)."""

    input: Node
    call: exp.Expr
    items: tuple[tuple[Column, str], ...]
    """Added columns and their names in the call's rows."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *(column for column, _ in self.items))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return (self.call,)


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """ORDER BY … LIMIT: the order is total, so that the rows are the same each time."""

    input: Node
    order: tuple[exp.Ordered, ...]
    count: int | None
    offset: int = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return self.order


def over(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs that have the same columns."""
    if all(mine is other for mine, other in zip(node.inputs, inputs, strict=True)):
        return node
    match node:
        case InnerJoin():
            return replace(node, parts=tuple(inputs))
        case Union():
            return replace(node, branches=tuple(inputs))
        case Join():
            return replace(node, left=inputs[0], right=inputs[1])
        case Project() | Filter() | Aggregate() | Window() | Unnest() | Limit():
            return replace(node, input=inputs[0])
    raise AssertionError(node)


def columns_in(tree: exp.Expr) -> frozenset[str]:
    """The ids that an expression names."""
    return frozenset(column.name for column in tree.find_all(exp.Column))


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """What must all hold, as a flat list."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if isinstance(condition, exp.And):
        return [*conjuncts(condition.this), *conjuncts(condition.expression)]
    return [condition]


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*(condition.copy() for condition in conditions)) if conditions else exp.true()


def equal_columns(condition: exp.Expr) -> tuple[str, str] | None:
    """The two ids of `a = b`, where both sides are plain columns."""
    if isinstance(condition, exp.EQ | exp.NullSafeEQ):
        left, right = condition.this, condition.expression
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            return left.name, right.name
    return None
