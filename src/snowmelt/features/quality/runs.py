"""The run in which a gate looks at a transaction's writes: with the rights of the table's owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from snowmelt.engine.model import Lane
from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.run import Run
from snowmelt.sql.dialect import identifier
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session

_POOL = "default"
_LIGHT_BYTES = 8 * 1024 * 1024
"""With more to look at, the code that Spark generates pays: there is a condition for each check."""


class GateRun(Run):
    """Works inside a transaction that somebody else begins and ends, and sees what it wrote."""

    def __init__(self, session: Session, transaction: Transaction | None, query_id: str | None) -> None:
        super().__init__(session, SqlText(""), query_id)
        self._statement_transaction = transaction
        self.autocommits = True

    @property
    def pool(self) -> str:
        """A gate belongs to the table, whoever writes: it waits for no warehouse."""
        return _POOL


@contextmanager
def gate_run(
    account: Account, table: CatalogObject, transaction: Transaction | None, query_id: str | None = None
) -> Iterator[GateRun]:
    name = table.name
    session = account.session(user="SYSTEM", role=table.owner, database=name.database, schema=name.schema)
    session.acts_as_owner = True
    run = GateRun(session, transaction, query_id)
    try:
        yield run
    finally:
        # The transaction is not the run's to end.
        run.remove_staged()
        session.close()


def fetched(run: GateRun, query: exp.Select) -> pa.Table:
    """The result of a query over what the run has views of."""
    run.check_cancelled()
    lane = Lane.LIGHT if run.input_bytes <= _LIGHT_BYTES else Lane.HEAVY
    return run.account.engine.to_arrow(
        query, list(run.tables.values()), lane=lane, tag=run.tag, pool=run.pool, inputs=run.inputs
    )


def derived(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(alias)))
