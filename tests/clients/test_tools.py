"""Other clients of Snowflake, each with its real package."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.clients.conftest import Client, Snow, node, passed

SUITES = Path(__file__).parent / "suites"


def test_sqlalchemy(client: Client) -> None:
    assert passed(client("python5", "python", str(SUITES / "sqlalchemy_tool.py"))).strip() == "reflected"


@pytest.mark.slow
def test_snowpark(client: Client) -> None:
    assert passed(client("python4", "python", str(SUITES / "snowpark_session.py"))).strip() == "frames"


def test_adbc(client: Client) -> None:
    assert passed(client("adbc", "python", str(SUITES / "adbc_behaviour.py"))).strip() == "adbc"


@pytest.mark.slow
def test_dlt(client: Client) -> None:
    assert passed(client("dlt", "python", str(SUITES / "dlt_pipeline.py"))).strip() == "loaded"


def test_snow(snow: Snow, tmp_path: Path) -> None:
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
    assert passed(node("client.js", door, database)).strip() == "node"
