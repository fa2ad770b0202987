"""An account of its own: what is tested here needs no Spark, which is therefore never started."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session

Ask = Callable[..., dict[str, Any]]
PIPELINE = (
    "CREATE TABLE orders (id INT, customer INT, amount NUMBER(10, 2), status VARCHAR)",
    "CREATE TABLE customers (id INT, name VARCHAR, region VARCHAR)",
    "CREATE VIEW active AS SELECT id, customer, amount * 1.2 AS gross FROM orders WHERE status = 'ok'",
    "CREATE STREAM changes ON TABLE orders",
    "CREATE TABLE by_region (region VARCHAR, total NUMBER(20, 2))",
    """CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE AS
       SELECT c.region, SUM(a.gross) AS total, COUNT(*) AS n
       FROM active a JOIN customers c ON a.customer = c.id GROUP BY c.region""",
    """CREATE TASK fill WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS
       INSERT INTO by_region SELECT region, total FROM totals WHERE n > 0""",
)


@pytest.fixture(scope="session")
def own_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with open_account(tmp_path_factory.mktemp("lineage")) as account:
        yield account


@pytest.fixture
def own_session(own_account: Account) -> Iterator[Session]:
    """A session in a fresh database."""
    session = own_account.session()
    session.execute(f"CREATE DATABASE lineage_{session.id}")
    yield session
    session.execute(f"DROP DATABASE lineage_{session.id}")
    session.close()


@pytest.fixture
def pipeline(own_session: Session) -> Session:
    """A table, a view on it, a dynamic table on that, and a task that copies its rows."""
    for statement in PIPELINE:
        own_session.execute(statement)
    return own_session


@pytest.fixture
def ask() -> Ask:
    def lineage(session: Session, name: str, direction: str = "UPSTREAM") -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            session.execute(f"SELECT SYSTEM$LINEAGE('{name}', '{direction}')").rows()[0][0]
        )
        return answer

    return lineage


def edges(found: dict[str, Any]) -> set[str]:
    """`source.column -> target.column`, with names as short as they are unique here."""
    return {f"{_end(edge['source'])} -> {_end(edge['target'])}" for edge in found["edges"]}


def _end(end: dict[str, Any]) -> str:
    name = str(end["object"]).rpartition(".")[2]
    return name if end["column"] is None else f"{name}.{end['column']}"
