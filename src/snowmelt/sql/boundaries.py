"""DYNAMIC_TABLE_REFRESH_BOUNDARY(name) in FROM: what is read through it belongs to another pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.bound import fold_identifier

FUNCTION = "DYNAMIC_TABLE_REFRESH_BOUNDARY"
Parts = tuple[str, ...]


def is_boundary(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous) and _name(node.this) == FUNCTION


def parts_of(node: exp.Table) -> Parts | None:
    """The name of the relation that stands in FROM, with or without a boundary; None for other table functions."""
    named = _wrapped(node) if is_boundary(node) else [node.args.get("catalog"), node.args.get("db"), node.this]
    parts = [item for item in named if item is not None]
    return tuple(map(fold_identifier, parts)) if all(isinstance(item, exp.Identifier) for item in parts) else None


@dataclass(frozen=True, slots=True)
class Split:
    """A query without its boundaries, and the names that it reads inside and outside of them."""

    tree: exp.Expr
    inside: frozenset[Parts]
    outside: frozenset[Parts]


def split(tree: exp.Expr) -> Split:
    names = _Names()
    names.visit(tree, {}, inside=False)
    copy = tree.copy()
    for node in list(copy.find_all(exp.Table)):
        if is_boundary(node):
            catalog, schema, name = _wrapped(node)
            node.set("this", name)
            node.set("db", schema)
            node.set("catalog", catalog)
    return Split(copy, frozenset(names.found[True]), frozenset(names.found[False]))


@dataclass(frozen=True, slots=True)
class _With:
    """A part of a WITH clause."""

    body: exp.Expr
    known: _Known
    """The parts before it, which it may name."""


_Known = Mapping[str, _With]


@dataclass(slots=True)
class _Names:
    """Walks a query as it is read: a WITH clause where it is named, so that a boundary around its name counts."""

    found: dict[bool, set[Parts]] = field(default_factory=lambda: {True: set(), False: set()})
    visited: set[tuple[int, bool]] = field(default_factory=set)

    def visit(self, node: exp.Expr, known: _Known, *, inside: bool) -> None:
        if isinstance(node, exp.Table):
            self._table(node, known, inside=inside or is_boundary(node))
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for item in clause.expressions:
                known = {**known, fold_identifier(item.args["alias"].this): _With(item.this, known)}
        for key, value in node.args.items():
            if key == "with_":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    self.visit(child, known, inside=inside)

    def _table(self, node: exp.Table, known: _Known, *, inside: bool) -> None:
        parts = parts_of(node)
        if parts is None:
            return
        if len(parts) > 1 or parts[0] not in known:
            self.found[inside].add(parts)
            return
        named = known[parts[0]]
        if (id(named.body), inside) not in self.visited:
            self.visited.add((id(named.body), inside))
            self.visit(named.body, named.known, inside=inside)


def _name(call: exp.Anonymous) -> str:
    return str(call.this).upper() if isinstance(call.this, str) else fold_identifier(call.this)


def _wrapped(node: exp.Table) -> list[exp.Expr | None]:
    """Database, schema and name of the object in a boundary."""
    given = node.this.expressions
    if len(given) != 1 or not isinstance(given[0], exp.Column) or given[0].args.get("catalog") is not None:
        raise errors.compilation("001003", "42000", f"{FUNCTION} takes the name of one table, view or WITH clause.")
    column = given[0]
    return [column.args.get("db"), column.args.get("table"), column.this]
