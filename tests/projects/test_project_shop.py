"""The sample project, from nothing to fresh tables, in the process and through a server's sessions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result as Answer
from starlette.testclient import TestClient
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.cli.projects import planned
from snowmelt.core.error_json import error_from_json
from snowmelt.projects.applying import apply_plan
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.wire import result_from_json
from tests.support.slt import drop_database

SHOP = Path(__file__).parents[2] / "examples" / "shop_project"


@pytest.fixture
def shop(account: Account, tmp_path: Path) -> Iterator[tuple[Session, Path]]:
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    session = account.session()
    yield session, folder
    session.close()
    drop_database(account, "SHOP")


def apply(execute: Callable[[str], Result], folder: Path) -> int:
    plan, catalog = planned(execute, folder, None, None)
    apply_plan(plan, catalog, allow_drop=False, announce=lambda *_: None)
    return len(plan.steps)


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return [tuple(str(value) for value in row) for row in session.execute(query).rows()]


def test_the_sample_project_is_incremental_and_fresh(shop: tuple[Session, Path]) -> None:
    session, folder = shop
    assert apply(session.execute, folder) == 8
    assert apply(session.execute, folder) == 0
    shown = session.execute("SHOW DYNAMIC TABLES IN SCHEMA SHOP.SALES")
    places = {column.name: index for index, column in enumerate(shown.columns)}
    modes = {row[places["name"]]: row[places["refresh_mode"]] for row in shown.rows()}
    # A rank over all rows has no partition to recompute.
    assert modes.pop("TOP_CUSTOMERS") in ("FULL", "INCREMENTAL")
    assert modes == dict.fromkeys(("DAILY_REVENUE", "LATEST_ORDERS", "ORDER_FACTS"), "INCREMENTAL")
    session.execute("INSERT INTO customers VALUES (1, 'Ada', 'GB'), (2, 'Blaise', 'FR')")
    session.execute(
        "INSERT INTO orders VALUES (1, 1, 10, '2024-05-01 10:00:00'), (2, 1, 20, '2024-05-01 11:00:00'), "
        "(3, 2, 5, '2024-05-02 09:00:00')"
    )
    for name in ("DAILY_REVENUE", "LATEST_ORDERS", "TOP_CUSTOMERS"):
        session.execute(f"ALTER DYNAMIC TABLE {name} REFRESH")
    assert rows(session, "SELECT * FROM daily_revenue ORDER BY day") == [
        ("2024-05-01", "GB", "2", "30.00"),
        ("2024-05-02", "FR", "1", "5.00"),
    ]
    assert rows(session, "SELECT customer, id, amount FROM latest_orders ORDER BY 1") == [
        ("1", "2", "20.00"),
        ("2", "3", "5.00"),
    ]
    assert rows(session, "SELECT * FROM top_customers ORDER BY 2 DESC") == [("Ada", "30.00"), ("Blaise", "5.00")]
    marts = folder / "marts" / "revenue.sql"
    marts.write_text(marts.read_text().replace("COUNT(*) AS orders", "COUNT(*) AS orders, MAX(amount) AS largest"))
    plan, catalog = planned(session.execute, folder, None, None)
    (step,) = plan.steps
    assert (step.action, step.rows) == ("re-initialise", 3)
    apply_plan(plan, catalog, allow_drop=False, announce=lambda *_: None)
    session.execute("ALTER DYNAMIC TABLE daily_revenue REFRESH")
    assert rows(session, "SELECT country, largest FROM daily_revenue ORDER BY 1") == [("FR", "5.00"), ("GB", "20.00")]
    assert apply(session.execute, folder) == 0


def test_through_a_server(account: Account, shop: tuple[Session, Path], tmp_path: Path) -> None:
    """The same statements, over HTTP."""
    _, folder = shop
    shutil.rmtree(folder / "marts")
    credentials, _ = load_credentials(tmp_path)
    with TestClient(HttpServer(account, credentials).app) as client:
        opened = client.post("/api/v1/sessions", json={"local_token": credentials.local_token}).json()
        client.headers["authorization"] = f"Bearer {opened['token']}"

        def execute(text: str) -> Result:
            answer = client.post("/api/v1/statements", json={"sql": text}).json()
            if "error" in answer:
                raise error_from_json(answer["error"])
            return result_from_json(answer["result"])

        assert apply(execute, folder) == 4
        assert apply(execute, folder) == 0


def call(*arguments: str) -> Answer:
    return CliRunner().invoke(app, list(arguments))


def test_exit_codes(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account.engine.session()
    monkeypatch.chdir(tmp_path)
    project = tmp_path / "p"
    project.mkdir()
    (project / "snowmelt.toml").write_text('[project]\ndatabase = "P"\n')
    (project / "t.sql").write_text("CREATE TABLE t (a INT);")
    data = ("--data", "data")
    shown = call("plan", "p", "--format", "json", *data)
    assert shown.exit_code == 2
    assert [step["action"] for step in json.loads(shown.stdout)["steps"]] == ["create", "create"]
    assert call("apply", "p", *data).exit_code == 0
    again = call("plan", "p", *data)
    assert (again.exit_code, "Nothing to do" in again.stdout) == (0, True)
    (project / "t.sql").unlink()
    refused = call("apply", "p", *data)
    assert refused.exit_code == 1 and "--allow-drop" in refused.stderr
    assert call("apply", "p", "--allow-drop", *data).exit_code == 0
    (project / "t.sql").write_text("CREATE TABEL t;")
    assert call("plan", "p", *data).exit_code == 1
    assert call("plan", "nowhere", *data).exit_code == 1
    # In the project's own folder, the same file is the configuration of the command.
    monkeypatch.chdir(project)
    (project / "t.sql").unlink()
    assert call("plan", "--data", str(tmp_path / "data")).exit_code == 0
