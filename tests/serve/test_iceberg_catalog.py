"""Other engines read through the catalog what SQL reads: PyIceberg and DuckDB, in a process without Snowmelt."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from snowmelt.engine.jars import ensure_jars, parse_lock
from snowmelt.runtime.session import Session
from snowmelt.storage.iceberg import publishing
from tests.serve.callers import PASSWORD, Serving
from tests.support.iceberg_readers import IcebergReaders
from tests.support.waiting import DEADLINE

EXTRACT_LOAD = Path(__file__).parent.parent / "extract_load"
ENGINES = ("pyiceberg catalog", "duckdb catalog")
EVERY_TYPE = (
    "id INT, name VARCHAR, amount NUMBER(10,2), at TIMESTAMP_NTZ, l TIMESTAMP_LTZ, z TIMESTAMP_TZ, d DATE, b BOOLEAN, "
    "v VARIANT, bin BINARY, tm TIME, f FLOAT"
)
ROW = (
    "SELECT {n}, 'a', 1.5, '2024-01-01 00:00:00.123456'::TIMESTAMP_NTZ, '2024-01-01'::TIMESTAMP_LTZ, "
    "'2024-01-01 00:00:00 +0200'::TIMESTAMP_TZ, '2024-02-03', TRUE, PARSE_JSON('{{\"a\": 1}}'), TO_BINARY('ab'), "
    "'10:00:00', 1.5"
)


@pytest.fixture(scope="module")
def shop(serving: Serving) -> Iterator[Serving]:
    serving.admin().execute_script(
        "CREATE DATABASE shop; CREATE SCHEMA shop.s; CREATE WAREHOUSE IF NOT EXISTS wh; "
        "GRANT USAGE ON DATABASE shop TO ROLE analyst; GRANT USAGE ON SCHEMA shop.s TO ROLE analyst"
    )
    yield serving
    serving.admin().execute("DROP DATABASE shop")


@pytest.fixture(scope="module")
def readers() -> Iterator[IcebergReaders]:
    with closing(IcebergReaders()) as made:
        yield made


@pytest.fixture
def admin(shop: Serving) -> Iterator[Session]:
    session = shop.admin()
    session.execute_script("CREATE OR REPLACE SCHEMA shop.s; USE SCHEMA shop.s")
    yield session
    session.close()


def catalog(shop: Serving, warehouse: str = "SHOP", role: str = "SYSADMIN") -> dict[str, str]:
    return {
        "uri": f"{shop.url}/iceberg", "credential": f"ann:{PASSWORD}", "warehouse": warehouse,
        "scope": f"session:role:{role}",
    }  # fmt: skip


def read(shop: Serving, readers: IcebergReaders, engine: str, table: str, warehouse: str = "SHOP") -> list[Any]:
    rows = readers.ask({"reader": engine, "catalog": catalog(shop, warehouse), "schema": "S", "table": table.upper()})
    return sorted(json.dumps(row) for row in rows)


def by_sql(session: Session, table: str, without: str = "") -> list[Any]:
    result = session.execute(f"SELECT * {f'EXCLUDE ({without})' if without else ''} FROM {table}")
    names = [column.name for column in result.columns]
    return sorted(
        json.dumps({name: _text(value) for name, value in zip(names, row, strict=True)}) for row in result.rows()
    )


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{value.timestamp():.6f}"
    return str(value)


def grant_all(session: Session) -> None:
    session.execute_script(
        "GRANT USAGE ON DATABASE shop TO ROLE sysadmin; GRANT USAGE ON SCHEMA shop.s TO ROLE sysadmin; "
        "GRANT SELECT ON ALL TABLES IN SCHEMA shop.s TO ROLE sysadmin; "
        "GRANT SELECT ON FUTURE TABLES IN SCHEMA shop.s TO ROLE sysadmin; "
        "GRANT SELECT ON FUTURE DYNAMIC TABLES IN SCHEMA shop.s TO ROLE sysadmin"
    )


def test_every_type(shop: Serving, admin: Session, readers: IcebergReaders) -> None:
    admin.execute(f"CREATE TABLE t ({EVERY_TYPE})")
    admin.execute(f"INSERT INTO t {ROW.format(n=1)}")
    admin.execute("INSERT INTO t (id) VALUES (2)")
    grant_all(admin)
    for engine in ENGINES:
        found = [json.loads(row) for row in read(shop, readers, engine, "t")]
        assert {row["ID"] for row in found} == {"1", "2"} and all("V" not in row for row in found)
        (full,) = (row for row in found if row["ID"] == "1")
        moment = json.loads(full.pop("Z"))
        assert moment == {"INSTANT": "1704060000.000000", "OFFSET_MINUTES": "120"}
        assert full == {
            "ID": "1", "NAME": "a", "AMOUNT": "1.50", "AT": "2024-01-01 00:00:00.123456", "L": "1704067200.000000",
            "D": "2024-02-03", "B": "True", "BIN": str(b"\xab"), "TM": "10:00:00", "F": "1.5",
        }  # fmt: skip


_INTO = "INSERT INTO t (id, name, amount)"
STEPS = (
    _INTO + " SELECT {n}, 'n{n}', {n}.25", _INTO + " VALUES ({n}, NULL, NULL), ({n}, 'b', 1)",
    "UPDATE t SET name = 'u' WHERE id % 3 = {m}", "DELETE FROM t WHERE id % 5 = {m}",
    "MERGE INTO t USING (SELECT {n} AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = 9 "
    "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    "ALTER TABLE t ADD COLUMN c{n} FLOAT",
    "ALTER TABLE t ADD COLUMN gone TIMESTAMP_TZ; ALTER TABLE t ADD COLUMN left VARIANT; "
    "UPDATE t SET gone = '2024-01-01 00:00:00 +0200' WHERE id % 2 = 0; ALTER TABLE t DROP COLUMN gone, left",
    "CREATE OR REPLACE TABLE t AS SELECT * FROM t",
    "CREATE OR REPLACE TABLE copy CLONE t; CREATE OR REPLACE TABLE t CLONE copy", "TRUNCATE TABLE t",
    "ALTER DYNAMIC TABLE totals REFRESH",
    "BEGIN; " + _INTO + " VALUES ({n}, 'x', 1); DELETE FROM t WHERE id = {m}; COMMIT",
    "BEGIN; " + _INTO + " VALUES ({n}, 'never', 1); ROLLBACK",
)  # fmt: skip


def run_randomly(shop: Serving, admin: Session, readers: IcebergReaders, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    admin.execute("CREATE TABLE t (id INT, name VARCHAR, amount NUMBER(10,2))")
    grant_all(admin)
    admin.execute(
        "CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' WAREHOUSE = wh AS "
        "SELECT name, SUM(amount) AS total, COUNT(*) AS n FROM t GROUP BY name"
    )
    for number in range(steps):
        step = chance.choice(STEPS).format(n=number, m=chance.randrange(3))
        admin.execute_script(step)
        for table in ("t", "totals"):
            assert read(shop, readers, chance.choice(ENGINES), table) == by_sql(admin, table), (seed, number, step)


def test_what_sql_reads_other_engines_read(shop: Serving, admin: Session, readers: IcebergReaders) -> None:
    run_randomly(shop, admin, readers, 1, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_for_long(shop: Serving, admin: Session, readers: IcebergReaders, seed: int) -> None:
    run_randomly(shop, admin, readers, seed, 40)


def test_a_catalog_of_a_moment_shows_one(shop: Serving, admin: Session, readers: IcebergReaders) -> None:
    """What is read from several tables belongs together, whatever is committed between the reads."""
    admin.execute_script("CREATE TABLE a (n INT); CREATE TABLE b (n INT)")
    grant_all(admin)
    for engine in ENGINES:
        admin.execute_script("BEGIN; TRUNCATE TABLE a; TRUNCATE TABLE b; COMMIT")
        admin.execute_script("BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); COMMIT")
        assert read(shop, readers, engine, "a", "SHOP@now") == ['{"N": "1"}']
        admin.execute_script("BEGIN; INSERT INTO a VALUES (2); INSERT INTO b VALUES (2); COMMIT")
        assert read(shop, readers, engine, "b", "SHOP@now") == ['{"N": "1"}']
        assert read(shop, readers, engine, "b") == ['{"N": "1"}', '{"N": "2"}']


@pytest.mark.slow
def test_spark_of_another_process_reads_them(shop: Serving, admin: Session) -> None:
    admin.execute_script(
        f"CREATE TABLE t ({EVERY_TYPE}); INSERT INTO t {ROW.format(n=1)}; INSERT INTO t (id) VALUES (2); "
        "ALTER TABLE t DROP COLUMN z; CREATE TABLE plain (n INT, a VARCHAR); "
        "INSERT INTO plain VALUES (1, 'x'), (2, NULL)"
    )
    grant_all(admin)
    (jar,) = ensure_jars(jars=parse_lock((EXTRACT_LOAD / "iceberg_spark.lock").read_text()))
    about = json.dumps(catalog(shop))
    script = [sys.executable, "-m", "tests.serve.iceberg_catalog_spark", str(jar), about, "S.T", "S.PLAIN"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=DEADLINE, check=False)
    found = [json.loads(line.removeprefix("ROWS ")) for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    assert len(found) == 2, done.stderr[-3000:]
    for rows, table, without in zip(found, ("t", "plain"), ("v, bin, d, f, b", ""), strict=True):
        kept = [{name: value for name, value in row.items() if name not in without.upper().split(", ")} for row in rows]
        assert sorted(map(json.dumps, kept)) == by_sql(admin, table, without)


class Asking:
    """By plain HTTP."""

    def __init__(self, shop: Serving, role: str = "ANALYST") -> None:
        self.http = httpx.Client(base_url=f"{shop.url}/iceberg/v1", timeout=600)
        body = {
            "grant_type": "client_credentials", "client_id": "ann", "client_secret": PASSWORD,
            "scope": f"session:role:{role}",
        }  # fmt: skip
        self.token = self.http.post("/oauth/tokens", data=body).json()["access_token"]
        self.headers = {"authorization": f"Bearer {self.token}"}

    def ask(self, path: str, method: str = "GET") -> tuple[int, Any]:
        answer = self.http.request(method, path, headers=self.headers)
        return answer.status_code, answer.json() if answer.content else None

    def kind(self, path: str, method: str = "GET") -> tuple[int, str]:
        status, body = self.ask(path, method)
        return status, body["error"]["type"]


@pytest.fixture
def analyst(shop: Serving, admin: Session) -> Iterator[Asking]:
    admin.execute_script(
        "CREATE TABLE mine (n INT); CREATE TABLE hidden (n INT); CREATE VIEW v AS SELECT * FROM mine; "
        "GRANT USAGE ON SCHEMA shop.s TO ROLE analyst; GRANT SELECT ON TABLE mine TO ROLE analyst; "
        "GRANT SELECT ON VIEW v TO ROLE analyst"
    )
    asking = Asking(shop)
    yield asking
    asking.http.close()


def test_a_role_finds_what_it_may_read(analyst: Asking, admin: Session) -> None:
    assert analyst.ask("/SHOP/namespaces") == (200, {"namespaces": [["S"]]})
    tables = analyst.ask("/SHOP/namespaces/S/tables")
    assert tables == (200, {"identifiers": [{"namespace": ["S"], "name": "MINE"}]})
    assert analyst.ask("/SHOP/namespaces/s/tables/mine")[0] == 200
    assert analyst.ask("/SHOP/namespaces/S/tables/MINE", "HEAD") == (204, None)
    for missing in ("HIDDEN", "V", "NIX"):
        assert analyst.kind(f"/SHOP/namespaces/S/tables/{missing}") == (404, "NoSuchTableException")
    assert analyst.kind("/SHOP/namespaces/NIX/tables") == (404, "NoSuchNamespaceException")
    assert analyst.kind("/NIX/namespaces") == (404, "NoSuchNamespaceException")
    admin.execute("REVOKE SELECT ON TABLE shop.s.mine FROM ROLE analyst")
    assert analyst.kind("/SHOP/namespaces/S/tables/MINE") == (404, "NoSuchTableException")


def test_files_of_what_has_a_policy_are_nobodys(analyst: Asking, admin: Session) -> None:
    assert analyst.ask("/SHOP/namespaces/S/tables/MINE")[0] == 200
    admin.execute_script(
        "CREATE MASKING POLICY hide AS (x INT) RETURNS INT -> CASE WHEN CURRENT_ROLE() = 'NOBODY' THEN x ELSE 0 END; "
        "ALTER TABLE mine MODIFY COLUMN n SET MASKING POLICY hide"
    )
    status, body = analyst.ask("/SHOP/namespaces/S/tables/MINE")
    assert (status, body["error"]["type"]) == (403, "ForbiddenException") and "policy" in body["error"]["message"]
    admin.execute("ALTER TABLE mine MODIFY COLUMN n UNSET MASKING POLICY")


def test_who_may_not_come_in_is_told(shop: Serving, analyst: Asking) -> None:
    with httpx.Client(base_url=f"{shop.url}/iceberg/v1", timeout=600) as http:
        wrong = {"grant_type": "client_credentials", "client_id": "ann", "client_secret": "wrong"}
        answer = http.post("/oauth/tokens", data=wrong)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert http.post("/oauth/tokens", data={"grant_type": "password"}).status_code == 400
        assert http.post("/oauth/tokens", data={"grant_type": "client_credentials"}, auth=("ann", PASSWORD)).is_success
        for path in ("/config?warehouse=SHOP", "/SHOP/namespaces", "/SHOP/namespaces/S/tables/MINE", "/anything"):
            for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Snowflake Token={analyst.token}"}):
                assert http.get(path, headers=headers).status_code == 401
    exchanged = analyst.http.post("/oauth/tokens", data={
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": analyst.token,
    })  # fmt: skip
    assert exchanged.json()["access_token"] == analyst.token


def test_it_is_for_reading(analyst: Asking) -> None:
    assert analyst.kind("/SHOP/namespaces", "POST") == (405, "UnsupportedOperationException")
    assert analyst.kind("/SHOP/namespaces/S/tables/MINE", "DELETE") == (405, "UnsupportedOperationException")
    assert analyst.ask("/SHOP/namespaces/S/tables/MINE/metrics", "POST") == (204, None)


def test_a_database_is_named(analyst: Asking) -> None:
    status, body = analyst.ask("/config?warehouse=shop")
    assert (status, body["overrides"]) == (200, {"prefix": "SHOP"})
    assert (
        analyst.ask("/config?warehouse=SHOP@2026-01-31T12:00:00Z")[1]["overrides"]["prefix"] == "SHOP@1769860800000000"
    )
    for wrong in ("", "NIX", "SHOP@yesterday"):
        assert analyst.kind(f"/config?warehouse={wrong}") == (400, "BadRequestException")
    assert "SHOP" in analyst.ask("/config")[1]["error"]["message"]


def test_before_there_was_a_table_there_is_none(analyst: Asking) -> None:
    assert analyst.ask("/SHOP@1000000/namespaces/S/tables/MINE")[0] == 400


def test_reading_is_in_the_history(analyst: Asking, admin: Session) -> None:
    analyst.ask("/SHOP/namespaces/S/tables/MINE")
    rows = admin.execute(
        "SELECT user_name, role_name FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY()) WHERE query_type = 'ICEBERG_READ'"
    ).rows()
    assert ("ANN", "ANALYST") in rows


def test_the_address_of_the_metadata(admin: Session, readers: IcebergReaders) -> None:
    """For readers that have no catalog."""
    admin.execute_script("CREATE TABLE t (n NUMBER(5,2)); INSERT INTO t VALUES (1.25)")
    told = json.loads(admin.execute("SELECT SYSTEM$GET_ICEBERG_TABLE_INFORMATION('t')").rows()[0][0])
    for engine in ("pyiceberg", "duckdb"):
        rows = readers.ask({"reader": engine, "address": told["metadataLocation"], "settings": {}})
        assert [Decimal(row["N"] or 0) for row in rows] == [Decimal("1.25")]
    assert admin.execute("SELECT SYSTEM$GET_ICEBERG_TABLE_INFORMATION('t')").rows()[0][0] == json.dumps(told)


def test_old_metadata_go(admin: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "FRESH_SECONDS", -1.0)
    admin.execute("CREATE TABLE t (n INT)")
    for number in range(3):
        admin.execute(f"INSERT INTO t VALUES ({number})")
        told = json.loads(admin.execute("SELECT SYSTEM$GET_ICEBERG_TABLE_INFORMATION('t')").rows()[0][0])
    assert list(Path(told["metadataLocation"]).parent.iterdir()) == []
