"""State of aggregates: sums beside the table, so that a change adds to them and nothing is computed again.

Rows of a state with equal keys belong together: its value is their sum, of MIN and MAX what the newest row has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.ivm.algebra import WEIGHT, Item, PlanColumn
from snowmelt.ivm.trees import call, column_of, is_null, number
from snowmelt.sql.dialect import copied
from snowmelt.sql.notes import note_of

ROWS = "n"
AGE = "g"
"""The column that numbers the rows of a group with extremes: the row with the largest number counts."""
_EXACT_DIGITS = 27
"""Digits that leave room to multiply by a weight; beyond, Spark keeps six fractional digits and no more."""
_KEPT_SCALE = 6
EQUAL_IS_SAME = {Kind.NUMBER, Kind.VARCHAR, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_LTZ}
"""Kinds whose equal values are the same. FLOAT has two zeros; a TIMESTAMP_TZ has a zone besides its instant."""


class Keyed(Protocol):
    """What a state needs of the operator that it belongs to."""

    @property
    def keys(self) -> tuple[PlanColumn, ...]: ...


class Grouped(Keyed, Protocol):
    """What the state of sums needs of it."""

    @property
    def items(self) -> tuple[Item, ...]: ...


class _Partials(Protocol):
    def __call__(self, initial: exp.Expr, change: exp.Expr, gone: exp.Expr | None = None) -> exp.Expr:
        """The column of a partial, given how it is computed from all rows and from a change."""
        ...


@dataclass(frozen=True, slots=True)
class Partial:
    """A column of a state."""

    name: str
    initial: exp.Expr
    """Its value over all rows."""
    change: exp.Expr
    """Its value over a change, whose rows have weights. For an extreme: over the rows that came."""
    gone: exp.Expr | None = None
    """For an extreme: its value over the rows that went."""

    @property
    def is_extreme(self) -> bool:
        return self.gone is not None

    @property
    def gone_name(self) -> str:
        return f"{self.name}_gone"

    @property
    def is_least(self) -> bool:
        return self.initial.name == "min"


@dataclass(frozen=True, eq=False)
class GroupState:
    name: str
    node: Keyed
    partials: tuple[Partial, ...]
    finals: Mapping[str, exp.Expr]
    """The value of each item, computed from the sums, by its id."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Spark's types of the partials, once they are known."""

    @property
    def stored(self) -> str:
        """What plans call its rows."""
        return f"{self.name}__state"

    @property
    def added(self) -> str:
        """What plans call the rows that a refresh adds."""
        return f"{self.name}__added"

    @property
    def changed(self) -> str:
        """What plans call the groups that a refresh changes."""
        return f"{self.name}__changed" if self.extremes else self.added

    @property
    def extremes(self) -> tuple[Partial, ...]:
        return tuple(partial for partial in self.partials if partial.is_extreme)

    @property
    def names(self) -> list[str]:
        """The names of the columns that follow the keys."""
        return [ROWS, *(partial.name for partial in self.partials), *([AGE] if self.extremes else [])]

    @property
    def columns(self) -> tuple[PlanColumn, ...]:
        return (*self.node.keys, *map(PlanColumn, self.names))

    def together(self, name: str) -> exp.Expr:
        """The column over all rows of a group."""
        column = column_of(name)
        if name == AGE:
            return call("max", column)
        if any(partial.name == name for partial in self.extremes):
            return call("max_by", column, column_of(AGE))
        return self.typed(name, call("sum", column))

    def typed(self, name: str, tree: exp.Expr) -> exp.Expr:
        """The value as the column keeps it."""
        type_ = "BIGINT" if name == ROWS else self.types.get(name)
        return exp.cast(tree, exp.DataType.build(type_, dialect="spark")) if type_ else tree


def state_of(name: str, node: Grouped, below: Sequence[PlanColumn], types: Mapping[str, str]) -> GroupState | None:
    """The state of an aggregate over these columns; None when one of its functions has none."""
    if any(column.type is not None and column.type.kind is Kind.TIME for column in node.keys):
        return None
    known = {column.id: column for column in below}
    partials: dict[exp.Expr, Partial] = {}
    finals: dict[str, exp.Expr] = {}

    def partial(initial: exp.Expr, change: exp.Expr, gone: exp.Expr | None = None) -> exp.Expr:
        made = partials.setdefault(initial, Partial(f"p{len(partials) + 1}", initial, change, gone))
        return column_of(made.name)

    for item in node.items:
        final = _final(item.value, known, partial)
        if final is None:
            return None
        finals[item.column.id] = final
    return GroupState(name, node, tuple(partials.values()), finals, types)


