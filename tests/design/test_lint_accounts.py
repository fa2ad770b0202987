"""Anti-patterns in a running account, found through SQL, without starting Spark."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from snowmelt.accounts import open_account
from snowmelt.cli.main import app
from snowmelt.core.config import Settings

SETUP = """
CREATE DATABASE shop;
CREATE TABLE raw_orders (id INT, at TIMESTAMP_NTZ);
CREATE TABLE customers (id INT);
CREATE DYNAMIC TABLE stg TARGET_LAG = '1 minute' WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE
  AS SELECT id FROM raw_orders;
CREATE DYNAMIC TABLE random_numbers TARGET_LAG = '1 minute' WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE
  AS SELECT id, RANDOM() AS r FROM raw_orders;
CREATE VIEW pairs AS SELECT a.id FROM customers a CROSS JOIN raw_orders b;
ALTER DYNAMIC TABLE stg SUSPEND;
"""


def test_an_account_is_linted_and_reviewed_through_sql(tmp_path: Path) -> None:
    with open_account(tmp_path / "data", settings=Settings()) as account:
        session = account.session()
        for statement in SETUP.split(";"):
            if statement.strip():
                session.execute(statement)
        session.close()
        assert not account.engine.started.is_set()
    result = CliRunner().invoke(app, ["lint", "--data", str(tmp_path / "data"), "--format", "json"])
    assert result.exit_code == 1, result.stderr
    found = {(row["id"], row["object"]) for row in json.loads(result.stdout)}
    assert {
        ("DW-01", "SHOP.PUBLIC.RANDOM_NUMBERS"), ("DO-04", "SHOP.PUBLIC.STG"), ("DW-05", "SHOP.PUBLIC.PAIRS"),
    } <= found  # fmt: skip
    assert not any(identifier in ("ES-01", "DW-02") for identifier, _ in found)
    result = CliRunner().invoke(app, ["design", "review", "--data", str(tmp_path / "data")])
    assert result.exit_code == 1, result.stderr
    for told in ("Mode: BATCH (micro-batch)", "the quickest table may be 1 minute old", "monitoring: nobody is told",
                 "DW-05", "refreshes: 1,440 a day of 2 tables", "credits a day"):  # fmt: skip
        assert told in result.output, result.output
