"""Binding of queries: SELECT with all its clauses, set operators, common table expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import quote
from snowmelt.sql import coercion, stars
from snowmelt.sql.bound import (
    RESERVED_PREFIX,
    Bound,
    BoundQuery,
    CommonTable,
    OutputColumn,
    Scope,
    fold_identifier,
    position_of,
)
from snowmelt.sql.dialect import as_written, identifier, parse_snowflake
from snowmelt.sql.expressions import Environment, ExpressionBinder
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.outer_marks import apply_marks
from snowmelt.sql.relations import Relation
from snowmelt.sql.sources import SourceBinder
from snowmelt.sql.windows import WindowBinder

MAX_VIEW_DEPTH = 64
_ORDER_AND_LIMIT = ("order", "limit", "offset")


@dataclass(frozen=True, slots=True)
class _Projection:
    name: str
    value: Bound
    source: exp.Expr | None
    """As written, when it was; None for a column that `*` brought."""


class QueryBinder:
    """Turns a Snowflake query into a Spark query whose every name is resolved."""

    def __init__(
        self,
        environment: Environment,
        *,
        depth: int = 0,
        inside: frozenset[str] = frozenset(),
        common_tables: Iterator[int] | None = None,
    ) -> None:
        self.environment = environment
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
        return QueryBinder(environment, depth=self.depth + 1, inside=inside, common_tables=self.common_tables)

    def bind(self, node: exp.Expr, scope: Scope | None = None) -> BoundQuery:
        scope = scope or Scope()
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
            raise errors.unsupported(f"{type(node).__name__} as a query")
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
        return replace(bound, columns=columns)

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
        if with_.args.get("recursive") and any(_refers_to_itself(cte) for cte in with_.expressions):
            raise errors.unsupported("recursive CTE")
        inner = Scope(parent=scope)
        for cte in with_.expressions:
            name = fold_identifier(cte.args["alias"].this)
            if name in inner.ctes:
                raise errors.compilation("002025", "42S21", f"duplicate alias '{name}'")
            bound = self.bind(cte.this, Scope(parent=inner))
            names = [fold_identifier(column) for column in cte.args["alias"].columns]
            if names:
                if len(names) != len(bound.columns):
                    raise errors.compilation(
                        "002057",
                        "42601",
                        f"CTE declared {len(names)} column(s), produced {len(bound.columns)}",
                    )
                bound = replace(bound, columns=tuple(
                    replace(column, name=given) for column, given in zip(bound.columns, names, strict=True)
                ))  # fmt: skip
            inner.ctes[name] = CommonTable(f"{RESERVED_PREFIX}cte{next(self.common_tables)}", bound)
        return inner

    def _attach_ctes(self, node: exp.Expr, bound: BoundQuery, scope: Scope) -> BoundQuery:
        if node.args.get("with_") is None:
            return bound
        tree = bound.tree.copy()
        own = [
            exp.CTE(this=cte.query.tree, alias=exp.TableAlias(this=identifier(cte.key))) for cte in scope.ctes.values()
        ]
        inner = tree.args.get("with_")
        tree.set("with_", exp.With(expressions=[*own, *(inner.expressions if inner is not None else [])]))
        volatile = bound.volatile or any(cte.query.volatile for cte in scope.ctes.values())
        return replace(bound, tree=tree, volatile=volatile)

    def _set_operation(self, node: exp.SetOperation, scope: Scope) -> BoundQuery:
        if node.args.get("distinct") is False and not isinstance(node, exp.Union):
            raise errors.unsupported(f"{type(node).__name__.upper()} ALL")
        left = self.bind(node.this, Scope(parent=scope))
        right = self.bind(node.expression, Scope(parent=scope))
        if len(left.columns) != len(right.columns):
            raise errors.compilation(
                "001789",
                "42601",
                "invalid number of result columns for set operator input branches, expected "
                f"{len(left.columns)}, got {len(right.columns)} in branch {{2}}",
            )
        expressions = ExpressionBinder(self.environment, scope, self)
        left, right = self._align(expressions, left, right)
        distinct = bool(node.args.get("distinct", True))
        if distinct and any(column.type.is_semi_structured for column in left.columns):
            raise errors.unsupported(f"{type(node).__name__.upper()} of VARIANT columns", hint="Cast them to VARCHAR.")
        tree: exp.Query = type(node)(this=_operand(left.tree), expression=_operand(right.tree), distinct=distinct)
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
            outer.set("order", exp.Order(expressions=self._order(expressions, order, bound.columns, [])))
        self._limit(node, outer, expressions)
        return replace(bound, tree=outer)

    # -- SELECT ---------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, scope: Scope) -> BoundQuery:
        inner = Scope(parent=scope)
        expressions = ExpressionBinder(self.environment, inner, self)
        target = exp.Select()
        SourceBinder(self, inner, expressions).bind(node, target)
        where = apply_marks(node, target, expressions)
        inner.aliases = _aliases(node)
        if where is not None:
            condition = expressions.boolean(where)
            if condition.aggregate:
                position = position_of(where)
                raise errors.at_position(
                    "002078",
                    "42601",
                    position.line,
                    position.position,
                    "Invalid aggregate function in where clause",
                )
            target.set("where", exp.Where(this=condition.tree))
        projections = self._projections(node, expressions)
        self._group(node, target, expressions, projections)
        having = node.args.get("having")
        if having is not None:
            target.set("having", exp.Having(this=expressions.boolean(having.this).tree))
        columns = _output_columns(projections)
        volatile = any(projection.value.volatile for projection in projections)
        bound = self._finish(node, target, expressions, projections, columns)
        return replace(bound, volatile=bound.volatile or volatile)

    def _projections(self, node: exp.Select, expressions: ExpressionBinder) -> list[_Projection]:
        found: list[_Projection] = []
        for item in node.expressions:
            star = stars.star_of(item)
            if star is not None:
                found.extend(self._star(item, star, expressions))
                continue
            value_node = item.this if isinstance(item, exp.Alias) else item
            name = fold_identifier(item.args["alias"]) if isinstance(item, exp.Alias) else _implied_name(item)
            if isinstance(item, exp.Alias):
                # A SELECT alias is not visible inside its own expression.
                expressions.scope.expanding.add(name)
                value = expressions.bind(value_node)
                expressions.scope.expanding.discard(name)
            else:
                value = expressions.bind(value_node)
            found.append(_Projection(name, value, value_node))
        return found

    def _star(self, item: exp.Expr, star: exp.Star, expressions: ExpressionBinder) -> list[_Projection]:
        qualifier = tuple(fold_identifier(part) for part in item.parts[:-1]) if isinstance(item, exp.Column) else ()
        scope = expressions.scope
        chosen: list[_Projection] = []
        seen_merged: set[str] = set()
        for source in scope.sources:
            if qualifier and not source.answers_to(qualifier):
                continue
            for column in source.columns:
                if not qualifier and column.name in source.hidden:
                    continue
                value = Bound(column.tree.copy(), column.type)
                if not qualifier and column.name in scope.merged and column.name not in seen_merged:
                    seen_merged.add(column.name)
                    value = scope.merged[column.name]
                chosen.append(_Projection(column.name, value, None))
        if qualifier and not any(source.answers_to(qualifier) for source in scope.sources):
            where = position_of(item)
            raise errors.invalid_identifier(".".join(map(quote, qualifier)), where.line, where.position)
        if not chosen:
            raise errors.compilation("002057", "42601", "SELECT * needs a table with columns in FROM")
        return self._modify_star(star, chosen, expressions)

    def _modify_star(
        self, star: exp.Star, chosen: list[_Projection], expressions: ExpressionBinder
    ) -> list[_Projection]:
        names = {item.name for item in chosen}
        stays = stars.chooser(star, names)
        chosen = [item for item in chosen if stays(item.name)]
        names = {item.name for item in chosen}
        for replacement in star.args.get("replace") or []:
            name = stars.named_column(replacement.args["alias"], names)
            value = expressions.bind(replacement.this)
            chosen = [replace(item, value=value) if item.name == name else item for item in chosen]
        renames = {
            stars.named_column(part.this, names): fold_identifier(part.args["alias"])
            for part in star.args.get("rename") or []
        }
        return [replace(item, name=renames.get(item.name, item.name)) for item in chosen]

    def _group(
        self,
        node: exp.Select,
        target: exp.Select,
        expressions: ExpressionBinder,
        projections: list[_Projection],
    ) -> None:
        group = node.args.get("group")
        if group is None:
            return
        if group.args.get("all"):
            keys = [p.value for p in projections if not p.value.aggregate]
            if keys:
                target.set("group", exp.Group(expressions=[self._group_key(expressions, key) for key in keys]))
            return

        def key(item: exp.Expr) -> exp.Expr:
            if isinstance(item, exp.Paren):
                return key(item.this)
            if isinstance(item, exp.Tuple):
                return exp.Tuple(expressions=[key(part) for part in item.expressions])
            if isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube):
                if not item.expressions:
                    raise errors.unsupported(
                        "GROUP BY … WITH ROLLUP or WITH CUBE", hint="Write ROLLUP (…) or CUBE (…)."
                    )
                return type(item)(expressions=[
                    exp.Tuple(expressions=[key(part)]) if not isinstance(part, exp.Tuple) else key(part)
                    for part in item.expressions
                ])  # fmt: skip
            return self._group_key(expressions, self._ordinal(expressions, item, projections))

        target.set("group", exp.Group(expressions=[key(item) for item in group.expressions]))

    def _group_key(self, expressions: ExpressionBinder, value: Bound) -> exp.Expr:
        if value.type.is_semi_structured:
            raise errors.unsupported(
                "GROUP BY a VARIANT, OBJECT or ARRAY", hint="Cast it first, for example with ::VARCHAR."
            )
        return value.tree.copy()

    def _ordinal(self, expressions: ExpressionBinder, item: exp.Expr, projections: list[_Projection]) -> Bound:
        if isinstance(item, exp.Literal) and not item.is_string and item.this.isdigit():
            index = int(item.this)
            if not 1 <= index <= len(projections):
                position = position_of(item)
                raise errors.at_position(
                    "002017",
                    "42601",
                    position.line,
                    position.position,
                    f"ORDER BY or GROUP BY position {index} is not in the select list",
                )
            return projections[index - 1].value
        return expressions.bind(item)

    def _finish(
        self, node: exp.Select, target: exp.Select, expressions: ExpressionBinder,
        projections: list[_Projection], columns: tuple[OutputColumn, ...],
    ) -> BoundQuery:  # fmt: skip
        """SELECT list, QUALIFY, DISTINCT, ORDER BY, LIMIT."""
        selected = [
            typed(exp.alias_(projection.value.tree, identifier(column.key)), column.type)
            for projection, column in zip(projections, columns, strict=True)
        ]
        distinct = node.args.get("distinct") is not None
        if distinct:
            only(node.args["distinct"])
        if distinct and any(column.type.is_semi_structured for column in columns):
            raise errors.unsupported("SELECT DISTINCT of VARIANT columns", hint="Cast them to VARCHAR.")
        order = node.args.get("order")
        ordered = self._order(expressions, order, columns, projections)
        qualify = node.args.get("qualify")
        if qualify is not None:
            condition = expressions.boolean(qualify.this)
            _require_window(qualify, [condition, *[projection.value for projection in projections]])
            hidden = [exp.alias_(item.this.copy(), identifier(f"__o{i}")) for i, item in enumerate(ordered)]
            # ORDER BY needs its values inside; a plain alias is there already.
            target.set("expressions", [*selected, exp.alias_(condition.tree, identifier("__q")), *[
                h for h, item in zip(hidden, ordered, strict=True) if not _is_output(item.this, columns)
            ]])  # fmt: skip
            outer = exp.select(*[
                typed(exp.alias_(exp.column(identifier(c.key), table=identifier("__w")), identifier(c.key)), c.type)
                for c in columns
            ]).from_(exp.Subquery(this=target, alias=exp.TableAlias(this=identifier("__w"))))  # fmt: skip
            outer.set("where", exp.Where(this=exp.column(identifier("__q"), table=identifier("__w"))))
            for index, item in enumerate(ordered):
                if not _is_output(item.this, columns):
                    item.set("this", exp.column(identifier(f"__o{index}"), table=identifier("__w")))
            target = outer
        else:
            target.set("expressions", selected)
        if distinct:
            target.set("distinct", exp.Distinct())
        if ordered:
            target.set("order", exp.Order(expressions=ordered))
        self._limit(node, target, expressions)
        return BoundQuery(target, columns)

    def _order(
        self, expressions: ExpressionBinder, order: exp.Expr | None,
        columns: tuple[OutputColumn, ...], projections: list[_Projection],
    ) -> list[exp.Ordered]:  # fmt: skip
        if order is None:
            return []
        items = order.expressions
        if len(items) == 1 and _is_all(items[0].this) and all(column.name != "ALL" for column in columns):
            items = [
                exp.Ordered(
                    this=exp.Literal.number(str(number)),
                    desc=items[0].args.get("desc"),
                    nulls_first=items[0].args.get("nulls_first"),
                )
                for number in range(1, len(columns) + 1)
            ]
        return [self._order_item(expressions, item, columns, projections) for item in items]

    def _order_item(
        self, expressions: ExpressionBinder, item: exp.Expr,
        columns: tuple[OutputColumn, ...], projections: list[_Projection],
    ) -> exp.Ordered:  # fmt: skip
        node = item.this if isinstance(item, exp.Ordered) else item
        value: Bound | None = None
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            index = int(node.this)
            if not 1 <= index <= len(columns):
                raise errors.compilation("002017", "42601", f"ORDER BY position {index} is not in the select list")
            value = Bound(exp.column(identifier(columns[index - 1].key)), columns[index - 1].type)
        elif isinstance(node, exp.Column) and not node.table:
            name = fold_identifier(node.this)
            found = [column for column in columns if column.name == name]
            if found:
                value = Bound(exp.column(identifier(found[0].key)), found[0].type)
        if value is None:
            value = expressions.bind(node)
        value = expressions.orderable(value)
        return exp.Ordered(this=value.tree, desc=item.args.get("desc"), nulls_first=bool(item.args.get("nulls_first")))

    def _limit(self, node: exp.Expr, target: exp.Query, expressions: ExpressionBinder) -> None:
        limit = node.args.get("limit")
        if isinstance(limit, exp.Fetch):
            count = limit.args.get("count")
            target.set("limit", exp.Limit(expression=_plain_count(count)))
        elif limit is not None and not isinstance(limit.expression, exp.Null):
            target.set("limit", exp.Limit(expression=_plain_count(expressions.bind(limit.expression).tree)))
        offset = node.args.get("offset")
        if offset is not None and not isinstance(offset.expression, exp.Null):
            target.set("offset", exp.Offset(expression=_plain_count(expressions.bind(offset.expression).tree)))


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


def _require_window(qualify: exp.Expr, values: Sequence[Bound]) -> None:
    for value in values:
        for node in value.tree.walk(prune=lambda item: isinstance(item, exp.Query)):
            if isinstance(node, exp.Window):
                return
    position = position_of(qualify)
    raise errors.at_position(
        "002303", "42601", position.line, position.position,
        "QUALIFY needs a window function in its condition or in the SELECT list. Without one, use WHERE or HAVING.",
    )  # fmt: skip


def _is_all(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.upper() == "ALL" and not node.this.quoted


def _plain_count(tree: exp.Expr | None) -> exp.Expr:
    while isinstance(tree, exp.Cast | exp.Paren):
        tree = tree.this
    text = "" if tree is None else str(tree.this if isinstance(tree, exp.Literal | exp.Var) else "")
    digits = text.removesuffix("L").removesuffix("BD")
    if not digits.isdigit():
        raise errors.compilation(
            "001018", "22023", "Invalid row count in limit clause: it must be a constant, not negative"
        )
    return exp.Literal.number(digits)


def _operand(tree: exp.Query) -> exp.Expr:
    """A branch of a set operator; anything with clauses of its own goes into parentheses."""
    loose = isinstance(tree, exp.SetOperation) or any(
        tree.args.get(key) for key in ("with_", "order", "limit", "offset")
    )
    return exp.Subquery(this=tree) if loose else tree


def _is_output(tree: exp.Expr, columns: tuple[OutputColumn, ...]) -> bool:
    return isinstance(tree, exp.Column) and not tree.table and any(c.key == tree.name for c in columns)


def _refers_to_itself(cte: exp.CTE) -> bool:
    name = fold_identifier(cte.args["alias"].this)
    return any(
        len(t.parts) == 1 and isinstance(t.this, exp.Identifier) and fold_identifier(t.this) == name
        for t in cte.this.find_all(exp.Table)
    )


def _aliases(node: exp.Select) -> dict[str, exp.Expr]:
    return {
        fold_identifier(item.args["alias"]): item.this
        for item in reversed(node.expressions)
        if isinstance(item, exp.Alias)
    }


def _implied_name(node: exp.Expr) -> str:
    """Snowflake names a bare expression by its text in upper case, quotes included; a column by its last part."""
    if isinstance(node, exp.Column):
        return fold_identifier(node.this) if isinstance(node.this, exp.Identifier) else as_written(node.this).upper()
    return as_written(node).upper()


def _output_columns(projections: list[_Projection]) -> tuple[OutputColumn, ...]:
    taken: set[str] = set()
    columns: list[OutputColumn] = []
    for projection in projections:
        key, count = projection.name, 1
        while key in taken:
            count += 1
            key = f"{projection.name}#{count}"
        taken.add(key)
        columns.append(OutputColumn(projection.name, key, projection.value.type))
    return tuple(columns)
