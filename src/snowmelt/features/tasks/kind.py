"""The kind TASK: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.tasks import rights
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
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.tasks import listing, records
    from snowmelt.features.tasks.changing import dropped
    from snowmelt.features.tasks.commands import alter_task, create_task, execute_task
    from snowmelt.features.tasks.ddl import ddl, in_order
    from snowmelt.features.tasks.listing import described, tasks


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
    privileges=rights.PRIVILEGES,
    rules=rights.rules(TASK),
    requests=rights.requests(TASK, CreateTask, AlterTask, ExecuteTask),
    account_privileges={"EXECUTE MANAGED TASK": ACCOUNTADMIN, "EXECUTE TASK": ACCOUNTADMIN},
    before_drop=dropped,
    forget=lambda state, item: state[records.TaskRecords].delete_for(item.id),
    has_history=True,
    in_projects=InProjects(statement=CreateTask, drop_order=30, is_altered=True),
)
