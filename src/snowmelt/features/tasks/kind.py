"""The kind TASK: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.tasks.definitions import TASK, TaskDefinition
from snowmelt.features.tasks.statements import (
    AlterTask,
    CreateTask,
    ExecuteTask,
    parse_alter_task,
    parse_create_task,
    parse_execute_task,
)
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
    from snowmelt.features.tasks import listing, records
    from snowmelt.features.tasks.changing import dropped
    from snowmelt.features.tasks.commands import alter_task, create_task, execute_task
    from snowmelt.features.tasks.ddl import ddl, in_order
    from snowmelt.features.tasks.listing import described, tasks


def _create(statement: CreateTask) -> Request:
    rule = "CREATE TASK" if statement.clone is None else "CREATE TASK CLONE"
    return created(rule, TASK, statement, source_of(TASK, statement.clone), statement.options.warehouse)


def _alter(statement: AlterTask) -> Request:
    rule = "ALTER TASK OPERATE" if isinstance(statement.action, SWITCHES) else "ALTER TASK"
    return Request(rule, Named(TASK, statement.name), is_run=isinstance(statement.action, Resume))


def _execute(statement: ExecuteTask) -> Request:
    return Request("EXECUTE TASK", Named(TASK, statement.name), is_run=True)


KIND = KindDescription(
    syntax=KindSyntax(
        TASK,
        CreateRule(parse_create_task, or_alter=True),
        parse_alter_task,
        {
            CreateTask: base.ddl("CREATE_TASK"),
            AlterTask: base.ddl("ALTER_TASK"),
            ExecuteTask: base.ddl("EXECUTE_TASK"),
        },
        execute=parse_execute_task,
        is_described=True,
    ),
    noun="Task",
    definition=TaskDefinition,
    handlers={CreateTask: create_task, AlterTask: alter_task, ExecuteTask: execute_task},
    listing=Listing(tasks),
    columns=lambda: listing.COLUMNS,
    terse=lambda: listing.TERSE,
    describe=lambda run, state, item: (listing.COLUMNS, [described(state, item)]),
    ddl=ddl,
    script_order=90,
    in_order=in_order,
    privileges=("OPERATE", "MONITOR"),
    rules={
        "CREATE TASK": ask_creator(TASK, WAREHOUSE_USAGE),
        "CREATE TASK CLONE": ask_creator(TASK, ask(Subject.SOURCE, OWNERSHIP)),
        "ALTER TASK": ask_owner(),
        "ALTER TASK OPERATE": (ask(Subject.TARGET, "OPERATE"),),
        "EXECUTE TASK": (ask(Subject.TARGET, "OPERATE"),),
    },
    requests={CreateTask: _create, AlterTask: _alter, ExecuteTask: _execute},
    account_privileges={"EXECUTE MANAGED TASK": ACCOUNTADMIN, "EXECUTE TASK": ACCOUNTADMIN},
    before_drop=dropped,
    forget=lambda state, item: state[records.TaskRecords].delete_for(item.id),
    has_history=True,
    in_projects=InProjects(statement=CreateTask, drop_order=30, is_altered=True),
)
