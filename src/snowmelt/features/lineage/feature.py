"""Lineage: which columns come from which, and OpenLineage events."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.lineage.writes import writes_rows
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.run import Run
from snowmelt.sql.statements.base import Statement

with lazy_imports():
    from snowmelt.features.lineage import events as run_events
    from snowmelt.features.lineage import service, sql_functions
    from snowmelt.features.lineage.recording import column_renamed, forget


def _begin(account: Account) -> None:
    account.services.offer(service, "Lineage", account)
    tellers = account.services.offer(run_events, "RunEvents", account)
    account.lifecycle.column_renamed.subscribe(column_renamed)
    account.lifecycle.purged.subscribe(forget)
    if account.settings.openlineage is not None:
        account.at_close(tellers.close)


def _inside(run: Run, statement: Statement) -> None:
    if writes_rows(statement):
        run.lineage = run.account.services[service.Lineage].recorder.note(run, statement)


FEATURE = Feature(
    "lineage",
    functions=lambda: sql_functions.FUNCTIONS,
    inside=_inside,
    begin=_begin,
)
