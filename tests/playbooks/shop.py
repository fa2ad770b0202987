"""Tables for playbooks, and what an account looks like before and after."""

from __future__ import annotations

from typing import Any

from snowmelt.runtime.session import Session

PIPELINE = {
    "source": "orders", "columns": "id, customer_id, amount", "clean_where": "amount > 0", "dimension": "customers",
    "dimension_columns": "country", "key": "customer_id", "group_by": "country", "measure": "amount",
}  # fmt: skip
SUMMARY = [("AT", 1, 5), ("DE", 2, 30)]


def open_shop(session: Session) -> None:
    for statement in (
        "CREATE TABLE orders (id INT, customer_id INT, amount INT)",
        "CREATE TABLE customers (customer_id INT, country VARCHAR)",
        "INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5), (4, 2, -1)",
        "INSERT INTO customers VALUES (1, 'DE'), (2, 'AT')",
    ):
        session.execute(statement)


def summary(session: Session) -> list[tuple[Any, ...]]:
    return session.execute("SELECT country, row_count, total FROM orders_summary ORDER BY country").rows()


def objects(session: Session) -> set[tuple[str, str]]:
    """Kind and name of everything in the session's database but its INFORMATION_SCHEMA."""
    found: set[tuple[str, str]] = set()
    for kind in ("TABLES", "DYNAMIC TABLES", "VIEWS", "STREAMS", "CONTRACTS", "DATA PRODUCTS", "CONNECTORS", "SCHEMAS"):
        result = session.execute(f"SHOW {kind} IN DATABASE")
        columns = [column.name for column in result.columns]
        rows = [dict(zip(columns, row, strict=True)) for row in result.rows()]
        found |= {(kind, str(row["name"])) for row in rows if row.get("schema_name") != "INFORMATION_SCHEMA"}
    return found


def tracked(session: Session, table: str) -> str:
    result = session.execute(f"SHOW TABLES LIKE '{table}'")
    place = [column.name for column in result.columns].index("change_tracking")
    return str(result.rows()[0][place])
