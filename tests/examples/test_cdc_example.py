"""examples/cdc: applied as a project, fed as a connector would, and asked by its own monitoring and quality queries."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from snowmelt.cli.projects import planned
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.projects.applying import apply_plan
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.run import serving_beside
from snowmelt.sql.tokens import split_statements

EXAMPLE = Path(__file__).parents[2] / "examples" / "cdc"
CITIES = ("Bern", "Graz", "Ulm")
BATCHES = 2


class Shop:
    """A source that is not there, and the changes that its connector would land."""

    def __init__(self) -> None:
        self.random = random.Random(11)
        self.customers: dict[int, str] = {}
        self.orders: dict[int, tuple[int, Decimal, datetime]] = {}
        self.versions = 0
        """How many versions customers have had."""
        self.number = 0
        self.now = datetime.now(UTC) - timedelta(hours=1)

    def changes(self, count: int) -> str:
        """Rows for INSERT INTO raw_changes."""
        return ", ".join(self._order() if self.customers and n % 3 else self._customer() for n in range(count))

    def _customer(self) -> str:
        id = self.random.randrange(1, 8)
        before = self._described(id)
        if before is not None and self.random.random() < 0.2:
            del self.customers[id]
            return self._row("DELETE", "customers", before, None)
        other = [city for city in CITIES if city != self.customers.get(id)]
        self.customers[id] = self.random.choice(other)
        self.versions += 1
        return self._row("UPDATE" if before else "INSERT", "customers", before, self._described(id))

    def _order(self) -> str:
        if self.orders and self.random.random() < 0.2:
            id, (customer, amount, placed) = self.orders.popitem()
            return self._row("DELETE", "orders", _order_row(id, customer, amount, placed), None)
        id = self.number + 1
        self.orders[id] = (self.random.choice(list(self.customers)), Decimal(self.random.randrange(100)) / 4, self.now)
        return self._row("INSERT", "orders", None, _order_row(id, *self.orders[id]))

    def _described(self, id: int) -> dict[str, object] | None:
        return {"id": id, "name": f"customer {id}", "city": self.customers[id]} if id in self.customers else None

    def _row(self, operation: str, table: str, before: object, after: object) -> str:
        self.number += 1
        self.now += timedelta(seconds=1)
        documents = ["NULL" if value is None else f"'{json.dumps(value)}'" for value in (before, after)]
        return (
            f"({self.number}, '{operation}', 'public.{table}', {', '.join(documents)}, "
            f"{int(self.now.timestamp() * 1000)}, '{self.now + timedelta(milliseconds=150)}')"
        )


def _order_row(id: int, customer: int, amount: Decimal, placed: datetime) -> dict[str, object]:
    return {"id": id, "customer_id": customer, "status": "placed", "amount": str(amount), "placed_at": str(placed)}


def run_file(session: Session, name: str) -> list[list[tuple[object, ...]]]:
    results = session.execute_script((EXAMPLE / name).read_text(encoding="utf-8"))
    return [[tuple(row) for row in result.rows()] for result in results]


@pytest.fixture
def applied(session: Session) -> Session:
    """The project in the session's own database."""
    database = session.execute("SELECT CURRENT_DATABASE()").rows()[0][0]
    plan, catalog = planned(session.execute, EXAMPLE / "pipeline", database, "CDC")
    apply_plan(plan, catalog, allow_drop=False, announce=lambda *_: None)
    session.execute("USE SCHEMA cdc")
    return session


def test_the_pipeline_and_its_queries(applied: Session) -> None:
    session, shop = applied, Shop()
    run_file(session, "start.sql")
    for batch in range(BATCHES):
        session.execute(
            "INSERT INTO raw_changes SELECT column1, column2, column3, PARSE_JSON(column4), PARSE_JSON(column5), "
            f"column6, column7::TIMESTAMP_LTZ FROM VALUES {shop.changes(20 + batch)}"
        )
        session.execute("EXECUTE TASK parse_customers")
        session.execute("EXECUTE TASK parse_orders")
        session.execute("ALTER DYNAMIC TABLE revenue_by_city REFRESH")
    current = dict(session.execute("SELECT id, city FROM customers WHERE is_current").rows())
    assert current == shop.customers
    assert session.execute("SELECT COUNT(*) FROM customers").rows() == [(shop.versions,)]
    orders = session.execute("SELECT id, customer_id, amount, placed_at FROM orders").rows()
    assert {id: (customer, amount, placed) for id, customer, amount, placed in orders} == shop.orders
    facts = Counter(dict(session.execute("SELECT city, COUNT(*) FROM order_facts GROUP BY city").rows()))
    assert facts.total() == len(shop.orders) and "unknown" not in facts
    ((revenue,),) = session.execute("SELECT SUM(revenue) FROM revenue_by_city").rows()
    assert revenue == sum(amount for _, amount, _ in shop.orders.values())
    check_quality(session)
    check_monitoring(session)


