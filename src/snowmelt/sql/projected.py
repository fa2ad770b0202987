"""Projection policies: columns that a query may compute with, and that may not come out of it.

A column that is held back is a call of MARK where the relation is read. What is computed from it is held back too:
through subqueries, common tables, views, functions and set operators. Conditions, groups and orders may use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.bound import OutputColumn

MARK = "snowmelt_held_back"


class ProjectionEnforcement(StrEnum):
    FAIL = "FAIL"
    NULLIFY = "NULLIFY"


_Held = Mapping[str, ProjectionEnforcement]
"""The columns that are held back, by name, and what becomes of a query that gives them out."""
_NONE: _Held = {}
_Outputs = dict[str, _Held]
_ANY = "*"
"""Stands for columns whose names are not known: every name may be one of them."""


def marked(tree: exp.Expr) -> bool:
    return any(_is_mark(node) for node in tree.find_all(exp.Anonymous))


def allowed(tree: exp.Expr, columns: Sequence[OutputColumn]) -> exp.Expr:
    """The query without the marks, and with NULL for columns that the policy takes out. Raises for those that fail."""
    if not marked(tree):
        return tree
    outputs = list(_outputs(tree, {}).values())
    positions: set[int] = set()
    for position, (column, held) in enumerate(zip(columns, outputs, strict=True)):
        for name, how in held.items():
            if how is ProjectionEnforcement.FAIL:
                raise _held_back(name, column.name)
            positions.add(position)
    tree = tree.transform(lambda node: node.expressions[0] if _is_mark(node) else node, copy=False)
    for position in positions:
        _nullify(tree, position)
    return tree


def _is_mark(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.this == MARK


def _held_back(column: str, output: str) -> SnowmeltError:
    shown = "" if column == output else f", from which '{output}' is computed,"
    return SnowmeltError(
        "002755", "42501",
        f"SQL compilation error:\nColumn '{column}'{shown} is restricted by a projection policy and can't be in the "
        "result.",
        hint="Leave it out of the SELECT list; conditions, joins and GROUP BY may use it.",
    )  # fmt: skip


def _nullify(tree: exp.Expr, position: int) -> None:
    """The shape of the query stays, an aggregate an aggregate; no value is ever chosen."""
    if isinstance(tree, exp.SetOperation):
        _nullify(tree.this, position)
        _nullify(tree.expression, position)
    elif isinstance(tree, exp.Subquery):
        _nullify(tree.this, position)
    elif isinstance(tree, exp.Select):
        item = tree.expressions[position]
        value = item.this if isinstance(item, exp.Alias) else item
        never = exp.Case(ifs=[exp.If(this=exp.false(), true=value.copy())])
        value.replace(never)


# -- where columns come from ------------------------------------------------------------------------------------------


def _outputs(query: exp.Expr, tables: Mapping[str, _Outputs]) -> _Outputs:
    """What of each column of a query is held back. `tables` are the common tables that it sees."""
    tables = _with(query, tables)
    if isinstance(query, exp.Subquery):
        return _outputs(query.this, tables)
    if isinstance(query, exp.SetOperation):
        left, right = _outputs(query.this, tables), _outputs(query.expression, tables)
        pairs = zip(left.items(), right.values(), strict=True)
        return {key: {**one, **other} for (key, one), other in pairs}
    if not isinstance(query, exp.Select):
        return {}
    sources = _sources(query, tables)
    found: _Outputs = {}
    for item in query.expressions:
        # What makes columns of its own has names that nobody wrote.
        name = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else _ANY
        found[name] = _joined([found.get(name, _NONE), _of(item, sources, tables)])
    return found


def _with(query: exp.Expr, tables: Mapping[str, _Outputs]) -> Mapping[str, _Outputs]:
    with_ = query.args.get("with_")
    if with_ is None:
        return tables
    found = dict(tables)
    for cte in with_.expressions:
        outputs = _outputs(cte.this, found)
        if with_.args.get("recursive"):
            # What a round gives out, the next one reads.
            outputs = _outputs(cte.this, {**found, cte.alias: outputs})
            every = _joined(outputs.values())
            outputs = dict.fromkeys(outputs, every)
        found[cte.alias] = outputs
    return found


_Sources = dict[str, _Outputs]


def _sources(select: exp.Select, tables: Mapping[str, _Outputs]) -> _Sources:
    found: _Sources = {}
    items = [select.args.get("from_"), *(select.args.get("joins") or []), *(select.args.get("laterals") or [])]
    for item in items:
        if item is None:
            continue
        node = item if isinstance(item, exp.Lateral) else item.this
        for name, outputs in _named(node, found, tables):
            found[name] = outputs
        for join in node.args.get("joins") or []:
            found.update(_named(join.this, found, tables))
        for lateral in node.args.get("laterals") or []:
            found.update(_named(lateral, found, tables))
    return found


def _named(node: exp.Expr, beside: _Sources, tables: Mapping[str, _Outputs]) -> Iterator[tuple[str, _Outputs]]:
    if isinstance(node, exp.Subquery | exp.Query):
        yield node.alias, _outputs(node, tables)
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        yield node.alias_or_name, tables.get(node.name, {})
    else:
        # Rows that are made of values: each of their columns is computed from all of these.
        every = _of(node, beside, tables)
        yield node.alias, {_ANY: every}


def _of(value: exp.Expr, sources: _Sources, tables: Mapping[str, _Outputs]) -> _Held:
    """What is held back of all that a value is computed from."""
    waiting, found = [value], [_NONE]
    while waiting:
        node = waiting.pop()
        if _is_mark(node):
            found.append({node.expressions[2].name: ProjectionEnforcement(node.expressions[1].name)})
        elif isinstance(node, exp.Exists):
            continue
        elif isinstance(node, exp.Query) and node is not value:
            # Columns of the query around it are inside, too.
            found.append(_joined(_outputs(node, tables).values()))
            found += [_column(one, sources) for one in node.find_all(exp.Column) if one.table in sources]
        elif isinstance(node, exp.Column):
            found.append(_column(node, sources))
        elif isinstance(node, exp.Star):
            found += [held for outputs in sources.values() for held in outputs.values()]
        else:
            waiting += list(node.iter_expressions())
    return _joined(found)


def _column(node: exp.Column, sources: _Sources) -> _Held:
    outputs = sources.get(node.table)
    if outputs is None:
        if not node.table and _is_parameter(node):
            return _NONE
        # Without a table, or a field of a column: whatever it could mean.
        names = {node.table or node.name, node.name}
        known = [each for each in sources.values() if names & each.keys()] or list(sources.values())
        unnamed = [each[_ANY] for each in sources.values() if _ANY in each]
        return _joined([*unnamed, *(_one(each, names) for each in known)])
    return _one(outputs, {node.name}) if not isinstance(node.this, exp.Star) else _joined(outputs.values())


def _one(outputs: _Outputs, names: set[str]) -> _Held:
    """What is held back of a column. A name that nobody gave could be any of them."""
    found = [outputs[name] for name in (*names, _ANY) if name in outputs]
    return _joined(found if names & outputs.keys() else outputs.values())


def _is_parameter(node: exp.Column) -> bool:
    """Whether it is one of a lambda, whose values come from the call that the lambda stands in."""
    around = node.find_ancestor(exp.Lambda)
    while around is not None:
        if any(one.name == node.name for one in around.expressions):
            return True
        around = around.find_ancestor(exp.Lambda)
    return False


def _joined(held: Iterable[_Held]) -> _Held:
    found: dict[str, ProjectionEnforcement] = {}
    for one in held:
        for name, how in one.items():
            found[name] = how if found.get(name) is not ProjectionEnforcement.FAIL else ProjectionEnforcement.FAIL
    return found
