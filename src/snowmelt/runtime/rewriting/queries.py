"""The one query that decides everything: which rows are touched, under which clause, and what they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.runtime.rewriting.plan import (
    ACTION,
    CHECKED,
    ID,
    NUMBER,
    SOURCE,
    TARGET,
    Act,
    ChangePlan,
    all_of,
    column,
    columns_of,
    has_subquery,
    moved,
    named,
)
from snowmelt.runtime.writing import stored
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.model import Column
from snowmelt.storage.rewrite import FILE, ROW

_JOINED = "__j"
_MATCH = "__m"
_BEFORE = "__old:"
"""Before the name of a column: its value in the target row, where the caller asks for it."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What Spark reads on either side: something that can stand in FROM, without an alias."""

    target: exp.Expr
    """Has the columns the plan mentions, `__file` and `__row`."""
    source: exp.Expr | None = None
    """Has c0, c1, …, `__id`, and `__number:…` for the plan's numbered columns."""
    small_source: bool = False


def touched(plan: ChangePlan, sides: Sides, clauses: Sequence[int], *, old: Sequence[str] = ()) -> exp.Select:
    """The touched rows: `__file`, `__row` (NULL for an insert), `__id`, `__action`, the changed columns.

    Only the clauses at the given positions are tried. With `old`, those columns of the target come along, in
    stored form. A target row
    may come several times, once for each source row that would change it.
    """
    inserts = any(plan.clauses[index].act is Act.INSERT for index in clauses)
    joined = _with_unmatched(plan, sides, old) if inserts else _matches(plan, sides, old)
    acted = exp.select(
        *(column(_JOINED, name) for name in joined.named_selects),
        named(_action(plan, clauses), ACTION),
    ).from_(_derived(joined, _JOINED))
    projections: list[exp.Expr] = [column(_MATCH, name) for name in (FILE, ROW, ID, ACTION)]
    types = {item.name: item.type for item in plan.definition.columns}
    projections += [named(stored(column(_MATCH, _mark(TARGET, name)), types[name]), old_column(name)) for name in old]
    chosen = [(index, plan.clauses[index]) for index in clauses]
    for name in plan.changed_columns:
        given = [(index, clause.values[name]) for index, clause in chosen if clause.values and name in clause.values]
        if given:
            projections.append(named(_by_action(given, len(chosen)), name))
    checks = [(index, clause.check) for index, clause in chosen if clause.check is not None]
    if checks:
        # A value and not a condition in WHERE, which Spark would move down to rows that are not touched.
        projections.append(named(_by_action(checks, len(chosen)), CHECKED))
    return (
        exp.select(*projections)
        .from_(_derived(acted, _MATCH))
        .where(exp.Not(this=exp.Is(this=column(_MATCH, ACTION), expression=exp.Null())))
    )


def old_column(name: str) -> str:
    return _BEFORE + name


def _mark(side: str, name: str) -> str:
    return f"{side}:{name}"


def _derived(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(alias)))


def _aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    tree = relation.copy()
    tree.set("alias", exp.TableAlias(this=identifier(alias)))
    return tree


def _carried(plan: ChangePlan, side: str, extra: Sequence[str] = ()) -> list[exp.Expr]:
    """The columns of one side that clauses mention, under names that tell the sides apart."""
    names = {name for clause in plan.clauses for name in columns_of(clause.trees(), side)} | set(extra)
    return [named(column(side, name), _mark(side, name)) for name in sorted(names)]