def check_quality(session: Session) -> None:
    for query in run_file(session, "quality/changes.sql"):
        assert query == []
    two_current, overlaps, _, wrong, two_keys = run_file(session, "quality/versions.sql")
    assert (two_current, overlaps, wrong, two_keys) == ([], [], [], [])
    assert [row[0] for (row,) in run_file(session, "quality/dynamic_tables.sql")] == [True] * 4


def check_monitoring(session: Session) -> None:
    (streams,) = run_file(session, "monitoring/stream_lag.sql")
    assert [(stream, has_data) for stream, has_data, _ in streams] == [
        ("customers_landed", False), ("orders_landed", False), ("orders_changed", False),
    ]  # fmt: skip
    (tasks,) = run_file(session, "monitoring/task_history.sql")
    assert {row[0]: row[1:3] for row in tasks} == {
        "KEEP_ORDERS": (BATCHES, 0), "PARSE_CUSTOMERS": (BATCHES, 0), "PARSE_ORDERS": (BATCHES, 0),
    }  # fmt: skip
    run_file(session, "monitoring/latency.sql")
    lags, refreshes = run_file(session, "monitoring/dynamic_tables.sql")
    assert [row[0] for row in lags] == ["CUSTOMERS", "ORDER_FACTS", "REVENUE_BY_CITY"]
    assert {row[2] for row in refreshes} == {"SUCCEEDED"}


def test_the_source_is_prepared_for_the_connector(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "")
    with EmbeddedPostgres(LOGICAL_REPLICATION) as server:
        with psycopg.connect(server.url(), autocommit=True) as source:
            for statement in split_statements((EXAMPLE / "source" / "prepare.sql").read_text(encoding="utf-8")):
                source.execute(statement.text.encode())
        run_file(session, "connectors/embedded.sql")
        try:
            session.execute("ALTER CONNECTOR shop PAUSE")
            session.execute(f"ALTER CONNECTOR shop SET HOST = '127.0.0.1' PORT = {server.port} SSL_MODE = DISABLE")
            found = session.execute("ALTER CONNECTOR shop CHECK").rows()
            (monitored,) = run_file(session, "monitoring/connector.sql")[1:]
        finally:
            session.execute("DROP CONNECTOR shop")
    assert not [row for row in found if row[1] == "MISSING" and row[0] != "connection"], found
    assert [row[:2] for row in monitored] == [("SHOP", "PAUSED")]


def test_kafka_connect_gets_what_the_connector_says(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "")
    run_file(session, "pipeline/landing.sql")
    run_file(session, "connectors/kafka.sql")
    try:
        ((configuration,),) = session.execute("ALTER CONNECTOR shop CONFIG").rows()
    finally:
        session.execute("DROP CONNECTOR shop")
    assert json.loads(configuration) == json.loads((EXAMPLE / "connectors" / "kafka-connect.json").read_text())


@pytest.mark.slow
def test_terraform_deploys_it(account: Account, tmp_path: Path) -> None:
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not installed")
    folder = tmp_path / "cdc"
    shutil.copytree(EXAMPLE, folder)
    credentials, _ = load_credentials(account.data_dir, "a password of this test")
    with serving_beside(HttpServer(account, credentials), Address(0)) as port:
        environment = {"SNOWMELT_ADMIN_PASSWORD": "a password of this test", "TF_IN_AUTOMATION": "1"}
        variables = [
            f"-var=url=http://127.0.0.1:{port}",
            f"-var=snowmelt={sys.executable} -m snowmelt",
            "-var=connector=",
        ]

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [terraform, *arguments, "-no-color"], cwd=folder / "terraform", env=environment | _inherited(),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        run("init")
        run("apply", "-auto-approve", *variables)
        assert "No changes." in run("plan", *variables)
        session = account.session(database="SHOP", schema="CDC")
        shown = session.execute("SHOW TASKS")
        places = {column.name: index for index, column in enumerate(shown.columns)}
        states = {row[places["name"]]: row[places["state"]] for row in shown.rows()}
        assert states == dict.fromkeys(("PARSE_CUSTOMERS", "PARSE_ORDERS", "KEEP_ORDERS"), "started")
        session.execute("DROP DATABASE shop")
        session.close()


def _inherited() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
