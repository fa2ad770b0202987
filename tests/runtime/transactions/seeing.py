"""What a session sees, without Spark: the versions are chosen as a SELECT chooses them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition, TableVersion
from snowmelt.storage.commits import CommitTag


def find(account: Account, name: str) -> CatalogObject:
    with account.state.read() as state:
        found = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", name), [ObjectKind.TABLE])
    assert found is not None, f"there is no table {name}"
    return found


def location(account: Account, name: str) -> str:
    definition = find(account, name).definition
    assert isinstance(definition, TableDefinition)
    return definition.location


def visible(account: Account, name: str) -> TableVersion:
    with account.state.read() as state:
        found = state.versions.visible(find(account, name).id)
    assert found is not None
    return found


def seen(session: Session, *names: str) -> list[list[Any]]:
    """The first column of each table, sorted, as one statement of the session sees them."""
    run = Run(session, SqlText("SELECT"))
    versions: list[tuple[str, int]] = []
    with session.account.state.read() as state:
        catalog = StatementCatalog(run, state, session.database, session.schema)
        for name in names:
            table = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", name), [ObjectKind.TABLE], session.id)
            assert table is not None, f"there is no table {name}"
            assert isinstance(table.definition, TableDefinition)
            versions.append((table.definition.location, catalog.version(table, table.definition, None)))
    return [sorted(session.account.store.read(*found).column(0).to_pylist()) for found in versions]


def their_table(account: Account, name: str) -> DeltaTable:
    """The table as another tool opens it."""
    return DeltaTable(account.store.root.uri_of(location(account, name)))


def they_append(account: Account, name: str, *values: int) -> None:
    """Another tool, which knows nothing of us, adds rows to a table of one column."""
    table = their_table(account, name)
    schema = pa.schema(table.schema().to_arrow())
    write_deltalake(table, pa.table([pa.array(values, schema.field(0).type)], schema=schema), mode="append")


def a_dead_process_appends(account: Account, name: str, *values: int) -> None:
    """What Spark does when it finishes a write whose owner was killed: a commit with the tag of a lost transaction."""
    where = location(account, name)
    schema = account.store.files(where, account.store.latest_version(where)).metadata.arrow_schema
    data = pa.table([pa.array(values, schema.field(0).type)], schema=schema)
    account.store.append(where, data, CommitTag("4711", "lost"))