def _matches(plan: ChangePlan, sides: Sides, old: Sequence[str]) -> exp.Select:
    """Target rows with the source rows that match them."""
    position = [column(TARGET, FILE), column(TARGET, ROW)]
    if sides.source is None:
        select = exp.select(*position, named(spark("cast(null as bigint)"), ID), *_carried(plan, TARGET, old)).from_(
            _aliased(sides.target, TARGET)
        )
        return select.where(all_of(plan.conjuncts)) if plan.conjuncts else select
    # Spark takes subqueries in a join's condition only at times; above the join they mean the same.
    plain = [tree for tree in plan.conjuncts if not has_subquery(tree)]
    rest = [tree for tree in plan.conjuncts if has_subquery(tree)]
    select = exp.select(*position, column(SOURCE, ID), *_carried(plan, TARGET, old), *_carried(plan, SOURCE))
    select = select.from_(_aliased(sides.target, TARGET)).join(_aliased(sides.source, SOURCE), on=all_of(plain))
    if sides.small_source:
        # Spark can't know that of rows it gets from here.
        hint = exp.Anonymous(this="BROADCAST", expressions=[identifier(SOURCE)])
        select.set("hint", exp.Hint(expressions=[hint]))
    return select.where(all_of(rest)) if rest else select


def _with_unmatched(plan: ChangePlan, sides: Sides, old: Sequence[str]) -> exp.Select:
    """All source rows, with the target rows that match them."""
    assert sides.source is not None
    if not sides.small_source and not any(has_subquery(tree) for tree in plan.conjuncts):
        return _left_join(plan, sides, old)
    matches = _matches(plan, sides, old)
    of_target = [name for name in matches.named_selects if name in (FILE, ROW) or name.startswith(_mark(TARGET, ""))]
    inner = exp.select(*(column(_JOINED, name) for name in (*of_target, ID))).from_(_derived(matches, _JOINED))
    select = exp.select(
        *(column(_MATCH, name) for name in of_target), column(SOURCE, ID), *_carried(plan, SOURCE)
    ).from_(_aliased(sides.source, SOURCE))
    return select.join(
        _derived(inner, _MATCH), on=exp.EQ(this=column(SOURCE, ID), expression=column(_MATCH, ID)), join_type="left"
    )


def _left_join(plan: ChangePlan, sides: Sides, old: Sequence[str]) -> exp.Select:
    """The same in one join, where all conditions can be the join's. A source that is broadcast can't be its left."""
    assert sides.source is not None
    select = exp.select(
        column(TARGET, FILE), column(TARGET, ROW), column(SOURCE, ID),
        *_carried(plan, TARGET, old), *_carried(plan, SOURCE),
    ).from_(_aliased(sides.source, SOURCE))  # fmt: skip
    return select.join(_aliased(sides.target, TARGET), on=all_of(plan.conjuncts), join_type="left")


def by_position(touched_rows: exp.Select) -> exp.Select:
    """The touched rows with those of one file together, in the order of their positions."""
    rows = exp.select(exp.Star()).from_(_derived(touched_rows, _MATCH))
    # Inserted rows have no file: their numbers spread them.
    spread = spark("if(_0 is null, _1, null)", column(_MATCH, FILE), column(_MATCH, ID))
    rows.set("distribute", exp.Distribute(expressions=[column(_MATCH, FILE), spread]))
    order = [exp.Ordered(this=column(_MATCH, name)) for name in (FILE, ROW, ID)]
    rows.set("sort", exp.Sort(expressions=order))
    return rows


def _action(plan: ChangePlan, clauses: Sequence[int]) -> exp.Expr:
    """The position of the first clause that applies; NULL where none does."""
    unmatched = exp.Is(this=column(_JOINED, FILE), expression=exp.Null())
    several = any(plan.clauses[index].act is Act.INSERT for index in clauses)
    branches = []
    for index in clauses:
        clause = plan.clauses[index]
        parts: list[exp.Expr] = []
        if several:
            parts.append(unmatched.copy() if clause.act is Act.INSERT else exp.Not(this=unmatched.copy()))
        if clause.condition is not None:
            parts.append(moved(clause.condition, lambda side, name: column(_JOINED, _mark(side, name))))
        branches.append(exp.If(this=all_of(parts), true=integer(index)))
    return exp.Case(ifs=branches)


