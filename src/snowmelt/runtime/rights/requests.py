"""What each statement is about, in the words of the rules: a rule, and the names that it is asked for on."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.rights.asks import SWITCHES, Named, RightsRequest, altered, created, source_of, table_named
from snowmelt.sql.statements import (
    alter_table,
    changes,
    databases_schemas,
    dml,
    sequences,
    session,
    tables,
    views,
    warehouses,
)
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.outside import addresses


def requests(statement: Statement) -> Iterator[RightsRequest]:
    """All that the statement asks for; nothing for one that anybody may run."""
    own = all_kinds().requests.get(type(statement))
    if own is not None:
        found = own(statement)
        yield from [found] if isinstance(found, RightsRequest) else found
    for family in _FAMILIES:
        yield from family(statement)


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(statement: Statement) -> Iterator[RightsRequest]:
    match statement:
        case dml.InsertStatement(target=name, overwrite=overwrite):
            yield RightsRequest("INSERT OVERWRITE" if overwrite else "INSERT", table_named(name))
        case dml.MultiInsertStatement(targets=targets, overwrite=overwrite):
            for item in targets:
                yield RightsRequest("INSERT OVERWRITE" if overwrite else "INSERT", table_named(item.target))
        case dml.UpdateStatement(target=name):
            yield RightsRequest("UPDATE", table_named(name))
        case dml.DeleteStatement(target=name):
            yield RightsRequest("DELETE", table_named(name))
        case dml.MergeStatement(target=name, clauses=clauses):
            for clause in clauses:
                yield RightsRequest(_MERGES[type(clause)], table_named(name))
        case tables.Truncate(name=name):
            yield RightsRequest("TRUNCATE TABLE", table_named(name))


_MERGES: dict[type, str] = {
    dml.MatchedUpdate: "MERGE UPDATE",
    dml.MatchedDelete: "MERGE DELETE",
    dml.NotMatchedInsert: "MERGE INSERT",
}


# -- creating ----------------------------------------------------------------------------------------------------------


def _creating(statement: Statement) -> Iterator[RightsRequest]:
    match statement:
        case tables.CreateTable(temporary=True):
            yield created("CREATE TEMPORARY", ObjectType.TABLE, statement)
            if statement.clone is not None or statement.like is not None:
                yield RightsRequest(
                    "COPY INTO LOCATION", source=source_of(ObjectType.TABLE, statement.clone, statement.like)
                )
        case tables.CreateTable(clone=clone, like=like):
            word = " CLONE" if clone is not None else " LIKE" if like is not None else ""
            yield created(f"CREATE TABLE{word}", ObjectType.TABLE, statement, source_of(ObjectType.TABLE, clone, like))
        case views.CreateView(temporary=temporary):
            yield created("CREATE TEMPORARY" if temporary else "CREATE VIEW", ObjectType.VIEW, statement)
        case sequences.CreateSequence():
            yield created("CREATE SEQUENCE", ObjectType.SEQUENCE, statement)
        case databases_schemas.CreateDatabase(clone=clone):
            word = "" if clone is None else " CLONE"
            kind = ObjectType.DATABASE
            yield created(f"CREATE DATABASE{word}", kind, statement, source_of(kind, clone))
        case databases_schemas.CreateSchema(clone=clone):
            word = "" if clone is None else " CLONE"
            yield created(f"CREATE SCHEMA{word}", ObjectType.SCHEMA, statement, source_of(ObjectType.SCHEMA, clone))
        case warehouses.CreateWarehouse():
            yield created("CREATE WAREHOUSE", ObjectType.WAREHOUSE, statement)


# -- altering ----------------------------------------------------------------------------------------------------------


def _altering(statement: Statement) -> Iterator[RightsRequest]:
    match statement:
        case alter_table.AlterTable(name=name, actions=actions):
            yield altered("ALTER TABLE", ObjectType.TABLE, name, actions[0])
        case views.AlterView(name=name, actions=actions):
            yield altered("ALTER VIEW", ObjectType.VIEW, name, actions[0])
        case sequences.AlterSequence(name=name, action=action):
            yield altered("ALTER SEQUENCE", ObjectType.SEQUENCE, name, action)
        case changes.Drop(kind=kind, name=name, arguments=arguments):
            yield RightsRequest("DROP", Named(kind, name, arguments))
        case changes.Undrop(kind=kind, name=name):
            yield RightsRequest("UNDROP", Named(kind, name, dropped=True))
        case changes.CommentOn(kind=None, name=name):
            yield RightsRequest("COMMENT", Named(ObjectType.TABLE, name, of_column=True))
        case changes.CommentOn(kind=ObjectType() as kind, name=name, arguments=arguments):
            yield RightsRequest(
                "COMMENT ON CONTAINER" if kind in _CONTAINERS else "COMMENT", Named(kind, name, arguments)
            )


_CONTAINERS = frozenset({ObjectType.DATABASE, ObjectType.SCHEMA, ObjectType.WAREHOUSE})


# -- containers, warehouses, the account -------------------------------------------------------------------------------


def _containers(statement: Statement) -> Iterator[RightsRequest]:
    match statement:
        case databases_schemas.AlterDatabase(name=name, action=action):
            yield _container(ObjectType.DATABASE, name, action)
        case databases_schemas.AlterSchema(name=name, action=action):
            yield _container(ObjectType.SCHEMA, name, action)
        case warehouses.AlterWarehouse(name=name, action=action):
            if name is not None:
                yield RightsRequest(_warehouse_rule(action), Named(ObjectType.WAREHOUSE, name))
            else:
                yield RightsRequest(_warehouse_rule(action))
        case session.AlterParameters(level="ACCOUNT"):
            yield RightsRequest("ALTER ACCOUNT")


def _container(kind: ObjectType, name: NameRef, action: Action) -> RightsRequest:
    match action:
        case changes.RenameTo(new_name=new):
            return RightsRequest(f"ALTER {kind} RENAME", Named(kind, name), created=Named(kind, new))
        case changes.SwapWith(other=other):
            return RightsRequest("SWAP", Named(kind, name), source=Named(kind, other))
        case databases_schemas.SetManagedAccess():
            return RightsRequest("DROP", Named(kind, name))
        case _:
            return RightsRequest(f"ALTER {kind}", Named(kind, name))


def _warehouse_rule(action: Action) -> str:
    if isinstance(action, changes.RenameTo):
        return "ALTER WAREHOUSE RENAME"
    operates = isinstance(action, (*SWITCHES, warehouses.AbortAllQueries))
    return "ALTER WAREHOUSE OPERATE" if operates else "ALTER WAREHOUSE"


# -- what leads out of the account -------------------------------------------------------------------------------------


def _leading_out(statement: Statement) -> Iterator[RightsRequest]:
    if any(True for _ in addresses(statement)):
        yield RightsRequest("ADDRESS")


_FAMILIES = (_rows, _creating, _altering, _containers, _leading_out)
