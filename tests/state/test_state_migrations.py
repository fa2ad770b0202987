"""Opening stores: empty, old, newer, unreachable."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import INTEGER
from snowmelt.features.loading.definitions import FILE_FORMAT
from snowmelt.state.connect import open_engines
from snowmelt.state.migrations.run import MIGRATIONS, migrate
from snowmelt.state.model import ObjectKind, TransactionState
from snowmelt.state.store import StateStore
from snowmelt.state.tables import METADATA
from tests.state.builders import COLUMNS, T0, name

CONFIGURATION = "370001"


def test_the_migrations_make_the_tables_that_queries_use(store: StateStore) -> None:
    inspector = inspect(store._engines.write)
    made = {table: {column["name"] for column in inspector.get_columns(table)} for table in inspector.get_table_names()}
    assert made == {table.name: {column.name for column in table.columns} for table in METADATA.sorted_tables}


def test_a_store_of_version_1_opens_with_all_it_has(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "v1.db"
    old = sqlite3.connect(path)
    old.executescript((Path(__file__).parent / "fixtures" / "v1.sql").read_text())
    old.close()
    store = StateStore.open(f"sqlite:///{path}", clock)
    with store.begin() as transaction:
        assert transaction.now == T0 + timedelta(microseconds=3)
        catalog = transaction.catalog
        found = catalog.objects(include_dropped=True)
        assert [(item.name.name, item.kind.value) for item in found] == [
            ("F", "FUNCTION"),
            ("FF", "FILE FORMAT"),
            ("OLD", "TABLE"),
            ("ORDERS", "TABLE"),
            ("SEQ", "SEQUENCE"),
            ("STAGE", "STAGE"),
            ("V", "VIEW"),
        ]
        orders = catalog.find(name("ORDERS"), [ObjectKind.TABLE])
        assert orders is not None and orders.definition.kind == "TABLE"
        assert orders.definition.columns == COLUMNS and orders.definition.columns[0].type == INTEGER
        formats = catalog.find(name("FF"), [FILE_FORMAT])
        assert formats is not None and formats.definition.kind == "FILE FORMAT"
        assert formats.definition.options == {"SKIP_HEADER": 1, "NULL_IF": ("NULL", ""), "TRIM_SPACE": True}
        assert catalog.undrop(name("OLD"), ObjectKind.TABLE) is not None
        assert [item.version for item in transaction.versions.history(orders.id)] == [1, 4]
        assert transaction.versions.change_ranges(orders.id, 0, 4) == [(1, 1), (4, 4)]
        assert transaction.transactions.state("tx1") is TransactionState.COMMITTED
        assert transaction.transactions.unfinished() == [("tx2", [orders.id])]
        assert transaction.counters.take(orders.id, "ID", 1, 1, 1) == 4
        assert [item.name for item in transaction.warehouses.list()] == ["WH"]
        shape = transaction.shapes.at(orders.id, 1)
        assert shape is not None and [column.stored for column in shape.columns] == ["KEY", None]
        assert [span.warehouse_name for span in transaction.usage.open()] == ["WH"]
        assert transaction.parameters.all("ACCOUNT", "") == {"TIMEZONE": "UTC"}
        assert transaction.queries.get("q1") is not None
        assert transaction.dynamic.all() == {} and orders.definition.dynamic is None
        assert list(transaction.loads.loaded(orders.id, ["@STAGE/a.csv"])) == ["@STAGE/a.csv"]
    store.close()


def test_a_step_that_fails_changes_nothing_and_is_taken_next_time(store_url: str) -> None:
    def add_column(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE ledger ADD COLUMN added INTEGER")

    def add_and_fail(connection: Connection) -> None:
        add_column(connection)
        raise ZeroDivisionError

    engines = open_engines(store_url)
    with pytest.raises(ZeroDivisionError):
        migrate(engines.write, [*MIGRATIONS, add_and_fail])
    columns = {column["name"] for column in inspect(engines.write).get_columns("ledger")}
    assert columns == {"id", "last_instant", "generation"}
    assert migrate(engines.write, [*MIGRATIONS, add_column]) == len(MIGRATIONS) + 1
    assert migrate(engines.write, [*MIGRATIONS, add_column]) == len(MIGRATIONS) + 1
    assert "added" in {column["name"] for column in inspect(engines.write).get_columns("ledger")}
    engines.dispose()


def test_a_store_of_a_newer_version_is_refused(store_url: str, clock: ManualClock) -> None:
    engines = open_engines(store_url)
    migrate(engines.write, [*MIGRATIONS, lambda connection: None])
    engines.dispose()
    with pytest.raises(SnowmeltError, match="written by a newer Snowmelt") as raised:
        StateStore.open(store_url, clock)
    assert raised.value.code == CONFIGURATION


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("state.db", "URL is not valid"),
        ("mysql://host/db", "cannot be kept in 'mysql'"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:////dev/null/state.db", "cannot be made"),
        ("sqlite:////", "cannot be opened"),
        ("postgresql://user:secret@127.0.0.1:1/db", "cannot be opened"),
        ("postgres://user:secret@127.0.0.1:1/db", "cannot be opened"),
    ],
)
def test_a_url_that_does_not_work_is_a_configuration_error(url: str, message: str, clock: ManualClock) -> None:
    with pytest.raises(SnowmeltError, match=message) as raised:
        StateStore.open(url, clock)
    assert raised.value.code == CONFIGURATION
    assert "secret" not in str(raised.value)


def test_sqlite_is_opened_with_what_the_store_relies_on(tmp_path: Path, clock: ManualClock) -> None:
    store = StateStore.open(f"sqlite:///{tmp_path}/deep/down/state.db", clock)
    with store._engines.read.connect() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()
            for pragma in ("journal_mode", "synchronous", "foreign_keys")
        ]
    store.close()
    assert pragmas == ["wal", 2, 1]
