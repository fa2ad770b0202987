"""One table of values of every type, read by every client: what arrives is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from snowmelt.runtime.account import Account
from tests.clients import jdbc
from tests.clients.conftest import Client, Snow, node, passed
from tests.clients.server import PASSWORD
from tests.clients.suites.truth import CREATE, FILL, QUERY, SETTINGS, differences

SUITES = Path(__file__).parent / "suites"


@pytest.fixture
def all_types(account: Account, database: str) -> str:
    """The database with the table."""
    session = account.session(database=database, schema="PUBLIC")
    for statement in (CREATE, *FILL):
        session.execute(statement)
    session.close()
    return database


@pytest.mark.parametrize(
    ("environment", "program"),
    [
        ("python4", "connector"),
        ("python5", "connector"),
        ("python5", "sqlalchemy"),
        pytest.param("python4", "snowpark", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("all_types")
def test_in_python(client: Client, environment: str, program: str) -> None:
    found = json.loads(passed(client(environment, "python", str(SUITES / f"values_{program}.py"))))
    assert differences(found["names"], found["rows"]) == []


@pytest.mark.usefixtures("all_types")
def test_with_snow(snow: Snow) -> None:
    first, second = json.loads(snow("sql", "-q", f"{SETTINGS}; {QUERY}"))[1]
    texts = [[value if value is None else _text(value) for value in row.values()] for row in (first, second)]
    assert differences(list(first), texts) == []


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node.js and npm")
def test_in_node(door: int, all_types: str) -> None:
    found = json.loads(passed(node("values.js", door, all_types, SETTINGS=SETTINGS, QUERY=QUERY)))
    assert differences(found["names"], found["rows"]) == []


@pytest.mark.slow
def test_in_java(door: int, all_types: str) -> None:
    with jdbc.java_with_driver() as jvm:
        connection = jdbc.connect(jvm, jdbc.url(door, all_types), user="admin", password=PASSWORD)
        statement = connection.createStatement()
        statement.execute(SETTINGS)
        result = statement.executeQuery(QUERY)
        shape = result.getMetaData()
        names = [shape.getColumnName(index + 1) for index in range(shape.getColumnCount())]
        assert differences(names, [list(row) for row in jdbc.rows(result)]) == []
        connection.close()
