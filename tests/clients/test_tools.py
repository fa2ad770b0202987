"""Other clients of Snowflake, each with its real package."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import Client, passed
from tests.clients.environments import client_environment, node_modules
from tests.clients.server import PASSWORD

SUITES = Path(__file__).parent / "suites"
NODE = Path(__file__).parent / "node"


def test_sqlalchemy(client: Client) -> None:
    assert passed(client("python5", "python", str(SUITES / "sqlalchemy_tool.py"))).strip() == "reflected"


@pytest.mark.slow
def test_snowpark(client: Client) -> None:
    assert passed(client("python4", "python", str(SUITES / "snowpark_session.py"))).strip() == "frames"


@pytest.fixture
def snow(client: Client, door: int, database: str, tmp_path: Path):  # type: ignore[no-untyped-def]
    config = tmp_path / "config.toml"
    settings = {
        "account": "snowmelt", "host": "127.0.0.1", "port": door, "protocol": "http", "user": "admin",
        "password": PASSWORD, "database": database, "schema": "PUBLIC", "warehouse": "COMPUTE_WH",
    }  # fmt: skip
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    config.write_text("\n".join(["[connections.local]", *lines]), encoding="utf-8")
    config.chmod(0o600)

    def run(*arguments: str) -> str:
        return passed(
            client("snow", "snow", "--config-file", str(config), *arguments, "-c", "local", "--format", "json")
        )

    return run


def test_snow(snow, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert json.loads(snow("connection", "test"))["Status"] == "OK"
    script = "CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2); SELECT COUNT(*) AS n FROM t; CREATE STAGE s"
    assert json.loads(snow("sql", "-q", script))[2] == [{"N": 2}]
    file = tmp_path / "rows.csv"
    file.write_text("3\n", encoding="utf-8")
    assert json.loads(snow("stage", "copy", str(file), "@s"))[0]["status"] == "UPLOADED"
    assert [row["name"] for row in json.loads(snow("stage", "list-files", "s"))] == ["s/rows.csv"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node.js and npm")
def test_node(door: int, database: str) -> None:
    folder = node_modules(NODE)
    variables = {"SNOWMELT_PORT": str(door), "SNOWMELT_ADMIN_PASSWORD": PASSWORD, "SNOWMELT_DATABASE": database}
    done = subprocess.run(
        ["node", str(folder / "client.js")], env=client_environment() | variables, capture_output=True, text=True,
        timeout=200, check=False,
    )  # fmt: skip
    assert passed(done).strip() == "node"
