"""What a statement is, in the words of QUERY_HISTORY's QUERY_TYPE."""

from __future__ import annotations

from snowmelt.core import errors
from snowmelt.sql.statements import (
    alter_table,
    base,
    changes,
    databases_schemas,
    dml,
    sequences,
    session,
    show,
    tables,
    views,
    warehouses,
)
from snowmelt.sql.statements import describe as describing
from snowmelt.sql.statements.base import Statement, StatementKind, ddl
from snowmelt.sql.statements.kinds import grammar


def _dml(query_type: str) -> StatementKind:
    return StatementKind(query_type, is_dml=True)


_OTHER = StatementKind

_FIXED: dict[type[Statement], StatementKind] = {
    base.Query: StatementKind("SELECT", is_query=True),
    base.Explain: _OTHER("EXPLAIN"),
    dml.InsertStatement: _dml("INSERT"),
    dml.MultiInsertStatement: _dml("MULTI_TABLE_INSERT"),
    dml.UpdateStatement: _dml("UPDATE"),
    dml.DeleteStatement: _dml("DELETE"),
    dml.MergeStatement: _dml("MERGE"),
    tables.Truncate: _dml("TRUNCATE_TABLE"),
    databases_schemas.CreateDatabase: ddl("CREATE_DATABASE"),
    databases_schemas.CreateSchema: ddl("CREATE_SCHEMA"),
    databases_schemas.AlterDatabase: ddl("ALTER_DATABASE"),
    databases_schemas.AlterSchema: ddl("ALTER_SCHEMA"),
    views.CreateView: ddl("CREATE_VIEW"),
    views.AlterView: ddl("ALTER_VIEW"),
    sequences.CreateSequence: ddl("CREATE_SEQUENCE"),
    sequences.AlterSequence: ddl("ALTER_SEQUENCE"),
    warehouses.CreateWarehouse: ddl("CREATE_WAREHOUSE"),
    changes.CommentOn: ddl("COMMENT"),
    show.ShowStatement: _OTHER("SHOW"),
    describing.DescribeStatement: _OTHER("DESCRIBE"),
    session.Use: _OTHER("USE"),
    session.SetVariables: _OTHER("SET"),
    session.UnsetVariables: _OTHER("UNSET"),
    session.Begin: _OTHER("BEGIN_TRANSACTION"),
    session.Commit: _OTHER("COMMIT"),
    session.Rollback: _OTHER("ROLLBACK"),
}

_TABLE_ACTIONS: dict[type[base.Action], str] = {
    alter_table.AddColumn: "ALTER_TABLE_ADD_COLUMN",
    alter_table.DropColumn: "ALTER_TABLE_DROP_COLUMN",
    alter_table.RenameColumn: "RENAME_COLUMN",
    alter_table.SetNotNull: "ALTER_TABLE_MODIFY_COLUMN",
    alter_table.DropNotNull: "ALTER_TABLE_MODIFY_COLUMN",
    alter_table.SetType: "ALTER_TABLE_MODIFY_COLUMN",
    alter_table.SetDefault: "ALTER_TABLE_MODIFY_COLUMN",
    alter_table.DropDefault: "ALTER_TABLE_MODIFY_COLUMN",
    changes.SetColumnComment: "ALTER_TABLE_MODIFY_COLUMN",
    alter_table.AddConstraint: "ALTER_TABLE_ADD_CONSTRAINT",
    alter_table.DropConstraint: "ALTER_TABLE_DROP_CONSTRAINT",
    alter_table.ClusterBy: "ALTER_TABLE_CLUSTER_BY",
    changes.RenameTo: "RENAME_TABLE",
    changes.SwapWith: "SWAP_TABLE",
}
_WAREHOUSE_ACTIONS: dict[type[base.Action], str] = {
    warehouses.Suspend: "ALTER_WAREHOUSE_SUSPEND",
    warehouses.Resume: "ALTER_WAREHOUSE_RESUME",
}


def classify(statement: Statement) -> StatementKind:
    """The kind of any statement that `parse_statement` gives."""
    fixed = _FIXED.get(type(statement)) or grammar().statements.get(type(statement))
    if fixed is not None:
        return fixed(statement) if callable(fixed) else fixed
    match statement:
        case tables.CreateTable(query=query):
            # One statement that creates and fills: it commits as DDL does.
            return ddl("CREATE_TABLE" if query is None else "CREATE_TABLE_AS_SELECT")
        case alter_table.AlterTable(actions=actions):
            return ddl(_TABLE_ACTIONS.get(type(actions[0]), "ALTER_TABLE"))
        case warehouses.AlterWarehouse(action=action):
            return _OTHER(_WAREHOUSE_ACTIONS.get(type(action), "ALTER_WAREHOUSE"))
        case changes.Drop(kind=kind):
            return ddl(f"DROP_{kind.replace(' ', '_')}")
        case changes.Undrop(kind=kind):
            return ddl(f"UNDROP_{kind.replace(' ', '_')}")
        case session.AlterParameters(level=level):
            return _OTHER(f"ALTER_{level}")
    raise errors.internal(f"no kind for {type(statement).__name__}")
