"""Facts from real sources: a PostgreSQL database, and files."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from typer.testing import CliRunner

from snowmelt.cli.main import app
from tests.support.postgres import empty_schema


def look(path: Path) -> dict[str, object]:
    result = CliRunner().invoke(app, ["design", "look", str(path)])
    assert result.exit_code == 0, result.stderr
    found: dict[str, object] = yaml.safe_load(result.stdout)
    return found


def test_a_database_tells_tables_types_keys_rows_and_identity(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = empty_schema(postgres_url)
    with psycopg.connect(address, autocommit=True) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
        connection.execute(
            "CREATE TABLE orders (id bigint, line int, amount numeric(12, 2) NOT NULL, email text, tags text[],"
            " updated_at timestamptz, PRIMARY KEY (line, id))"
        )
        connection.execute("CREATE TABLE notes (body jsonb)")
        connection.execute("INSERT INTO orders SELECT n, 1, 1, 'x', '{}', now() FROM generate_series(1, 500) AS n")
        connection.execute("ANALYZE orders")
    path = tmp_path / "r.yaml"
    path.write_text(
        f"name: x\nsources: [{{name: shop, kind: postgres, tables: [{{name: {schema}.orders, deletes: true}}, "
        f"{{name: {schema}.notes}}]}}]\n",
        encoding="utf-8",
    )
    missing = CliRunner().invoke(app, ["design", "look", str(path)])
    assert missing.exit_code == 3 and "SHOP_URL" in missing.stderr
    monkeypatch.setenv("SHOP_URL", address)
    orders, notes = look(path)["sources"][0]["tables"]  # type: ignore[index]
    assert orders["key"] == ["line", "id"]
    assert orders["rows"] == 500
    assert orders["change_column"] == "updated_at"
    assert orders["replica_identity"] == "default"
    assert orders["deletes"] is True, "what a person wrote stays"
    assert {column["name"]: column.get("type", "VARCHAR") for column in orders["columns"]} == {
        "id": "NUMBER(38,0)", "line": "NUMBER(38,0)", "amount": "NUMBER(12,2)", "email": "VARCHAR", "tags": "ARRAY",
        "updated_at": "TIMESTAMP_LTZ",
    }  # fmt: skip
    assert [column["name"] for column in orders["columns"] if column.get("pii")] == ["email"]
    assert notes["replica_identity"] == "nothing" and "key" not in notes
    path.write_text("name: x\nsources: [{name: shop, kind: postgres, tables: [{name: no.such}]}]\n", encoding="utf-8")
    assert "no.such" in CliRunner().invoke(app, ["design", "look", str(path)]).stderr


def test_files_tell_columns_rows_and_keys(tmp_path: Path) -> None:
    (tmp_path / "orders_1.csv").write_text("order_id,amount,email\n1,2.5,a\n2,3.5,b\n", encoding="utf-8")
    (tmp_path / "events.jsonl").write_text('{"id": 1, "payload": {"a": 1}}\n{"id": 1}\n', encoding="utf-8")
    table = pa.table({"id": pa.array([1, 2, 3]), "price": pa.array([1, 2, 3], pa.decimal128(10, 2))})
    pyarrow.parquet.write_table(table, tmp_path / "prices.parquet")
    path = tmp_path / "r.yaml"
    path.write_text(
        f"name: x\nsources: [{{name: drop, kind: files, connection: {tmp_path}, "
        "tables: [{name: orders_*.csv}, {name: events.jsonl}, {name: prices.parquet}, {name: later.csv}]}]\n",
        encoding="utf-8",
    )
    orders, events, prices, later = look(path)["sources"][0]["tables"]  # type: ignore[index]
    assert (orders["name"], orders["key"], orders["rows"]) == ("orders_*.csv", ["order_id"], 2)
    assert [column["name"] for column in orders["columns"] if column.get("pii")] == ["email"]
    assert "key" not in events and events["columns"][1]["type"] == "VARIANT"
    assert prices["columns"] == [
        {"name": "id", "type": "NUMBER(38,0)", "nullable": False}, {"name": "price", "type": "NUMBER(10,2)"}
    ], "what three rows have is no promise"  # fmt: skip
    assert later == {"name": "later.csv"}
