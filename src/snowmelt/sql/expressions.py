"""Binding of expressions: names to columns, operators and calls to Spark, every value with its Snowflake type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import quote, split_name
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import casts, coercion, collations, comparisons, operators
from snowmelt.sql.binders import BindsQueries, Environment
from snowmelt.sql.bound import Bound, Scope, describe, fold_identifier, merge_flags, position_of, tight
from snowmelt.sql.calls import bind_call, bind_within_group
from snowmelt.sql.clauses import ONE_ROW, Clause
from snowmelt.sql.dialect import copied, spark, string
from snowmelt.sql.notes import typed, volatile
from snowmelt.sql.row_keys import key_of

_COMPARISONS: dict[type[exp.Expr], type[exp.Expr]] = {
    kind: kind for kind in (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
}
_WITHOUT_PARENTHESES = frozenset({"CURRENT_TIME", "LOCALTIME", "CURRENT_ROLE"})
"""Calls that may be written as a bare word, and that sqlglot leaves as a column."""
_CONTEXT_WORDS = {
    exp.CurrentTimestamp: "CURRENT_TIMESTAMP", exp.CurrentDate: "CURRENT_DATE", exp.CurrentUser: "CURRENT_USER",
    exp.CurrentRole: "CURRENT_ROLE", exp.CurrentTime: "CURRENT_TIME",
}  # fmt: skip


_VALUES = frozenset({exp.Literal, exp.Null, exp.Boolean, exp.Neg})
"""A list of constants may be as long as its text."""


_MOST_OF_AN_ALIAS = 20_000
"""Nodes: `a + a AS b, b + b AS c, …` has twice as many with each."""


class ExpressionBinder:
    """Binds expressions of one clause in one scope. `queries` binds the subqueries found on the way."""

    def __init__(self, environment: Environment, scope: Scope, queries: BindsQueries, clause: Clause = ONE_ROW) -> None:
        self.environment = environment
        self.context = environment.context
        self.scope = scope
        self.queries = queries
        self.clause = clause
        self.window: exp.Window | None = None
        """The OVER (…) around the call being bound, if any."""

    def in_scope(self, scope: Scope) -> ExpressionBinder:
        return ExpressionBinder(self.environment, scope, self.queries, self.clause)

    def in_clause(self, clause: Clause) -> ExpressionBinder:
        return ExpressionBinder(self.environment, self.scope, self.queries, clause)

    def in_body(self, environment: Environment, scope: Scope, queries: BindsQueries) -> ExpressionBinder:
        """A binder for a function's body."""
        return ExpressionBinder(environment, scope, queries)

    def bind(self, node: exp.Expr) -> Bound:
        bound = self._bind(node)
        if self.scope.stand_ins and self.clause.aggregates and bound.tree in self.scope.stand_ins:
            bound = replace(bound, tree=self.scope.stand_ins[bound.tree].copy(), aggregate=True)
        typed(bound.tree, bound.type)
        return bound

    def _bind(self, node: exp.Expr) -> Bound:
        kind = type(node)
        if kind not in _VALUES:
            self.environment.work.add()
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, node)
        if kind in _COMPARISONS:
            return self._comparison(node)
        if kind in operators.ARITHMETIC:
            return operators.calculation(self, node)
        if kind in _CONTEXT_WORDS:
            return bind_call(self, exp.Anonymous(this=_CONTEXT_WORDS[kind], expressions=[]))
        raise errors.unsupported(describe(node))

    def cast(self, value: Bound, target: DataType, *, attempt: bool = False) -> Bound:
        tree = casts.cast(value.tree, value.type, target, self.context, attempt=attempt)
        return replace(value, tree=tree, type=target)

    def boolean(self, node: exp.Expr) -> Bound:
        """A condition: anything Snowflake lets stand for a BOOLEAN."""
        bound = self.bind(node)
        return bound if bound.type.kind is Kind.BOOLEAN else self.cast(bound, types.BOOLEAN)

    def same_type(self, values: Sequence[Bound]) -> tuple[list[Bound], DataType]:
        """The values cast to their common type."""
        common = coercion.common_type([value.type for value in values])
        if common is None:
            raise errors.compilation(
                "001007",
                "22023",
                f"inconsistent data types: {', '.join(str(value.type) for value in values)}",
            )
        common = collations.collated(common, values)
        return [self.cast(value, common) for value in values], common

    # -- leaves ---------------------------------------------------------------------------------------------------

    def _literal(self, node: exp.Literal) -> Bound:
        type_ = coercion.literal_type(node)
        if type_.kind is Kind.VARCHAR:
            return Bound(exp.Literal.string(node.this), type_)
        text = str(node.this)
        if type_.kind is Kind.FLOAT:
            return Bound(exp.cast(exp.Literal.number(text), "DOUBLE"), type_)
        # A suffix fixes Spark's type: plain 1 would be a 32-bit integer and overflow early.
        return Bound(exp.Var(this=f"{text}L" if type_.int64 else f"{text}BD"), type_)

    def _text(self, node: exp.Expr) -> Bound:
        return Bound(exp.Literal.string(node.name), types.varchar(max(len(node.name), 1)))

    def _hex(self, node: exp.HexString) -> Bound:
        return Bound(spark("unhex(_0)", string(str(node.this))), types.BINARY)

    def _null(self, _: exp.Null) -> Bound:
        return Bound(exp.Null(), types.NULL)

    def _boolean_literal(self, node: exp.Boolean) -> Bound:
        return Bound(exp.Boolean(this=node.this), types.BOOLEAN)

    def _column(self, node: exp.Column) -> Bound:
        if node.args.get("join_mark"):
            raise errors.unsupported("(+) outside of the WHERE clause of a SELECT")
        if isinstance(node.this, exp.Star):
            raise errors.syntax_error(position_of(node).line, position_of(node).position, "*")
        if isinstance(node.this, exp.Parameter):
            return self._positional(node.this, tuple(fold_identifier(part) for part in node.parts[:-1]))
        parts = tuple(fold_identifier(part) for part in node.parts)
        return self._named(parts, node)

    def _named(self, parts: tuple[str, ...], node: exp.Expr) -> Bound:
        *qualifier, name = parts
        where = position_of(node)
        found = self.scope.local_column(tuple(qualifier), name, where)
        if found is None and not qualifier and name in self.scope.aliases:
            found = self._alias(name)
        if found is None and self.scope.parent is not None:
            found = self.in_scope(self.scope.parent).find(tuple(qualifier), name, node)
        if found is None and qualifier and name == "NEXTVAL":
            found = self._next_value(tuple(qualifier))
        if found is None and len(parts) == 1 and name in _WITHOUT_PARENTHESES:
            found = bind_call(self, exp.Anonymous(this=name, expressions=[]))
        if found is None:
            raise errors.invalid_identifier(".".join(map(quote, parts)), where.line, where.position)
        return found

    def _next_value(self, sequence: tuple[str, ...]) -> Bound | None:
        tree = self.environment.relations.next_value(sequence)
        return Bound(volatile(tree, "NEXTVAL"), types.INTEGER, volatile=True) if tree is not None else None

    def find(self, qualifier: tuple[str, ...], name: str, node: exp.Expr) -> Bound | None:
        return self.scope.column(qualifier, name, position_of(node))

    def _alias(self, name: str) -> Bound | None:
        if name in self.scope.expanding:
            return None
        # What it means depends on the aliases around it, and what it may hold on the clause.
        key = (name, frozenset(self.scope.expanding), self.clause, self.window is None)
        known = self.scope.bound_aliases.get(key)
        if known is None:
            self.scope.expanding.add(name)
            try:
                known = self.scope.bound_aliases[key] = self.bind(self.scope.aliases[name].copy())
            finally:
                self.scope.expanding.discard(name)
        return known.with_tree(copied(known.tree, _MOST_OF_AN_ALIAS))

    def _parameter(self, node: exp.Parameter) -> Bound:
        if isinstance(node.this, exp.Literal):
            return self._positional(node, ())
        value = self.environment.relations.variable(node.name.upper())
        if value is None:
            raise errors.compilation("002211", "02000", f"Session variable '${node.name.upper()}' does not exist")
        return self.bind(value)

    def _placeholder(self, node: exp.Placeholder) -> Bound:
        """`:x`, a variable of the scripting block around the statement."""
        found = self.environment.relations.local(node.name) if node.this else None
        if found is None:
            shown = f":{node.name}" if node.this else "?"
            raise errors.compilation("002049", "42601", f"Bind variable {shown} not set.")
        literal, type_ = found
        bound = self.bind(literal)
        # A literal has the narrowest type of its value; the variable's own may be wider.
        if type_.kind is Kind.VARCHAR and bound.type.kind is Kind.VARCHAR:
            return replace(bound, type=type_)
        return bound if bound.type == type_ else self.cast(bound, type_)

    def _positional(self, node: exp.Parameter, qualifier: tuple[str, ...]) -> Bound:
        """`$1`: a column by its position in its source."""
        index = int(node.name)
        sources = [source for source in self.scope.sources if not qualifier or source.answers_to(qualifier)]
        if len(sources) == 1 and 1 <= index <= len(sources[0].columns):
            column = sources[0].columns[index - 1]
            return Bound(column.tree.copy(), column.type)
        where = position_of(node)
        raise errors.invalid_identifier(f"${index}", where.line, where.position)

    def _identifier_call(self, node: exp.Anonymous) -> Bound:
        argument = self.bind(node.expressions[0])
        if not isinstance(argument.tree, exp.Literal) or not argument.tree.is_string:
            raise errors.unsupported("IDENTIFIER of something that is not a constant")
        parts = split_name(str(argument.tree.this))
        if parts is None:
            where = position_of(node)
            raise errors.invalid_identifier(str(argument.tree.this), where.line, where.position)
        return self._named(parts, node)

    # -- operators ------------------------------------------------------------------------------------------------

    def as_number(self, value: Bound) -> Bound:
        tree, type_ = coercion.argument("num", value.tree, value.type, self.context)
        return replace(value, tree=tree, type=type_)

    def _comparison(self, node: exp.Expr) -> Bound:
        if isinstance(node.expression, exp.Any | exp.All):
            return comparisons.quantified(self, node)
        if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
            return comparisons.row_comparison(self, node)
        left, right = self.bind(node.this), self.bind(node.expression)
        return self.compare(type(node), left, right)

    def compare(self, operator: type[exp.Expr], left: Bound, right: Bound) -> Bound:
        left, right = self.comparable_pair(left, right)
        tree: exp.Expr
        if operator in (exp.NullSafeEQ, exp.NullSafeNEQ):
            tree = spark("_0 <=> _1", left.tree, right.tree)
            tree = exp.Not(this=exp.Paren(this=tree)) if operator is exp.NullSafeNEQ else tree
        else:
            tree = operator(this=tight(left.tree), expression=tight(right.tree))
        return merge_flags(tree, types.BOOLEAN, (left, right))

    def comparable_pair(self, left: Bound, right: Bound) -> tuple[Bound, Bound]:
        """Both sides cast so that Spark compares them as Snowflake does."""
        left, right = _numeric_literal(left, right), _numeric_literal(right, left)
        target = coercion.comparison_type(left.type, right.type)
        if target is None:
            raise errors.compilation("001007", "22023", f"can not compare values of type {left.type} with {right.type}")
        target = collations.collated(target, (left, right))
        return self.orderable(self.cast(left, target)), self.orderable(self.cast(right, target))

    def orderable(self, value: Bound) -> Bound:
        """Something that Spark can compare, sort and group by in place of the value."""
        return value.with_tree(key_of(value.tree, value.type)) if value.type.has_key else value

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: exp.Anonymous) -> Bound:
        if node.name.upper() == "IDENTIFIER" and len(node.expressions) == 1:
            return self._identifier_call(node)
        return bind_call(self, node)

    def _qualified_call(self, node: exp.Dot) -> Bound:
        parts: list[str] = []
        current: exp.Expr = node
        call = node.expression
        if not isinstance(call, exp.Anonymous):
            raise errors.unsupported(describe(node))
        while isinstance(current, exp.Dot):
            if current.expression is not call:
                parts.insert(0, fold_identifier(current.expression))
            current = current.this
        parts.insert(0, fold_identifier(current))
        return bind_call(self, call, tuple(parts))

    def _window_node(self, node: exp.Window) -> Bound:
        self.clause.allow_window(node)
        from_call = self.in_clause(self.clause)
        from_call.window = node
        bound = from_call.bind(node.this)
        return self.queries.windows.wrap(self, node, bound)

    def _ignore_nulls(self, node: exp.Expr) -> Bound:
        call = node.this
        if not isinstance(call, exp.Anonymous):
            raise errors.unsupported("IGNORE NULLS here")
        return bind_call(self, call, nulls="IGNORE" if isinstance(node, exp.IgnoreNulls) else "RESPECT")

    def _within_group(self, node: exp.WithinGroup) -> Bound:
        return bind_within_group(self, node)

    def _at_time_zone(self, node: exp.AtTimeZone) -> Bound:
        return bind_call(self, exp.Anonymous(this="CONVERT_TIMEZONE", expressions=[node.args["zone"], node.this]))


