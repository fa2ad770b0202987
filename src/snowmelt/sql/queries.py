"""Binding of queries: SELECT with all its clauses, set operators, common table expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.lazy import lazy_imports
from snowmelt.sql import coercion, collations
from snowmelt.sql.binders import Environment, Guards
from snowmelt.sql.bound import (
    RESERVED_PREFIX,
    Bound,
    BoundQuery,
    CommonTable,
    OutputColumn,
    Scope,
    fold_identifier,
)
from snowmelt.sql.dialect import identifier, parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.ordering import bind_limit, bind_order
from snowmelt.sql.relations import Relation
from snowmelt.sql.row_keys import distinct_rows
from snowmelt.sql.sealing import sealed
from snowmelt.sql.selects import bind_select
from snowmelt.sql.windows import WindowBinder

with lazy_imports():
    from snowmelt.sql import constraints, hierarchies, policies
    from snowmelt.sql.recursion import halves, is_recursive, widened
    from snowmelt.sql.set_names import by_name

MAX_VIEW_DEPTH = 64
_ORDER_AND_LIMIT = ("order", "limit", "offset")


class QueryBinder:
    """Turns a Snowflake query into a Spark query whose every name is resolved."""

    def __init__(
        self,
        environment: Environment,
        *,
        depth: int = 0,
        inside: frozenset[str] = frozenset(),
        common_tables: Iterator[int] | None = None,
        guards: Guards | None = None,
    ) -> None:
        self.environment = environment
        self.guards = guards if guards is not None else Guards()
        self.common_tables = common_tables if common_tables is not None else count(1)
        """Numbers for the WITH clauses of the statement, shared with the bodies of its views and functions: a
        user's name for one never reaches Spark, so it can't collide with another one's."""
        self.windows = WindowBinder()
        self.depth = depth
        self.inside = inside
        """The functions whose bodies this is in: none of them may be called again."""

    def within(self, environment: Environment, routine: str | None = None) -> QueryBinder:
        """A binder for a view's or function's body."""
        if routine is not None and routine in self.inside:
            raise errors.unsupported(f"recursive function {routine}")
        if self.depth > MAX_VIEW_DEPTH:
            raise errors.unsupported("views or functions nested more than 64 deep")
        inside = self.inside if routine is None else self.inside | {routine}
        return QueryBinder(
            environment, depth=self.depth + 1, inside=inside, common_tables=self.common_tables, guards=self.guards
        )  # fmt: skip

    def bind(self, node: exp.Expr, scope: Scope | None = None) -> BoundQuery:
        if scope is None and self.depth == 0:
            bound = self._bind(node, Scope())
            return self._settled(bound) if self.guards.used else bound
        return self._bind(node, scope or Scope())

    def _settled(self, bound: BoundQuery) -> BoundQuery:
        return policies.settled(bound if self.guards.declares else constraints.allowed(bound))

    def _bind(self, node: exp.Expr, scope: Scope) -> BoundQuery:
        if isinstance(node, exp.Subquery):
            return self._parenthesised(node, scope)
        scope = self._with(node, scope)
        if isinstance(node, exp.Select):
            bound = self._select(node, scope)
        elif isinstance(node, exp.SetOperation):
            bound = self._set_operation(node, scope)
        elif isinstance(node, exp.Values):
            bound = self._select(_with_clauses_of(node), scope)
        else:
            raise errors.unsupported(f"{errors.words_of(type(node))} as a query")
        return self._attach_ctes(node, bound, scope)

    def subquery(self, node: exp.Expr, scope: Scope) -> BoundQuery:
        """A query inside an expression: it sees the columns of the query around it."""
        if isinstance(node, exp.Subquery):
            only(node, "this", "with_", "order", "limit", "offset")
        return self.bind(node, Scope(parent=scope))

    def view(self, relation: Relation) -> BoundQuery:
        view = relation.view
        assert view is not None
        inside = self.environment.relations.within(view.database, view.schema, view.owner)
        environment = replace(self.environment, relations=inside)
        try:
            bound = self.within(environment).bind(parse_snowflake(view.query))
        except errors.SnowmeltError as error:
            raise _expansion_failed(view.name, error) from error
        if len(bound.columns) != len(relation.columns):
            raise errors.compilation(
                "002037",
                "42601",
                f"Failure during expansion of view '{view.name}': View definition for '{view.name}' declared "
                f"{len(relation.columns)} column(s), but view query produces {len(bound.columns)} column(s).",
            )
        columns = tuple(
            replace(column, name=declared.name)
            for column, declared in zip(bound.columns, relation.columns, strict=True)
        )
        named = replace(bound, columns=columns)
        return sealed(named) if view.sealed else named

    def _select(self, node: exp.Select, scope: Scope) -> BoundQuery:
        if node.args.get("connect") is not None:
            node = hierarchies.rewritten(node, self._names_of(hierarchies.item_of(node), scope))
        return bind_select(self, ExpressionBinder(self.environment, Scope(parent=scope), self), node)

    def _names_of(self, item: exp.Expr, scope: Scope) -> list[str]:
        """The columns of an item of FROM; none of DUAL and of GENERATOR."""
        try:
            bound = self.bind(exp.select("*").from_(item.copy()), Scope(parent=scope))
        except errors.SnowmeltError as error:
            if error.code == "002057":
                return []
            raise
        return [column.name for column in bound.columns]

    # -- structure ------------------------------------------------------------------------------------------------

    def _parenthesised(self, node: exp.Subquery, scope: Scope) -> BoundQuery:
        scope = self._with(node, scope)
        if not any(node.args.get(key) for key in _ORDER_AND_LIMIT):
            return self._attach_ctes(node, self.bind(node.this, Scope(parent=scope)), scope)
        return self._attach_ctes(node, self._select(_with_clauses_of(node), scope), scope)

    def _with(self, node: exp.Expr, scope: Scope) -> Scope:
        with_ = node.args.get("with_")
        if with_ is None:
            return scope
        inner = Scope(parent=scope)
        for cte in with_.expressions:
            name = fold_identifier(cte.args["alias"].this)
            if name in inner.ctes:
                raise errors.compilation("002025", "42S21", f"duplicate alias '{name}'")
            if is_recursive(cte, declared=bool(with_.args.get("recursive"))):
                self._recursive(name, cte, inner)
                continue
            bound = _renamed(self.bind(cte.this, Scope(parent=inner)), cte)
            inner.ctes[name] = CommonTable(f"{RESERVED_PREFIX}cte{next(self.common_tables)}", bound)
        return inner

    def _recursive(self, name: str, cte: exp.CTE, inner: Scope) -> None:
        """The anchor gives names and types; the recursive part reads the table under its name, and is cast to them."""
        anchor, step = halves(cte)
        first = self.bind(anchor, Scope(parent=inner))
        first = _renamed(self.cast_columns(first, [widened(column.type) for column in first.columns]), cte)
        key = f"{RESERVED_PREFIX}cte{next(self.common_tables)}"
        inner.ctes[name] = CommonTable(key, first)
        later = self.bind(step, Scope(parent=inner))
        if len(later.columns) != len(first.columns):
            raise _branch_widths(first, later)
        targets = [column.type for column in first.columns]
        later = self.cast_columns(later, targets, keys=[column.key for column in first.columns])
        tree = exp.Union(this=_operand(first.tree), expression=_operand(later.tree), distinct=False)
        bound = BoundQuery(tree, first.columns, volatile=first.volatile or later.volatile)
        inner.ctes[name] = CommonTable(key, bound, recursive=True)

    def _attach_ctes(self, node: exp.Expr, bound: BoundQuery, scope: Scope) -> BoundQuery:
        if node.args.get("with_") is None:
            return bound
        tree = bound.tree.copy()
        own = [
            exp.CTE(this=cte.query.tree, alias=exp.TableAlias(this=identifier(cte.key))) for cte in scope.ctes.values()
        ]
        inner = tree.args.get("with_")
        recursive = any(cte.recursive for cte in scope.ctes.values())
        if inner is not None:
            own += inner.expressions
            recursive = recursive or bool(inner.args.get("recursive"))
        tree.set("with_", exp.With(expressions=own, recursive=recursive))
        volatile = bound.volatile or any(cte.query.volatile for cte in scope.ctes.values())
        return replace(bound, tree=tree, volatile=volatile)

    def _set_operation(self, node: exp.SetOperation, scope: Scope) -> BoundQuery:
        if node.args.get("distinct") is False and not isinstance(node, exp.Union):
            raise errors.unsupported(f"{type(node).__name__.upper()} ALL")
        left = self.bind(node.this, Scope(parent=scope))
        right = self.bind(node.expression, Scope(parent=scope))
        if node.args.get("by_name"):
            left, right = by_name(left, right)
        if len(left.columns) != len(right.columns):
            raise _branch_widths(left, right)
        expressions = ExpressionBinder(self.environment, scope, self)
        left, right = self._align(expressions, left, right)
        distinct = bool(node.args.get("distinct", True))
        by_key = distinct and any(column.type.has_key for column in left.columns)
        if by_key and not isinstance(node, exp.Union):
            kind = next(column.type.kind for column in left.columns if column.type.has_key)
            collated = " with a collation" if kind is types.Kind.VARCHAR else ""
            raise errors.unsupported(
                f"{type(node).__name__.upper()} of {kind} columns{collated}",
                hint=_WITHOUT_KEY.get(kind, "Cast them to VARCHAR."),
            )
        operands = {"this": _operand(left.tree), "expression": _operand(right.tree)}
        tree: exp.Query = type(node)(**operands, distinct=distinct and not by_key)
        if by_key:
            tree = distinct_rows(tree, left.columns)
        bound = BoundQuery(tree, left.columns, volatile=left.volatile or right.volatile)
        return self._order_and_limit(node, bound)

    def _align(
        self, expressions: ExpressionBinder, left: BoundQuery, right: BoundQuery
    ) -> tuple[BoundQuery, BoundQuery]:
        targets = []
        for one, other in zip(left.columns, right.columns, strict=True):
            common = coercion.common_type([one.type, other.type])
            if common is None:
                raise errors.compilation(
                    "001790",
                    "42601",
                    f"inconsistent data type for result columns: {one.type} and {other.type}",
                )
            if common.kind is types.Kind.VARCHAR:
                common = replace(common, collation=collations.of_types((one.type, other.type)))
            targets.append(common)
        return self.cast_columns(left, targets), self.cast_columns(right, targets, keys=[c.key for c in left.columns])

    def cast_columns(
        self, query: BoundQuery, targets: Sequence[types.DataType], *, keys: Sequence[str] | None = None
    ) -> BoundQuery:
        """The query with its columns cast to the given types, and renamed if keys are given."""
        if all(column.type == target for column, target in zip(query.columns, targets, strict=True)):
            return query
        expressions = ExpressionBinder(self.environment, Scope(), self)
        alias = identifier("__c")
        projections: list[exp.Expr] = []
        columns: list[OutputColumn] = []
        for index, (column, target) in enumerate(zip(query.columns, targets, strict=True)):
            key = keys[index] if keys is not None else column.key
            value = expressions.cast(Bound(exp.column(identifier(column.key), table=alias.copy()), column.type), target)
            projections.append(typed(exp.alias_(value.tree, identifier(key)), target))
            columns.append(replace(column, key=key, type=target))
        tree = exp.select(*projections).from_(exp.Subquery(this=query.tree, alias=exp.TableAlias(this=alias)))
        return replace(query, tree=tree, columns=tuple(columns))

    def _order_and_limit(self, node: exp.SetOperation, bound: BoundQuery) -> BoundQuery:
        if not any(node.args.get(key) for key in _ORDER_AND_LIMIT):
            return bound
        outer = exp.select(*[
            typed(
                exp.alias_(exp.column(identifier(column.key), table=identifier("__u")), identifier(column.key)),
                column.type,
            )
            for column in bound.columns
        ]).from_(exp.Subquery(this=bound.tree, alias=exp.TableAlias(this=identifier("__u"))))  # fmt: skip
        scope = Scope()
        for column in bound.columns:
            scope.merged.setdefault(
                column.name, Bound(exp.column(identifier(column.key), table=identifier("__u")), column.type)
            )
        expressions = ExpressionBinder(self.environment, scope, self)
        order = node.args.get("order")
        if order is not None:
            outer.set("order", exp.Order(expressions=bind_order(expressions, order, bound.columns)))
        bind_limit(node, outer, expressions)
        return replace(bound, tree=outer)


