"""The kind ALERT: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.alerts.definitions import ALERT, AlertDefinition
from snowmelt.features.alerts.statements import (
    AlterAlert,
    CreateAlert,
    ExecuteAlert,
    parse_alter_alert,
    parse_create_alert,
    parse_execute_alert,
)
from snowmelt.features.tasks import rights
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.kinds import InProjects, KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.alerts import listing
    from snowmelt.features.alerts.changing import dropped
    from snowmelt.features.alerts.commands import alter_alert, create_alert, execute_alert
    from snowmelt.features.alerts.listing import alerts, ddl, described


KIND = KindDescription(
    syntax=KindSyntax(
        ALERT,
        CreateRule(parse_create_alert, or_alter=True),
        parse_alter_alert,
        {
            CreateAlert: base.ddl("CREATE_ALERT"),
            AlterAlert: base.ddl("ALTER_ALERT"),
            ExecuteAlert: base.ddl("EXECUTE_ALERT"),
        },
        execute=parse_execute_alert,
        is_described=True,
    ),
    noun="Alert",
    definition=AlertDefinition,
    handlers={CreateAlert: create_alert, AlterAlert: alter_alert, ExecuteAlert: execute_alert},
    listing=Listing(alerts),
    columns=lambda: listing.COLUMNS,
    terse=lambda: listing.TERSE,
    describe=described,
    ddl=ddl,
    script_order=100,
    privileges=rights.PRIVILEGES,
    rules=rights.rules(ALERT),
    requests=rights.requests(ALERT, CreateAlert, AlterAlert, ExecuteAlert),
    account_privileges={"EXECUTE ALERT": ACCOUNTADMIN},
    before_drop=dropped,
    forget=lambda state, item: state[TaskRecords].delete_for(item.id),
    has_history=True,
    in_projects=InProjects(statement=CreateAlert, drop_order=20, is_altered=True),
)