def _final(value: exp.Expr, known: Mapping[str, PlanColumn], partial: _Partials) -> exp.Expr | None:
    """An aggregate over the sums; None when it has no such form."""
    if not isinstance(value, exp.Anonymous):
        return None
    name, arguments = value.name.lower(), value.expressions
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        return None
    if name == "count":
        return _count(arguments, partial)
    if name == "count_if":
        return _counted(arguments[0], partial)
    if name == "sum" and _summable(arguments[0], known):
        total = partial(value, call("sum", _signed(arguments[0])))
        present = _count(arguments, partial)
        return exp.Case(ifs=[exp.If(this=exp.GT(this=present, expression=number(0)), true=total)])
    if name in ("min", "max") and len(arguments) == 1 and is_comparable(arguments[0], known):
        came, gone = (_among(arguments[0], sign) for sign in (exp.GT, exp.LT))
        return partial(value, call(name, came), call(name, gone))
    if name in ("bool_or", "bool_and"):
        condition = arguments[0]
        test = condition if name == "bool_or" else exp.Not(this=exp.Paren(this=condition.copy()))
        hits, present = _counted(test, partial), _count(arguments, partial)
        decided = exp.GT(this=hits, expression=number(0))
        verdict = decided if name == "bool_or" else exp.Not(this=exp.Paren(this=decided))
        return exp.Case(ifs=[exp.If(this=exp.GT(this=present, expression=number(0)), true=verdict)])
    return None


def _count(arguments: list[exp.Expr], partial: _Partials) -> exp.Expr:
    if all(isinstance(argument, exp.Literal | exp.Star) for argument in arguments):
        return column_of(ROWS)
    present = exp.and_(*[exp.Not(this=is_null(_tight(a))) for a in arguments])
    return _counted(present, partial)


def _counted(condition: exp.Expr, partial: _Partials) -> exp.Expr:
    one = exp.Case(ifs=[exp.If(this=condition.copy(), true=_weight())], default=exp.cast(number(0), "BIGINT"))
    return partial(call("count_if", condition), call("sum", one))


def _signed(tree: exp.Expr) -> exp.Expr:
    """The value times the weight; the type of the value stays if the weight is 1 or -1, which it nearly always is."""
    value = _tight(tree)
    factor = exp.cast(_weight(), exp.DataType.build("DECIMAL(10, 0)", dialect="spark"))
    return exp.Case(
        ifs=[
            exp.If(this=exp.EQ(this=_weight(), expression=number(1)), true=value),
            exp.If(this=exp.EQ(this=_weight(), expression=number(-1)), true=exp.Neg(this=value.copy())),
        ],
        default=exp.Mul(this=value.copy(), expression=factor),
    )


def _summable(tree: exp.Expr, known: Mapping[str, PlanColumn]) -> bool:
    type_ = type_of(tree, known)
    if type_ is None or type_.kind is not Kind.NUMBER:
        return False
    return type_.int64 or (type_.precision or 38) <= _EXACT_DIGITS or (type_.scale or 0) <= _KEPT_SCALE


def is_comparable(tree: exp.Expr, known: Mapping[str, PlanColumn]) -> bool:
    type_ = type_of(tree, known)
    return type_ is not None and type_.kind in EQUAL_IS_SAME


def _among(tree: exp.Expr, sign: type[exp.Binary]) -> exp.Expr:
    """The value in the rows that came, or that went."""
    return exp.Case(ifs=[exp.If(this=sign(this=_weight(), expression=number(0)), true=tree.copy())])


def type_of(tree: exp.Expr, known: Mapping[str, PlanColumn]) -> DataType | None:
    """What is known of an expression over these columns."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Column) and tree.name in known:
        return known[tree.name].type or note_of(tree).type
    noted = note_of(tree).type
    if noted is None and isinstance(tree, exp.Cast) and tree.to.this is exp.DType.DECIMAL:
        sizes = [int(size.name) for size in tree.to.expressions]
        noted = DataType(Kind.NUMBER, sizes[0] if sizes else 10, sizes[1] if len(sizes) > 1 else 0)
    return noted


def _weight() -> exp.Expr:
    return column_of(WEIGHT)


def _tight(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=copied(tree)) if isinstance(tree, exp.Binary | exp.Unary | exp.Case) else copied(tree)
