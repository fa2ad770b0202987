"""What is defined is still there when the account is opened again, and what is not finished is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import CatalogObject, Column, ObjectKind, TableDefinition
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.table import Reshape

SCRIPT = """
CREATE DATABASE shop COMMENT = 'a shop' DATA_RETENTION_TIME_IN_DAYS = 3;
CREATE SCHEMA sales WITH MANAGED ACCESS;
CREATE SEQUENCE ids START 100 INCREMENT 10;
CREATE TABLE customers (id INT DEFAULT ids.NEXTVAL PRIMARY KEY, name VARCHAR(20) NOT NULL, gone INT);
CREATE TABLE orders (id INT AUTOINCREMENT, customer INT REFERENCES customers, total NUMBER(10, 2), CHECK (total >= 0))
  CLUSTER BY (customer) COMMENT = 'what they bought';
INSERT INTO customers (name, gone) VALUES ('ann', 1), ('bob', 2);
ALTER TABLE customers DROP COLUMN gone;
ALTER TABLE customers ADD COLUMN vip BOOLEAN DEFAULT FALSE;
ALTER TABLE customers RENAME COLUMN name TO full_name;
ALTER TABLE customers ALTER COLUMN full_name SET DATA TYPE VARCHAR(50);
COMMENT ON COLUMN customers.vip IS 'pays more';
CREATE SECURE VIEW named AS SELECT id, full_name FROM customers;
CREATE FILE FORMAT csv TYPE = CSV SKIP_HEADER = 1;
CREATE STAGE drop_box FILE_FORMAT = csv;
CREATE WAREHOUSE big WAREHOUSE_SIZE = LARGE INITIALLY_SUSPENDED = TRUE AUTO_RESUME = FALSE;
CREATE TABLE dropped (a INT);
DROP TABLE dropped;
CREATE TEMPORARY TABLE only_now (a INT);
"""
INSPECTIONS = (
    "SHOW DATABASES", "SHOW SCHEMAS IN DATABASE shop", "SHOW TABLES IN DATABASE shop", "SHOW VIEWS IN DATABASE shop",
    "SHOW SEQUENCES IN DATABASE shop", "SHOW STAGES IN DATABASE shop", "SHOW FILE FORMATS IN DATABASE shop",
    "SHOW WAREHOUSES", "SHOW IMPORTED KEYS IN DATABASE shop", "DESCRIBE TABLE shop.sales.customers",
    "DESCRIBE TABLE shop.sales.orders", "DESCRIBE VIEW shop.sales.named",
)  # fmt: skip


def _seen(session: Session) -> dict[str, list[tuple[Any, ...]]]:
    session.execute("USE DATABASE shop")
    session.execute("USE WAREHOUSE compute_wh")
    return {sql: session.execute(sql).rows() for sql in INSPECTIONS}


def _find(account: Account, name: str) -> CatalogObject:
    with account.state.read() as state:
        found = state.catalog.find(ObjectName("SHOP", "SALES", name), [ObjectKind.TABLE])
    assert found is not None
    return found


def _definition(account: Account, name: str) -> TableDefinition:
    definition = _find(account, name).definition
    assert isinstance(definition, TableDefinition)
    return definition


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data directory in which everything was defined, and the process ended."""
    with open_account(tmp_path) as account:
        session = account.session()
        session.execute_script(SCRIPT)
        session.execute("DROP TABLE only_now")
        (tmp_path / "seen").write_text(repr(_seen(session)))
    return tmp_path


def test_everything_is_there_again(folder: Path) -> None:
    with open_account(folder) as account:
        session = account.session()
        assert repr(_seen(session)) == (folder / "seen").read_text()
        session.execute("USE SCHEMA shop.sales")
        with pytest.raises(SnowmeltError, match="does not exist"):
            session.execute("DESCRIBE TABLE only_now")
        session.execute("INSERT INTO customers (full_name) VALUES ('cid')")
        with pytest.raises(SnowmeltError, match="already exists"):
            session.execute("CREATE TABLE customers (a INT)")
        session.execute("UNDROP TABLE dropped")
        session.execute("INSERT INTO dropped VALUES (1)")
        location = account.store.root.uri_of(_definition(account, "CUSTOMERS").location)
    # Any Delta reader sees the table as it is declared.
    rows = DeltaTable(location).to_pyarrow_table().sort_by("ID").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (100, "ann", False), (110, "bob", False), (120, "cid", False),
    ]  # fmt: skip


def test_what_was_not_finished_is_undone(folder: Path) -> None:
    """Killed after the Delta commit of an ALTER TABLE, before it became visible."""
    with open_account(folder) as account:
        definition = _definition(account, "CUSTOMERS")
        other = Reshape(columns=(Column(name="X", type=definition.columns[0].type),), sources={"X": "ID"})
        account.store.reshape(definition.location, other, CommitTag("never-finished"))
    with open_account(folder) as account:
        assert account.recovered.undone == ("SHOP.SALES.CUSTOMERS",)
        session = account.session(database="SHOP", schema="SALES")
        session.execute("INSERT INTO customers (full_name) VALUES ('dan')")
        session.execute("ALTER TABLE customers ADD COLUMN x INT DEFAULT 5")
        table = DeltaTable(account.store.root.uri_of(definition.location)).to_pyarrow_table()
        assert table.column_names == ["ID", "FULL_NAME", "VIP", "X"]
        assert table.num_rows == 3


def test_a_failed_alter_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_account(folder) as account:
        session = account.session(database="SHOP", schema="SALES")
        before = session.execute("DESCRIBE TABLE customers").rows()

        def refuse(*_: object) -> None:
            raise SnowmeltError("000000", "00000", "no space left")

        with monkeypatch.context() as patch:
            patch.setattr("snowmelt.state.catalog.Catalog.update", refuse)
            with pytest.raises(SnowmeltError, match="no space left"):
                session.execute("ALTER TABLE customers DROP COLUMN vip")
        assert session.execute("DESCRIBE TABLE customers").rows() == before
        session.execute("INSERT INTO customers (full_name, vip) VALUES ('eve', TRUE)")
        location = account.store.root.uri_of(_definition(account, "CUSTOMERS").location)
        assert DeltaTable(location).to_pyarrow_table().column("VIP").to_pylist().count(True) == 1


def test_clones_stand_by_themselves(folder: Path) -> None:
    with open_account(folder) as account:
        session = account.session(database="SHOP", schema="SALES")
        session.execute("CREATE DATABASE shop2 CLONE shop")
        session.execute("DROP DATABASE shop")
    with open_account(folder) as account:
        session = account.session(database="SHOP2", schema="SALES")
        session.execute("INSERT INTO customers (full_name) VALUES ('fay')")
        with account.state.read() as state:
            found = state.catalog.find(ObjectName("SHOP2", "SALES", "CUSTOMERS"), [ObjectKind.TABLE])
        assert found is not None and isinstance(found.definition, TableDefinition)
        assert found.definition.columns[0].default == "SHOP2.SALES.IDS.NEXTVAL"
        rows = DeltaTable(account.store.root.uri_of(found.definition.location)).to_pyarrow_table()
        assert sorted(rows.column("ID").to_pylist()) == [100, 110, 120]
