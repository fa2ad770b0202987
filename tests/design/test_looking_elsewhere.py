"""Facts from sources of every other kind: an API by one request, files that are read by their rows' size, MariaDB,
object stores, topics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import yaml
from sqlalchemy import make_url

from snowmelt.extract_load.stores.opening import open_store
from tests.design.building import call
from tests.extract_load.conftest import gcs_settings, kafka_servers, mariadb_url, s3_settings, sftp_server
from tests.extract_load.rigs import KafkaRig
from tests.extract_load.web import Web

__all__ = ["gcs_settings", "kafka_servers", "mariadb_url", "s3_settings", "sftp_server"]
Tables = list[dict[str, Any]]


def look(folder: Path, kind: str, tables: Tables, **source: Any) -> tuple[dict[str, Any], str]:
    """The source as it was seen, and what was told."""
    path = folder / "r.yaml"
    given = {"name": "x", "sources": [{"name": "shop", "kind": kind, "tables": tables, **source}]}
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    result = call("design", "look", str(path))
    assert result.exit_code == 0, result.stderr
    seen: dict[str, Any] = yaml.safe_load(result.stdout)["sources"][0]
    return seen, " ".join(result.stderr.split())


def types(table: dict[str, Any]) -> dict[str, str]:
    return {column["name"]: column.get("type", "VARCHAR") for column in table["columns"]}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    made = Web()
    made.allowed = lambda headers, _: headers.get("authorization") == "Bearer hush"
    made.items = [
        {"id": n, "email": f"p{n}@example.org", "tags": [n], "seen": "2024-01-01T00:00:00Z", "updated_at": "2024-01-02"}
        for n in range(500)
    ]
    monkeypatch.setenv("SHOP_URL", made.address)
    monkeypatch.setenv("SHOP_TOKEN", "hush")
    yield made
    made.close()


LOGIN = {"auth": "bearer", "token": "${SHOP_TOKEN}"}


def test_an_api_tells_by_one_request(web: Web, tmp_path: Path) -> None:
    table = {"name": "orders", "options": {"paging": "page", "page_size": 20}}
    seen, told = look(tmp_path, "api", [table], options=LOGIN)
    (orders,) = seen["tables"]
    assert len(web.seen) == 1, "it is no burden"
    assert types(orders) == {
        "id": "NUMBER(38,0)", "email": "VARCHAR", "tags": "VARIANT", "seen": "TIMESTAMP_TZ", "updated_at": "DATE",
    }  # fmt: skip
    assert orders["key"] == ["id"] and orders["change_column"] == "updated_at" and "rows" not in orders
    assert [column["name"] for column in orders["columns"] if column.get("pii")] == ["email"]
    assert orders["options"] == table["options"] and seen["options"] == LOGIN, "what a person wrote stays"
    assert "nobody knows how many rows" in told and "hush" not in told


@pytest.mark.parametrize(
    ("headers", "body", "rows", "rate"),
    [
        ({"X-Total-Count": "7000", "RateLimit-Policy": '"default";q=100;w=50'}, [{"id": 1}], 7000, 2.0),
        ({"RateLimit-Policy": "600;w=60"}, {"total": 12, "data": [{"id": 1}]}, 12, 10.0),
        ({"X-RateLimit-Limit": "60"}, {"meta": {"total_count": 3}, "data": [{"id": 1}]}, 3, None),
        ({}, [{"id": 1}, {"id": 2}], 2, None),
    ],
    ids=["headers", "the document", "a limit without a time", "one page is all"],
)  # fmt: skip
def test_an_api_says_how_much_there_is_and_what_it_allows(
    headers: dict[str, str], body: Any, rows: int, rate: float | None, web: Web, tmp_path: Path
) -> None:
    web.trouble = [(200, {"Content-Type": "application/json", **headers}, json.dumps(body).encode())]
    seen, told = look(tmp_path, "api", [{"name": "orders"}], options=LOGIN)
    assert seen["tables"][0]["rows"] == rows
    assert seen["options"].get("requests_per_second") == rate
    assert ("in a time that it does not say" in told) == ("X-RateLimit-Limit" in headers)


def test_files_are_counted_by_their_size(tmp_path: Path) -> None:
    lines = "".join(f"{n};{n}.5;2024-01-01\n" for n in range(1000))
    for day in range(1, 5):
        (tmp_path / f"day_{day}.csv").write_text(f"id;price;day\n{lines}", encoding="utf-8")
    (tmp_path / "all.json").write_text('[{"id": 1, "a": null}, {"id": 2, "a": {"b": 1}}]', encoding="utf-8")
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    tables: Tables = [{"name": "day_*.csv", "options": {"delimiter": ";"}}, {"name": "all.json"}]
    seen, told = look(tmp_path, "files", tables, connection=str(tmp_path))
    days, documents = seen["tables"]
    assert days["rows"] == 4000 and days["size"] == sum(path.stat().st_size for path in tmp_path.glob("day_*"))
    assert types(days) == {"id": "NUMBER(38,0)", "price": "FLOAT", "day": "DATE"}
    assert types(documents) == {"id": "NUMBER(38,0)", "a": "VARIANT"} and documents["key"] == ["id"]
    assert "day_*.csv: 4 files; one was looked into" in told
    path = tmp_path / "bad.yaml"
    path.write_text(
        f"name: x\nsources: [{{name: d, kind: files, connection: {tmp_path}, tables: [{{name: none.json}}]}}]\n",
        encoding="utf-8",
    )
    assert "it has no record" in call("design", "look", str(path)).stderr


def test_what_nobody_can_ask_is_told(tmp_path: Path) -> None:
    seen, told = look(tmp_path, "webhook", [{"name": "payments"}])
    assert seen["tables"] == [{"name": "payments"}] and "nobody can ask a webhook" in told
    _, told = look(tmp_path, "kafka", [])
    assert "name its tables" in told


@pytest.mark.slow
def test_mariadb_tells_tables_types_keys_and_rows(
    mariadb_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = make_url(mariadb_url)
    with pymysql.connect(
        host=where.host, port=where.port or 3306, user=where.username, password=where.password or "",
        database=where.database, autocommit=True,
    ) as connection, connection.cursor() as cursor:  # fmt: skip
        cursor.execute("DROP TABLE IF EXISTS looked_at")
        cursor.execute(
            "CREATE TABLE looked_at (line INT, id BIGINT UNSIGNED, amount DECIMAL(12,2) NOT NULL, email VARCHAR(90), "
            "body JSON, picture BLOB, at DATETIME(6), touched TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, "
            "PRIMARY KEY (id, line))"
        )
        cursor.execute("INSERT INTO looked_at (line, id, amount) SELECT 1, seq, 1 FROM seq_1_to_500")
        cursor.execute("ANALYZE TABLE looked_at")
    monkeypatch.setenv("SHOP_URL", mariadb_url)
    seen, _ = look(tmp_path, "mysql", [{"name": "looked_at"}])
    (table,) = seen["tables"]
    assert (table["key"], table["change_column"], table["rows"]) == (["id", "line"], "touched", 500)
    assert types(table) == {
        "line": "NUMBER(38,0)", "id": "NUMBER(38,0)", "amount": "NUMBER(12,2)", "email": "VARCHAR", "body": "VARCHAR",
        "picture": "BINARY", "at": "TIMESTAMP_NTZ", "touched": "TIMESTAMP_NTZ",
    }, "MariaDB's JSON is a text"  # fmt: skip
    assert [column["name"] for column in table["columns"] if not column.get("nullable", True)] == [
        "line", "id", "amount",
    ]  # fmt: skip
    path = tmp_path / "r.yaml"
    path.write_text("name: x\nsources: [{name: shop, kind: mysql, tables: [{name: nowhere}]}]\n", encoding="utf-8")
    missing = call("design", "look", str(path))
    assert missing.exit_code == 3 and "no table nowhere" in missing.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["s3", "gcs", "sftp"])
def test_stores_tell_what_their_files_do(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "sftp":
        server = request.getfixturevalue("sftp_server")
        address, settings = f"{server.address}/looked", dict(server.settings)
    else:
        address = f"{'gs' if kind == 'gcs' else 's3'}://bucket/looked"
        settings = dict(request.getfixturevalue(f"{kind}_settings"))
    (tmp_path / "orders.csv").write_text("id,name\n1,a\n2,b\n", encoding="utf-8")
    store = open_store(address, settings)
    for number in (1, 2):
        store.put(tmp_path / "orders.csv", f"orders_{number}.csv")
    store.close()
    monkeypatch.setenv("SHOP_URL", address)
    for name, value in settings.items():
        monkeypatch.setenv(f"SHOP_{name.upper()}", str(value))
    options = {name: f"${{SHOP_{name.upper()}}}" for name in settings}
    seen, told = look(tmp_path, kind, [{"name": "orders_*.csv"}], options=options)
    (table,) = seen["tables"]
    assert (table["rows"], table["key"]) == (4, ["id"]) and "2 files" in told


@pytest.mark.slow
def test_a_topic_tells_columns_messages_and_their_rate(
    kafka_servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = KafkaRig(kafka_servers)
    rig.add(*[{"id": n, "amount": 1.5, "ts_ms": n} for n in range(72)])
    monkeypatch.setenv("SHOP_URL", kafka_servers)
    seen, _ = look(tmp_path, "kafka", [{"name": rig.topic}])
    (table,) = seen["tables"]
    assert (table["rows"], table["key"], table["change_column"]) == (72, ["id"], "ts_ms")
    assert types(table) == {"id": "NUMBER(38,0)", "amount": "FLOAT", "ts_ms": "NUMBER(38,0)"}
    assert table["changes_per_second"] == 0.02 and "deletes" not in table
    rig.send(None, "1")
    seen, _ = look(tmp_path, "kafka", [{"name": rig.topic}])
    assert seen["tables"][0]["deletes"] is True
