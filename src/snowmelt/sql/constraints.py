"""What projection and aggregation policies say of whoever asks, and the marks by which a bound query carries it.

Both stand in the query as calls of functions that no engine has, so that a query which nobody has looked at fails. The
query of a statement is looked at as a whole, once it is bound: `allowed` is the one place that takes the marks away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql import grouped, projected
from snowmelt.sql.binders import BindsExpressions, BindsQueries
from snowmelt.sql.bound import Bound, BoundQuery, OutputColumn, Scope
from snowmelt.sql.decided import reduced
from snowmelt.sql.dialect import call, parse_snowflake
from snowmelt.sql.relations import PolicyRule, ReadProtection

PROJECTION_CALL, GROUPS_CALL, NO_GROUPS_CALL = (
    "PROJECTION_CONSTRAINT", "AGGREGATION_CONSTRAINT", "NO_AGGREGATION_CONSTRAINT",
)  # fmt: skip
_ALLOWED = "ALLOW"
_ROWS, _ENTITIES = "rows", "entities"


class ConstraintKind(StrEnum):
    PROJECTION = "PROJECTION_CONSTRAINT"
    AGGREGATION = "AGGREGATION_CONSTRAINT"


@dataclass(frozen=True, slots=True)
class Constraints:
    """What holds for who reads one relation."""

    projections: dict[str, projected.ProjectionEnforcement]
    """The columns that may not be in a result."""
    groups: grouped.GroupSize | None = None

    def __bool__(self) -> bool:
        return bool(self.projections) or self.groups is not None


def constraints(expressions: BindsExpressions, protection: ReadProtection) -> Constraints:
    """Asks the policies: each is a value that does not depend on rows."""
    held: dict[str, projected.ProjectionEnforcement] = {}
    for column, rule in protection.projections.items():
        said = _said(expressions, protection, rule)
        if said != _ALLOWED:
            held[column] = projected.ProjectionEnforcement(said)
    rule_of_groups = protection.groups
    if rule_of_groups is None:
        return Constraints(held)
    size = _size(_said(expressions, protection, rule_of_groups.rule), bool(rule_of_groups.entity))
    return Constraints(held, size)


def as_value(tree: exp.Expr, kind: ConstraintKind) -> exp.Expr:
    """The body of a policy as an expression that SQL knows: the calls in it become texts that `_said` reads."""
    found = 0

    def visit(node: exp.Expr) -> exp.Expr:
        nonlocal found
        if not isinstance(node, exp.Anonymous):
            return node
        made = _VALUES.get((kind, node.name.upper()))
        if made is None:
            return node
        found += 1
        return made({one.name.upper(): one.expression for one in node.expressions if isinstance(one, exp.Kwarg)})

    tree = tree.transform(visit)
    if not found:
        raise errors.compilation("001007", "22023", f"The body of the policy does not call {kind}(…).")
    return tree


def allowed(query: BoundQuery) -> BoundQuery:
    """The whole query of a statement, as its policies allow it. Raises where they do not."""
    tree = projected.allowed(grouped.allowed(query.tree), query.columns)
    assert isinstance(tree, exp.Query)
    return replace(query, tree=tree)


def allowed_value(value: Bound) -> Bound:
    """The same for a value with queries in it, which is one of a query without FROM."""
    named = exp.Alias(this=value.tree.copy(), alias=exp.to_identifier("V"))
    query = BoundQuery(exp.Select(expressions=[named]), (OutputColumn("V", "V", value.type),))
    return value.with_tree(allowed(query).tree.expressions[0].this.pop())


def refuse(tree: exp.Expr, what: str) -> None:
    """Raises where a part of a statement that is no query has such a policy: nothing follows what becomes of it."""
    if projected.marked(tree) or grouped.marked(tree):
        raise errors.unsupported(
            f"{what} with a projection or aggregation policy", hint="Use a query of its own, with a role it exempts."
        )


# -- bodies -----------------------------------------------------------------------------------------------------------


def _projection(given: dict[str, exp.Expr]) -> exp.Expr:
    allows = _needed(given, "ALLOW", PROJECTION_CALL)
    otherwise = given.get("ENFORCEMENT", exp.Literal.string(projected.ProjectionEnforcement.FAIL))
    how = otherwise.name.upper() if isinstance(otherwise, exp.Literal) else ""
    if how not in projected.ProjectionEnforcement.__members__:
        raise errors.compilation("001007", "22023", f"ENFORCEMENT of {PROJECTION_CALL} is 'FAIL' or 'NULLIFY'.")
    return exp.Anonymous(this="IFF", expressions=[allows, exp.Literal.string(_ALLOWED), exp.Literal.string(how)])


def _groups(given: dict[str, exp.Expr]) -> exp.Expr:
    one = given.get("MIN_GROUP_SIZE")
    names = ("MIN_ROW_COUNT", "MIN_ENTITY_COUNT")
    both: list[exp.Expr] = [exp.Literal.number(0)] if one is not None else []
    both += [one] if one is not None else [_needed(given, name, GROUPS_CALL) for name in names]
    rows, entities = both
    if isinstance(rows, exp.Literal) and isinstance(entities, exp.Literal):
        return exp.Literal.string(f"{rows.name},{entities.name}")
    comma = exp.DPipe(this=exp.Paren(this=rows), expression=exp.Literal.string(","))
    return exp.DPipe(this=comma, expression=exp.Paren(this=entities))


def _needed(given: dict[str, exp.Expr], name: str, function: str) -> exp.Expr:
    if name not in given:
        raise errors.compilation("001007", "22023", f"{function} needs {name} => ….")
    return given[name]


_VALUES: dict[tuple[ConstraintKind, str], Callable[[dict[str, exp.Expr]], exp.Expr]] = {
    (ConstraintKind.PROJECTION, PROJECTION_CALL): _projection,
    (ConstraintKind.AGGREGATION, GROUPS_CALL): _groups,
    (ConstraintKind.AGGREGATION, NO_GROUPS_CALL): lambda _: exp.Literal.string("0,0"),
}


def _said(expressions: BindsExpressions, protection: ReadProtection, rule: PolicyRule) -> str:
    """The value of a body for who reads. One that is no value of its constraint allows nothing."""
    outer = expressions.environment
    environment = replace(
        outer,
        relations=outer.relations.within(rule.database, rule.schema, rule.owner),
        context=protection.context or outer.context,
    )
    kind = ConstraintKind(rule.kind)
    body = as_value(parse_snowflake(rule.body), kind)
    queries = expressions.queries.within(environment, f"of policy {rule.name}")
    value = reduced(expressions.in_body(environment, Scope(), queries).bind(body.copy()).tree)
    said = value.name if isinstance(value, exp.Literal) else _asked(queries, body)
    if kind is ConstraintKind.PROJECTION:
        return said if said in (_ALLOWED, *projected.ProjectionEnforcement) else projected.ProjectionEnforcement.FAIL
    return said


def _asked(queries: BindsQueries, body: exp.Expr) -> str:
    """The value of a body that looks something up."""
    bound = queries.bind(exp.select(exp.alias_(exp.cast(exp.Paren(this=body), "VARCHAR"), "SAID")), Scope())
    values = queries.environment.relations.distinct_values(bound)
    return str(values[0].this) if values and isinstance(values[0], exp.Literal) else ""


def _size(said: str, has_entity: bool) -> grouped.GroupSize | None:
    parts = said.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        return grouped.NOTHING
    rows, least = (int(part) for part in parts)
    if rows == 0 and not has_entity:
        rows, least = least, 0
    return grouped.GroupSize(rows, least if has_entity else 0) if rows or least else None


def held_back(value: exp.Expr, how: projected.ProjectionEnforcement, column: str) -> exp.Expr:
    return call(projected.MARK, value, exp.Literal.string(how.value), exp.Literal.string(column))
