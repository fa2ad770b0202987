"""Built projects whose gates stand before rows are visible: bad rows are kept beside, or the good ones stay."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from tests.design.building import PROJECTS, built, environment, queried
from tests.design.driving import driving

pytestmark = pytest.mark.slow
KEY = "a long and random key"
SHOP: dict[str, Any] = {
    **PROJECTS["files_snowmelt"], "name": "gated_shop", "contracts": {},
    "quality": [
        {"check": "range", "table": "stg_orders", "columns": ["amount"], "minimum": 0, "severity": "error"},
        {"check": "range", "table": "revenue", "columns": ["revenue"], "maximum": 1000, "severity": "critical"},
    ],
}  # fmt: skip
ORDERS = "SELECT order_id, amount FROM stg_orders ORDER BY order_id"
REVENUE = "SELECT SUM(revenue), SUM(orders) FROM revenue"
KEPT = "SELECT order_id, quality_checks, STARTSWITH(quality_reason, 'set aside by ann') FROM stg_orders_quarantine"


def hashed(value: str) -> str:
    return hmac.new(KEY.encode(), value.encode(), hashlib.sha256).hexdigest()


def called(project: Path, *command: str, code: int = 0, **variables: str) -> str:
    """What a command of the project says, which ends with that exit code."""
    package = next((project / "src").iterdir()).name
    done = subprocess.run(
        [sys.executable, "-m", package, *command], cwd=project, timeout=900, check=False, capture_output=True,
        text=True, env=environment(project, **{"SNOWMELT_TOKEN_KEY": KEY, **variables}),
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == code, said[-4000:]
    return said


def drop_orders(project: Path, number: int, *rows: str) -> None:
    folder = project / "incoming"
    folder.mkdir(exist_ok=True)
    (folder / "events.jsonl").touch()
    text = "\n".join(["order_id,customer,amount,updated_at", *rows]) + "\n"
    (folder / f"orders_{number}.csv").write_text(text, encoding="utf-8")


def test_bad_rows_do_not_become_visible(tmp_path: Path) -> None:
    """An error: the row is kept beside, until its source is mended. Critical: the last good version stays."""
    project = built(SHOP, tmp_path)
    drop_orders(
        project, 1, "1,ann@example.org,10,2024-01-01T00:00:00", "2,bob@example.org,20,2024-01-01T00:00:00",
        "3,ann@example.org,-5,2024-01-01T00:00:00", ",eve@example.org,1,2024-01-01T00:00:00",
    )  # fmt: skip
    said = called(project, "run", code=1)
    assert "a gate is broken" in said and "range_stg_orders" in said
    assert "reconciliation_stg_orders" not in said, "a row that a gate kept out is not lost"
    personal = (
        "SELECT COUNT_IF(TO_JSON(record) LIKE '%@%') FROM raw_orders",
        "SELECT COUNT(*), COUNT_IF(TO_JSON(record) LIKE '%@%'), COUNT_IF(reason LIKE '%@%') FROM dead_letters",
        "SELECT DISTINCT customer FROM stg_orders WHERE order_id = 1",
    )
    assert queried(project, ORDERS, REVENUE, KEPT, *personal) == [
        "1,10.00", "2,20.00", "30.00,2", "3,GATE_RANGE_AMOUNT,False", "0", "1,0,0", hashed("ann@example.org"),
    ]  # fmt: skip
    assert "GATE_RANGE_AMOUNT" in called(project, "quarantine", "list")
    drop_orders(project, 2, "3,ann@example.org,5,2024-01-02T00:00:00", "4,bob@example.org,2000,2024-01-02T00:00:00")
    said = called(project, "run", code=1)
    assert "refresh refused" in said and "range_revenue" in said
    assert queried(project, ORDERS, REVENUE) == ["1,10.00", "2,20.00", "3,5.00", "4,2000.00", "30.00,2"]
    called(project, "quality", code=1)
    drop_orders(project, 3, "4,bob@example.org,40,2024-01-03T00:00:00", "5,bob@example.org,-1,2024-01-03T00:00:00")
    said = called(project, "run", code=1)
    assert "range_revenue" not in said
    assert called(project, "quarantine", "replay", code=1).count("a gate is broken") == 1
    assert queried(project, REVENUE, KEPT) == ["75.00,4", "5,GATE_RANGE_AMOUNT,False"], "3 is mended"
    assert "1 rows are set aside" in called(project, "quarantine", "discard", "--by", "ann")
    called(project, "run")
    assert queried(project, REVENUE, KEPT) == ["75.00,4", "5,,True"]


def odd_columns(**types: str) -> list[dict[str, str]]:
    """`NAME_THERE__name_here: type`."""
    pairs = [(name.partition("__"), kind) for name, kind in types.items()]
    return [{"name": name, "called": here, "type": kind} for (name, _, here), kind in pairs]


ODD: dict[str, Any] = {
    **PROJECTS["files_snowmelt"], "name": "odd_shop", "pii": {"present": False}, "contracts": {},
    "sources": [{"name": "drop", "kind": "files", "connection": "incoming", "tables": [
        {"name": "orders_*.csv", "key": ["ORD_NO"], "change_column": "CHG_TS", "columns": odd_columns(
            ORD_NO__order_id="NUMBER(38,0)", CUST__customer_id="NUMBER(38,0)", STATE__status="VARCHAR",
            AMT__amount="NUMBER(12,2)", CHG_TS__changed_at="TIMESTAMP_NTZ")},
        {"name": "customers_*.csv", "key": ["CUST"], "columns": odd_columns(
            CUST__customer_id="NUMBER(38,0)", CITY__city="VARCHAR")},
    ]}],
    "transformations": [{"name": "revenue", "key": ["customer_id"], "sql":
        "SELECT customer_id, SUM(amount) AS revenue FROM stg_orders WHERE status = 'paid' GROUP BY customer_id"}],
    "quality": [
        {"check": "accepted_values", "table": "stg_orders", "columns": ["status"], "values": ["open", "paid"]},
        {"check": "referential_integrity", "table": "stg_orders", "columns": ["customer_id"],
         "references": "stg_customers(customer_id)"},
        {"check": "row_count", "table": "revenue", "share": 0.5, "severity": "critical"},
    ],
}  # fmt: skip
PAID = "SELECT customer_id, revenue FROM revenue ORDER BY customer_id"
ODD_ORDERS = "SELECT order_id, customer_id, status, amount FROM stg_orders ORDER BY order_id"
ODD_KEPT = "SELECT order_id, quality_checks FROM stg_orders_quarantine"
EXAMPLES = "SELECT gate, example:order_id::INT, example:customer_id::INT FROM gate_examples"


def drop_odd(project: Path, number: int, *orders: str, customers: Sequence[str] = ()) -> None:
    folder = project / "incoming"
    folder.mkdir(exist_ok=True)
    lines = ["ORD_NO,CUST,STATE,AMT,CHG_TS", *(f"{order},2024-01-0{number}T00:00:00" for order in orders)]
    (folder / f"orders_{number}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if customers:
        text = "\n".join(["CUST,CITY", *customers]) + "\n"
        (folder / f"customers_{number}.csv").write_text(text, encoding="utf-8")


def test_unknown_values_lost_references_and_shrunken_tables(tmp_path: Path) -> None:
    """A value that is none of those accepted, a row that refers to nothing, and a table that lost most of its rows; all
    with columns that have other names here than in their source."""
    project = built(ODD, tmp_path)
    drop_odd(project, 1, "1,1,paid,10", "2,2,paid,20", "3,9,paid,5", "4,1,lost,1", customers=["1,Rome", "2,Oslo"])
    with driving(project) as driver:
        assert driver.call("run") == 1
        found = driver.rows(ODD_ORDERS, ODD_KEPT, EXAMPLES, PAID)
        assert found[0] == [("1", "1", "paid", "10.00"), ("2", "2", "paid", "20.00"), ("3", "9", "paid", "5.00")]
        assert found[1] == [("4", "GATE_ACCEPTED_VALUES_STATUS")]
        assert [row[1:] for row in found[2]] == [("3", "9")] and "referential_integrity" in str(found[2][0][0])
        assert [row[0] for row in found[3]] == ["1", "2", "9"]
        assert "accepted_values" in driver.told() and "referential_integrity" in driver.told()
        drop_odd(project, 2, "4,1,open,1", customers=["9,Bern"])
        assert driver.call("run") == 1, "the row that is mended now is in the quarantine, too"
        assert driver.call("quarantine", "replay") == 0
        assert driver.rows(EXAMPLES, ODD_KEPT) == [[], []]
        drop_odd(project, 3, "2,2,open,20", "3,9,open,5")
        assert driver.call("run") == 1
        assert "less than 50 % of the 3 rows before" in driver.told()
        assert [len(rows) for rows in driver.rows(PAID)] == [3], "the last good version"
        assert driver.call("run") == 1, "until somebody has looked"
        driver.rows(
            "ALTER DYNAMIC TABLE revenue DROP QUALITY CHECK gate_row_count", "ALTER DYNAMIC TABLE revenue REFRESH"
        )
        assert driver.call("run") == 0
        assert driver.rows(PAID) == [[("1", "10.00")]]
        assert driver.rows("SELECT COALESCE(SUM(breaches), 0) FROM reconciliations") == [[("0",)]]
        checks = driver.rows("SHOW QUALITY CHECKS IN TABLE revenue")[0]
        assert any("GATE_ROW_COUNT" in row for row in checks), "the run set the gate again"


RIGHTS = "SHOW GRANTS TO ROLE gated_shop_reader"


def test_contracts_and_rights_hold(tmp_path: Path) -> None:
    """Another column without another version is refused before anything changes; readers see what is published."""
    project = built(SHOP, tmp_path)
    drop_orders(project, 1, "1,ann@example.org,10,2024-01-01T00:00:00")
    called(project, "run")
    found = queried(project, "ALTER CONTRACT revenue_contract CHECK", RIGHTS)
    assert any("REVENUE" in row and "OK" in row for row in found)
    read = [row for row in found if "SELECT" in row]
    assert {row.split(",")[3].rpartition(".")[2] for row in read} == {"REVENUE", "STG_EVENTS"}
    more = {
        **SHOP["transformations"][0],
        "sql": SHOP["transformations"][0]["sql"].replace("SELECT", "SELECT 1 AS one,"),
    }
    rebuilt = built({**SHOP, "transformations": [more]}, tmp_path / "again")
    _take_definitions(project, rebuilt)
    assert "has version 1.0.0 already" in called(project, "run", code=1)
    assert queried(project, REVENUE) == ["10.00,1"]
    rebuilt = built({**SHOP, "transformations": [more], "contracts": {"revenue": "1.1.0"}}, tmp_path / "third")
    _take_definitions(project, rebuilt)
    called(project, "run")
    assert queried(project, "SELECT SUM(one) FROM revenue") == ["1"]
    less = {**more, "sql": SHOP["transformations"][0]["sql"].replace(", COUNT(*) AS orders", "")}
    rebuilt = built({**SHOP, "transformations": [less], "contracts": {"revenue": "2.0.0"}}, tmp_path / "fourth")
    _take_definitions(project, rebuilt)
    called(project, "run")
    assert queried(project, "SELECT * FROM revenue") == [f"{hashed('ann@example.org')},10.00"]


def _take_definitions(project: Path, rebuilt: Path) -> None:
    """As `snowmelt build` would write them again."""
    for folder in ("sql", "contracts"):
        for path in (rebuilt / folder).rglob("*.*"):
            if path.is_file():
                (project / path.relative_to(rebuilt)).write_bytes(path.read_bytes())


@pytest.mark.parametrize("strategy", ["hash", "tokenise", "mask"])
def test_personal_data_of_a_log_is_hidden_before_it_is_kept(strategy: str, tmp_path: Path) -> None:
    columns = [{"name": "id", "type": "NUMBER(38,0)"}, {"name": "email", "pii": True}]
    given = {
        **PROJECTS["postgres_log_snowmelt"], "name": "hidden_log", "pii": {"present": True, "strategy": strategy},
        "approvals": {"ASK-PII": "the officer"}, "sinks": [{"name": "mart", "kind": "snowmelt"}],
        "sources": [{"name": "shop", "kind": "postgres", "connection": "SHOP_URL", "tables": [
            {"name": "public.people", "key": ["id"], "replica_identity": "full", "columns": columns}]}],
    }  # fmt: skip
    project = built(given, tmp_path)
    with EmbeddedPostgres(LOGICAL_REPLICATION) as server, psycopg.connect(server.url(), autocommit=True) as source:
        source.execute("CREATE TABLE people (id int PRIMARY KEY, email text)")
        source.execute("ALTER TABLE people REPLICA IDENTITY FULL")
        source.execute("INSERT INTO people VALUES (1, 'ann@example.org')")
        called(project, "run", SHOP_URL=server.url())
        source.execute("UPDATE people SET email = 'bob@example.org'")
        source.execute("INSERT INTO people VALUES (2, 'eve@example.org')")
        called(project, "run", SHOP_URL=server.url())
    raw = "SELECT COUNT(*), COUNT_IF(TO_JSON(OBJECT_CONSTRUCT('b', before, 'a', after)) LIKE '%@%') "
    found = queried(
        project, f"{raw} FROM raw_shop_changes", "SELECT id, email, PII_TOKEN('bob@example.org') FROM stg_people "
        "ORDER BY id LIMIT 1", SNOWMELT_TOKEN_KEY=KEY,
    )  # fmt: skip
    _, shown, token = found[1].split(",")
    assert found[0] == "3,0"
    expected = {"hash": hashed("bob@example.org"), "tokenise": token, "mask": "****.org"}
    assert shown == expected[strategy]
