"""The kind CONNECTOR: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.connectors.definitions import CONNECTOR, ConnectorDefinition
from snowmelt.features.connectors.statements import (
    AlterConnector,
    CheckConnector,
    ConfigureConnector,
    CreateConnector,
    TakeSnapshot,
    parse_alter_connector,
    parse_create_connector,
)
from snowmelt.runtime.kinds import InProjects, KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import SWITCHES, Named, RightsRequest, Subject, ask, ask_creator, ask_owner, created
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.connectors import listing, service, standings
    from snowmelt.features.connectors.commands import (
        alter_connector,
        check_connector,
        configure_connector,
        create_connector,
    )
    from snowmelt.features.connectors.ddl import ddl
    from snowmelt.features.connectors.listing import connectors, described


def _alter(statement: AlterConnector) -> RightsRequest:
    operates = isinstance(statement.action, (*SWITCHES, TakeSnapshot))
    return RightsRequest("ALTER CONNECTOR OPERATE" if operates else "ALTER CONNECTOR", Named(CONNECTOR, statement.name))


def _check(statement: CheckConnector | ConfigureConnector) -> RightsRequest:
    return RightsRequest("CHECK CONNECTOR", Named(CONNECTOR, statement.name))


KIND = KindDescription(
    syntax=KindSyntax(
        CONNECTOR,
        CreateRule(parse_create_connector),
        parse_alter_connector,
        {
            CreateConnector: base.ddl("CREATE_CONNECTOR"),
            AlterConnector: base.ddl("ALTER_CONNECTOR"),
            CheckConnector: base.StatementKind("CHECK_CONNECTOR"),
            ConfigureConnector: base.StatementKind("CONFIGURE_CONNECTOR"),
        },
        is_described=True,
        shown_as=("CONNECTIONS",),
    ),
    noun="Connector",
    definition=ConnectorDefinition,
    handlers={
        CreateConnector: create_connector,
        AlterConnector: alter_connector,
        CheckConnector: check_connector,
        ConfigureConnector: configure_connector,
    },
    listing=Listing(connectors),
    columns=lambda: listing.COLUMNS,
    describe=lambda run, state, item: (listing.COLUMNS, [described(state, item)]),
    ddl=ddl,
    script_order=110,
    privileges=("OPERATE", "MONITOR"),
    rules={
        "CREATE CONNECTOR": ask_creator(CONNECTOR),
        "ALTER CONNECTOR": ask_owner(),
        "ALTER CONNECTOR OPERATE": (ask(Subject.TARGET, "OPERATE"),),
        "CHECK CONNECTOR": (ask(Subject.TARGET, "MONITOR", "OPERATE"),),
    },
    requests={
        CreateConnector: lambda statement: created("CREATE CONNECTOR", CONNECTOR, statement),
        AlterConnector: _alter,
        CheckConnector: _check,
        ConfigureConnector: _check,
    },
    # Two would fight for one slot.
    is_cloned=False,
    leads_out=True,
    after_drop=lambda run, item: run.account.services[service.Connectors].wake(),
    forget=lambda state, item: state[standings.ConnectorStandings].delete_for(item.id),
    in_projects=InProjects(statement=CreateConnector, drop_order=10, is_fixed=True),
)
