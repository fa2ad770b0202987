"""What can be said about a query without a catalog: the functions it calls, its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from snowmelt.projects.columns import output_name
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.boundaries import Parts, parts_of

ColumnsOf = Callable[[Parts], Sequence[str] | None]
_With = Mapping[str, "Sequence[str] | None"]


def calls_in(tree: exp.Expr) -> set[Parts]:
    """The names of functions that are not built in, and of sequences, as far as a parser can tell."""
    found: set[Parts] = set()
    for node in tree.find_all(exp.Anonymous):
        prefix: list[str] = []
        above = node.parent
        if isinstance(above, exp.Dot) and above.expression is node:
            prefix = [fold_identifier(item) for item in above.this.find_all(exp.Identifier)]
        name = node.this if isinstance(node.this, str) else fold_identifier(node.this)
        found.add((*prefix, name.upper() if isinstance(node.this, str) else name))
    for column in tree.find_all(exp.Column):
        if column.name.upper() == "NEXTVAL" and column.args.get("table") is not None:
            named = [column.args.get("catalog"), column.args.get("db"), column.args.get("table")]
            found.add(tuple(fold_identifier(item) for item in named if isinstance(item, exp.Identifier)))
    return found


def columns_in(tree: exp.Expr, columns_of: ColumnsOf, known: _With | None = None) -> list[str] | None:
    """The names of a query's columns; None when they can't be told."""
    known = dict(known or {})
    clause = tree.args.get("with_")
    if isinstance(clause, exp.With):
        for item in clause.expressions:
            named = [fold_identifier(column) for column in item.args["alias"].args.get("columns") or ()]
            columns = named or columns_in(item.this, columns_of, known)
            known[fold_identifier(item.args["alias"].this)] = columns
    if isinstance(tree, exp.Subquery):
        return columns_in(tree.this, columns_of, known)
    if isinstance(tree, exp.SetOperation):
        return columns_in(tree.this, columns_of, known)
    if not isinstance(tree, exp.Select):
        return None
    names: list[str] = []
    for item in tree.expressions:
        found = _projected(item, tree, columns_of, known)
        if found is None:
            return None
        names += found
    return names


def _projected(item: exp.Expr, query: exp.Select, columns_of: ColumnsOf, known: _With) -> Sequence[str] | None:
    star = item if isinstance(item, exp.Star) else item.this if isinstance(item, exp.Column) else None
    if not isinstance(star, exp.Star):
        name = output_name(item)
        return None if name is None else [name]
    if any(star.args.values()):
        return None
    wanted = item.args.get("table") if isinstance(item, exp.Column) else None
    joins = query.args.get("joins") or []
    if wanted is None and any(join.args.get("using") or join.args.get("method") for join in joins):
        return None
    names: list[str] = []
    origin = query.args.get("from_")
    for source in [*([origin.this] if origin is not None else []), *(join.this for join in joins)]:
        if wanted is None or _called(source) == fold_identifier(wanted):
            found = _source(source, columns_of, known)
            if found is None:
                return None
            names += found
    return None if query.args.get("laterals") else names


def _called(source: exp.Expr) -> str | None:
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.this is not None:
        return fold_identifier(alias.this)
    parts = parts_of(source) if isinstance(source, exp.Table) else None
    return parts[-1] if parts else None


def _source(source: exp.Expr, columns_of: ColumnsOf, known: _With) -> Sequence[str] | None:
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return [fold_identifier(column) for column in alias.args["columns"]]
    if isinstance(source, exp.Subquery):
        return columns_in(source.this, columns_of, known)
    parts = parts_of(source) if isinstance(source, exp.Table) else None
    if parts is None:
        return None
    return known[parts[0]] if len(parts) == 1 and parts[0] in known else columns_of(parts)
