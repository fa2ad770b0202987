"""What each statement is about, in the words of the rules: a rule, and the names that it is asked for on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from snowmelt.sql.statements import (
    alerts,
    alter_table,
    changes,
    connectors,
    contracts,
    copy,
    data_products,
    databases_schemas,
    dml,
    dynamic_tables,
    file_formats,
    quality,
    routines,
    sequences,
    session,
    stages,
    streams,
    tables,
    tags,
    tasks,
    users_roles,
    views,
    warehouses,
)
from snowmelt.sql.statements.base import CloneSource, NameRef, ObjectType, Statement
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class Named:
    """Something that a statement mentions."""

    kind: ObjectType
    name: NameRef
    arguments: tuple[SqlText, ...] | None = None
    dropped: bool = False
    """UNDROP means the one that was dropped last."""
    of_column: bool = False
    """The name's last part is a column."""


@dataclass(frozen=True, slots=True)
class Request:
    rule: str
    target: Named | None = None
    replaced: Named | None = None
    created: Named | None = None
    """What gets a name: its schema or database is asked."""
    source: Named | None = None
    warehouse: NameRef | None = None


def requests(statement: Statement) -> Iterator[Request]:
    """All that the statement asks for; nothing for one that anybody may run."""
    for family in _FAMILIES:
        yield from family(statement)


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(statement: Statement) -> Iterator[Request]:
    match statement:
        case dml.InsertStatement(target=name, overwrite=overwrite):
            yield Request("INSERT OVERWRITE" if overwrite else "INSERT", _table(name))
        case dml.UpdateStatement(target=name):
            yield Request("UPDATE", _table(name))
        case dml.DeleteStatement(target=name):
            yield Request("DELETE", _table(name))
        case dml.MergeStatement(target=name, clauses=clauses):
            for clause in clauses:
                yield Request(_MERGES[type(clause)], _table(name))
        case copy.CopyIntoTable(target=name):
            yield Request("COPY INTO TABLE", _table(name))
        case copy.CopyIntoLocation(table=NameRef() as name):
            yield Request("COPY INTO LOCATION", source=_table(name))
        case tables.Truncate(name=name):
            yield Request("TRUNCATE TABLE", _table(name))


_MERGES: dict[type, str] = {
    dml.MatchedUpdate: "MERGE UPDATE",
    dml.MatchedDelete: "MERGE DELETE",
    dml.NotMatchedInsert: "MERGE INSERT",
}


def _table(name: NameRef) -> Named:
    return Named(ObjectType.TABLE, name)


# -- creating ----------------------------------------------------------------------------------------------------------


def _creating(statement: Statement) -> Iterator[Request]:
    match statement:
        case tables.CreateTable(temporary=True):
            yield _created("CREATE TEMPORARY", ObjectType.TABLE, statement)
            if statement.clone is not None or statement.like is not None:
                yield Request("COPY INTO LOCATION", source=_source(ObjectType.TABLE, statement.clone, statement.like))
        case tables.CreateTable(clone=clone, like=like):
            word = " CLONE" if clone is not None else " LIKE" if like is not None else ""
            yield _created(f"CREATE TABLE{word}", ObjectType.TABLE, statement, _source(ObjectType.TABLE, clone, like))
        case views.CreateView(temporary=temporary):
            yield _created("CREATE TEMPORARY" if temporary else "CREATE VIEW", ObjectType.VIEW, statement)
        case dynamic_tables.CreateDynamicTable(clone=clone):
            kind = ObjectType.DYNAMIC_TABLE
            word = "" if clone is None else " CLONE"
            yield _created(
                f"CREATE DYNAMIC TABLE{word}", kind, statement, _source(kind, clone), statement.options.warehouse
            )
        case streams.CreateStream(clone=clone, source=source):
            kind = ObjectType.TABLE if clone is None else ObjectType.STREAM
            yield _created("CREATE STREAM", ObjectType.STREAM, statement, _source(kind, clone, source))
        case tasks.CreateTask(clone=clone):
            word = "" if clone is None else " CLONE"
            kind = ObjectType.TASK
            yield _created(f"CREATE TASK{word}", kind, statement, _source(kind, clone), statement.options.warehouse)
        case alerts.CreateAlert(clone=clone):
            word = "" if clone is None else " CLONE"
            kind = ObjectType.ALERT
            yield _created(f"CREATE ALERT{word}", kind, statement, _source(kind, clone), statement.options.warehouse)
        case connectors.CreateConnector():
            yield _created("CREATE CONNECTOR", ObjectType.CONNECTOR, statement)
        case contracts.CreateContract(source=contracts.ContractSource(table=NameRef() as table)):
            yield _created("CREATE CONTRACT FROM TABLE", ObjectType.CONTRACT, statement, _table(table))
        case contracts.CreateContract():
            yield _created("CREATE CONTRACT", ObjectType.CONTRACT, statement)
        case data_products.CreateDataProduct():
            yield _created("CREATE DATA PRODUCT", ObjectType.DATA_PRODUCT, statement)
        case tags.CreateTag():
            yield _created("CREATE TAG", ObjectType.TAG, statement)
        case stages.CreateStage(temporary=temporary):
            rule = "CREATE STAGE URL" if statement.options.url is not None else "CREATE STAGE"
            yield _created(rule, ObjectType.STAGE, statement)
        case file_formats.CreateFileFormat():
            yield _created("CREATE FILE FORMAT", ObjectType.FILE_FORMAT, statement)
        case sequences.CreateSequence():
            yield _created("CREATE SEQUENCE", ObjectType.SEQUENCE, statement)
        case routines.CreateRoutine(kind=kind):
            types = tuple(argument.type for argument in statement.arguments)
            named = Named(ObjectType(kind), statement.name, types)
            yield Request(f"CREATE {kind}", replaced=named if statement.or_replace else None, created=named)
        case databases_schemas.CreateDatabase(clone=clone):
            word = "" if clone is None else " CLONE"
            kind = ObjectType.DATABASE
            yield _created(f"CREATE DATABASE{word}", kind, statement, _source(kind, clone))
        case databases_schemas.CreateSchema(clone=clone):
            word = "" if clone is None else " CLONE"
            yield _created(f"CREATE SCHEMA{word}", ObjectType.SCHEMA, statement, _source(ObjectType.SCHEMA, clone))
        case warehouses.CreateWarehouse():
            yield _created("CREATE WAREHOUSE", ObjectType.WAREHOUSE, statement)
        case users_roles.CreateUser():
            yield _created("CREATE USER", ObjectType.USER, statement)
        case users_roles.CreateRole():
            yield _created("CREATE ROLE", ObjectType.ROLE, statement)


