"""Every type at every scale through every result format, both connectors, the DB-API and the server's own API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.dbapi import Connection
from snowmelt.runtime.account import Account
from snowmelt.serve.client import RemoteSession
from tests.clients.conftest import Client, passed
from tests.clients.server import PASSWORD
from tests.clients.suites import every_type
from tests.serve.api_client import ApiClient
from tests.support.slt import drop_database

SUITES = Path(__file__).parent / "suites"


@pytest.fixture(scope="module")
def filled(account: Account) -> Iterator[str]:
    """A database with the table, made once: its literals take Spark a while."""
    session = account.session()
    session.execute("CREATE DATABASE every_type_once")
    for statement in (every_type.CREATE, every_type.FILL):
        session.execute(statement)
    session.close()
    yield "EVERY_TYPE_ONCE"
    drop_database(account, "EVERY_TYPE_ONCE")


@pytest.fixture
def every(account: Account, database: str, filled: str) -> str:
    """A database of the test's own with the table."""
    session = account.session(database=database, schema="PUBLIC")
    session.execute(f"CREATE TABLE {every_type.TABLE} CLONE {filled}.PUBLIC.{every_type.TABLE}")
    session.close()
    return database


@pytest.mark.parametrize("environment", ["python4", "python5"])
@pytest.mark.usefixtures("every")
def test_with_the_connector(client: Client, environment: str) -> None:
    found = json.loads(passed(client(environment, "python", str(SUITES / "values_every_type.py"))))
    assert found == []


@pytest.mark.usefixtures("every")
def test_with_adbc(client: Client) -> None:
    found = json.loads(passed(client("adbc", "python", str(SUITES / "adbc_every_type.py"))))
    assert found == []


def test_with_the_database_api(account: Account, every: str, tmp_path: Path) -> None:
    session = account.session(database=every, schema="PUBLIC")
    session.parameters["TIMEZONE"] = every_type.ZONE
    cursor = Connection(session, tmp_path).execute(every_type.QUERY)
    rows = cursor.fetchall()
    assert every_type.differences(rows, every_type.expected(), "DB-API") == []
    assert cursor.fetch_arrow_table().num_rows == len(rows)
    session.close()


def test_with_the_servers_own_interface(door: int, every: str) -> None:
    remote = RemoteSession.with_password(f"http://127.0.0.1:{door}", PASSWORD, database=every, schema="PUBLIC")
    remote.execute(f"ALTER SESSION SET TIMEZONE = '{every_type.ZONE}'")
    result = remote.execute(every_type.QUERY)
    assert every_type.differences(result.shown().rows(), every_type.expected(), "HTTP") == []
    remote.close()


def test_with_the_sql_rest_api(account: Account, door: int, every: str) -> None:
    admin = account.session()
    token = admin.execute("ALTER USER admin ADD PAT every_type").rows()[0][1]
    client = ApiClient(f"http://127.0.0.1:{door}", str(token))
    rows = client.rows(every_type.QUERY, database=every, schema="PUBLIC", parameters={"timezone": every_type.ZONE})
    assert every_type.differences(rows, every_type.expected(), "SQL API") == []
