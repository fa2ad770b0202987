"""CREATE, ALTER and EXPLAIN of dynamic tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.dynamic_tables import altering, creating, dimensions, landing, or_altering
from snowmelt.features.dynamic_tables import errors as refresh_errors
from snowmelt.features.dynamic_tables.explaining import explain
from snowmelt.features.dynamic_tables.group import refresh_graph
from snowmelt.features.dynamic_tables.recording import RefreshOutcome
from snowmelt.runtime.metadata.columns import EPOCH
from snowmelt.runtime.results import DONE, Result, ResultColumn, kept, status, table_result
from snowmelt.runtime.rights.plans import explained
from snowmelt.sql.statements.dynamic_tables import (
    AlterDynamicTable,
    CreateDynamicTable,
    ExplainDynamicTable,
    Refresh,
)
from snowmelt.state.dynamic_model import RefreshAction, RefreshState, RefreshTrigger
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_CREATE = "CREATE_DYNAMIC_TABLE"
_REFRESHED = (
    ResultColumn("refreshed_dynamic_table", types.VARCHAR),
    ResultColumn("statistics", types.VARCHAR),
    ResultColumn("data_timestamp", types.TIMESTAMP_LTZ),
)
_NOTHING_NEW = "No new data"


def create_dynamic_table(run: Run, statement: CreateDynamicTable) -> Result:
    name = run.object_name(statement.name, "CREATE DYNAMIC TABLE")
    found = creating.existing(run, name)
    if found is not None and statement.if_not_exists:
        return kept(name.name, _CREATE)
    if found is not None and not statement.or_replace and not statement.or_alter:
        raise errors.already_exists(run.written(statement.name))
    if statement.dimension is None:
        return _create(run, name, found, statement)
    with dimensions.expanded(run, name, found, statement, statement.dimension) as full:
        return _create(run, name, found, full)


def _create(run: Run, name: ObjectName, found: CatalogObject | None, statement: CreateDynamicTable) -> Result:
    if statement.clone is not None:
        creating.clone(run, name, statement)
    elif found is not None:
        return _change(run, found, statement)
    else:
        creating.create(run, name, statement)
    return status(f"Dynamic table {quote(name.name)} successfully created.", _CREATE)


def _change(run: Run, found: CatalogObject, statement: CreateDynamicTable) -> Result:
    """OR ALTER and OR REPLACE: the result says what happened to the rows."""
    done = f"Dynamic table {quote(found.name.name)} successfully {'altered' if statement.or_alter else 'created'}."
    try:
        if statement.or_alter:
            later = or_altering.or_alter(run, found, statement)
        else:
            later = or_altering.or_replace(run, found, statement)
    except or_altering.CannotKeepError as why:
        creating.create(run, found.name, statement, str(why))
        later = f" It was re-initialised: {why}."
    from_stream = statement.dimension is not None and statement.dimension.stream is not None
    if landing.landing_of(found) is not None and not from_stream:
        with run.state.begin() as state:
            landing.dropped(state, found)
    return status(done + later, _CREATE)


def alter_dynamic_table(run: Run, statement: AlterDynamicTable) -> Result:
    tables = []
    for name in statement.names:
        table = altering.find(run, name)
        if table is None:
            if not statement.if_exists:
                raise errors.not_found("Dynamic table", str(run.object_name(name)))
            continue
        tables.append(table)
    if not tables:
        return status(DONE, "ALTER_DYNAMIC_TABLE")
    action = statement.actions[0]
    if isinstance(action, Refresh):
        return _refresh(run, [table.id for table in tables], as_caller=action.copy_session)
    altering.alter(run, tables[0], statement.actions)
    return status(DONE, "ALTER_DYNAMIC_TABLE")


def _refresh(run: Run, ids: list[str], *, as_caller: bool) -> Result:
    """All of them, and everything above, at one data timestamp."""
    if run.session.transaction is not None:
        raise refresh_errors.refresh_in_transaction()
    outcomes = refresh_graph(run.account, ids, RefreshTrigger.MANUAL, caller=run, as_caller=as_caller)
    for id in ids:
        if not outcomes[id].succeeded:
            raise _failure(outcomes[id])
    rows = [[str(outcomes[id].name), _statistics(outcomes[id]), outcomes[id].data_timestamp] for id in ids]
    return table_result(_REFRESHED, rows, statement_type="REFRESH_DYNAMIC_TABLE")


def _failure(outcome: RefreshOutcome) -> SnowmeltError:
    error = outcome.error
    assert error is not None
    if outcome.state in (RefreshState.UPSTREAM_FAILED, RefreshState.CANCELLED):
        return error
    instant = outcome.data_timestamp - EPOCH
    failed = refresh_errors.refresh_failed("MANUAL", round(instant.total_seconds() * 1000), error.message)
    failed.hint, failed.transient = error.hint, error.transient
    failed.__cause__ = error
    return failed


def _statistics(outcome: RefreshOutcome) -> str:
    if outcome.action is RefreshAction.NO_DATA:
        return _NOTHING_NEW
    counted = {"insertedRows": outcome.rows_inserted, "copiedRows": 0, "deletedRows": outcome.rows_deleted}
    return json.dumps(counted, separators=(",", ":"))


def explain_dynamic_table(run: Run, statement: ExplainDynamicTable) -> Result:
    return replace(explained(run, explain(run, statement)), statement_type="EXPLAIN")
