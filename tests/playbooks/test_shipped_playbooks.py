"""The playbooks that come with Snowmelt, run against a real server as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from snowmelt.runtime.session import Session
from tests.playbooks.conftest import Command
from tests.playbooks.shop import PIPELINE, SUMMARY, objects, open_shop, summary, tracked

ALL = ("--approve", "critical")


def run_of(result: Result) -> str:
    found = re.search(r"^run (\S+)", result.stdout, re.MULTILINE)
    assert found is not None, result.output
    return found[1]


def test_build_a_streaming_pipeline(playbook: Command, snowmelt: Command, session: Session) -> None:
    open_shop(session)
    before = objects(session)
    waiting = playbook("build-streaming-pipeline", "--approve", "review", **PIPELINE)
    assert waiting.exit_code == 4, waiting.output
    assert "critical checkpoint: aggregate" in waiting.stdout
    assert "probe The source exists: ok" in waiting.stdout
    run = run_of(waiting)
    finished = snowmelt("playbook", "resume", run, "--answer", "approve")
    assert finished.exit_code == 0, finished.output
    assert summary(session) == SUMMARY
    modes = session.execute("SHOW DYNAMIC TABLES").rows()
    assert len(modes) == 3
    session.execute("INSERT INTO orders VALUES (5, 2, 7)")
    session.execute("ALTER DYNAMIC TABLE orders_summary REFRESH")
    assert summary(session) == [("AT", 2, 12), ("DE", 2, 30)]
    actions = session.execute(
        "SELECT DISTINCT REFRESH_ACTION FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY("
        "NAME => 'ORDERS_SUMMARY', RESULT_LIMIT => 1))"
    ).rows()
    assert actions == [("INCREMENTAL",)]
    again = playbook("build-streaming-pipeline", "--approve", "review", **PIPELINE)
    assert (again.exit_code, "Nothing to do" in again.stdout) == (0, True), "twice is harmless"
    new = objects(session) - before
    assert new == {("DYNAMIC TABLES", f"ORDERS_{word}") for word in ("STAGED", "ENRICHED", "SUMMARY")} | {
        ("TABLES", f"ORDERS_{word}")
        for word in ("STAGED", "ENRICHED", "SUMMARY")
        if ("TABLES", f"ORDERS_{word}") in new
    }
    (shown,) = json.loads(snowmelt("playbook", "status", run, "--format", "json").stdout)
    assert shown["status"] == "finished" and shown["steps"]["stage"]["done"]


@pytest.mark.slow
def test_an_abort_of_the_pipeline_leaves_nothing(playbook: Command, session: Session) -> None:
    open_shop(session)
    session.execute("ALTER TABLE customers SET CHANGE_TRACKING = TRUE")
    before = objects(session), tracked(session, "ORDERS"), tracked(session, "CUSTOMERS")
    answers = {"answers": {"aggregate": "abort"}}
    path = Path("answers.yaml")
    result = playbook("build-streaming-pipeline", *_answers(path, answers), "--approve", "review", **PIPELINE)
    assert result.exit_code == 6, result.output
    assert (objects(session), tracked(session, "ORDERS"), tracked(session, "CUSTOMERS")) == before


def _answers(path: Path, content: dict[str, object]) -> tuple[str, str]:
    path.write_text(json.dumps(content), encoding="utf-8")
    return "--answers", str(path)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_probes_stop_a_pipeline_whose_targets_are_there(playbook: Command, session: Session) -> None:
    open_shop(session)
    session.execute(
        "CREATE DYNAMIC TABLE orders_staged TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE "
        "AS SELECT id FROM orders"
    )
    refused = playbook("build-streaming-pipeline", *ALL, **PIPELINE)
    assert refused.exit_code == 5, refused.output
    assert "choose others with the inputs" in refused.stdout
    missing = playbook("build-streaming-pipeline", *ALL, **{**PIPELINE, "source": "nothing"})
    assert missing.exit_code == 5 and "there is no table nothing" in missing.stdout


def test_publish_a_data_product(playbook: Command, session: Session) -> None:
    open_shop(session)
    inputs = {
        "table": "orders", "owner": "shop team", "domain": "sales", "consumers": "finance, logistics",
        "description": "What it's all about",
    }  # fmt: skip
    result = playbook("publish-data-product", *ALL, **inputs)
    assert result.exit_code == 0, result.output
    found = dict(session.execute("DESCRIBE DATA PRODUCT orders_product").rows())
    assert (found["product_owner"], found["consumers"]) == ("shop team", "finance, logistics")
    assert found["comment"] == "What it's all about"
    refused = playbook("add-column-safely", *ALL, table="orders", column="note", type="VARCHAR")
    assert refused.exit_code == 1 and "370012" in refused.stdout
    assert "The contract does not declare the column" in refused.stdout


@pytest.mark.slow
def test_an_abort_of_a_publication_leaves_nothing(playbook: Command, snowmelt: Command, session: Session) -> None:
    open_shop(session)
    before = objects(session)
    inputs = {"table": "orders", "owner": "o", "domain": "d", "consumers": "c", "description": "x"}
    path = Path("answers.yaml")
    approvals = {"write-the-contract": "approve", "attach-it-to-a-table": "approve"}
    waiting = playbook("publish-data-product", *_answers(path, {"answers": approvals}), **inputs)
    assert waiting.exit_code == 4, waiting.output
    aborted = snowmelt("playbook", "abort", run_of(waiting))
    assert aborted.exit_code == 0, aborted.output
    assert objects(session) == before
    session.execute("ALTER TABLE orders ADD COLUMN free INT")


@pytest.mark.slow
def test_add_a_column(playbook: Command, snowmelt: Command, session: Session) -> None:
    open_shop(session)
    inputs = {"table": "orders", "column": "net", "type": "NUMBER(10,2)", "fill": "amount / 2", "required": "true"}
    waiting = playbook("add-column-safely", "--approve", "review", **inputs)
    assert waiting.exit_code == 4 and "4 rows are in the table" in waiting.stdout, waiting.output
    aborted = snowmelt("playbook", "abort", run_of(waiting))
    assert aborted.exit_code == 0, aborted.output
    assert [row[0] for row in session.execute("DESCRIBE TABLE orders").rows()] == ["ID", "CUSTOMER_ID", "AMOUNT"]
    finished = playbook("add-column-safely", *ALL, **inputs)
    assert finished.exit_code == 0, finished.output
    assert session.execute("SELECT SUM(net) FROM orders").rows()[0][0] == 17
    described = session.execute("DESCRIBE TABLE orders")
    place = [column.name for column in described.columns].index("null?")
    assert described.rows()[-1][place] == "N"


@pytest.mark.slow
def test_backfill_a_table(playbook: Command, snowmelt: Command, session: Session) -> None:
    open_shop(session)
    session.execute("CREATE TABLE restated AS SELECT id, customer_id, amount * 100 AS amount FROM orders")
    session.execute(
        "CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH AS "
        "SELECT SUM(amount) AS total FROM orders"
    )
    before = objects(session)
    inputs = {
        "table": "orders", "columns": "id, customer_id, amount", "source": "restated", "column": "id", "start": "2",
        "end": "4", "leaf": "totals",
    }  # fmt: skip
    approved = {"answers": {"replace-the-range": "approve"}}
    waiting = playbook("backfill-a-table", *_answers(Path("answers.yaml"), approved), **inputs)
    assert waiting.exit_code == 4, waiting.output
    assert session.execute("SELECT total FROM totals").rows() == [(2509,)]
    aborted = snowmelt("playbook", "abort", run_of(waiting))
    assert aborted.exit_code == 0, aborted.output
    assert session.execute("SELECT total FROM totals").rows() == [(34,)]
    assert objects(session) == before
    finished = playbook("backfill-a-table", *ALL, **inputs, keep_old="false")
    assert finished.exit_code == 0, finished.output
    assert session.execute("SELECT total FROM totals").rows() == [(2509,)]
    assert objects(session) == before


@pytest.mark.slow
def test_recover_from_a_failed_refresh(playbook: Command, snowmelt: Command, session: Session) -> None:
    open_shop(session)
    session.execute("CREATE TABLE texts (id INT, amount VARCHAR)")
    session.execute("INSERT INTO texts VALUES (1, '10')")
    session.execute(
        "CREATE DYNAMIC TABLE typed TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH AS "
        "SELECT id, amount::INT AS amount FROM texts"
    )
    session.execute("INSERT INTO texts VALUES (2, 'ten')")
    session.execute("ALTER DYNAMIC TABLE typed SUSPEND")
    failed = playbook("recover-failed-refresh", "--approve", "review", table="typed")
    assert failed.exit_code == 1, failed.output
    assert "'ten' is not recognized" in failed.stdout and "correct it there" in failed.stdout
    session.execute("UPDATE texts SET amount = '20' WHERE id = 2")
    recovered = snowmelt("playbook", "resume", run_of(failed))
    assert recovered.exit_code == 0, recovered.output
    assert session.execute("SELECT SUM(amount) FROM typed").rows() == [(30,)]
