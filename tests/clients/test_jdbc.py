"""Snowflake's JDBC driver: what programs and tools in Java rely on."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509 import load_pem_x509_certificate
from py4j.protocol import Py4JJavaError

from snowmelt.runtime.account import Account
from tests.clients import jdbc
from tests.clients.certificates import make_certificate
from tests.clients.server import PASSWORD, serving

pytestmark = pytest.mark.slow
_ORDERS = "CREATE OR REPLACE TABLE orders (id INT NOT NULL, who VARCHAR(20), amount NUMBER(10, 2), at TIMESTAMP_NTZ)"


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    with jdbc.java_with_driver() as started:
        yield started


@pytest.fixture
def connection(jvm: Any, door: int, database: str) -> Iterator[Any]:
    opened = jdbc.connect(jvm, jdbc.url(door, database), user="admin", password=PASSWORD)
    opened.createStatement().execute(_ORDERS)
    yield opened
    opened.close()


def _query(connection: Any, sql: str) -> list[tuple[str | None, ...]]:
    return jdbc.rows(connection.createStatement().executeQuery(sql))


def test_rows_are_inserted_in_batches_and_found_by_what_is_bound(jvm: Any, connection: Any) -> None:
    insert = connection.prepareStatement("INSERT INTO orders VALUES (?, ?, ?, ?)")
    when = jvm.java.sql.Timestamp.valueOf("2024-01-02 03:04:05.678")
    for number, who, amount in ((1, "ada", "1.50"), (2, None, "2"), (3, "o'x", None)):
        insert.setInt(1, number)
        insert.setString(2, who)
        insert.setBigDecimal(3, jvm.java.math.BigDecimal(amount) if amount is not None else None)
        insert.setTimestamp(4, when)
        insert.addBatch()
    assert list(insert.executeBatch()) == [1, 1, 1]
    chosen = connection.prepareStatement("SELECT who, amount, at FROM orders WHERE id < ? AND who = ?")
    chosen.setLong(1, 3)
    chosen.setString(2, "ada")
    found = chosen.executeQuery()
    assert found.next()
    assert (found.getString("WHO"), found.getBigDecimal(2), found.getTimestamp(3).toString()) == (
        "ada", Decimal("1.50"), "2024-01-02 03:04:05.678",
    )  # fmt: skip
    update = connection.prepareStatement("UPDATE orders SET amount = ? WHERE id > ?")
    update.setDouble(1, 9.25)
    update.setInt(2, 1)
    assert update.executeUpdate() == 2
    assert _query(connection, "SELECT id, who, amount FROM orders ORDER BY id") == [
        ("1", "ada", "1.50"), ("2", None, "9.25"), ("3", "o'x", "9.25"),
    ]  # fmt: skip


def test_columns_are_described(connection: Any) -> None:
    shape = connection.prepareStatement("SELECT * FROM orders WHERE id = ?").getMetaData()
    columns = [
        (shape.getColumnName(n), shape.getColumnTypeName(n), shape.getPrecision(n), shape.getScale(n))
        for n in range(1, shape.getColumnCount() + 1)
    ]
    assert columns[0] == ("ID", "NUMBER", 38, 0) and columns[2] == ("AMOUNT", "NUMBER", 10, 2)
    assert [name for name, *_ in columns] == ["ID", "WHO", "AMOUNT", "AT"]
    assert columns[3][1] == "TIMESTAMPNTZ"


def test_tools_find_tables_and_columns(connection: Any, database: str) -> None:
    catalog = connection.getMetaData()
    tables = catalog.getTables(database, "PUBLIC", "%", None)
    assert tables.next() and tables.getString("TABLE_NAME") == "ORDERS" and not tables.next()
    columns = catalog.getColumns(database, "PUBLIC", "ORDERS", "%")
    found = []
    while columns.next():
        found.append((columns.getString("COLUMN_NAME"), columns.getString("IS_NULLABLE")))
    assert found == [("ID", "NO"), ("WHO", "YES"), ("AMOUNT", "YES"), ("AT", "YES")]
    assert catalog.getDatabaseProductName() == "Snowflake"


def test_errors_have_codes(connection: Any) -> None:
    with pytest.raises(Py4JJavaError) as raised:
        _query(connection, "SELECT * FROM nowhere")
    error = raised.value.java_exception
    assert (error.getErrorCode(), error.getSQLState()) == (2003, "42S02")
    assert "'NOWHERE' does not exist or not authorized" in error.getMessage()
    assert _query(connection, "SELECT 1") == [("1",)]


def test_transactions(connection: Any) -> None:
    connection.setAutoCommit(False)
    connection.createStatement().executeUpdate("INSERT INTO orders (id) VALUES (7)")
    connection.rollback()
    connection.createStatement().executeUpdate("INSERT INTO orders (id) VALUES (8)")
    connection.commit()
    connection.setAutoCommit(True)
    assert _query(connection, "SELECT id FROM orders") == [("8",)]


def test_large_results_come_in_parts(connection: Any) -> None:
    result = connection.createStatement().executeQuery(
        "SELECT SEQ4() AS n, REPEAT('x', 500) FROM TABLE(GENERATOR(ROWCOUNT => 6000)) ORDER BY n"
    )
    count = 0
    while result.next():
        count += 1
    assert count == 6000


def test_a_password_that_is_wrong(jvm: Any, door: int, database: str) -> None:
    with pytest.raises(Py4JJavaError) as raised:
        jdbc.connect(jvm, jdbc.url(door, database), user="admin", password="no")
    assert raised.value.java_exception.getErrorCode() == 390100


def test_over_tls(account: Account, tmp_path: Path) -> None:
    certificate, key, authority = make_certificate(tmp_path)
    trusted = pkcs12.PKCS12Certificate(load_pem_x509_certificate(authority.read_bytes()), b"snowmelt")
    store = tmp_path / "trusted.p12"
    store.write_bytes(pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(b"changeit")))
    options = (f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit")
    with serving(account, tls=(certificate, key)) as port, jdbc.java_with_driver(options) as jvm:
        url = f"jdbc:snowflake://localhost:{port}/?account=snowmelt"
        opened = jdbc.connect(jvm, url, user="admin", password=PASSWORD)
        assert _query(opened, "SELECT 'encrypted'") == [("encrypted",)]
        opened.close()
