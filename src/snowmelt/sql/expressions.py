"""Binding of expressions: names to columns, operators and calls to Spark, every value with its Snowflake type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import fold, split_name
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import arithmetic, casts, coercion, intervals, patterns, variants
from snowmelt.sql.bound import Bound, Scope, place_of
from snowmelt.sql.calls import bind_call, bind_within_group
from snowmelt.sql.dialect import identifier, spark, string
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.relations import Relations
from snowmelt.sql.typewords import type_of_ast

if TYPE_CHECKING:
    from snowmelt.sql.queries import QueryBinder


@dataclass(frozen=True, slots=True)
class Environment:
    """What stays the same while one statement is bound."""

    relations: Relations
    context: SessionContext


def fold_identifier(node: exp.Expression) -> str:
    """The stored form of an identifier node."""
    quoted = bool(node.args.get("quoted")) if isinstance(node, exp.Identifier) else False
    return fold(node.name, quoted=quoted)


def merge_flags(tree: exp.Expression, type_: DataType, parts: Sequence[Bound]) -> Bound:
    return Bound(
        tree,
        type_,
        aggregate=any(part.aggregate for part in parts),
        volatile=any(part.volatile for part in parts),
    )


_COMPARISONS: dict[type[exp.Expression], type[exp.Expression]] = {
    kind: kind
    for kind in (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_WITHOUT_PARENTHESES = frozenset({"CURRENT_TIME", "LOCALTIME", "CURRENT_ROLE"})
"""Calls that may be written as a bare word, and that sqlglot leaves as a column."""
_CONTEXT_WORDS = {
    exp.CurrentTimestamp: "CURRENT_TIMESTAMP", exp.CurrentDate: "CURRENT_DATE", exp.CurrentUser: "CURRENT_USER",
    exp.CurrentRole: "CURRENT_ROLE", exp.CurrentTime: "CURRENT_TIME",
}  # fmt: skip


class ExpressionBinder:
    """Binds expressions in one scope. `queries` binds the subqueries found on the way."""

    def __init__(self, environment: Environment, scope: Scope, queries: QueryBinder) -> None:
        self.environment = environment
        self.context = environment.context
        self.scope = scope
        self.queries = queries
        self.window: exp.Window | None = None
        """The OVER (…) around the call being bound, if any."""

    def in_scope(self, scope: Scope) -> ExpressionBinder:
        return ExpressionBinder(self.environment, scope, self.queries)

    def bind(self, node: exp.Expression) -> Bound:
        kind = type(node)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, node)
        if kind in _COMPARISONS:
            return self._comparison(node)
        if kind in _ARITHMETIC:
            return self._arithmetic(node)
        if kind in _CONTEXT_WORDS:
            return bind_call(self, exp.Anonymous(this=_CONTEXT_WORDS[kind], expressions=[]))
        raise errors.unsupported(_describe(node))

    def cast(self, value: Bound, target: DataType, *, attempt: bool = False) -> Bound:
        tree = casts.cast(value.tree, value.type, target, self.context, attempt=attempt)
        return replace(value, tree=tree, type=target)

    def boolean(self, node: exp.Expression) -> Bound:
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

    def _text(self, node: exp.Expression) -> Bound:
        return Bound(exp.Literal.string(node.name), types.varchar(max(len(node.name), 1)))

    def _hex(self, node: exp.HexString) -> Bound:
        return Bound(spark("unhex(_0)", string(str(node.this))), types.BINARY)

    def _null(self, _: exp.Null) -> Bound:
        return Bound(exp.Null(), types.NULL)

    def _boolean_literal(self, node: exp.Boolean) -> Bound:
        return Bound(exp.Boolean(this=node.this), types.BOOLEAN)

    def _column(self, node: exp.Column) -> Bound:
        if isinstance(node.this, exp.Star):
            raise errors.syntax_error(place_of(node).line, place_of(node).position, "*")
        if isinstance(node.this, exp.Parameter):
            return self._positional(node.this, tuple(fold_identifier(part) for part in node.parts[:-1]))
        parts = tuple(fold_identifier(part) for part in node.parts)
        return self._named(parts, node)

    def _named(self, parts: tuple[str, ...], node: exp.Expression) -> Bound:
        *qualifier, name = parts
        where = place_of(node)
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
            raise errors.invalid_identifier(".".join(parts), where.line, where.position)
        return found

    def _next_value(self, sequence: tuple[str, ...]) -> Bound | None:
        tree = self.environment.relations.next_value(sequence)
        return Bound(tree, types.INTEGER, volatile=True) if tree is not None else None

    def find(self, qualifier: tuple[str, ...], name: str, node: exp.Expression) -> Bound | None:
        return self.scope.column(qualifier, name, place_of(node))

    def _alias(self, name: str) -> Bound | None:
        if name in self.scope.expanding:
            return None
        self.scope.expanding.add(name)
        try:
            return self.bind(self.scope.aliases[name].copy())
        finally:
            self.scope.expanding.discard(name)

    def _parameter(self, node: exp.Parameter) -> Bound:
        if isinstance(node.this, exp.Literal):
            return self._positional(node, ())
        value = self.environment.relations.variable(node.name.upper())
        if value is None:
            raise errors.compilation(
                "002211", "02000", f"Session variable '${node.name.upper()}' does not exist"
            )
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
        """`$1`: a column by its place in its source."""
        index = int(node.name)
        sources = [source for source in self.scope.sources if not qualifier or source.answers_to(qualifier)]
        if len(sources) == 1 and 1 <= index <= len(sources[0].columns):
            column = sources[0].columns[index - 1]
            return Bound(column.tree.copy(), column.type)
        where = place_of(node)
        raise errors.invalid_identifier(f"${index}", where.line, where.position)

    def _identifier_call(self, node: exp.Anonymous) -> Bound:
        argument = self.bind(node.expressions[0])
        if not isinstance(argument.tree, exp.Literal) or not argument.tree.is_string:
            raise errors.unsupported("IDENTIFIER of something that is not a constant")
        parts = split_name(str(argument.tree.this))
        if parts is None:
            where = place_of(node)
            raise errors.invalid_identifier(str(argument.tree.this), where.line, where.position)
        return self._named(parts, node)

    # -- operators ------------------------------------------------------------------------------------------------

    def _paren(self, node: exp.Paren) -> Bound:
        bound = self.bind(node.this)
        return bound.with_tree(exp.Paren(this=bound.tree))

    def _not(self, node: exp.Not) -> Bound:
        bound = self.boolean(node.this)
        return bound.with_tree(exp.Not(this=_tight(bound.tree)), types.BOOLEAN)

    def _logical(self, node: exp.Connector) -> Bound:
        # Long chains of AND are parsed left-deep: flatten them so that depth does not become recursion.
        operands = [self.boolean(part) for part in node.flatten()]
        tree = operands[0].tree
        for operand in operands[1:]:
            tree = type(node)(
                this=_tight(tree) if tree is operands[0].tree else tree, expression=_tight(operand.tree)
            )
        return merge_flags(tree, types.BOOLEAN, operands)

    def _negative(self, node: exp.Neg) -> Bound:
        bound = self.bind(node.this)
        if not bound.type.is_numeric:
            bound = self._as_number(bound)
        return bound.with_tree(exp.Neg(this=_tight(bound.tree)))

    def _as_number(self, value: Bound) -> Bound:
        tree, type_ = coercion.argument("num", value.tree, value.type, self.context)
        return replace(value, tree=tree, type=type_)

    def _comparison(self, node: exp.Expression) -> Bound:
        if isinstance(node.expression, exp.Any | exp.All):
            return self._quantified(node)
        if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
            return self._row_comparison(node)
        left, right = self.bind(node.this), self.bind(node.expression)
        return self.compare(type(node), left, right)

    def compare(self, operator: type[exp.Expression], left: Bound, right: Bound) -> Bound:
        left, right = self.comparable_pair(left, right)
        tree: exp.Expression
        if operator in (exp.NullSafeEQ, exp.NullSafeNEQ):
            tree = spark("_0 <=> _1", left.tree, right.tree)
            tree = exp.Not(this=exp.Paren(this=tree)) if operator is exp.NullSafeNEQ else tree
        else:
            tree = operator(this=_tight(left.tree), expression=_tight(right.tree))
        return merge_flags(tree, types.BOOLEAN, (left, right))

    def comparable_pair(self, left: Bound, right: Bound) -> tuple[Bound, Bound]:
        """Both sides cast so that Spark compares them as Snowflake does."""
        left, right = _numeric_literal(left, right), _numeric_literal(right, left)
        target = coercion.comparison_type(left.type, right.type)
        if target is None:
            raise errors.compilation(
                "001007", "22023", f"can not compare values of type {left.type} with {right.type}"
            )
        return self.orderable(self.cast(left, target)), self.orderable(self.cast(right, target))

    def orderable(self, value: Bound) -> Bound:
        """Something that Spark can compare, sort and group by in place of the value."""
        if value.type.is_semi_structured:
            return value.with_tree(variants.comparable(value.tree))
        if value.type.kind is Kind.TIMESTAMP_TZ:
            return value.with_tree(exp.Dot(this=_tight(value.tree), expression=identifier(types.TZ_INSTANT)))
        return value

    def _row_comparison(self, node: exp.Expression) -> Bound:
        if not isinstance(node, exp.EQ | exp.NEQ) or len(node.this.expressions) != len(
            node.expression.expressions
        ):
            raise errors.unsupported("comparison of rows other than = and <>")
        pairs = [
            self.compare(exp.EQ, self.bind(left), self.bind(right))
            for left, right in zip(node.this.expressions, node.expression.expressions, strict=True)
        ]
        tree = exp.and_(*[pair.tree for pair in pairs])
        return merge_flags(exp.not_(tree) if isinstance(node, exp.NEQ) else tree, types.BOOLEAN, pairs)

    def _quantified(self, node: exp.Expression) -> Bound:
        """`x = ANY (subquery)` is IN; `x <> ALL (subquery)` is NOT IN."""
        quantifier = node.expression
        inner = quantifier.this
        if isinstance(node, exp.EQ) and isinstance(quantifier, exp.Any):
            return self._in(exp.In(this=node.this, query=inner))
        if isinstance(node, exp.NEQ) and isinstance(quantifier, exp.All):
            bound = self._in(exp.In(this=node.this, query=inner))
            return bound.with_tree(exp.Not(this=exp.Paren(this=bound.tree)))
        raise errors.unsupported(f"{'ANY' if isinstance(quantifier, exp.Any) else 'ALL'} with this operator")

    def _is(self, node: exp.Is) -> Bound:
        target = node.expression
        if isinstance(target, exp.Null):
            value = self.bind(node.this)
            return value.with_tree(exp.Is(this=_tight(value.tree), expression=exp.Null()), types.BOOLEAN)
        if isinstance(target, exp.Boolean):
            value = self.boolean(node.this)
            return value.with_tree(
                exp.Is(this=_tight(value.tree), expression=exp.Boolean(this=target.this)), types.BOOLEAN
            )
        raise errors.unsupported(_describe(node))

    def _between(self, node: exp.Between) -> Bound:
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
        first, second = self.bind(low), self.bind(high)
        return merge_flags(exp.Paren(this=exp.and_(first.tree, second.tree)), types.BOOLEAN, (first, second))

    def _in(self, node: exp.In) -> Bound:
        query = node.args.get("query")
        if query is not None:
            return self._in_query(node, query)
        options = node.expressions
        if isinstance(node.this, exp.Tuple):
            rows = [exp.EQ(this=node.this.copy(), expression=option) for option in options]
            bounds = [self.bind(row) for row in rows]
            return merge_flags(exp.Paren(this=exp.or_(*[b.tree for b in bounds])), types.BOOLEAN, bounds)
        value = self.bind(node.this)
        candidates = [self.bind(option) for option in options]
        target = value.type
        for candidate in candidates:
            found = coercion.comparison_type(target, candidate.type)
            if found is None:
                raise errors.compilation(
                    "001007", "22023", f"can not compare {value.type} with {candidate.type}"
                )
            target = found
        casted = [self.orderable(self.cast(candidate, target)) for candidate in candidates]
        subject = self.orderable(self.cast(value, target))
        tree = exp.In(this=_tight(subject.tree), expressions=[candidate.tree for candidate in casted])
        return merge_flags(tree, types.BOOLEAN, [subject, *casted])

    def _in_query(self, node: exp.In, query: exp.Expression) -> Bound:
        subjects = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        bound = self.queries.subquery(query, self.scope)
        if len(bound.columns) != len(subjects):
            raise errors.compilation("001789", "42601", f"subquery must return {len(subjects)} column(s)")
        values: list[Bound] = []
        outputs: list[Bound] = []
        for subject, column in zip(subjects, bound.columns, strict=True):
            reference = Bound(exp.column(identifier(column.key), table=identifier("__in")), column.type)
            left, right = self.comparable_pair(self.bind(subject), reference)
            values.append(left)
            outputs.append(right)
        unchanged = all(output.tree == exp.column(identifier(column.key), table=identifier("__in"))
                        for output, column in zip(outputs, bound.columns, strict=True))  # fmt: skip
        inner = bound.tree
        if not unchanged:
            inner = exp.select(*[output.tree for output in outputs]).from_(
                exp.Subquery(this=bound.tree, alias=exp.TableAlias(this=identifier("__in")))
            )
        left_tree = (
            exp.Tuple(expressions=[v.tree for v in values]) if len(values) > 1 else _tight(values[0].tree)
        )
        return merge_flags(exp.In(this=left_tree, query=exp.Subquery(this=inner)), types.BOOLEAN, values)

    def _exists(self, node: exp.Exists) -> Bound:
        bound = self.queries.subquery(node.this, self.scope)
        return Bound(exp.Exists(this=bound.tree), types.BOOLEAN, volatile=bound.volatile)

    def _scalar_subquery(self, node: exp.Subquery) -> Bound:
        bound = self.queries.subquery(node, self.scope)
        if len(bound.columns) != 1:
            raise errors.compilation("001790", "42601", "a scalar subquery must return one column")
        return Bound(exp.Subquery(this=bound.tree), bound.columns[0].type, volatile=bound.volatile)

    def _arithmetic(self, node: exp.Expression) -> Bound:
        operator = _ARITHMETIC[type(node)]
        for side, other, sign in ((node.expression, node.this, 1), (node.this, node.expression, 1)):
            if isinstance(side, exp.Interval) and operator in "+-":
                value = self.bind(other)
                direction = -sign if operator == "-" else sign
                tree, type_ = intervals.add_interval(value.tree, value.type, side, direction, self.context)
                return replace(value, tree=tree, type=type_)
        left, right = self.bind(node.this), self.bind(node.expression)
        left, right = self._operand(left, right), self._operand(right, left)
        type_ = arithmetic.result_type(operator, left.type, right.type)
        tree = arithmetic.emit(operator, _tight(left.tree), left.type, _tight(right.tree), right.type)
        return merge_flags(tree, type_, (left, right))

    def _operand(self, value: Bound, other: Bound) -> Bound:
        """Text and VARIANT become numbers, unless the other side is a date (`date_column - '2024-01-01'`)."""
        if value.type.kind in (Kind.VARCHAR, Kind.VARIANT, Kind.BOOLEAN):
            if other.type.kind is Kind.DATE and value.type.kind is Kind.VARCHAR:
                return self.cast(value, types.DATE)
            return self._as_number(value)
        if value.type.kind is Kind.NULL:
            return self.cast(value, other.type if other.type.is_numeric else types.INTEGER)
        return value

    def _concat(self, node: exp.DPipe) -> Bound:
        parts = [self.bind(part) for part in node.flatten()]
        if all(part.type.kind is Kind.BINARY for part in parts):
            type_ = types.BINARY
        else:
            parts = [
                part if part.type.kind is Kind.VARCHAR else self.cast(part, types.VARCHAR) for part in parts
            ]
            type_ = types.varchar(min(sum(part.type.length or 0 for part in parts), types.MAX_VARCHAR))
        tree = parts[0].tree
        for part in parts[1:]:
            tree = exp.DPipe(
                this=_tight(tree) if tree is parts[0].tree else tree, expression=_tight(part.tree)
            )
        return merge_flags(tree, type_, parts)

    def _case(self, node: exp.Case) -> Bound:
        conditions: list[Bound] = []
        results: list[Bound] = []
        subject = node.this
        for branch in node.args["ifs"]:
            test = exp.EQ(this=subject.copy(), expression=branch.this) if subject is not None else branch.this
            conditions.append(self.boolean(test))
            results.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        if default is not None:
            results.append(self.bind(default))
        results, type_ = self.same_type(results)
        tree = exp.Case(
            ifs=[
                exp.If(this=condition.tree, true=result.tree)
                for condition, result in zip(conditions, results, strict=False)
            ],
            default=results[-1].tree if default is not None else None,
        )
        return merge_flags(tree, type_, [*conditions, *results])

    def _cast_node(self, node: exp.Cast) -> Bound:
        target = type_of_ast(node.to)
        return self.cast(self.bind(node.this), target, attempt=isinstance(node, exp.TryCast))

    def _extract(self, node: exp.Extract) -> Bound:
        return bind_call(
            self, exp.Anonymous(this="DATE_PART", expressions=[string(node.name), node.expression])
        )

    def _position(self, node: exp.StrPosition) -> Bound:
        arguments = [node.args["substr"], node.this]
        if node.args.get("position") is not None:
            arguments.append(node.args["position"])
        return bind_call(self, exp.Anonymous(this="POSITION", expressions=arguments))

    def _path(self, node: exp.JSONExtract) -> Bound:
        value = self.bind(node.this)
        elements = [
            _path_element(part)
            for part in node.expression.expressions
            if not isinstance(part, exp.JSONPathRoot)
        ]
        value = value if value.type.is_semi_structured else self.cast(value, types.VARIANT)
        return value.with_tree(variants.get_path(value.tree, elements), types.VARIANT)

    def _bracket(self, node: exp.Bracket) -> Bound:
        value = self.bind(node.this)
        if len(node.expressions) != 1:
            raise errors.unsupported("array slices in brackets", hint="Use ARRAY_SLICE.")
        value = value if value.type.is_semi_structured else self.cast(value, types.VARIANT)
        index_node = node.expressions[0]
        if isinstance(index_node, exp.Literal):
            element = str(index_node.this) if index_node.is_string else int(index_node.this)
            return value.with_tree(variants.get_path(value.tree, [element]), types.VARIANT)
        index = self.bind(index_node)
        tree = variants.get_index(value.tree, index.tree, index.type)
        return merge_flags(tree, types.VARIANT, (value, index))

    def _like(self, node: exp.Expression, escape: exp.Expression | None = None) -> Bound:
        subject = self._string(node.this)
        insensitive = isinstance(node, exp.ILike)
        escape_tree = self.bind(escape).tree if escape is not None else None
        choice = node.expression
        if isinstance(choice, exp.Any | exp.All):
            options = (
                choice.this.expressions if isinstance(choice.this, exp.Tuple) else [choice.this.unnest()]
            )
            bounds = [self._string(option) for option in options]
            trees = [
                patterns.like(subject.tree, b.tree, escape_tree, case_insensitive=insensitive) for b in bounds
            ]
            joined = exp.or_(*trees) if isinstance(choice, exp.Any) else exp.and_(*trees)
            return merge_flags(exp.Paren(this=joined), types.BOOLEAN, [subject, *bounds])
        pattern = self._string(choice)
        tree = patterns.like(subject.tree, pattern.tree, escape_tree, case_insensitive=insensitive)
        return merge_flags(tree, types.BOOLEAN, (subject, pattern))

    def _escape(self, node: exp.Escape) -> Bound:
        return self._like(node.this, node.expression)

    def _rlike(self, node: exp.RegexpLike) -> Bound:
        subject, pattern = self._string(node.this), self._string(node.expression)
        return merge_flags(patterns.rlike(subject.tree, pattern.tree), types.BOOLEAN, (subject, pattern))

    def _string(self, node: exp.Expression) -> Bound:
        bound = self.bind(node)
        return bound if bound.type.kind is Kind.VARCHAR else self.cast(bound, types.VARCHAR)

    def _collate(self, node: exp.Collate) -> Bound:
        raise errors.unsupported("COLLATE")

    def _array(self, node: exp.Array) -> Bound:
        return bind_call(self, exp.Anonymous(this="ARRAY_CONSTRUCT", expressions=node.expressions))

    def _struct(self, node: exp.Struct) -> Bound:
        arguments: list[exp.Expression] = []
        for entry in node.expressions:
            if not isinstance(entry, exp.PropertyEQ):
                raise errors.syntax_error(place_of(node).line, place_of(node).position, "{")
            key = entry.this
            arguments += [string(key.name) if isinstance(key, exp.Identifier) else key, entry.expression]
        return bind_call(self, exp.Anonymous(this="OBJECT_CONSTRUCT", expressions=arguments))

    def _interval(self, node: exp.Interval) -> Bound:
        raise errors.unsupported("INTERVAL outside of + and -")

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: exp.Anonymous) -> Bound:
        if node.name.upper() == "IDENTIFIER" and len(node.expressions) == 1:
            return self._identifier_call(node)
        return bind_call(self, node)

    def _qualified_call(self, node: exp.Dot) -> Bound:
        parts: list[str] = []
        current: exp.Expression = node
        while isinstance(current, exp.Dot):
            if isinstance(current.expression, exp.Anonymous):
                call = current.expression
            else:
                parts.insert(0, fold_identifier(current.expression))
            current = current.this
        parts.insert(0, fold_identifier(current))
        if not isinstance(node.expression, exp.Anonymous):
            raise errors.unsupported(_describe(node))
        return bind_call(self, call, tuple(parts))

    def _window_node(self, node: exp.Window) -> Bound:
        from_call = self.in_scope(self.scope)
        from_call.window = node
        bound = from_call.bind(node.this)
        return self.queries.windows.wrap(self, node, bound)

    def _ignore_nulls(self, node: exp.Expression) -> Bound:
        call = node.this
        if not isinstance(call, exp.Anonymous):
            raise errors.unsupported("IGNORE NULLS here")
        return bind_call(self, call, ignore_nulls=isinstance(node, exp.IgnoreNulls))

    def _within_group(self, node: exp.WithinGroup) -> Bound:
        return bind_within_group(self, node)

    def _at_time_zone(self, node: exp.AtTimeZone) -> Bound:
        return bind_call(
            self, exp.Anonymous(this="CONVERT_TIMEZONE", expressions=[node.args["zone"], node.this])
        )


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
    type_ = coercion.literal_type(exp.Literal.number(digits))
    number: exp.Expression = exp.Var(this=f"{digits}L" if type_.int64 else f"{digits}BD")
    return replace(value, tree=exp.Neg(this=number) if text.startswith("-") else number, type=type_)


def _tight(tree: exp.Expression) -> exp.Expression:
    """The tree in parentheses if it would otherwise fall apart as an operand."""
    if isinstance(
        tree, exp.Binary | exp.Not | exp.Neg | exp.Is | exp.In | exp.Between | exp.Connector
    ) and not isinstance(tree, exp.Dot):
        return exp.Paren(this=tree)
    return tree


def _path_element(part: exp.Expression) -> str | int:
    if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int):
        return part.this
    return str(part.this if not isinstance(part.this, exp.Expression) else part.this.name)


def _describe(node: exp.Expression) -> str:
    names: dict[type[exp.Expression], str] = {
        exp.Prior: "PRIOR",
        exp.Filter: "FILTER (WHERE …)",
        exp.Tuple: "row value here",
    }
    return names.get(type(node), type(node).__name__)


_HANDLERS: dict[type[exp.Expression], Callable[[ExpressionBinder, Any], Bound]] = {
    exp.Literal: ExpressionBinder._literal,
    exp.RawString: ExpressionBinder._text,
    exp.National: ExpressionBinder._text,
    exp.HexString: ExpressionBinder._hex,
    exp.Null: ExpressionBinder._null,
    exp.Boolean: ExpressionBinder._boolean_literal,
    exp.Column: ExpressionBinder._column,
    exp.Parameter: ExpressionBinder._parameter,
    exp.Placeholder: ExpressionBinder._placeholder,
    exp.Paren: ExpressionBinder._paren,
    exp.Not: ExpressionBinder._not,
    exp.And: ExpressionBinder._logical,
    exp.Or: ExpressionBinder._logical,
    exp.Neg: ExpressionBinder._negative,
    exp.Is: ExpressionBinder._is,
    exp.Between: ExpressionBinder._between,
    exp.In: ExpressionBinder._in,
    exp.Exists: ExpressionBinder._exists,
    exp.Subquery: ExpressionBinder._scalar_subquery,
    exp.DPipe: ExpressionBinder._concat,
    exp.Case: ExpressionBinder._case,
    exp.Cast: ExpressionBinder._cast_node,
    exp.TryCast: ExpressionBinder._cast_node,
    exp.Extract: ExpressionBinder._extract,
    exp.StrPosition: ExpressionBinder._position,
    exp.JSONExtract: ExpressionBinder._path,
    exp.Bracket: ExpressionBinder._bracket,
    exp.Like: ExpressionBinder._like,
    exp.ILike: ExpressionBinder._like,
    exp.Escape: ExpressionBinder._escape,
    exp.RegexpLike: ExpressionBinder._rlike,
    exp.Collate: ExpressionBinder._collate,
    exp.Array: ExpressionBinder._array,
    exp.Struct: ExpressionBinder._struct,
    exp.Interval: ExpressionBinder._interval,
    exp.Anonymous: ExpressionBinder._call,
    exp.Dot: ExpressionBinder._qualified_call,
    exp.Window: ExpressionBinder._window_node,
    exp.IgnoreNulls: ExpressionBinder._ignore_nulls,
    exp.RespectNulls: ExpressionBinder._ignore_nulls,
    exp.WithinGroup: ExpressionBinder._within_group,
    exp.AtTimeZone: ExpressionBinder._at_time_zone,
}
