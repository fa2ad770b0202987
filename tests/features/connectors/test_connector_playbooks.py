"""The shipped playbooks about connectors, with a real PostgreSQL and Debezium."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from click.testing import Result

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import mirrored, present, standing
from tests.playbooks.conftest import Command, snowmelt, url
from tests.playbooks.shop import objects
from tests.support.waiting import wait_until

__all__ = ["snowmelt", "url"]
pytestmark = pytest.mark.slow


@pytest.fixture
def orders(source: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, amount int)")
    source.execute("INSERT INTO orders SELECT g, g * 10 FROM generate_series(1, 50) g")
    return source


def migrate(run: Command, session: Session, server: EmbeddedPostgres, database: str, *more: str) -> Result:
    inputs = {
        "host": "127.0.0.1", "port": str(server.port), "source_database": database, "user": "postgres",
        "tables": "public.orders", "schema": "landed", "connector": "shop", "slot": f"{database}_playbook",
        "password_env": "SHOP_PASSWORD",
    }  # fmt: skip
    given = [part for key, value in inputs.items() for part in ("-i", f"{key}={value}")]
    return run("playbook", "run", "migrate-postgres-by-cdc", *given, "--database", str(session.database), *more)


def run_of(result: Result) -> str:
    found = re.search(r"^run (\S+)", result.stdout, re.MULTILINE)
    assert found is not None, result.output
    return found[1]


def follows(session: Session, source: psycopg.Connection[Any]) -> None:
    wait_until(
        lambda: mirrored(session, "landed.orders") == present(source, "orders"),
        lambda: f"{standing(session, 'landed.shop')} {len(mirrored(session, 'landed.orders'))}",
    )


def test_migrate_and_rotate(
    captures: Session, server: EmbeddedPostgres, database: str, orders: psycopg.Connection[Any], snowmelt: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("SHOP_PASSWORD", "any")
    before = objects(captures)

    waiting = migrate(snowmelt, captures, server, database, "--approve", "review")
    assert waiting.exit_code == 4 and "critical checkpoint: begin" in waiting.stdout, waiting.output
    aborted = snowmelt("playbook", "abort", run_of(waiting))
    assert aborted.exit_code == 0, aborted.output
    assert objects(captures) == before, "an abort leaves nothing"

    finished = migrate(snowmelt, captures, server, database, "--approve", "critical")
    assert finished.exit_code == 0, finished.output
    orders.execute("UPDATE orders SET amount = 0 WHERE id <= 5")
    orders.execute("DELETE FROM orders WHERE id = 50")
    follows(captures, orders)

    connector = f"{captures.database}.landed.shop"
    inputs = ("-i", f"connector={connector}", "-i", "old=SHOP_PASSWORD")
    failed = snowmelt(
        "playbook", "run", "rotate-connector-credentials", *inputs, "-i", "new=NOT_THERE", "--approve", "critical"
    )
    assert failed.exit_code == 1, failed.output
    back = snowmelt("playbook", "abort", run_of(failed))
    assert back.exit_code == 0, back.output
    orders.execute("INSERT INTO orders VALUES (100, 100)")
    follows(captures, orders)

    monkeypatch.setenv("SHOP_PASSWORD_2", "another")
    rotated = snowmelt(
        "playbook", "run", "rotate-connector-credentials", *inputs, "-i", "new=SHOP_PASSWORD_2", "--approve", "critical"
    )
    assert rotated.exit_code == 0, rotated.output
    monkeypatch.delenv("SHOP_PASSWORD")
    orders.execute("INSERT INTO orders VALUES (101, 101)")
    follows(captures, orders)
    captures.execute("ALTER CONNECTOR landed.shop PAUSE")
    captures.execute("DROP CONNECTOR landed.shop")
