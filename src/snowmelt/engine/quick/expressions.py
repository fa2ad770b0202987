"""Expressions of Spark's trees in DuckDB's words, each with its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sqlglot import exp

from snowmelt.core.errors import words_of
from snowmelt.engine.quick import code_calls, operators, types
from snowmelt.engine.quick.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from snowmelt.engine.quick.casts import cast
from snowmelt.engine.quick.functions import FUNCTIONS
from snowmelt.engine.quick.known import kind_of_variant, known_type, null_with, printed_variant
from snowmelt.engine.quick.lambdas import bound_value, field_of, filtered, listed, transformed, whole
from snowmelt.engine.quick.literals import decimal_literal, number_literal
from snowmelt.engine.quick.moments import added_time
from snowmelt.engine.quick.patterns import matched
from snowmelt.engine.quick.scopes import Bound, QuickScope, Subqueries
from snowmelt.engine.quick.texts import in_ascii
from snowmelt.engine.quick.types import BIGINT, BINARY, BOOLEAN, DOUBLE, INT, STRING, NotQuick, SparkType
from snowmelt.engine.quick.values import NULL, Value, failing, guarded, integer, literal, string, unified, widened
from snowmelt.engine.quick.variants import variant_kind
from snowmelt.engine.quick.windows import over

_SUFFIXED = re.compile(r"(-?)(\d+)(?:\.(\d+))?(L|BD)")
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
}  # fmt: skip


class QuickExpressions:
    """The expressions of one SELECT. `scope` says what its columns are."""

    def __init__(self, queries: Subqueries, scope: QuickScope) -> None:
        self._queries = queries
        self.scope = scope
        self.bound: Mapping[str, Bound] = {}
        """The parameters of the lambdas around."""
        self.joining = False
        """Whether conditions of joins are read."""
        self._filtering = False
        self.aggregated = False
        """Whether there is an aggregate."""
        self.reaches_out = False
        """Whether there is a column of the query around this one."""

    def value(self, node: exp.Expr) -> Value:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotQuick(words_of(type(node)))
        return handler(self, node)

    def condition(self, node: exp.Expr) -> str:
        return operators.condition(self.value(node))

    @contextmanager
    def in_join(self) -> Iterator[None]:
        self.joining = True
        try:
            yield
        finally:
            self.joining = False

    @contextmanager
    def in_where(self) -> Iterator[None]:
        self._filtering = True
        try:
            yield
        finally:
            self._filtering = False

    # -- names and literals ---------------------------------------------------------------------------------------

    def _column(self, node: exp.Expr) -> Value:
        assert isinstance(node, exp.Column)
        if node.args.get("db") is not None:
            raise NotQuick("a column of two qualifiers")
        table = node.table
        holder = self.bound.get(table or node.name)
        if holder is not None:
            return field_of(holder, node.name) if table else whole(holder)
        found, distance = self.scope.column(table, node.name)
        if distance:
            self.reaches_out = True
            if distance > 1 or not self._filtering:
                raise NotQuick("a correlated subquery of this kind")
        return found

    def _dot(self, node: exp.Expr) -> Value:
        holder = node.this
        while isinstance(holder, exp.Paren):
            holder = holder.this
        name = holder.name if isinstance(holder, exp.Identifier | exp.Column) and not holder.args.get("table") else ""
        bound = self.bound.get(name)
        return field_of(bound if bound is not None else self.value(holder), node.expression.name)

    def _parameter(self, node: exp.Expr) -> Value:
        if node.name not in self.bound:
            raise NotQuick(f"the word {node.name}")
        return whole(self.bound[node.name])

    def lazy_value(self, node: exp.Expr) -> Value:
        """A value that is computed for some rows only: where it is not on the list, but its type is known, those rows
        are an error, and Spark computes the query if there are such."""
        try:
            return self.value(node)
        except NotQuick:
            known = known_type(node)
            if known is None:
                raise
            column = null_with(node)
            if column is None:
                return Value(failing("list", known), known)
            return guarded(f"{self.value(column).sql} IS NULL", "NULL", "list", known)

    def _regexp_like(self, node: exp.Expr) -> Value:
        return matched(self.value(node.this), self.value(node.expression))

    def _lambda_call(self, node: exp.Expr) -> Value:
        return transformed(self, node)

    def _literal(self, node: exp.Expr) -> Value:
        text = str(node.this)
        if node.args.get("is_string"):
            return string(text, STRING)
        if "e" in text.lower():
            return Value(f"CAST({text} AS DOUBLE)", DOUBLE)
        return number_literal(text)

    def _suffixed(self, node: exp.Expr) -> Value:
        found = _SUFFIXED.fullmatch(node.name)
        if found is None:
            raise NotQuick(f"the word {node.name}")
        if found[4] == "L" and not found[3]:
            return integer(int(found[1] + found[2]), BIGINT)
        return decimal_literal(found[1], found[2], found[3] or "")

    def _boolean(self, node: exp.Expr) -> Value:
        return Value("true" if node.this else "false", BOOLEAN)

    def _bytes(self, node: exp.Expr) -> Value:
        return Value(f"from_hex({literal(str(node.this))})", BINARY)

    def _null(self, node: exp.Expr) -> Value:
        return NULL

    # -- operators ------------------------------------------------------------------------------------------------

    def _paren(self, node: exp.Expr) -> Value:
        inner = self.value(node.this)
        return inner if inner.text is not None or inner.number is not None else Value(f"({inner.sql})", inner.type)

    def _arithmetic(self, node: exp.Expr) -> Value:
        return operators.arithmetic(_ARITHMETIC[type(node)], self.value(node.this), self.value(node.expression))

    def _neg(self, node: exp.Expr) -> Value:
        return operators.negated(self.value(node.this))

    def _compared(self, node: exp.Expr) -> Value:
        return self._comparison(_COMPARISONS[type(node)], node)

    def _same(self, node: exp.Expr) -> Value:
        return self._comparison("IS NOT DISTINCT FROM", node)

    def _comparison(self, operator: str, node: exp.Expr) -> Value:
        left, right = self.value(node.this), self.value(node.expression)
        if self.joining and DOUBLE in (left.type, right.type):
            raise NotQuick("a join by doubles")
        return operators.compared(operator, left, right)

    def _logic(self, node: exp.Expr) -> Value:
        word, kind = ("AND" if isinstance(node, exp.And) else "OR"), type(node)
        parts = []
        # A chain of hundreds leans to the left.
        while type(node) is kind:
            parts.append(self.condition(node.expression))
            node = node.this
        parts.append(self.condition(node))
        return Value(f"({f' {word} '.join(reversed(parts))})", BOOLEAN)

    def _not(self, node: exp.Expr) -> Value:
        return Value(f"(NOT {self.condition(node.this)})", BOOLEAN)

    def _is(self, node: exp.Expr) -> Value:
        other = node.expression
        if isinstance(other, exp.Null):
            return Value(f"({self.value(node.this).sql} IS NULL)", BOOLEAN)
        if isinstance(other, exp.Boolean):
            return Value(f"({self.condition(node.this)} IS {'TRUE' if other.this else 'FALSE'})", BOOLEAN)
        raise NotQuick("IS of this kind")

    def _between(self, node: exp.Expr) -> Value:
        value, low, high = (self.value(node.args[key]) for key in ("this", "low", "high"))
        sides = [operators.compared(">=", value, low), operators.compared("<=", value, high)]
        return Value(f"({' AND '.join(side.sql for side in sides)})", BOOLEAN)

    def _in(self, node: exp.Expr) -> Value:
        value = self.value(node.this)
        query = node.args.get("query")
        if query is not None:
            if value.type == DOUBLE:
                raise NotQuick("IN of doubles")
            inner = self._queries.inner(query, self.scope)
            if len(inner.columns) != 1:
                raise NotQuick("IN of several columns")
            target = types_of(inner.columns[0][1], value.type)
            return Value(f"({widened(value, target).sql} IN ({inner.cast_to([target])}))", BOOLEAN)
        if node.args.get("unnest") is not None or node.args.get("field") is not None:
            raise NotQuick("IN of this kind")
        given, target = unified([value, *map(self.value, node.expressions)], "IN")
        if not target.has_order:
            raise NotQuick(f"IN of {target.duck}")
        return Value(f"({given[0].sql} IN ({', '.join(one.sql for one in given[1:])}))", BOOLEAN)

    def _exists(self, node: exp.Expr) -> Value:
        return Value(f"EXISTS ({self._queries.inner(node.this, self.scope).sql})", BOOLEAN)

    def _subquery(self, node: exp.Expr) -> Value:
        inner = self._queries.inner(node, self.scope)
        if len(inner.columns) != 1:
            raise NotQuick("a subquery of several columns")
        return Value(f"({inner.sql})", inner.columns[0][1])

    def _like(self, node: exp.Expr) -> Value:
        text, pattern = self.value(node.this), self.value(node.expression)
        if text.type != STRING or pattern.text is None or "\\" in pattern.text:
            raise NotQuick("LIKE with a pattern that is computed or escaped")
        if isinstance(node, exp.Like):
            return Value(f"({text.sql} LIKE {pattern.sql})", BOOLEAN)
        if not pattern.text.isascii():
            raise NotQuick("ILIKE with letters beyond ASCII")
        return Value(f"({in_ascii(text)} ILIKE {pattern.sql})", BOOLEAN)

    def _whole_quotient(self, node: exp.Expr) -> Value:
        left, right = self.value(node.this), self.value(node.expression)
        if not (left.type.is_integer and right.type.is_integer) or not right.number:
            raise NotQuick("DIV by what is no literal")
        return Value(f"CAST({left.sql} // {right.sql} AS BIGINT)", BIGINT)

    def _pipes(self, node: exp.Expr) -> Value:
        return operators.joined_text(self.value(node.this), self.value(node.expression))

    def _case(self, node: exp.Expr) -> Value:
        branches: list[exp.Expr] = node.args["ifs"]
        default = node.args.get("default")
        printed = printed_variant(node)
        if printed is not None:
            return self.value(printed)
        operand = self.value(node.this) if node.this is not None else None
        results = [self.lazy_value(branch.args["true"]) for branch in branches]
        given, target = unified([*results, self.lazy_value(default) if default is not None else NULL], "CASE")
        parts = []
        for branch, result in zip(branches, given, strict=False):
            test = (
                self.condition(branch.this)
                if operand is None
                else operators.compared("=", operand, self.value(branch.this)).sql
            )
            parts.append(f"WHEN {test} THEN {result.sql}")
        return Value(f"CASE {' '.join(parts)} ELSE {given[-1].sql} END", target)

    def _if(self, node: exp.Expr) -> Value:
        other = node.args.get("false")
        arguments = [self.value(node.this), self.lazy_value(node.args["true"])]
        return FUNCTIONS["if"]([*arguments, self.lazy_value(other) if other is not None else NULL])

    def _cast(self, node: exp.Expr) -> Value:
        target = types.of_node(node.args["to"])
        if code_calls.is_code(node.this):
            return code_calls.cast(self.value(node.this), target)
        return cast(self.value(node.this), target)

    def _try_cast(self, node: exp.Expr) -> Value:
        """sqlglot reads Spark's CAST as this node too; TRY_CAST is the one that is marked."""
        if not node.args.get("safe"):
            return self._cast(node)
        return cast(self.value(node.this), types.of_node(node.args["to"]), attempt=bool(node.args.get("safe")))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: exp.Expr) -> Value:
        assert isinstance(node, exp.Anonymous)
        name = node.name.lower()
        if name in AGGREGATES:
            self.aggregated = True
            call, type_ = self._aggregate(node, name)
            return Value(_as(call, type_), type_)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        if code_calls.is_code(node):
            return code_calls.called(self, node)
        function = FUNCTIONS.get(name)
        if function is None:
            raise NotQuick(f"function {name}")
        value = self.lazy_value if name in _LAZY else self.value
        kind = kind_of_variant(node)
        try:
            if kind is not None:
                return function([variant_kind(value(kind)), *map(value, node.expressions[1:])])
            return function([value(argument) for argument in node.expressions])
        except (ValueError, TypeError):
            raise NotQuick(f"function {name} with these arguments") from None

    def _aggregate(self, node: exp.Anonymous, name: str) -> tuple[str, SparkType]:
        arguments = node.expressions
        distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
        given = arguments[0].expressions if distinct else arguments
        if name == "count" and len(given) == 1 and isinstance(given[0], exp.Star | exp.Literal):
            return AGGREGATES[name]([], False) if not distinct else AGGREGATES[name]([self.value(given[0])], True)
        return AGGREGATES[name]([self.value(argument) for argument in given], distinct)

    def _added_time(self, node: exp.Anonymous) -> Value:
        unit, number, moment = node.expressions
        return added_time(unit.name.upper(), self.value(number), self.value(moment))

    def _grouping(self, node: exp.Anonymous) -> Value:
        (key,) = node.expressions
        return Value(f"CAST(grouping({self.value(key).sql}) AS INTEGER)", INT)

    def _window(self, node: exp.Expr) -> Value:
        call = node.this
        if not isinstance(call, exp.Anonymous) or node.args.get("alias") is not None:
            raise NotQuick("a window of this kind")
        name = call.name.lower()
        if name in WINDOW_FUNCTIONS:
            sql, type_ = WINDOW_FUNCTIONS[name]([self.value(argument) for argument in call.expressions])
        elif name in AGGREGATES:
            sql, type_ = self._aggregate(call, name)
        else:
            raise NotQuick(f"function {name} over a window")
        return Value(_as(f"{sql} OVER ({over(self, node)})", type_), type_)


