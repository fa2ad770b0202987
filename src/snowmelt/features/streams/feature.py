"""Streams: the changes of a table since they were last consumed."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.streams import offsets
from snowmelt.features.streams.kind import KIND
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.run import Run
from snowmelt.sql.statements.base import Statement

with lazy_imports():
    from snowmelt.features.streams import service, sql_functions


def _begin(account: Account) -> None:
    account.changes = account.services.offer(service, "Streams", account)


def _inside(run: Run, statement: Statement) -> None:
    offsets.consume(run)


FEATURE = Feature(
    "streams",
    functions=lambda: sql_functions.FUNCTIONS,
    kinds=(KIND,),
    inside=_inside,
    begin=_begin,
)
