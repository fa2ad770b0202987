"""Binding of SELECT: what it selects, groups, keeps and orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql import stars
from snowmelt.sql.binders import BindsExpressions, BindsQueries
from snowmelt.sql.bound import (
    Bound,
    BoundQuery,
    OutputColumn,
    fold_identifier,
    position_of,
)
from snowmelt.sql.change_events import lift_changes
from snowmelt.sql.clauses import GROUP_BY, HAVING, ORDER_BY, SELECTED, WHERE, has_window
from snowmelt.sql.dialect import as_written, identifier
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.ordering import bind_limit, bind_order
from snowmelt.sql.outer_marks import apply_marks
from snowmelt.sql.row_keys import distinct_rows, key_of, stand_in
from snowmelt.sql.sources import SourceBinder


@dataclass(frozen=True, slots=True)
class Projection:
    name: str
    value: Bound
    source: exp.Expr | None
    """As written, when it was; None for a column that `*` brought."""


def bind_select(queries: BindsQueries, expressions: BindsExpressions, node: exp.Select) -> BoundQuery:
    """Binds a SELECT. `expressions` binds in a scope of its own, which is filled here."""
    inner = expressions.scope
    target = exp.Select()
    SourceBinder(queries, inner, expressions).bind(node, target)
    where = apply_marks(node, target, expressions)
    inner.aliases = _aliases(node)
    if where is not None:
        target.set("where", exp.Where(this=expressions.in_clause(WHERE).boolean(where).tree))
    node, target = lift_changes(node, target, expressions)
    selected = expressions.in_clause(SELECTED)
    projections = _projections(node, selected)
    keyed = _group(node, target, expressions, projections)
    if keyed:
        inner.stand_ins = {value.tree: stand_in(value.tree, value.type) for value in keyed}
        projections = _projections(node, selected)
    having = node.args.get("having")
    if having is not None:
        target.set("having", exp.Having(this=expressions.in_clause(HAVING).boolean(having.this).tree))
    columns = _output_columns(projections)
    volatile = any(projection.value.volatile for projection in projections)
    bound = _finish(node, target, selected, projections, columns)
    return replace(bound, volatile=bound.volatile or volatile)


def _projections(node: exp.Select, expressions: BindsExpressions) -> list[Projection]:
    found: list[Projection] = []
    for item in node.expressions:
        star = stars.star_of(item)
        if star is not None:
            found.extend(_star(item, star, expressions))
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
        found.append(Projection(name, value, value_node))
    return found


def _star(item: exp.Expr, star: exp.Star, expressions: BindsExpressions) -> list[Projection]:
    qualifier = tuple(fold_identifier(part) for part in item.parts[:-1]) if isinstance(item, exp.Column) else ()
    scope = expressions.scope
    chosen: list[Projection] = []
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
            chosen.append(Projection(column.name, value, None))
    if qualifier and not any(source.answers_to(qualifier) for source in scope.sources):
        where = position_of(item)
        raise errors.invalid_identifier(".".join(map(quote, qualifier)), where.line, where.position)
    if not chosen:
        raise errors.compilation("002057", "42601", "SELECT * needs a table with columns in FROM")
    return _modify_star(star, chosen, expressions)


def _modify_star(star: exp.Star, chosen: list[Projection], expressions: BindsExpressions) -> list[Projection]:
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
    node: exp.Select,
    target: exp.Select,
    expressions: BindsExpressions,
    projections: list[Projection],
) -> list[Bound]:
    """Adds GROUP BY to the target. Returns the keys that something else stands for."""
    group = node.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        keys = [p.value for p in projections if not (p.value.aggregate or has_window(p.value.tree))]
        if keys:
            target.set("group", exp.Group(expressions=[_group_key(key) for key in keys]))
        return _keyed(keys)
    found: list[Bound] = []

    def key(item: exp.Expr, *, sets: bool = False) -> exp.Expr:
        if isinstance(item, exp.Paren):
            return key(item.this, sets=sets)
        if isinstance(item, exp.Tuple):
            return exp.Tuple(expressions=[key(part, sets=sets) for part in item.expressions])
        if isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube):
            if not item.expressions:
                raise errors.unsupported("GROUP BY … WITH ROLLUP or WITH CUBE", hint="Write ROLLUP (…) or CUBE (…).")
            return type(item)(expressions=[
                exp.Tuple(expressions=[key(part, sets=True)])
                if not isinstance(part, exp.Tuple)
                else key(part, sets=True)
                for part in item.expressions
            ])  # fmt: skip
        value = _ordinal(expressions.in_clause(GROUP_BY), item, projections)
        if sets and value.type.is_semi_structured:
            # In the rows of other sets the value would have to be NULL, which its stand-in is not.
            raise errors.unsupported(
                "a VARIANT, OBJECT or ARRAY in GROUPING SETS, ROLLUP or CUBE", hint="Cast it first, with ::VARCHAR."
            )
        found.append(value)
        return _group_key(value)

    target.set("group", exp.Group(expressions=[key(item) for item in group.expressions]))
    if any(isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in group.expressions) and any(
        value.type.is_semi_structured for value in found
    ):
        raise errors.unsupported(
            "a VARIANT, OBJECT or ARRAY beside grouping sets", hint="Cast it first, with ::VARCHAR."
        )
    return _keyed(found)


def _keyed(keys: Sequence[Bound]) -> list[Bound]:
    return [key for key in keys if key.type.has_key]


def _group_key(value: Bound) -> exp.Expr:
    if value.aggregate or has_window(value.tree):
        raise errors.compilation("000979", "42601", "An aggregate or window is not a valid group by expression.")
    return key_of(value.tree, value.type)


def _ordinal(expressions: BindsExpressions, item: exp.Expr, projections: list[Projection]) -> Bound:
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
    node: exp.Select, target: exp.Select, expressions: BindsExpressions,
    projections: list[Projection], columns: tuple[OutputColumn, ...],
) -> BoundQuery:  # fmt: skip
    """SELECT list, QUALIFY, DISTINCT, ORDER BY, LIMIT."""
    selected = [
        typed(exp.alias_(projection.value.tree, identifier(column.key)), column.type)
        for projection, column in zip(projections, columns, strict=True)
    ]
    distinct = node.args.get("distinct") is not None
    if distinct:
        only(node.args["distinct"])
    by_key = distinct and any(column.type.has_key for column in columns)
    grouped = any(node.args.get(key) for key in ("group", "having")) or any(p.value.aggregate for p in projections)
    sorting = expressions if grouped else expressions.in_clause(ORDER_BY)
    ordered = bind_order(sorting, node.args.get("order"), columns)
    qualify = node.args.get("qualify")
    if qualify is not None:
        condition = expressions.boolean(qualify.this)
        _require_window(qualify, [condition, *[projection.value for projection in projections]])
        target = _inside(target, selected, columns, ordered, condition.tree)
    elif not distinct and grouped and _hides_sums(selected, ordered, columns):
        target = _inside(target, selected, columns, ordered)
    else:
        target.set("expressions", selected)
    if by_key:
        if any(not _of_outputs(item.this, columns) for item in ordered):
            raise errors.unsupported(
                "ORDER BY of something that SELECT DISTINCT with VARIANT or TIMESTAMP_TZ columns does not select",
                hint="Select it too.",
            )
        target = distinct_rows(target, columns)
    elif distinct:
        target.set("distinct", exp.Distinct())
    if ordered:
        target.set("order", exp.Order(expressions=ordered))
    bind_limit(node, target, expressions)
    return BoundQuery(target, columns)


def _hides_sums(
    selected: Sequence[exp.Expr], ordered: Sequence[exp.Ordered], columns: tuple[OutputColumn, ...]
) -> bool:
    """Whether ORDER BY asks for what Spark does not find behind a window over groups: `ORDER BY SUM(b)` there."""
    return any(has_window(item) for item in selected) and any(not _is_output(item.this, columns) for item in ordered)


def _inside(
    target: exp.Select, selected: Sequence[exp.Expr], columns: tuple[OutputColumn, ...],
    ordered: Sequence[exp.Ordered], condition: exp.Expr | None = None,
) -> exp.Select:  # fmt: skip
    """A query around the query, which keeps what meets the condition. ORDER BY takes its values from inside."""
    table = identifier("__w")
    hidden = [] if condition is None else [exp.alias_(condition, identifier("__q"))]
    for index, item in enumerate(ordered):
        if not _is_output(item.this, columns):
            hidden.append(exp.alias_(item.this.copy(), identifier(f"__o{index}")))
            item.set("this", exp.column(identifier(f"__o{index}"), table=table))
    target.set("expressions", [*selected, *hidden])
    outer = exp.select(*[
        typed(exp.alias_(exp.column(identifier(c.key), table=table), identifier(c.key)), c.type) for c in columns
    ]).from_(exp.Subquery(this=target, alias=exp.TableAlias(this=table)))  # fmt: skip
    if condition is not None:
        outer.set("where", exp.Where(this=exp.column(identifier("__q"), table=table)))
    return outer


def _require_window(qualify: exp.Expr, values: Sequence[Bound]) -> None:
    if any(has_window(value.tree) for value in values):
        return
    position = position_of(qualify)
    raise errors.at_position(
        "002303", "42601", position.line, position.position,
        "QUALIFY needs a window function in its condition or in the SELECT list. Without one, use WHERE or HAVING.",
    )  # fmt: skip


def _is_output(tree: exp.Expr, columns: tuple[OutputColumn, ...]) -> bool:
    return isinstance(tree, exp.Column) and not tree.table and any(c.key == tree.name for c in columns)


def _of_outputs(tree: exp.Expr, columns: tuple[OutputColumn, ...]) -> bool:
    return all(_is_output(column, columns) for column in tree.find_all(exp.Column))


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


def _output_columns(projections: list[Projection]) -> tuple[OutputColumn, ...]:
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