def types_of(one: SparkType, other: SparkType) -> SparkType:
    _, target = unified([Value("", one), Value("", other)], "IN")
    return target


def _as(sql: str, type_: SparkType) -> str:
    return f"CAST({sql} AS {type_.duck})"


_LAZY = frozenset({"coalesce", "if"})
"""Functions whose later arguments are computed only where they are needed."""
_SPECIAL: dict[str, Callable[[QuickExpressions, exp.Anonymous], Value]] = {
    "array_join": listed,
    "element_at": bound_value,
    "filter": filtered,
    "grouping": QuickExpressions._grouping,
    "map_filter": filtered,
    "timestampadd": QuickExpressions._added_time,
    "transform": transformed,
}
_Handler = Callable[[QuickExpressions, exp.Expr], Value]
_HANDLERS: dict[type[exp.Expr], _Handler] = {
    exp.Anonymous: QuickExpressions._call,
    exp.And: QuickExpressions._logic,
    exp.Between: QuickExpressions._between,
    exp.Boolean: QuickExpressions._boolean,
    exp.Case: QuickExpressions._case,
    exp.Cast: QuickExpressions._cast,
    exp.Column: QuickExpressions._column,
    exp.DPipe: QuickExpressions._pipes,
    exp.Dot: QuickExpressions._dot,
    exp.Exists: QuickExpressions._exists,
    exp.If: QuickExpressions._if,
    exp.HexString: QuickExpressions._bytes,
    exp.Identifier: QuickExpressions._parameter,
    exp.ILike: QuickExpressions._like,
    exp.In: QuickExpressions._in,
    exp.IntDiv: QuickExpressions._whole_quotient,
    exp.Is: QuickExpressions._is,
    exp.Like: QuickExpressions._like,
    exp.Literal: QuickExpressions._literal,
    exp.Neg: QuickExpressions._neg,
    exp.Not: QuickExpressions._not,
    exp.Null: QuickExpressions._null,
    exp.NullSafeEQ: QuickExpressions._same,
    exp.Or: QuickExpressions._logic,
    exp.Paren: QuickExpressions._paren,
    exp.RegexpLike: QuickExpressions._regexp_like,
    exp.Subquery: QuickExpressions._subquery,
    exp.Transform: QuickExpressions._lambda_call,
    exp.TryCast: QuickExpressions._try_cast,
    exp.Var: QuickExpressions._suffixed,
    exp.Window: QuickExpressions._window,
    **dict.fromkeys(_ARITHMETIC, QuickExpressions._arithmetic),
    **dict.fromkeys(_COMPARISONS, QuickExpressions._compared),
}