_Creation = (
    tables.CreateTable | views.CreateView | dynamic_tables.CreateDynamicTable | streams.CreateStream
    | tasks.CreateTask | alerts.CreateAlert | connectors.CreateConnector | contracts.CreateContract
    | data_products.CreateDataProduct | tags.CreateTag | stages.CreateStage
    | file_formats.CreateFileFormat | sequences.CreateSequence | databases_schemas.CreateDatabase
    | databases_schemas.CreateSchema | warehouses.CreateWarehouse
    | users_roles.CreateUser | users_roles.CreateRole
)  # fmt: skip


def _created(
    rule: str, kind: ObjectType, statement: _Creation, source: Named | None = None, warehouse: NameRef | None = None
) -> Request:
    named = Named(kind, statement.name)
    replaces = statement.or_replace or bool(getattr(statement, "or_alter", False))
    return Request(rule, replaced=named if replaces else None, created=named, source=source, warehouse=warehouse)


def _source(kind: ObjectType, clone: CloneSource | None, name: NameRef | None = None) -> Named | None:
    if clone is not None:
        return Named(kind, clone.name)
    return None if name is None else Named(kind, name)


# -- altering ----------------------------------------------------------------------------------------------------------


def _altering(statement: Statement) -> Iterator[Request]:
    match statement:
        case alter_table.AlterTable(name=name, actions=actions):
            yield _altered("ALTER TABLE", ObjectType.TABLE, name, actions[0])
        case views.AlterView(name=name, actions=actions):
            yield _altered("ALTER VIEW", ObjectType.VIEW, name, actions[0])
        case dynamic_tables.AlterDynamicTable(names=names, actions=actions):
            for name in names:
                rule = "ALTER DYNAMIC TABLE OPERATE" if all(map(_operates, actions)) else "ALTER DYNAMIC TABLE"
                yield _altered(rule, ObjectType.DYNAMIC_TABLE, name, actions[0])
        case dynamic_tables.ExplainDynamicTable(name=NameRef() as name):
            yield Request("EXPLAIN DYNAMIC TABLE", Named(ObjectType.DYNAMIC_TABLE, name))
        case tasks.AlterTask(name=name, action=action):
            rule = "ALTER TASK OPERATE" if isinstance(action, _SWITCHES) else "ALTER TASK"
            yield Request(rule, Named(ObjectType.TASK, name))
        case alerts.AlterAlert(name=name, action=action):
            rule = "ALTER ALERT OPERATE" if isinstance(action, _SWITCHES) else "ALTER ALERT"
            yield Request(rule, Named(ObjectType.ALERT, name))
        case alerts.ExecuteAlert(name=name):
            yield Request("EXECUTE ALERT", Named(ObjectType.ALERT, name))
        case connectors.AlterConnector(name=name, action=action):
            operates = isinstance(action, (*_SWITCHES, connectors.TakeSnapshot))
            rule = "ALTER CONNECTOR OPERATE" if operates else "ALTER CONNECTOR"
            yield Request(rule, Named(ObjectType.CONNECTOR, name))
        case connectors.CheckConnector(name=name) | connectors.ConfigureConnector(name=name):
            yield Request("CHECK CONNECTOR", Named(ObjectType.CONNECTOR, name))
        case contracts.AlterContract(name=name, action=contracts.AddConsumer() | contracts.DropConsumer()):
            yield Request("ALTER CONTRACT CONSUMER", Named(ObjectType.CONTRACT, name))
        case contracts.AlterContract(name=name, action=action):
            yield _altered("ALTER CONTRACT", ObjectType.CONTRACT, name, action)
        case contracts.CheckContract(name=name):
            yield Request("CHECK CONTRACT", Named(ObjectType.CONTRACT, name))
        case data_products.AlterDataProduct(name=name, action=action):
            yield _altered("ALTER DATA PRODUCT", ObjectType.DATA_PRODUCT, name, action)
        case tags.AlterTag(name=name, action=action):
            yield _altered("ALTER TAG", ObjectType.TAG, name, action)
        case quality.ExecuteQualityChecks(name=name):
            yield Request("EXECUTE QUALITY CHECKS", Named(ObjectType.TABLE, name))
        case tasks.ExecuteTask(name=name):
            yield Request("EXECUTE TASK", Named(ObjectType.TASK, name))
        case routines.AlterRoutine(kind=kind, name=name, action=action, arguments=arguments):
            yield _altered(f"ALTER {kind}", kind, name, action, arguments)
        case streams.AlterStream(name=name):
            yield Request("ALTER STREAM", Named(ObjectType.STREAM, name))
        case stages.AlterStage(name=name, action=action):
            yield _altered("ALTER STAGE", ObjectType.STAGE, name, action)
        case file_formats.AlterFileFormat(name=name, action=action):
            yield _altered("ALTER FILE FORMAT", ObjectType.FILE_FORMAT, name, action)
        case sequences.AlterSequence(name=name, action=action):
            yield _altered("ALTER SEQUENCE", ObjectType.SEQUENCE, name, action)
        case changes.Drop(kind=kind, name=name, arguments=arguments):
            yield Request("DROP", Named(kind, name, arguments))
        case changes.Undrop(kind=kind, name=name):
            yield Request("UNDROP", Named(kind, name, dropped=True))
        case changes.CommentOn(kind=None, name=name):
            yield Request("COMMENT", Named(ObjectType.TABLE, name, of_column=True))
        case changes.CommentOn(kind=ObjectType() as kind, name=name, arguments=arguments):
            yield Request("COMMENT ON CONTAINER" if kind in _CONTAINERS else "COMMENT", Named(kind, name, arguments))


