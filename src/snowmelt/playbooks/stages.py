"""Dynamic tables that a playbook creates, held against what experience warns of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import split_name
from snowmelt.playbooks.inputs import InputValue
from snowmelt.playbooks.model import Playbook, Problem
from snowmelt.playbooks.templates import filled
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements

_MANY_JOINS = 5


def stage_warnings(playbook: Playbook, samples: Mapping[str, InputValue]) -> Iterator[Problem]:
    """Time lags on intermediates, SELECT *, and one massive dynamic table."""
    # Every input has a name of its own here, so that it can be told who reads whom.
    values = {name: _distinct(name, value) for name, value in samples.items()}
    stages = list(_stages(playbook, values))
    for line, statement, query in stages:
        if any(map(_takes_whatever_comes, query.find_all(exp.Select))):
            yield Problem(
                line, "SELECT * in a stage: a new column of the source changes its meaning; name columns", True
            )
        if len(list(query.find_all(exp.Join))) >= _MANY_JOINS:
            yield Problem(line, "one massive dynamic table: split it into stages (clean, enrich, aggregate)", True)
        lag = statement.options.target_lag
        read = any(_names(statement) in _tables(other) for _, reader, other in stages if reader is not statement)
        if read and lag is not None and lag.seconds is not None:
            yield Problem(
                line, "a time lag on an intermediate table: use TARGET_LAG = DOWNSTREAM, and a time on the leaf", True
            )


def _takes_whatever_comes(select: exp.Select) -> bool:
    """SELECT * of a table. Over a query alone, as SCD tables have it, the query decides, and is judged itself."""
    source = select.args.get("from_")
    named_inside = source is not None and isinstance(source.this, exp.Subquery) and not select.args.get("joins")
    return not named_inside and any(isinstance(item, exp.Star) for item in select.expressions)


def _distinct(name: str, value: InputValue) -> InputValue:
    if not value.parts:
        return value
    upper = name.upper()
    return InputValue(upper, upper, upper, {**value.parts, "name": upper})


def _stages(playbook: Playbook, values: Mapping[str, InputValue]) -> Iterator[tuple[int, CreateDynamicTable, exp.Expr]]:
    for step in playbook.steps:
        for sql in step.sql:
            try:
                for text in split_statements(filled(sql.text, values)):
                    statement = parse_statement(text)
                    if isinstance(statement, CreateDynamicTable) and statement.query is not None:
                        yield sql.line + text.line - 1, statement, parse_snowflake(statement.query.text)
            except (SnowmeltError, ValueError, KeyError):
                # Lint says elsewhere what is wrong with it.
                continue


def _names(statement: CreateDynamicTable) -> str:
    return statement.name.parts[-1]


def _tables(query: exp.Expr) -> set[str]:
    return {(split_name(table.name) or (table.name,))[-1] for table in query.find_all(exp.Table)}
