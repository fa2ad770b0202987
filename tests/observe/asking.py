"""INFORMATION_SCHEMA's table functions without the Spark that a query over them would start."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.service.metadata.columns import Row
from snowmelt.service.run import Run
from snowmelt.service.session import Session
from snowmelt.service.table_functions import FUNCTIONS, Arguments
from snowmelt.sql.tokens import SqlText


def rows_of(session: Session, function: str, **arguments: str) -> list[Row]:
    """As TABLE(INFORMATION_SCHEMA.function(argument => value)) has them."""
    known, run = FUNCTIONS[function], Run(session, SqlText(""))
    given = {name.upper(): exp.Literal.string(text) for name, text in arguments.items()}
    with session.account.state.read() as state:
        return known.rows(run, state, Arguments(run, known, given))
