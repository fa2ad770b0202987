"""What a small statement imports, counted rather than timed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.test_processes import environment

HEAVY = {
    "apprise", "argon2", "confluent_kafka", "cryptography", "fastavro", "httpx", "jsonschema", "obstore", "openlineage",
    "open_data_contract_standard", "opentelemetry", "prometheus_client", "prompt_toolkit", "psycopg", "py4j", "pyspark",
    "starlette", "uvicorn", "yaml",
}  # fmt: skip
APPLICATIONS = ("backfill", "demo", "design", "extract_load", "playbooks", "projects", "serve")
OWN = 464
"""How many modules of our own `SELECT 1` may import. It uses some 140."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cold") / "data"
    imported(folder, "sql")
    return folder


def imported(folder: Path, way: str) -> set[str]:
    """All modules of a process that ran SELECT 1, or the small statements, and closed the account."""
    sql = "from snowmelt.cli.main import app; app(['sql', '--data', {!r}, '-q', {!r}])"
    ways = {
        "sql": sql.format(str(folder), "SELECT 1"),
        "small": sql.format(str(folder), STATEMENTS),
        "connect": f"import snowmelt\nwith snowmelt.connect({str(folder)!r}) as c: c.execute('SELECT 1').fetchall()",
    }
    code = f"import sys\ntry:\n    exec({ways[way]!r})\nexcept SystemExit: pass\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


STATEMENTS = """
CREATE OR REPLACE TABLE small (id INTEGER, name VARCHAR); INSERT INTO small VALUES (1, 'one'), (2, 'two'), (3, 'three');
SELECT * FROM small WHERE id = 1; SELECT COUNT(*) FROM small; SHOW TABLES; DESCRIBE TABLE small;
UPDATE small SET name = 'y' WHERE id IN (SELECT id FROM small WHERE id < 2); DELETE FROM small WHERE id = 3;
MERGE INTO small USING (SELECT 2 AS k) s ON id = s.k WHEN MATCHED THEN UPDATE SET name = 'm'
"""


@pytest.mark.parametrize("way", ["sql", "connect"])
def test_a_constant_needs_neither_spark_nor_what_other_features_use(directory: Path, way: str) -> None:
    found = imported(directory, way)
    assert found & HEAVY == set()
    own = [name for name in found if name.split(".")[0] == "snowmelt"]
    assert not [name for name in own if name.startswith(tuple(f"snowmelt.{package}." for package in APPLICATIONS))]
    assert len(own) <= OWN, len(own)


def test_small_statements_need_neither_spark_nor_pandas(directory: Path) -> None:
    assert imported(directory, "small") & {"pandas", "py4j", "pyspark"} == set()
