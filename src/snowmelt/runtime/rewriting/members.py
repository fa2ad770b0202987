"""Keys that a subquery gives: `column IN (SELECT …)` and `EXISTS (SELECT … WHERE s.k = column)` in a condition.

The subquery's keys are computed once. When they are few, the target's files are searched for them, as they are for
literals, instead of joining all of the target to the subquery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.runtime.rewriting.narrowing import KeyEquality, key_condition, key_values, target_column
from snowmelt.runtime.rewriting.plan import SOURCE, TARGET, ChangePlan, bare, tables_in
from snowmelt.sql.dialect import identifier
from snowmelt.storage.probe import Condition

MEMBER = "__member"
Fetch = Callable[[exp.Select], pa.Table]
Give = Callable[[pa.Table], str]
"""Makes rows readable for the statement; their name."""


@dataclass(frozen=True, slots=True)
class Members:
    """A plan whose subqueries are given as rows where they are few, and what the target's columns must be among."""

    plan: ChangePlan
    conditions: tuple[Condition, ...]


def members_of(plan: ChangePlan, limit: int, fetch: Fetch, give: Give) -> Members:
    """Computes the keys of subqueries. Those with more than `limit` keys stay as they are."""
    types = {column.name: column.type for column in plan.definition.columns}
    conjuncts: list[exp.Expr] = []
    conditions: list[Condition] = []
    for tree in plan.conjuncts:
        found = _asked(tree, types)
        keys = fetch(found.query.limit(limit + 1)) if found is not None else None
        if found is None or keys is None or keys.num_rows > limit:
            conjuncts.append(tree)
            continue
        key = KeyEquality(found.column, found.query)
        values = key_values(key, keys.column(0), plan)
        if values is not None:
            conditions.append(key_condition(key, values))
        conjuncts.append(_given(tree, give(keys)) if found.is_membership else tree)
    return Members(replace(plan, conjuncts=tuple(conjuncts)), tuple(conditions))


@dataclass(frozen=True, slots=True)
class _Asked:
    column: str
    query: exp.Select
    """Gives the keys in one column, `MEMBER`."""
    is_membership: bool


def _asked(tree: exp.Expr, types: Mapping[str, DataType]) -> _Asked | None:
    tree = bare(tree)
    if isinstance(tree, exp.In) and tree.args.get("query") is not None:
        query = tree.args["query"].unnest()
        column = target_column(tree.this, types)
        names = query.named_selects if isinstance(query, exp.Query) else []
        if column is None or _reaches_out(query) or len(names) != 1:
            return None
        inner = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=identifier("__q")))
        member = exp.alias_(exp.column(identifier(names[0]), table=identifier("__q")), identifier(MEMBER))
        return _Asked(column, exp.select(member).from_(inner).distinct(), is_membership=True)
    if isinstance(tree, exp.Exists) and isinstance(tree.this, exp.Select):
        return _existing(tree.this, types)
    return None


def _existing(query: exp.Select, types: Mapping[str, DataType]) -> _Asked | None:
    """The inner side of the one equality with the target, for the rows that fulfil the rest."""
    if any(query.args.get(part) for part in ("group", "having", "limit", "offset", "with_", "laterals", "distinct")):
        return None
    where = query.args.get("where")
    parts = list(_parts(where.this)) if where is not None else []
    equal = [part for part in parts if _reaches_out(part)]
    if len(equal) != 1 or not isinstance(bare(equal[0]), exp.EQ):
        return None
    sides = (bare(equal[0]).this, bare(equal[0]).expression)
    for one, other in (sides, sides[::-1]):
        column = target_column(one, types)
        if column is not None and not _reaches_out(other):
            keys = query.copy()
            keys.set("expressions", [exp.alias_(other.copy(), identifier(MEMBER))])
            rest = [part.copy() for part in parts if part is not equal[0]]
            keys.set("where", None)
            keys = keys.where(*rest) if rest else keys
            return None if _reaches_out(keys) else _Asked(column, keys.distinct(), is_membership=False)
    return None


def _parts(tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = bare(tree)
    if isinstance(tree, exp.And):
        yield from _parts(tree.this)
        yield from _parts(tree.expression)
    else:
        yield tree


def _reaches_out(tree: exp.Expr) -> bool:
    return bool(tables_in(tree) & {TARGET, SOURCE})


def _given(tree: exp.Expr, name: str) -> exp.Expr:
    """The membership, with the keys that are known in place of the query."""
    found = bare(tree).copy()
    member = exp.select(exp.column(identifier(MEMBER))).from_(exp.Table(this=identifier(name)))
    found.set("query", exp.Subquery(this=member))
    return found
