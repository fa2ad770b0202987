"""INFORMATION_SCHEMA's table functions without the Spark that a query over them would start."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.runtime.table_functions import Arguments
from snowmelt.sql.tokens import SqlText


def rows_of(session: Session, function: str, **arguments: str) -> list[Row]:
    """As TABLE(INFORMATION_SCHEMA.function(argument => value)) has them."""
    known, run = session.account.features.table_functions[function], Run(session, SqlText(""))
    given = {name.upper(): exp.Literal.string(text) for name, text in arguments.items()}
    with session.account.state.read() as state:
        return known.rows(run, state, Arguments(run, known, given))
