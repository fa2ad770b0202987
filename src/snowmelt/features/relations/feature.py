"""What an account can do without any feature: databases, tables, views, queries, sessions and warehouses."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.sql.statements.alter_table import AlterTable
from snowmelt.sql.statements.base import Explain, ObjectType, Query
from snowmelt.sql.statements.changes import CommentOn, Drop, Undrop
from snowmelt.sql.statements.databases_schemas import AlterDatabase, AlterSchema, CreateDatabase, CreateSchema
from snowmelt.sql.statements.describe import DescribeStatement
from snowmelt.sql.statements.dml import (
    DeleteStatement,
    InsertStatement,
    MergeStatement,
    MultiInsertStatement,
    UpdateStatement,
)
from snowmelt.sql.statements.sequences import AlterSequence, CreateSequence
from snowmelt.sql.statements.session import AlterParameters, Begin, Commit, Rollback, SetVariables, UnsetVariables, Use
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.sql.statements.tables import CreateTable, Truncate
from snowmelt.sql.statements.views import AlterView, CreateView
from snowmelt.sql.statements.warehouses import AlterWarehouse, CreateWarehouse

with lazy_imports():
    from snowmelt.features.relations import sql_functions
    from snowmelt.features.relations.alter_tables import alter_table
    from snowmelt.features.relations.changes import delete, merge, update
    from snowmelt.features.relations.comments import comment_on
    from snowmelt.features.relations.containers import alter_database, alter_schema, create_database_, create_schema_
    from snowmelt.features.relations.describe import describe
    from snowmelt.features.relations.drops import drop, drop_database, drop_schema, drop_warehouse, undrop
    from snowmelt.features.relations.inserts import insert
    from snowmelt.features.relations.multi_inserts import insert_many
    from snowmelt.features.relations.queries import explain, select
    from snowmelt.features.relations.sequences import alter_sequence, create_sequence
    from snowmelt.features.relations.sessions import (
        alter_parameters,
        begin,
        commit,
        rollback,
        set_variables,
        unset_variables,
        use,
    )
    from snowmelt.features.relations.show import show
    from snowmelt.features.relations.tables import create_table, truncate
    from snowmelt.features.relations.views import alter_view, create_view
    from snowmelt.features.relations.warehouses import alter_warehouse, create_warehouse
    from snowmelt.runtime.account_usage import view as usage_view
    from snowmelt.runtime.information_schema import view


def _begin(account: Account) -> None:
    account.metadata_views = view
    account.usage_views = usage_view


FEATURE = Feature(
    "relations",
    begin=_begin,
    functions=lambda: sql_functions.FUNCTIONS,
    drops={
        ObjectType.DATABASE: drop_database,
        ObjectType.SCHEMA: drop_schema,
        ObjectType.WAREHOUSE: drop_warehouse,
    },
    handlers={
        Query: select,
        Explain: explain,
        Use: use,
        SetVariables: set_variables,
        UnsetVariables: unset_variables,
        AlterParameters: alter_parameters,
        Begin: begin,
        Commit: commit,
        Rollback: rollback,
        CreateDatabase: create_database_,
        CreateSchema: create_schema_,
        AlterDatabase: alter_database,
        AlterSchema: alter_schema,
        CreateTable: create_table,
        Truncate: truncate,
        AlterTable: alter_table,
        CreateView: create_view,
        AlterView: alter_view,
        CreateSequence: create_sequence,
        AlterSequence: alter_sequence,
        CreateWarehouse: create_warehouse,
        AlterWarehouse: alter_warehouse,
        Drop: drop,
        Undrop: undrop,
        CommentOn: comment_on,
        InsertStatement: insert,
        MultiInsertStatement: insert_many,
        UpdateStatement: update,
        DeleteStatement: delete,
        MergeStatement: merge,
    },
    listings={ShowStatement: show, DescribeStatement: describe},
)
