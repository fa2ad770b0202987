"""Lineage: which columns come from which, and OpenLineage events."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.channels.events import ChannelEvents
from snowmelt.features.connectors.events import ConnectorEvents
from snowmelt.features.lineage import functions as lineage
from snowmelt.features.lineage import recording
from snowmelt.features.lineage.events import RunEvents
from snowmelt.features.lineage.service import Lineage
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.run import Run
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction
from snowmelt.sql.statements.base import Statement


def _begin(account: Account) -> None:
    account.services.add(Lineage(account))
    tellers = account.services.add(RunEvents(account))
    account.at_close(tellers.close)
    account.lifecycle.column_renamed.subscribe(recording.column_renamed)
    events = account.events
    events.statement_started.subscribe(tellers.started)
    events.statement_finished.subscribe(tellers.finished)
    events.statement_failed.subscribe(tellers.failed)
    events.table_written.subscribe(tellers.wrote)
    events.table_reverted.subscribe(tellers.took_back)
    events.checks_ended.subscribe(tellers.checked)
    account.services[ChannelEvents].committing.subscribe(tellers.of_channels)
    account.services[ConnectorEvents].landing.subscribe(tellers.of_connector)


def _inside(run: Run, statement: Statement) -> None:
    run.lineage = run.account.services[Lineage].recorder.note(run, statement)


FEATURE = Feature(
    "lineage",
    system_functions={
        "SYSTEM$LINEAGE": SystemFunction(1, 3, types.VARCHAR, lineage.described),
    },
    core_functions=(TableFunction("GET_LINEAGE", lineage.ARGUMENTS, lineage.COLUMNS, lineage.get_lineage, required=3),),
    inside=_inside,
    begin=_begin,
)
