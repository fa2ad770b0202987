"""What is in an account, read without Spark, and whether everything that must always hold does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from snowmelt.runtime.account import Account
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition, TableVersion
from snowmelt.storage.feed import CHANGE_TYPE


def rows_of(data: pa.Table) -> list[list[Any]]:
    rows = [list(row.values()) for row in data.to_pylist()]
    return sorted(rows, key=lambda row: [(value is None, value) for value in row])


def definition_of(table: CatalogObject) -> TableDefinition:
    assert isinstance(table.definition, TableDefinition)
    return table.definition


def tables_of(account: Account, *, dropped: bool = False) -> list[tuple[CatalogObject, TableVersion]]:
    """Every table with its visible version."""
    with account.state.read() as state:
        found = state.catalog.objects([ObjectKind.TABLE], include_dropped=dropped)
        versions = state.versions.snapshot([table.id for table in found])
    return [(table, versions[table.id]) for table in found]


def contents(account: Account) -> dict[str, list[list[Any]]]:
    """The visible rows of every table, by name."""
    return {
        table.name.name: rows_of(account.store.read(definition_of(table).location, visible.version))
        for table, visible in tables_of(account)
    }


def check_at_rest(account: Account, *, whole_feed: bool = True) -> None:
    """Right after recovery: what is visible, what Delta's own reader finds and what the state store says are one.

    `whole_feed`: the log still has every commit, so that the changes add up to the rows.
    """
    known = {definition_of(table).location for table, _ in tables_of(account, dropped=True)}
    assert set(account.store.root.folders()) <= known, "a table without an owner is left"
    for table, visible in tables_of(account, dropped=True):
        location = definition_of(table).location
        rows = rows_of(account.store.read(location, visible.version))
        delta = DeltaTable(account.store.root.uri_of(location))
        assert delta.version() == visible.version, f"{table.name}: something beyond the visible version is left"
        assert rows_of(pa.table(delta.scan().read_all())) == rows, f"{table.name}: other readers see other rows"
        assert visible.rows == len(rows), f"{table.name}: counted {visible.rows} rows, there are {len(rows)}"
        assert visible.bytes == account.store.size(location, visible.version)
        check_history(account, table)
        if whole_feed:
            check_feed(account, table, visible.version)


def check_history(account: Account, table: CatalogObject) -> None:
    with account.state.read() as state:
        history = state.versions.history(table.id)
    versions = [item.version for item in history]
    assert versions == sorted(set(versions)), f"{table.name}: versions do not increase: {versions}"
    instants = [item.committed_at for item in history]
    assert instants == sorted(instants)


def check_feed(account: Account, table: CatalogObject, upto: int) -> None:
    """The changes that count, from the table's first version on, add up to its rows."""
    location = definition_of(table).location
    with account.state.read() as state:
        ranges = state.versions.change_ranges(table.id, -1, upto)
    rows = account.store.read(location, upto)
    total: Counter[tuple[Any, ...]] = Counter()
    for change in account.store.changes(location, ranges).read_all().to_pylist() if ranges else []:
        kind = change.pop(CHANGE_TYPE)
        # A column that was dropped since is in the feed still.
        row = tuple(change[name] for name in rows.column_names)
        total[row] += -1 if kind in ("delete", "update_preimage") else 1
    total = Counter({row: count for row, count in total.items() if count})
    present = Counter(tuple(row.values()) for row in rows.to_pylist())
    assert total == present, f"{table.name}: the change feed tells another story"
