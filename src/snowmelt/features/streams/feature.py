"""Streams: the changes of a table since they were last consumed."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.streams import functions, offsets
from snowmelt.features.streams.kind import KIND
from snowmelt.features.streams.service import Streams
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.run import Run
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.sql.statements.base import Statement


def _begin(account: Account) -> None:
    account.changes = account.services.add(Streams(account))


def _inside(run: Run, statement: Statement) -> None:
    offsets.consume(run)


FEATURE = Feature(
    "streams",
    kinds=(KIND,),
    system_functions={
        "SYSTEM$STREAM_GET_TABLE_TIMESTAMP": SystemFunction(1, 1, types.INTEGER, functions.table_timestamp),
        "SYSTEM$STREAM_HAS_DATA": SystemFunction(1, 1, types.BOOLEAN, functions.has_data),
    },
    inside=_inside,
    begin=_begin,
)