def _by_action(given: Sequence[tuple[int, exp.Expr]], clauses: int) -> exp.Expr:
    """The value of the clause a row falls under. Values of other clauses are not evaluated: they may fail."""
    there = [(index, moved(tree, lambda side, name: column(_MATCH, _mark(side, name)))) for index, tree in given]
    if len(there) == clauses == 1:
        return there[0][1]
    return exp.Case(this=column(_MATCH, ACTION), ifs=[exp.If(this=integer(index), true=tree) for index, tree in there])


# -- relations ----------------------------------------------------------------------------------------------------


def source_query(plan: ChangePlan, keys: Sequence[exp.Expr], conjuncts: Sequence[exp.Expr]) -> exp.Select:
    """The source as it travels through Arrow, with extra columns `__key0`, …; `conjuncts` leave rows out."""
    assert plan.source is not None
    kept = plan.referenced(SOURCE)
    columns = [ref for ref in plan.source.columns if ref.key in kept]
    projections: list[exp.Expr] = []
    for ref in columns:
        tree: exp.Expr = column(SOURCE, ref.key)
        if ref.type.kind is Kind.TIME:
            tree = spark("cast(_0 as string)", tree)
        projections.append(named(tree, ref.key))
    projections += [named(tree.copy(), key_column(index)) for index, tree in enumerate(keys)]
    if not projections:
        projections = [named(exp.true(), "__one")]
    select = exp.select(*projections).from_(_derived(plan.source.tree.copy(), SOURCE))
    return select.where(all_of(conjuncts)) if conjuncts else select


def key_column(index: int) -> str:
    return f"__key{index}"


def arrow_source(plan: ChangePlan, reference: str) -> exp.Expr:
    """The source read back from Arrow rows that `source_query` gave."""
    assert plan.source is not None
    kept = plan.referenced(SOURCE)
    projections = [
        named(_restored(column(SOURCE, ref.key), ref.type.kind), ref.key)
        for ref in plan.source.columns
        if ref.key in kept
    ]
    projections += [column(SOURCE, NUMBER + name) for name in plan.numbered]
    select = exp.select(column(SOURCE, ID), *projections)
    return exp.Subquery(this=select.from_(_aliased(exp.Table(this=identifier(reference)), SOURCE)))


def arrow_target(columns: Sequence[Column], reference: str) -> exp.Expr:
    """Target rows read back from Arrow rows in stored form."""
    projections = [named(_restored(column(TARGET, item.name), item.type.kind), item.name) for item in columns]
    select = exp.select(column(TARGET, FILE), column(TARGET, ROW), *projections)
    return exp.Subquery(this=select.from_(_aliased(exp.Table(this=identifier(reference)), TARGET)))


def _restored(tree: exp.Expr, kind: Kind) -> exp.Expr:
    """The value of a column that came through Arrow."""
    match kind:
        case Kind.TIME:
            return spark("cast(_0 as time(6))", tree)
        case Kind.TIMESTAMP_NTZ:
            # Spark takes Arrow's timestamps without a zone for ones of its session, which is in UTC.
            return spark("cast(_0 as timestamp_ntz)", tree)
        case _:
            return tree


def source_subquery(tree: exp.Query, plan: ChangePlan, numbers: Mapping[str, tuple[int, int]]) -> exp.Expr:
    """The source as Spark itself evaluates it, with `__id`, and `__number:…` from a first number in steps."""
    assert plan.source is not None
    select = exp.select(
        *(column(SOURCE, ref.key) for ref in plan.source.columns),
        named(spark("monotonically_increasing_id()"), ID),
        *(
            named(
                spark("cast(_0 + (row_number() over (order by 1) - 1) * _1 as bigint)", integer(first), integer(step)),
                NUMBER + name,
            )
            for name, (first, step) in numbers.items()
        ),
    )
    return exp.Subquery(this=select.from_(_derived(tree.copy(), SOURCE)))
