"""Columns and windows of DataFrame code: PySpark's way to write, as trees of Snowflake SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from snowmelt.core.names import fold
from snowmelt.projects import errors as project_errors
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.statements.spelling import spelled

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\Z")


def stored_name(name: str) -> str:
    """What the catalog calls a column that code names: a plain word in any case, or exactly what is in backticks."""
    if len(name) > 1 and name[0] == name[-1] == "`":
        return name[1:-1].replace("``", "`")
    return fold(name, quoted=_PLAIN.match(name) is None)


def identifier(stored: str) -> exp.Identifier:
    """A stored name as SQL spells it."""
    return exp.to_identifier(stored, quoted=spelled(stored) != stored)


def parsed(text: str) -> exp.Expr:
    """An expression in a string is Spark SQL, as in PySpark."""
    try:
        return sqlglot.parse_one(text, read="spark")
    except (ParseError, TokenError) as error:
        raise project_errors.project(f"'{text}' is not an expression: {str(error).splitlines()[0]}") from None


class ColumnExpression:
    """An expression over the columns of a DataFrame."""

    def __init__(self, tree: exp.Expr) -> None:
        self.tree = tree

    def __repr__(self) -> str:
        return f"Column<{self.tree.sql(dialect='snowflake')}>"

    def __bool__(self) -> bool:
        raise project_errors.project("A column is neither true nor false: use '&' for and, '|' for or, '~' for not.")

    # -- operators ------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> ColumnExpression:  # type: ignore[override]
        return self._with(exp.EQ, other)

    def __ne__(self, other: object) -> ColumnExpression:  # type: ignore[override]
        return self._with(exp.NEQ, other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> ColumnExpression:
        return self._with(exp.LT, other)

    def __le__(self, other: object) -> ColumnExpression:
        return self._with(exp.LTE, other)

    def __gt__(self, other: object) -> ColumnExpression:
        return self._with(exp.GT, other)

    def __ge__(self, other: object) -> ColumnExpression:
        return self._with(exp.GTE, other)

    def __add__(self, other: object) -> ColumnExpression:
        return self._with(exp.Add, other)

    def __radd__(self, other: object) -> ColumnExpression:
        return value(other)._with(exp.Add, self)

    def __sub__(self, other: object) -> ColumnExpression:
        return self._with(exp.Sub, other)

    def __rsub__(self, other: object) -> ColumnExpression:
        return value(other)._with(exp.Sub, self)

    def __mul__(self, other: object) -> ColumnExpression:
        return self._with(exp.Mul, other)

    def __rmul__(self, other: object) -> ColumnExpression:
        return value(other)._with(exp.Mul, self)

    def __truediv__(self, other: object) -> ColumnExpression:
        return self._with(exp.Div, other)

    def __rtruediv__(self, other: object) -> ColumnExpression:
        return value(other)._with(exp.Div, self)

    def __mod__(self, other: object) -> ColumnExpression:
        return self._with(exp.Mod, other)

    def __and__(self, other: object) -> ColumnExpression:
        return self._with(exp.And, other)

    def __or__(self, other: object) -> ColumnExpression:
        return self._with(exp.Or, other)

    def __neg__(self) -> ColumnExpression:
        return ColumnExpression(exp.Neg(this=_operand(self.tree)))

    def __invert__(self) -> ColumnExpression:
        return ColumnExpression(exp.Not(this=_operand(self.tree)))

    def _with(self, operator: type[exp.Binary], other: object) -> ColumnExpression:
        return ColumnExpression(operator(this=_operand(self.tree), expression=_operand(value(other).tree)))

    # -- conditions -----------------------------------------------------------------------------------------------

    def isNull(self) -> ColumnExpression:  # noqa: N802 (PySpark's name)
        return ColumnExpression(exp.Is(this=_operand(self.tree), expression=exp.Null()))

    def isNotNull(self) -> ColumnExpression:  # noqa: N802 (PySpark's name)
        return ~self.isNull()

    def eqNullSafe(self, other: object) -> ColumnExpression:  # noqa: N802 (PySpark's name)
        return self._with(exp.NullSafeEQ, other)

    def isin(self, *values: object) -> ColumnExpression:
        given = values[0] if len(values) == 1 and isinstance(values[0], list | tuple | set) else values
        assert isinstance(given, Iterable)
        return ColumnExpression(exp.In(this=_operand(self.tree), expressions=[value(item).tree for item in given]))

    def between(self, low: object, high: object) -> ColumnExpression:
        return ColumnExpression(exp.Between(this=_operand(self.tree), low=value(low).tree, high=value(high).tree))

    def like(self, pattern: str) -> ColumnExpression:
        return self._with(exp.Like, pattern)

    def ilike(self, pattern: str) -> ColumnExpression:
        return self._with(exp.ILike, pattern)

    def rlike(self, pattern: str) -> ColumnExpression:
        # REGEXP_INSTR looks for the pattern anywhere, as Spark does; Snowflake's RLIKE wants all of the text.
        found = exp.Anonymous(this="REGEXP_INSTR", expressions=[self.tree.copy(), exp.Literal.string(pattern)])
        return ColumnExpression(exp.GT(this=found, expression=exp.Literal.number(0)))

    def startswith(self, other: object) -> ColumnExpression:
        return self._call("STARTSWITH", other)

    def endswith(self, other: object) -> ColumnExpression:
        return self._call("ENDSWITH", other)

    def contains(self, other: object) -> ColumnExpression:
        return self._call("CONTAINS", other)

    def _call(self, name: str, other: object) -> ColumnExpression:
        return ColumnExpression(exp.Anonymous(this=name, expressions=[self.tree.copy(), value(other).tree]))

    # -- shape ----------------------------------------------------------------------------------------------------

    def alias(self, name: str) -> ColumnExpression:
        tree = self.tree.this if isinstance(self.tree, exp.Alias) else self.tree
        return ColumnExpression(exp.Alias(this=tree.copy(), alias=identifier(stored_name(name))))

    name = alias

    def cast(self, type_: str) -> ColumnExpression:
        return ColumnExpression(exp.Cast(this=self.tree.copy(), to=exp.DataType.build(type_, dialect="spark")))

    astype = cast

    def substr(self, start: int, length: int) -> ColumnExpression:
        numbers = [exp.Literal.number(start), exp.Literal.number(length)]
        return ColumnExpression(exp.Anonymous(this="SUBSTR", expressions=[self.tree.copy(), *numbers]))

    def getItem(self, key: str | int) -> ColumnExpression:  # noqa: N802 (PySpark's name)
        """A member of an OBJECT or ARRAY."""
        return self._call("GET", key)

    def asc(self) -> ColumnExpression:
        return self._ordered(desc=False, nulls_first=True)

    def asc_nulls_last(self) -> ColumnExpression:
        return self._ordered(desc=False, nulls_first=False)

    def desc(self) -> ColumnExpression:
        return self._ordered(desc=True, nulls_first=False)

    def desc_nulls_first(self) -> ColumnExpression:
        return self._ordered(desc=True, nulls_first=True)

    def _ordered(self, *, desc: bool, nulls_first: bool) -> ColumnExpression:
        return ColumnExpression(exp.Ordered(this=self.tree.copy(), desc=desc, nulls_first=nulls_first))

    def over(self, window: WindowSpec) -> ColumnExpression:
        return ColumnExpression(window.over(self.tree))

    def when(self, condition: ColumnExpression, result: object) -> ColumnExpression:
        """The next branch of `functions.when`."""
        case = self._case()
        case.append("ifs", exp.If(this=condition.tree.copy(), true=value(result).tree))
        return ColumnExpression(case)

    def otherwise(self, result: object) -> ColumnExpression:
        case = self._case()
        case.set("default", value(result).tree)
        return ColumnExpression(case)

    def _case(self) -> exp.Case:
        if not isinstance(self.tree, exp.Case):
            raise project_errors.project("when() and otherwise() follow functions.when(…).")
        return self.tree.copy()


def _operand(tree: exp.Expr) -> exp.Expr:
    """An operand that keeps its place, whatever operator stands around it."""
    if isinstance(tree, exp.Alias):
        return _operand(tree.this)
    wrap = isinstance(tree, exp.Binary | exp.Not | exp.Between | exp.In | exp.Neg) and not isinstance(tree, exp.Dot)
    return exp.Paren(this=tree.copy()) if wrap else tree.copy()


def column(name: str) -> ColumnExpression:
    """`amount`, `x.amount` behind an alias, or `*`."""
    if name == "*":
        return ColumnExpression(exp.Star())
    owner, dot, last = name.rpartition(".")
    if dot and not name.startswith("`"):
        table = identifier(stored_name(owner))
        return ColumnExpression(
            exp.Column(this=exp.Star() if last == "*" else identifier(stored_name(last)), table=table)
        )
    return ColumnExpression(exp.Column(this=identifier(stored_name(name))))


def value(item: object) -> ColumnExpression:
    """A column as it is; anything else as a literal."""
    if isinstance(item, ColumnExpression):
        return ColumnExpression(item.tree.copy())
    return ColumnExpression(_literal(item))


def _literal(item: object) -> exp.Expr:
    if item is None:
        return exp.Null()
    if isinstance(item, bool):
        return exp.Boolean(this=item)
    if isinstance(item, int | float | Decimal):
        number = exp.Literal.number(str(abs(item)))
        return exp.Neg(this=number) if item < 0 else number
    if isinstance(item, str):
        return exp.Literal.string(item)
    if isinstance(item, datetime):
        return exp.cast(exp.Literal.string(item.isoformat(sep=" ")), "TIMESTAMPTZ" if item.tzinfo else "TIMESTAMPNTZ")
    if isinstance(item, date):
        return exp.cast(exp.Literal.string(item.isoformat()), "DATE")
    raise project_errors.project(f"A {type(item).__name__} can't be a value in DataFrame code.")


def as_column(item: ColumnExpression | str) -> ColumnExpression:
    """Where PySpark takes the name of a column or a column."""
    return column(item) if isinstance(item, str) else ColumnExpression(item.tree.copy())


def as_order(item: ColumnExpression | str) -> exp.Expr:
    """Ascending with NULL first, as Spark sorts, where nothing else was said."""
    given = as_column(item)
    return given.tree if isinstance(given.tree, exp.Ordered) else given.asc().tree


def flat(items: Iterable[Any]) -> list[Any]:
    """The arguments of a call that may also be one list."""
    given = list(items)
    return list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given


def output_name(tree: exp.Expr) -> str | None:
    """The stored name of what a projection gives; None when it has none."""
    if isinstance(tree, exp.Alias):
        return fold_identifier(tree.args["alias"])
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Identifier):
        return fold_identifier(tree.this)
    return None


@dataclass(frozen=True, slots=True)
class WindowSpec:
    partitions: tuple[exp.Expr, ...] = ()
    orders: tuple[exp.Expr, ...] = ()
    frame: tuple[str, int, int] | None = None

    def partitionBy(self, *items: ColumnExpression | str) -> WindowSpec:  # noqa: N802 (PySpark's name)
        return replace(self, partitions=tuple(as_column(item).tree for item in flat(items)))

    def orderBy(self, *items: ColumnExpression | str) -> WindowSpec:  # noqa: N802 (PySpark's name)
        return replace(self, orders=tuple(as_order(item) for item in flat(items)))

    def rowsBetween(self, start: int, end: int) -> WindowSpec:  # noqa: N802 (PySpark's name)
        return replace(self, frame=("ROWS", start, end))

    def rangeBetween(self, start: int, end: int) -> WindowSpec:  # noqa: N802 (PySpark's name)
        return replace(self, frame=("RANGE", start, end))

    def over(self, tree: exp.Expr) -> exp.Window:
        arguments: dict[str, Any] = {"this": tree.copy(), "partition_by": [item.copy() for item in self.partitions]}
        if self.orders:
            arguments["order"] = exp.Order(expressions=[item.copy() for item in self.orders])
        if self.frame is not None:
            kind, start, end = self.frame
            low, low_side = _bound(start)
            high, high_side = _bound(end)
            arguments["spec"] = exp.WindowSpec(kind=kind, start=low, start_side=low_side, end=high, end_side=high_side)
        return exp.Window(**arguments)


_UNBOUNDED = 2**63 - 1


def _bound(offset: int) -> tuple[str | exp.Expr, str | None]:
    if offset == 0:
        return "CURRENT ROW", None
    side = "PRECEDING" if offset < 0 else "FOLLOWING"
    return ("UNBOUNDED" if abs(offset) >= _UNBOUNDED else exp.Literal.number(abs(offset))), side


class Window:
    """Where windows begin: `Window.partitionBy("customer").orderBy("at")`."""

    unboundedPreceding = -_UNBOUNDED  # noqa: N815 (PySpark's name)
    unboundedFollowing = _UNBOUNDED  # noqa: N815 (PySpark's name)
    currentRow = 0  # noqa: N815 (PySpark's name)

    @staticmethod
    def partitionBy(*items: ColumnExpression | str) -> WindowSpec:  # noqa: N802 (PySpark's name)
        return WindowSpec().partitionBy(*items)

    @staticmethod
    def orderBy(*items: ColumnExpression | str) -> WindowSpec:  # noqa: N802 (PySpark's name)
        return WindowSpec().orderBy(*items)
