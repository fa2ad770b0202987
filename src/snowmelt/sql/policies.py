"""Policies in a query: which rows of a relation a role sees, and what it sees in place of their values.

A relation with a policy is read as

    SELECT guarded(mask(a)) AS a, guarded(b) AS b, … FROM <relation> AS __guarded WHERE <row access policy>

in place of the relation itself, wherever it stands in a query. The body of a policy is bound as that of a function is:
its arguments are columns of the relation as they are stored, the other names in it are looked up where the policy lives
and with its owner's rights, and what it asks of the session is asked of whoever reads.

Where rows are left out, the columns are calls that no predicate is moved past, as with secure views (`sealing`).
`settled` takes them away again where nothing in the statement can fail on a row that is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.sql import constraints, grouped, quiet
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, BoundQuery, FromItem, Scope, SourceColumn
from snowmelt.sql.decided import decided, reduced, undecided
from snowmelt.sql.dialect import GUARDED, call, identifier, parse_snowflake
from snowmelt.sql.notes import typed
from snowmelt.sql.relations import PolicyRule, ReadProtection

ALIAS = "__guarded"
Columns = Sequence[tuple[str, str, DataType]]
"""Visible name, name in Spark, type."""


@dataclass(frozen=True, slots=True)
class BoundProtection:
    """What a protection comes to for who reads."""

    values: dict[str, exp.Expr]
    """By the visible name, what stands for a column whose value is not shown as it is."""
    condition: exp.Expr | None
    """The rows that are seen; None for all."""


def bind_protection(expressions: BindsExpressions, source: FromItem, protection: ReadProtection) -> BoundProtection:
    """Binds the policies over the columns of one relation."""
    binder = _RuleBinder(expressions, source, protection)
    values = {name: value for name, rule in protection.masks.items() if (value := binder.mask(name, rule)) is not None}
    return BoundProtection(values, binder.condition(protection.rows) if protection.rows is not None else None)


def guarded(expressions: BindsExpressions, tree: exp.Expr, columns: Columns, protection: ReadProtection) -> exp.Expr:
    """What stands in FROM for a relation with policies; it has the same columns."""
    items = [SourceColumn(name, type_, typed(_field(key), type_)) for name, key, type_ in columns]
    bound = bind_protection(expressions, FromItem(None, tuple(items), key=ALIAS), protection)
    held = constraints.constraints(expressions, protection)
    if bound.condition is None and not bound.values and not held:
        return tree
    shown: list[exp.Expr] = []
    for (name, key, type_), item in zip(columns, items, strict=True):
        value = bound.values.get(name, item.tree)
        if bound.condition is not None:
            value = call(GUARDED, value)
        if name in held.projections:
            value = constraints.held_back(value, held.projections[name], name)
        shown.append(typed(exp.Alias(this=value, alias=identifier(key)), type_))
    conditions = [bound.condition] if bound.condition is not None else []
    if held.groups is not None:
        conditions.append(grouped.mark(held.groups))
        if protection.groups is not None and protection.groups.entity:
            trees = {item.name: item.tree for item in items}
            shown.append(grouped.entity_of(trees[name] for name in protection.groups.entity))
    tree.set("alias", exp.TableAlias(this=identifier(ALIAS)))
    where = exp.Where(this=exp.and_(*conditions)) if conditions else None
    return exp.Subquery(this=exp.Select(expressions=shown, from_=exp.From(this=tree), where=where))


def settled(query: BoundQuery) -> BoundQuery:
    """The whole query of a statement, without the barriers that protect nothing in it."""
    if not quiet.is_quiet(query.tree, ALIAS):
        return query

    def visit(node: exp.Expr) -> exp.Expr:
        return node.expressions[0] if isinstance(node, exp.Anonymous) and node.this == GUARDED else node

    tree = query.tree.transform(visit, copy=False)
    assert isinstance(tree, exp.Query)
    return replace(query, tree=tree)


@dataclass(frozen=True, slots=True)
class _RuleBinder:
    expressions: BindsExpressions
    source: FromItem
    protection: ReadProtection

    def mask(self, column: str, rule: PolicyRule) -> exp.Expr | None:
        """What stands for the column; None where that is the column itself."""
        binder, bound = self._bound(rule)
        own = self._column(column)
        tree = reduced(bound.tree)
        if tree == own.tree:
            return None
        return binder.cast(bound.with_tree(tree), own.type).tree

    def condition(self, rule: PolicyRule) -> exp.Expr | None:
        _, bound = self._bound(rule, boolean=True)
        return None if decided(bound.tree) else undecided(bound.tree)

    def _column(self, name: str) -> SourceColumn:
        return next(column for column in self.source.columns if column.name == name)

    def _bound(self, rule: PolicyRule, *, boolean: bool = False) -> tuple[BindsExpressions, Bound]:
        outer = self.expressions.environment
        environment = replace(
            outer,
            relations=outer.relations.within(rule.database, rule.schema, rule.owner),
            context=self.protection.context or outer.context,
        )
        queries = self.expressions.queries.within(environment, f"of policy {rule.name}")
        given = {argument: self._column(column) for argument, column in rule.arguments}
        held = {name: Bound(exp.Paren(this=column.tree.copy()), column.type) for name, column in given.items()}
        binder = self.expressions.in_body(
            environment, Scope(arguments=held, caller=Scope(sources=[self.source])), queries
        )
        tree = _parsed(rule.body).copy()
        body = exp.Subquery(this=tree) if isinstance(tree, exp.Query) else tree
        return binder, binder.boolean(body) if boolean else binder.bind(body)


@lru_cache(maxsize=512)
def _parsed(body: str) -> exp.Expr:
    """Bodies are few, and every query over what they protect needs them."""
    return parse_snowflake(body)


def _field(key: str) -> exp.Expr:
    return exp.column(identifier(key), table=identifier(ALIAS))
