"""The plan as commands of Delta itself: DELETE, UPDATE and MERGE in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.runtime.rewriting.plan import (
    ACTION,
    ID,
    SOURCE,
    TARGET,
    Act,
    ChangePlan,
    RewriteClause,
    all_of,
    column,
    moved,
    named,
)
from snowmelt.runtime.rewriting.queries import old_column
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.model import Column
from snowmelt.storage.rewrite import FILE, ROW

_RANK = "__rank"


def direct_command(plan: ChangePlan, path: str, source: exp.Expr | None) -> exp.Expr:
    """The command that says what the plan says, where Delta has one: conditions without subqueries."""
    target = _target(path)
    condition = all_of([_on_disk(plan, tree) for tree in plan.conjuncts])
    if source is None:
        (clause,) = plan.clauses
        where = exp.Where(this=condition) if plan.conjuncts else None
        if clause.act is Act.DELETE:
            return exp.Delete(this=target, where=where)
        return exp.Update(this=target, expressions=_assignments(plan, clause), where=where)
    whens = [_when(plan, clause) for _, clause in _in_order(plan)]
    return _merge(target, source, condition, whens)


def merge_staged(plan: ChangePlan, path: str, staged: exp.Expr) -> exp.Expr:
    """The command that applies rows which `queries.touched` gave, with every column's old value.

    Delta can't be told which row of which file is meant, so a target row is known by all that it holds. Rows that hold
    the same are changed in the same way.
    """
    columns = plan.definition.columns
    same = [
        spark("_0 <=> _1", _content(column(TARGET, item.name), item), _content(_old(SOURCE, item), item))
        for item in columns
    ]
    matched = exp.Not(this=exp.Is(this=column(SOURCE, ROW), expression=exp.Null()))
    whens: list[exp.Expr] = []
    for index, clause in _in_order(plan):
        given = [item for item in columns if clause.values is not None and item.name in clause.values]
        values = {item.name: column(SOURCE, item.name) for item in given}
        condition = exp.EQ(this=column(SOURCE, ACTION), expression=integer(index))
        whens.append(_when_of(clause.act, condition, values))
    return _merge(_target(path), _one_of_a_kind(plan, staged), all_of([matched, *same]), whens)


def several_changes(plan: ChangePlan, staged: exp.Expr) -> exp.Select:
    """One row: how many target rows have several changes, and how many of those not only deletions."""
    deletes = [integer(index) for index, clause in enumerate(plan.clauses) if clause.act is Act.DELETE]
    only_deletes = exp.In(this=exp.column(ACTION), expressions=deletes) if deletes else exp.false()
    groups = (
        exp.select(named(spark("count(1)"), "n"), named(spark("min(_0)", only_deletes), "harmless"))
        .from_(exp.alias_(staged.copy(), "__w"))
        .where(exp.Not(this=exp.Is(this=exp.column(ROW), expression=exp.Null())))
        .group_by(exp.column(FILE), exp.column(ROW))
    )
    return exp.select(
        named(spark("count_if(n > 1)"), "several"), named(spark("count_if(n > 1 and not harmless)"), "conflicting")
    ).from_(exp.Subquery(this=groups, alias=exp.TableAlias(this=identifier("__g"))))


def _one_of_a_kind(plan: ChangePlan, staged: exp.Expr) -> exp.Expr:
    """The staged rows, with one change for each content that a target row may have, and all inserted rows."""
    alias = "__w"
    content = [_content(_old(alias, item), item) for item in plan.definition.columns]
    # Inserted rows have no old content; they differ by their number.
    unmatched = spark("if(_0 is null, _1, null)", column(alias, ROW), column(alias, ID))
    order = exp.Order(expressions=[exp.Ordered(this=column(alias, name)) for name in (FILE, ROW, ID)])
    rank = exp.Window(this=spark("row_number()"), partition_by=[*content, unmatched], order=order)
    ranked = exp.select(exp.Star(), named(rank, _RANK)).from_(_aliased(staged, alias))
    kept = exp.select(exp.Star()).from_(exp.Subquery(this=ranked, alias=exp.TableAlias(this=identifier("__p"))))
    return exp.Subquery(this=kept.where(exp.EQ(this=exp.column(_RANK), expression=integer(1))))


def _old(alias: str, item: Column) -> exp.Expr:
    return column(alias, old_column(item.name))


def _content(tree: exp.Expr, item: Column) -> exp.Expr:
    """Something that Spark can compare and group by in place of the value."""
    return spark("to_json(_0)", tree) if item.type.is_semi_structured else tree


def _target(path: str) -> exp.Expr:
    table = exp.Table(this=identifier(path), db=identifier("delta"))
    return _aliased(table, TARGET)


def _aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    tree = relation.copy()
    tree.set("alias", exp.TableAlias(this=identifier(alias)))
    return tree


def _on_disk(plan: ChangePlan, tree: exp.Expr) -> exp.Expr:
    """The tree over the table as it lies on disk, where a TIME is text."""
    times = {item.name for item in plan.definition.columns if item.type.kind is Kind.TIME}

    def replacement(side: str, name: str) -> exp.Expr | None:
        return spark("cast(_0 as time(6))", column(TARGET, name)) if side == TARGET and name in times else None

    return moved(tree, replacement)


def _assignments(plan: ChangePlan, clause: RewriteClause) -> list[exp.Expr]:
    return [exp.EQ(this=column(TARGET, name), expression=tree) for name, tree in _values(plan, clause).items()]


def _values(plan: ChangePlan, clause: RewriteClause) -> dict[str, exp.Expr]:
    values = {name: _on_disk(plan, tree) for name, tree in (clause.values or {}).items()}
    if clause.check is not None:
        # There is no place for a condition that fails the statement but in a value.
        first = next(iter(values))
        values[first] = spark("if(_0, _1, null)", _on_disk(plan, clause.check), values[first])
    return values


def _when(plan: ChangePlan, clause: RewriteClause) -> exp.Expr:
    condition = _on_disk(plan, clause.condition) if clause.condition is not None else None
    return _when_of(clause.act, condition, _values(plan, clause))


def _when_of(act: Act, condition: exp.Expr | None, values: Mapping[str, exp.Expr]) -> exp.Expr:
    then: exp.Expr
    match act:
        case Act.DELETE:
            then = exp.Var(this="DELETE")
        case Act.UPDATE:
            pairs = [exp.EQ(this=column(TARGET, name), expression=tree) for name, tree in values.items()]
            then = exp.Update(expressions=pairs)
        case Act.INSERT:
            then = exp.Insert(
                this=exp.Tuple(expressions=[exp.column(identifier(name)) for name in values]),
                expression=exp.Tuple(expressions=list(values.values())),
            )
    return exp.When(matched=act is not Act.INSERT, condition=condition, then=then)


def _in_order(plan: ChangePlan) -> list[tuple[int, RewriteClause]]:
    """The clauses with their positions, as Spark's grammar wants them: inserts last, which changes nothing."""
    return sorted(enumerate(plan.clauses), key=lambda item: item[1].act is Act.INSERT)


def _merge(target: exp.Expr, source: exp.Expr, on: exp.Expr, whens: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Merge(this=target, using=_aliased(source, SOURCE), on=on, whens=exp.Whens(expressions=list(whens)))