_SWITCHES = (warehouses.Suspend, warehouses.Resume)
_CONTAINERS = frozenset({ObjectType.DATABASE, ObjectType.SCHEMA, ObjectType.WAREHOUSE})
_OPERATED = frozenset({"TARGET_LAG", "WAREHOUSE", "SCHEDULER", "INITIALIZATION_WAREHOUSE"})


def _operates(action: changes.Action) -> bool:
    """Whether OPERATE is enough for a change of a dynamic table."""
    if isinstance(action, changes.SetOptions):
        return set(action.options.given()) <= _OPERATED
    return isinstance(action, (*_SWITCHES, dynamic_tables.Refresh))


def _altered(
    rule: str, kind: ObjectType, name: NameRef, action: changes.Action, arguments: tuple[SqlText, ...] | None = None
) -> Request:
    target = Named(kind, name, arguments)
    if isinstance(action, changes.RenameTo):
        return Request(f"ALTER {kind} RENAME", target, created=Named(kind, action.new_name))
    if isinstance(action, changes.SwapWith):
        return Request("SWAP", target, source=Named(kind, action.other))
    return Request(rule, target)


# -- containers, warehouses, the account -------------------------------------------------------------------------------


def _containers(statement: Statement) -> Iterator[Request]:
    match statement:
        case databases_schemas.AlterDatabase(name=name, action=action):
            yield _container(ObjectType.DATABASE, name, action)
        case databases_schemas.AlterSchema(name=name, action=action):
            yield _container(ObjectType.SCHEMA, name, action)
        case warehouses.AlterWarehouse(name=name, action=action):
            if name is not None:
                yield Request(_warehouse_rule(action), Named(ObjectType.WAREHOUSE, name))
            else:
                yield Request(_warehouse_rule(action))
        case session.AlterParameters(level="ACCOUNT"):
            yield Request("ALTER ACCOUNT")
        case users_roles.AlterRole(name=name):
            yield Request("ALTER ROLE", Named(ObjectType.ROLE, name))


def _container(kind: ObjectType, name: NameRef, action: changes.Action) -> Request:
    match action:
        case changes.RenameTo(new_name=new):
            return Request(f"ALTER {kind} RENAME", Named(kind, name), created=Named(kind, new))
        case changes.SwapWith(other=other):
            return Request("SWAP", Named(kind, name), source=Named(kind, other))
        case databases_schemas.SetManagedAccess():
            return Request("DROP", Named(kind, name))
        case _:
            return Request(f"ALTER {kind}", Named(kind, name))


def _warehouse_rule(action: changes.Action) -> str:
    if isinstance(action, changes.RenameTo):
        return "ALTER WAREHOUSE RENAME"
    operates = isinstance(action, (*_SWITCHES, warehouses.AbortAllQueries))
    return "ALTER WAREHOUSE OPERATE" if operates else "ALTER WAREHOUSE"


_FAMILIES = (_rows, _creating, _altering, _containers)
