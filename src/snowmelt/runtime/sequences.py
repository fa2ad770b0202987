"""Sequences: a marker held for each NEXTVAL while a statement is bound, and numbers put there before it runs.

How many numbers a query needs is known only when its rows are. So binding leaves a placeholder, and `numbered` asks how
many rows the SELECT around it has, takes that many numbers from the state store and hands them out by row number.
Numbers that a failed statement took are lost, as in Snowflake.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.runtime.statement import ComputingStatement
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.model import CatalogObject, SequenceDefinition

COUNTER = "NEXTVAL"
"""The name under which the state store counts for a sequence."""
_TABLE = "__nextval"
Tree = TypeVar("Tree", bound=exp.Expr)


def placeholder(run: ComputingStatement, sequence: CatalogObject) -> exp.Column:
    """What stands for one NEXTVAL in a bound tree. Every occurrence is another one: each has numbers of its own."""
    run.sequences[sequence.id] = sequence
    return exp.column(identifier(sequence.id), table=identifier(_TABLE))


def take(run: ComputingStatement, sequence: CatalogObject, count: int) -> int:
    """The first of `count` numbers of the sequence."""
    definition = sequence.definition
    assert isinstance(definition, SequenceDefinition)
    with run.state.begin() as state:
        return state.counters.take(sequence.id, COUNTER, count, definition.start, definition.step)


def numbers(run: ComputingStatement, sequence: CatalogObject, count: int) -> range:
    """Reserves `count` numbers that nobody else gets."""
    definition = sequence.definition
    assert isinstance(definition, SequenceDefinition)
    first = take(run, sequence, count)
    return range(first, first + count * definition.step, definition.step)


def numbered(run: ComputingStatement, tree: Tree) -> Tree:
    """The tree with numbers in place of every NEXTVAL."""
    if not run.sequences or not any(_is_placeholder(node) for node in tree.find_all(exp.Column)):
        return tree
    result = tree.copy()
    found = [node for node in result.find_all(exp.Column, bfs=False) if _is_placeholder(node)]
    # From the innermost query outwards: counting an outer one runs the inner one, whose numbers must stand by then.
    for node in sorted(found, key=_depth, reverse=True):
        _replace(run, node)
    return result


def unnumbered(tree: Tree) -> Tree:
    """The tree with a plain number in place of every NEXTVAL, to be looked at and not run."""
    result = tree.copy()
    for node in list(result.find_all(exp.Column)):
        if _is_placeholder(node):
            node.replace(integer(0))
    return result


def _depth(node: exp.Expr) -> int:
    """How many queries are around the node."""
    depth, around = 0, node.find_ancestor(exp.Select)
    while around is not None:
        depth, around = depth + 1, around.find_ancestor(exp.Select)
    return depth


def _is_placeholder(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.table == _TABLE


def _replace(run: ComputingStatement, node: exp.Column) -> None:
    sequence = run.sequences[node.name]
    definition = sequence.definition
    assert isinstance(definition, SequenceDefinition)
    select = node.find_ancestor(exp.Select, exp.Values)
    if not isinstance(select, exp.Select) or select.args.get("from_") is None:
        node.replace(_number(take(run, sequence, 1)))
        return
    clause = _clause(node, select)
    if clause not in ("expressions", "order"):
        raise errors.unsupported(f"NEXTVAL in {clause.upper().rstrip('_')}")
    count = _count(run, select)
    first = take(run, sequence, max(count, 1))
    value = spark("_0 + (row_number() over (order by 1) - 1) * _1", integer(first), integer(definition.step))
    node.replace(exp.Paren(this=exp.cast(value, "BIGINT")))


def _number(value: int) -> exp.Expr:
    """A number as binding writes it, so that a SELECT of it alone needs no Spark."""
    literal = exp.Var(this=f"{abs(value)}L")
    return exp.Neg(this=literal) if value < 0 else literal


def _clause(node: exp.Expr, select: exp.Select) -> str:
    """The part of the SELECT that the node stands in."""
    child: exp.Expr = node
    while child.parent is not select:
        assert child.parent is not None
        child = child.parent
    return str(child.arg_key)


def _count(run: ComputingStatement, select: exp.Select) -> int:
    counted = unnumbered(select)
    for clause in ("order", "with_"):
        counted.set(clause, None)
    query = exp.select(spark("count(1)")).from_(
        exp.Subquery(this=counted, alias=exp.TableAlias(this=identifier("__counted")))
    )
    # The query to be counted may name the common tables of every query around it. Binding gave each a name of its own.
    common: list[exp.Expr] = []
    outer: exp.Expr | None = select
    while outer is not None:
        with_ = outer.args.get("with_") if isinstance(outer, exp.Query) else None
        if with_ is not None:
            common = [*unnumbered(with_).expressions, *common]
        outer = outer.parent
    if common:
        query.set("with_", exp.With(expressions=common))
    data = run.account.engine.to_arrow(
        query, list(run.tables.values()), lane=run.lane, tag=run.tag, pool=run.pool, inputs=run.inputs
    )
    return int(data.column(0)[0].as_py())
