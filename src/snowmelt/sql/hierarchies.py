"""CONNECT BY, written as a recursive common table.

Every row of the hierarchy carries what the query asks of its way there: its level, the root's values, the paths.
`SELECT …` then reads these columns in place of LEVEL, CONNECT_BY_ROOT and SYS_CONNECT_BY_PATH.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import as_written, identifier, string

_TREE, _PARENT, _LEVEL, _SOURCE = "__tree", "__parent", "__level", "__source"


def item_of(node: exp.Select) -> exp.Expr:
    """What the hierarchy is made of."""
    from_ = node.args.get("from_")
    if from_ is None or node.args.get("joins") or from_.this.args.get("joins"):
        raise errors.unsupported("CONNECT BY over a join", hint="Put the join into a subquery in FROM.")
    item: exp.Expr = from_.this
    if not (item.args.get("pivots") or item.args.get("sample")):
        return item
    pivots = item.args.get("pivots") or [item]
    alias = pivots[-1].args.get("alias") or item.args.get("alias")
    named = alias.this.copy() if alias is not None else identifier(_SOURCE)
    return exp.Subquery(this=exp.select("*").from_(item.copy()), alias=exp.TableAlias(this=named))


def rewritten(node: exp.Select, columns: Sequence[str]) -> exp.Select:
    """The same SELECT without CONNECT BY; `columns` are those of its source."""
    connect = node.args["connect"]
    source = item_of(node)
    named = source.args.get("alias") or source
    own = named.this if isinstance(named.this, exp.Identifier) else identifier(_SOURCE)
    way = _Way(own.copy(), tuple(columns))
    result = node.copy()
    result.set("connect", None)
    for name in ("expressions", "where", "group", "having", "qualify", "order"):
        value = result.args.get(name)
        if isinstance(value, list):
            result.set(name, [_named(item, way.asked(item)) for item in value])
        elif value is not None:
            result.set(name, way.asked(value))
    result.set("from_", exp.From(this=_tree(way, source, connect)))
    return result


def _named(item: exp.Expr, asked: exp.Expr) -> exp.Expr:
    """An item of the SELECT list under the name that its text gives it."""
    if isinstance(item, exp.Alias) or asked == item or item.is_star:
        return asked
    column = isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier)
    return exp.alias_(asked, identifier(fold_identifier(item.this) if column else as_written(item).upper()))


@dataclass(slots=True)
class _Way:
    """The columns that rows carry beside their own."""

    alias: exp.Identifier
    columns: tuple[str, ...]
    roots: list[exp.Expr] = field(default_factory=list)
    paths: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)

    def asked(self, tree: exp.Expr) -> exp.Expr:
        return tree.transform(self._replaced)

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and _is_level(node, self.columns):
            return self._own(_LEVEL)
        if isinstance(node, exp.ConnectByRoot):
            return self._own(f"__root{_index(self.roots, node.this)}")
        if isinstance(node, exp.Anonymous) and node.name.upper() == "SYS_CONNECT_BY_PATH":
            if len(node.expressions) != 2:
                raise errors.not_enough_arguments("SYS_CONNECT_BY_PATH", 2, len(node.expressions))
            return self._own(f"__path{_index(self.paths, (node.expressions[0], node.expressions[1]))}")
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Anonymous):
            node = node.copy()
            hidden = [exp.column(identifier(name)) for name in (_LEVEL, *self.names)]
            node.set("except_", [*(node.args.get("except_") or []), *hidden])
        return node

    @property
    def names(self) -> list[str]:
        kinds = (("root", self.roots), ("path", self.paths))
        return [f"__{kind}{index}" for kind, found in kinds for index in range(len(found))]

    def _own(self, name: str) -> exp.Expr:
        return exp.column(identifier(name), table=self.alias.copy())


def _index(found: list[Any], value: Any) -> int:
    if value not in found:
        found.append(value)
    return found.index(value)


def _is_level(node: exp.Column, columns: Sequence[str]) -> bool:
    plain = not node.table and isinstance(node.this, exp.Identifier) and not node.this.args.get("quoted")
    return plain and node.name.upper() == "LEVEL" and "LEVEL" not in columns


def _tree(way: _Way, source: exp.Expr, connect: exp.Connect) -> exp.Subquery:
    base = source.copy()
    base.set("alias", exp.TableAlias(this=way.alias.copy(), columns=_renamed(source)))
    own = [exp.column(identifier(name), table=way.alias.copy()) for name in way.columns]
    first = [exp.Literal.number(1), *way.roots, *[_step(value, separator) for value, separator in way.paths]]
    carried = [exp.column(identifier(f"__root{index}"), table=identifier(_PARENT)) for index in range(len(way.roots))]
    paths = [
        exp.DPipe(
            this=exp.column(identifier(f"__path{index}"), table=identifier(_PARENT)), expression=_step(value, separator)
        )
        for index, (value, separator) in enumerate(way.paths)
    ]
    level = exp.column(identifier(_LEVEL), table=identifier(_PARENT))
    below = exp.Add(this=level, expression=exp.Literal.number(1))
    names = [_LEVEL, *way.names]
    anchor = exp.select(*own, *_aliased(first, names)).from_(base)
    start = connect.args.get("start")
    if start is not None:
        anchor.set("where", exp.Where(this=start.copy()))
    later = [below, *carried, *[_in_child(path, way) for path in paths]]
    parents = exp.Table(this=identifier(_TREE), alias=exp.TableAlias(this=identifier(_PARENT)))
    condition = _in_child(_condition(connect.args["connect"], way, below), way)
    step = exp.select(*[column.copy() for column in own], *_aliased(later, names)).from_(parents)
    step.set("joins", [exp.Join(this=base.copy(), on=condition)])
    union = exp.Union(this=anchor, expression=step, distinct=False)
    rows = exp.select("*").from_(exp.Table(this=identifier(_TREE)))
    cte = exp.CTE(this=union, alias=exp.TableAlias(this=identifier(_TREE)))
    rows.set("with_", exp.With(expressions=[cte], recursive=True))
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=way.alias.copy()))


def _renamed(source: exp.Expr) -> list[exp.Expr]:
    alias = source.args.get("alias")
    return [column.copy() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []


def _aliased(values: Sequence[exp.Expr], names: Sequence[str]) -> list[exp.Expr]:
    return [exp.alias_(value.copy(), identifier(name)) for value, name in zip(values, names, strict=True)]


def _step(value: exp.Expr, separator: exp.Expr) -> exp.Expr:
    """One step of a path: the separator and the value."""
    text = exp.Anonymous(this="TO_VARCHAR", expressions=[value.copy()])
    shown = exp.Anonymous(this="COALESCE", expressions=[text, string("")])
    return exp.DPipe(this=separator.copy(), expression=shown)


def _of_parent(value: exp.Expr) -> exp.Expr:
    """An expression behind PRIOR, over the parent's row."""

    def moved(node: exp.Expr) -> exp.Expr:
        return exp.column(node.this.copy(), table=identifier(_PARENT)) if isinstance(node, exp.Column) else node

    return value.copy().transform(moved)


def _condition(condition: exp.Expr, way: _Way, below: exp.Expr) -> exp.Expr:
    def moved(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Prior):
            return _of_parent(node.this)
        if isinstance(node, exp.Column) and _is_level(node, way.columns):
            return exp.Paren(this=below.copy())
        return node

    return condition.copy().transform(moved)


def _in_child(tree: exp.Expr, way: _Way) -> exp.Expr:
    """The child's columns with its name: the parent has columns of the same names."""

    def moved(node: exp.Expr) -> exp.Expr:
        bare = isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier)
        if bare and fold_identifier(node.this) in way.columns:
            return exp.column(node.this.copy(), table=way.alias.copy())
        return node

    return tree.copy().transform(moved)
