"""The kind DYNAMIC TABLE: all that the runtime has to know of it besides its being a table."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.kinds import InProjects, StatementGroup, TableKind
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import (
    SWITCHES,
    WAREHOUSE_USAGE,
    Named,
    RightsRequest,
    Subject,
    altered,
    ask,
    ask_creator,
    ask_owner,
    created,
    source_of,
)
from snowmelt.sql.statements import base, changes
from snowmelt.sql.statements.base import Action, ObjectType, StatementKind
from snowmelt.sql.statements.dynamic_tables import (
    CREATE_DYNAMIC_TABLE,
    AlterDynamicTable,
    CreateDynamicTable,
    ExplainDynamicTable,
    Refresh,
    parse_alter_dynamic_table,
    parse_explain_dynamic_table,
)
from snowmelt.sql.statements.kinds import KindSyntax, StatementSyntax
from snowmelt.sql.statements.scd import CREATE_SCD_TABLE

with lazy_imports():
    from snowmelt.features.dynamic_tables import listing
    from snowmelt.features.dynamic_tables.commands import (
        alter_dynamic_table,
        create_dynamic_table,
        explain_dynamic_table,
    )
    from snowmelt.features.dynamic_tables.listing import dynamic_tables

_KIND = ObjectType.DYNAMIC_TABLE
_OPERATED = frozenset({"TARGET_LAG", "WAREHOUSE", "SCHEDULER", "INITIALIZATION_WAREHOUSE"})


def _classify_alter(statement: AlterDynamicTable) -> StatementKind:
    """A refresh is a transaction of its own for each table, and refused inside one."""
    refreshing = isinstance(statement.actions[0], Refresh)
    return StatementKind("REFRESH_DYNAMIC_TABLE") if refreshing else base.ddl("ALTER_DYNAMIC_TABLE")


def _create(statement: CreateDynamicTable) -> RightsRequest:
    rule = "CREATE DYNAMIC TABLE" if statement.clone is None else "CREATE DYNAMIC TABLE CLONE"
    return created(rule, _KIND, statement, source_of(_KIND, statement.clone), statement.options.warehouse)


def _alter(statement: AlterDynamicTable) -> list[RightsRequest]:
    operates = all(map(_operates, statement.actions))
    rule = "ALTER DYNAMIC TABLE OPERATE" if operates else "ALTER DYNAMIC TABLE"
    return [altered(rule, _KIND, name, statement.actions[0]) for name in statement.names]


def _operates(action: Action) -> bool:
    """Whether OPERATE is enough for a change."""
    if isinstance(action, changes.SetOptions):
        return set(action.options.given()) <= _OPERATED
    return isinstance(action, (*SWITCHES, Refresh))


def _explain(statement: ExplainDynamicTable) -> Iterator[RightsRequest]:
    if statement.name is not None:
        yield RightsRequest("EXPLAIN DYNAMIC TABLE", Named(_KIND, statement.name))


KIND = TableKind(
    syntax=KindSyntax(
        _KIND,
        CREATE_DYNAMIC_TABLE,
        parse_alter_dynamic_table,
        {CreateDynamicTable: base.ddl("CREATE_DYNAMIC_TABLE"), AlterDynamicTable: _classify_alter},
        also_created={"SCD": CREATE_SCD_TABLE},
        is_described=True,
        is_undropped=True,
        has_history=True,
    ),
    noun="Dynamic table",
    handlers={CreateDynamicTable: create_dynamic_table, AlterDynamicTable: alter_dynamic_table},
    listing=Listing(dynamic_tables),
    columns=lambda: listing.COLUMNS,
    privileges=("SELECT", "OPERATE", "MONITOR"),
    rules={
        "CREATE DYNAMIC TABLE": ask_creator("DYNAMIC TABLE", WAREHOUSE_USAGE),
        "CREATE DYNAMIC TABLE CLONE": ask_creator("DYNAMIC TABLE", ask(Subject.SOURCE, "SELECT")),
        "ALTER DYNAMIC TABLE": ask_owner(),
        "ALTER DYNAMIC TABLE OPERATE": (ask(Subject.TARGET, "OPERATE"),),
    },
    requests={CreateDynamicTable: _create, AlterDynamicTable: _alter},
    is_renamed=True,
    in_projects=InProjects(statement=CreateDynamicTable, drop_order=60),
)

EXPLAIN = StatementGroup(
    syntax=StatementSyntax(
        {"EXPLAIN DYNAMIC TABLE": parse_explain_dynamic_table}, {ExplainDynamicTable: StatementKind("EXPLAIN")}
    ),
    handlers={ExplainDynamicTable: explain_dynamic_table},
    rules={"EXPLAIN DYNAMIC TABLE": (ask(Subject.TARGET, "MONITOR"),)},
    requests={ExplainDynamicTable: lambda statement: tuple(_explain(statement))},
)
