"""Streams: the changes of a table since they were last consumed."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.streams import offsets
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.run import Run
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.streams import AlterStream, CreateStream

with lazy_imports():
    from snowmelt.features.streams import service, sql_functions
    from snowmelt.features.streams.cloned import add
    from snowmelt.features.streams.commands import alter_stream, create_stream


def _begin(account: Account) -> None:
    account.lifecycle.stream_cloned.subscribe(add)
    account.changes = account.services.offer(service, "Streams", account)


def _inside(run: Run, statement: Statement) -> None:
    offsets.consume(run)


FEATURE = Feature(
    "streams",
    functions=lambda: sql_functions.FUNCTIONS,
    handlers={CreateStream: create_stream, AlterStream: alter_stream},
    inside=_inside,
    begin=_begin,
)
