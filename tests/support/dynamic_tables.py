"""Dynamic tables as the state store knows them."""

from __future__ import annotations

from snowmelt.runtime.session import Session


def table_id(session: Session, name: str) -> str:
    """Of a table in the schema PUBLIC of the session's database: the account has those of other tests, too."""
    full_name = f"{session.database}.PUBLIC.{name}"
    with session.account.state.read() as state:
        return next(
            id for id in state.dynamic.all()
            if (table := state.catalog.by_id(id)) is not None and str(table.name) == full_name
        )  # fmt: skip
