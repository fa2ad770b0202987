"""CREATE CONNECTOR and ALTER CONNECTOR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors, types
from snowmelt.core.names import quote
from snowmelt.features.connectors import declaring
from snowmelt.features.connectors.definitions import (
    CONNECTOR,
    ConnectorPhase,
    ConnectorState,
    definition_of,
)
from snowmelt.features.connectors.service import Connectors
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.connectors.statements import (
    AlterableOptions,
    AlterConnector,
    CheckConnector,
    ConfigureConnector,
    CreateConnector,
    TakeSnapshot,
)
from snowmelt.ingest.cdc.kafka.topics import connect_configuration
from snowmelt.ingest.cdc.kinds import kind_of
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, ResultColumn, status, table_result
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions
from snowmelt.sql.statements.warehouses import Resume, Suspend
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_CHECK_COLUMNS = tuple(ResultColumn(name, types.VARCHAR) for name in ("check", "status", "detail", "remedy"))

_CONFIGURATION_COLUMNS = (ResultColumn("configuration", types.VARCHAR),)


def create_connector(run: Run, statement: CreateConnector) -> Result:
    name = run.object_name(statement.name, "CREATE CONNECTOR")
    definition = declaring.definition_of(run, name, statement.options)
    with run.state.begin() as state:
        declaring.check_schemas(run, state, definition)
        existing = schema_objects.find(run, state, CONNECTOR, statement.name)
        if existing is not None and statement.if_not_exists:
            return status(f"{quote(name.name)} already exists, statement succeeded.", "CREATE_CONNECTOR")
        if existing is not None and not statement.or_replace:
            raise errors.already_exists(run.written(statement.name))
        if existing is not None:
            state.catalog.drop(existing.id, state.now)
        item = CatalogObject(
            id=new_id(),
            name=name,
            owner=run.session.role,
            comment=statement.options.comment,
            created_on=state.now,
            altered_on=state.now,
            definition=definition,
        )
        state.catalog.create(item)
        paused = bool(statement.options.initially_paused)
        phase = ConnectorPhase.PAUSED if paused else ConnectorPhase.STARTING
        state[ConnectorStandings].put(ConnectorState(connector_id=item.id, paused=paused, phase=phase))
    run.account.services[Connectors].wake()
    return status(f"Connector {quote(name.name)} successfully created.", "CREATE_CONNECTOR")


def alter_connector(run: Run, statement: AlterConnector) -> Result:
    done = status(DONE, "ALTER_CONNECTOR")
    found = schema_objects.to_alter(run, CONNECTOR, statement.name, if_exists=statement.if_exists)
    if found is None:
        return done
    match statement.action:
        case Suspend():
            _switch(run, found, paused=True)
        case Resume():
            _switch(run, found, paused=False)
        case TakeSnapshot(tables=tables):
            _order_snapshot(run, found, tables)
        case SetOptions(options=AlterableOptions() as options):
            _set(run, found, options)
        case UnsetOptions():
            schema_objects.alter(run, found, {}, uncomment=True)
        case _:
            raise errors.unsupported_action("CONNECTOR", statement.action)
    return done


def _switch(run: Run, connector: CatalogObject, *, paused: bool) -> None:
    """RESUME also gives one that failed another try."""
    phase = ConnectorPhase.PAUSED if paused else ConnectorPhase.STARTING
    with run.state.begin() as state:
        standing = state[ConnectorStandings].require(connector.id)
        resting = standing.phase in (ConnectorPhase.FAILED, ConnectorPhase.RETRYING)
        if standing.paused == paused and not (resting and not paused):
            return
        state[ConnectorStandings].put(standing.model_copy(update={"paused": paused, "phase": phase, "error": None}))
    run.account.services[Connectors].wake()


def _order_snapshot(run: Run, connector: CatalogObject, tables: tuple[str, ...]) -> None:
    definition = definition_of(connector)
    wanted = declaring.checked_tables(tables, definition.type, definition.database)
    unknown = [table for table in wanted if table not in definition.tables]
    if unknown:
        raise errors.invalid_value(unknown[0], "TABLES")
    with run.state.begin() as state:
        standing = state[ConnectorStandings].require(connector.id)
        request = standing.snapshot_request + 1
        state[ConnectorStandings].put(
            standing.model_copy(update={"snapshot_request": request, "requested_tables": wanted})
        )
    run.account.services[Connectors].wake()


def _set(run: Run, connector: CatalogObject, options: AlterableOptions) -> None:
    changes = declaring.changes_of(options, definition_of(connector))
    schema_objects.alter(run, connector, changes, comment=options.comment)
    run.account.services[Connectors].restart(connector.id)


def check_connector(run: Run, statement: CheckConnector) -> Result:
    with run.state.read() as state:
        connector = schema_objects.require(run, state, CONNECTOR, statement.name)
    source = declaring.source_of(run.account, definition_of(connector))
    findings = kind_of(source).check(source)
    rows = [(item.check, item.status.value, item.detail, item.remedy or None) for item in findings]
    return table_result(_CHECK_COLUMNS, rows)


def configure_connector(run: Run, statement: ConfigureConnector) -> Result:
    with run.state.read() as state:
        connector = schema_objects.require(run, state, CONNECTOR, statement.name)
    definition = definition_of(connector)
    topics = declaring.topics_of(run.account, definition)
    text = connect_configuration(topics.prefix, declaring.source_of(run.account, definition), topics)
    return table_result(_CONFIGURATION_COLUMNS, [(text,)])