_PLAIN_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(?:\.\d{1,18})?\s*\Z")


def _numeric_literal(value: Bound, other: Bound) -> Bound:
    """A text constant next to a number, as the number it spells: a cast would keep the filter from the files."""
    tree = value.tree
    if not (other.type.is_number and isinstance(tree, exp.Literal) and tree.is_string):
        return value
    if not _PLAIN_NUMBER.match(tree.this):
        return value
    text = tree.this.strip()
    digits = text.lstrip("+-")
    type_ = coercion.literal_type(exp.Literal(this=digits, is_string=False))
    number: exp.Expr = exp.Var(this=f"{digits}L" if type_.int64 else f"{digits}BD")
    return replace(value, tree=exp.Neg(this=number) if text.startswith("-") else number, type=type_)


_HANDLERS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Bound]] = {
    exp.Literal: ExpressionBinder._literal,
    exp.RawString: ExpressionBinder._text,
    exp.National: ExpressionBinder._text,
    exp.HexString: ExpressionBinder._hex,
    exp.Null: ExpressionBinder._null,
    exp.Boolean: ExpressionBinder._boolean_literal,
    exp.Column: ExpressionBinder._column,
    exp.Parameter: ExpressionBinder._parameter,
    exp.Placeholder: ExpressionBinder._placeholder,
    exp.Paren: operators.parentheses,
    exp.Not: operators.negation,
    exp.And: operators.logical,
    exp.Or: operators.logical,
    exp.Neg: operators.negative,
    exp.Is: comparisons.is_test,
    exp.Between: comparisons.between,
    exp.In: comparisons.is_in,
    exp.Exists: comparisons.exists,
    exp.Subquery: comparisons.scalar_subquery,
    exp.DPipe: operators.concat,
    exp.Case: operators.case,
    exp.Cast: operators.cast_node,
    exp.TryCast: operators.cast_node,
    exp.Extract: operators.extract,
    exp.StrPosition: operators.position,
    exp.Collate: operators.collate,
    exp.JSONExtract: operators.path,
    exp.Bracket: operators.bracket,
    exp.Like: operators.like,
    exp.ILike: operators.like,
    exp.Escape: operators.escape,
    exp.RegexpLike: operators.rlike,
    exp.Array: operators.array_literal,
    exp.Struct: operators.object_literal,
    exp.Interval: operators.interval,
    exp.Anonymous: ExpressionBinder._call,
    exp.Dot: ExpressionBinder._qualified_call,
    exp.Window: ExpressionBinder._window_node,
    exp.IgnoreNulls: ExpressionBinder._ignore_nulls,
    exp.RespectNulls: ExpressionBinder._ignore_nulls,
    exp.WithinGroup: ExpressionBinder._within_group,
    exp.AtTimeZone: ExpressionBinder._at_time_zone,
}
