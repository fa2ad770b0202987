"""Small parts of FROM: time travel, CHANGES, named arguments, names of tables, joins in parentheses."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import identifier
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.relations import ChangeSpan, TimeTravel
from snowmelt.sql.variants import from_result_text


@dataclass(slots=True)
class LiftedColumns:
    """Expressions of a FROM item that becomes a query of its own, and how they are called outside of it."""

    alias: str
    projections: list[exp.Expr] = field(default_factory=list)

    def __call__(self, tree: exp.Expr, type_: DataType) -> exp.Expr:
        key = f"c{len(self.projections) + 1}"
        self.projections.append(typed(exp.alias_(tree.copy(), identifier(key)), type_))
        return typed(exp.column(identifier(key), table=identifier(self.alias)), type_)


def with_variants(reference: exp.Expr, columns: list[tuple[str, str, DataType]]) -> exp.Expr:
    """The relation with its JSON texts parsed."""
    projections = []
    for _, key, type_ in columns:
        value = exp.column(identifier(key))
        parsed = from_result_text(value) if type_.is_semi_structured else value
        projections.append(exp.alias_(parsed, identifier(key)))
    return exp.Subquery(this=exp.select(*projections).from_(reference))


def change_span(node: exp.Expr) -> ChangeSpan | None:
    changes = node.args.get("changes")
    if changes is None:
        return None
    information = changes.args["information"].name.upper()
    start = time_travel(changes.args.get("at_before"))
    if information not in ("DEFAULT", "APPEND_ONLY"):
        raise errors.invalid_value(information, "INFORMATION")
    if start is None:
        raise errors.compilation("001003", "42000", "CHANGES needs AT or BEFORE behind it.")
    return ChangeSpan(information == "APPEND_ONLY", start, time_travel(changes.args.get("end")))


def time_travel(when: exp.Expr | None) -> TimeTravel | None:
    if when is None:
        return None
    return TimeTravel(
        before=str(when.this).upper() == "BEFORE",
        kind=str(when.args["kind"]).upper(),
        expression=when.expression,
    )


def named_arguments(call: exp.Anonymous) -> dict[str, exp.Expr]:
    arguments: dict[str, exp.Expr] = {}
    for index, argument in enumerate(call.expressions):
        if isinstance(argument, exp.Kwarg | exp.PropertyEQ):
            arguments[argument.this.name.upper()] = argument.expression
        else:
            arguments[str(index)] = argument
    return arguments


def parts_of(node: exp.Expr) -> tuple[str, ...]:
    """The name of a table, by which its columns may be called where it has no alias."""
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        return tuple(fold_identifier(part) for part in node.parts)
    return ()


def ungrouped(node: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """The first item of a FROM clause or of a join in parentheses, and the joins behind it."""
    joins: list[exp.Join] = list(node.args.get("joins") or [])
    inside = node.this if isinstance(node, exp.Subquery) and not node.args.get("match") else None
    if isinstance(inside, exp.Table | exp.Subquery | exp.Values | exp.Lateral):
        only(node, "this", "joins")
        first, inner = ungrouped(inside)
        return first, [*inner, *joins]
    return node, joins