_WITHOUT_KEY = {
    types.Kind.TIMESTAMP_TZ: "Cast them to TIMESTAMP_LTZ.",
    types.Kind.VARCHAR: "Write COLLATE '' behind them.",
}
"""What makes a column one whose equal values look the same."""


def _expansion_failed(view: str, error: errors.SnowmeltError) -> errors.SnowmeltError:
    """A view that was valid when it was made, over something that is not there any more."""
    if error.code == errors.SELF_REFERENCE:
        return error
    return errors.compilation(
        "002037", "42601", f"Failure during expansion of view '{view}': {error.message}", hint=error.hint
    )


def _with_clauses_of(node: exp.Subquery | exp.Values) -> exp.Select:
    """A SELECT over what stands in parentheses or in VALUES, with the ORDER BY and LIMIT behind it."""
    source: exp.Expr = node.copy() if isinstance(node, exp.Values) else exp.Subquery(this=node.this.copy())
    for key in _ORDER_AND_LIMIT:
        source.set(key, None)
    if isinstance(source, exp.Subquery):
        source.set("alias", exp.TableAlias(this=identifier("__p")))
    outer = exp.select("*").from_(source)
    for key in _ORDER_AND_LIMIT:
        outer.set(key, node.args.get(key))
    return outer


def _operand(tree: exp.Query) -> exp.Expr:
    """A branch of a set operator; anything with clauses of its own goes into parentheses."""
    loose = isinstance(tree, exp.SetOperation) or any(
        tree.args.get(key) for key in ("with_", "order", "limit", "offset")
    )
    return exp.Subquery(this=tree) if loose else tree


def _renamed(bound: BoundQuery, cte: exp.CTE) -> BoundQuery:
    """The query with the names that WITH t (a, b) gives its columns."""
    names = [fold_identifier(column) for column in cte.args["alias"].columns]
    if not names:
        return bound
    if len(names) != len(bound.columns):
        raise errors.compilation(
            "002057", "42601", f"CTE declared {len(names)} column(s), produced {len(bound.columns)}"
        )  # fmt: skip
    columns = (replace(column, name=given) for column, given in zip(bound.columns, names, strict=True))
    return replace(bound, columns=tuple(columns))


def _branch_widths(left: BoundQuery, right: BoundQuery) -> errors.SnowmeltError:
    return errors.compilation(
        "001789",
        "42601",
        "invalid number of result columns for set operator input branches, expected "
        f"{len(left.columns)}, got {len(right.columns)} in branch 2",
    )
