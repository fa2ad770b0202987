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
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.kinds import InProjects, KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import (
    OWNERSHIP,
    SWITCHES,
    WAREHOUSE_USAGE,
    Named,
    Request,
    Subject,
    ask,
    ask_creator,
    ask_owner,
    created,
    source_of,
)
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.sql.statements import base
from snowmelt.sql.statements.heads import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax
from snowmelt.sql.statements.warehouses import Resume

with lazy_imports():
    from snowmelt.features.alerts import listing
    from snowmelt.features.alerts.changing import dropped
    from snowmelt.features.alerts.commands import alter_alert, create_alert, execute_alert
    from snowmelt.features.alerts.listing import alerts, ddl, described


def _create(statement: CreateAlert) -> Request:
    rule = "CREATE ALERT" if statement.clone is None else "CREATE ALERT CLONE"
    return created(rule, ALERT, statement, source_of(ALERT, statement.clone), statement.options.warehouse)


def _alter(statement: AlterAlert) -> Request:
    rule = "ALTER ALERT OPERATE" if isinstance(statement.action, SWITCHES) else "ALTER ALERT"
    return Request(rule, Named(ALERT, statement.name), is_run=isinstance(statement.action, Resume))


def _execute(statement: ExecuteAlert) -> Request:
    return Request("EXECUTE ALERT", Named(ALERT, statement.name), is_run=True)


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
    privileges=("OPERATE", "MONITOR"),
    rules={
        "CREATE ALERT": ask_creator(ALERT, WAREHOUSE_USAGE),
        "CREATE ALERT CLONE": ask_creator(ALERT, ask(Subject.SOURCE, OWNERSHIP)),
        "ALTER ALERT": ask_owner(),
        "ALTER ALERT OPERATE": (ask(Subject.TARGET, "OPERATE"),),
        "EXECUTE ALERT": (ask(Subject.TARGET, "OPERATE"),),
    },
    requests={CreateAlert: _create, AlterAlert: _alter, ExecuteAlert: _execute},
    account_privileges={"EXECUTE ALERT": ACCOUNTADMIN},
    before_drop=dropped,
    forget=lambda state, item: state[TaskRecords].delete_for(item.id),
    has_history=True,
    in_projects=InProjects(statement=CreateAlert, drop_order=20, is_altered=True),
)
