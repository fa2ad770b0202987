"""Alerts: declared like Snowflake's, run by the machinery of tasks, without Spark where the condition needs none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.observing.asking import rows_of

ALERT = """CREATE ALERT low WAREHOUSE = compute_wh SCHEDULE = '1 MINUTE' COMMENT = 'stock'
  IF (EXISTS (SHOW TABLES LIKE 'STOCK')) THEN INSERT INTO seen VALUES (1)"""


@pytest.fixture
def session(opened: Account) -> Session:
    found = opened.session()
    found.execute("CREATE TABLE seen (id INT)")
    return found


def _shown(session: Session, name: str = "LOW") -> dict[str, object]:
    result = session.execute(f"SHOW ALERTS LIKE '{name}'")
    (row,) = result.rows()
    return dict(zip([column.name for column in result.columns], row, strict=True))


def _states(session: Session) -> list[tuple[object, object]]:
    rows = rows_of(session, "ALERT_HISTORY")
    return [(row["STATE"], row["SCHEDULED_FROM"]) for row in rows if row["STATE"] != "SCHEDULED"]


def test_a_new_alert_is_suspended_and_described(session: Session) -> None:
    assert session.execute(ALERT).rows()[0][0] == "Alert LOW successfully created."
    shown = _shown(session)
    assert shown["state"] == "suspended" and shown["schedule"] == "1 MINUTE" and shown["comment"] == "stock"
    assert shown["condition"] == "SHOW TABLES LIKE 'STOCK'" and shown["action"] == "INSERT INTO seen VALUES (1)"
    assert session.execute("DESCRIBE ALERT low").rows()[0][1] == "LOW"
    with pytest.raises(SnowmeltError, match="already exists"):
        session.execute(ALERT)
    assert "already exists" in session.execute(ALERT.replace("ALERT low", "ALERT IF NOT EXISTS low")).rows()[0][0]


def test_alter_changes_every_part(session: Session) -> None:
    session.execute(ALERT)
    session.execute("ALTER ALERT low RESUME")
    assert _shown(session)["state"] == "started"
    session.execute("ALTER ALERT low SUSPEND")
    session.execute("ALTER ALERT low SET SCHEDULE = 'USING CRON 0 9 * * * UTC' RUNBOOK = 'https://runbook'")
    session.execute("ALTER ALERT low UNSET WAREHOUSE, COMMENT")
    session.execute("ALTER ALERT low MODIFY CONDITION EXISTS (SELECT 1)")
    session.execute("ALTER ALERT low MODIFY ACTION BEGIN INSERT INTO seen VALUES (2); SELECT 1; END")
    shown = _shown(session)
    assert (shown["warehouse"], shown["comment"], shown["runbook"]) == (None, "", "https://runbook")
    assert shown["condition"] == "SELECT 1" and str(shown["action"]).startswith("BEGIN")
    session.execute("ALTER ALERT IF EXISTS nowhere RESUME")
    with pytest.raises(SnowmeltError, match="NOWHERE' does not exist"):
        session.execute("ALTER ALERT nowhere RESUME")


def test_execute_runs_the_action_only_when_the_condition_has_rows(session: Session) -> None:
    session.execute(ALERT)
    assert session.execute("EXECUTE ALERT low").rows()[0][0] == "Alert LOW is scheduled to run immediately."
    session.execute("CREATE TABLE stock (id INT)")
    session.execute("EXECUTE ALERT low")
    assert _states(session) == [("TRIGGERED", "EXECUTE ALERT"), ("CONDITION_FALSE", "EXECUTE ALERT")]
    newest, oldest = rows_of(session, "ALERT_HISTORY", alert_name="low")
    assert newest["ACTION_QUERY_ID"] and newest["CONDITION_QUERY_ID"] and oldest["ACTION_QUERY_ID"] is None
    assert rows_of(session, "TASK_HISTORY") == []


def test_failures_say_which_part_failed_and_suspend_in_the_end(session: Session) -> None:
    head = "CREATE ALERT {} SCHEDULE = '1 MINUTE' SUSPEND_ALERT_AFTER_NUM_FAILURES = 1 IF (EXISTS ({})) THEN {}"
    session.execute(head.format("bad_if", "SELECT 1/0 FROM nowhere", "SELECT 1"))
    session.execute(head.format("bad_then", "SHOW TABLES", "INSERT INTO nowhere VALUES (1)"))
    for name in ("bad_if", "bad_then"):
        session.execute(f"ALTER ALERT {name} RESUME")
        session.execute(f"EXECUTE ALERT {name}")
    found = {row["NAME"]: row for row in rows_of(session, "ALERT_HISTORY") if row["STATE"] != "SCHEDULED"}
    assert found["BAD_IF"]["STATE"] == "CONDITION_FAILED" and found["BAD_IF"]["ACTION_QUERY_ID"] is None
    assert found["BAD_THEN"]["STATE"] == "ACTION_FAILED" and found["BAD_THEN"]["SQL_ERROR_CODE"] == 2003
    assert "does not exist" in str(found["BAD_THEN"]["SQL_ERROR_MESSAGE"])
    assert _shown(session, "BAD_THEN")["state"] == "suspended"
    assert _shown(session, "BAD_THEN")["was_auto_suspended"] == "true"
    assert found["BAD_THEN"]["WAS_AUTO_SUSPENDED"]


def test_the_next_run_is_in_the_history(session: Session, clock: ManualClock) -> None:
    session.execute(ALERT)
    session.execute("ALTER ALERT low RESUME")
    (row,) = rows_of(session, "ALERT_HISTORY")
    assert row["STATE"] == "SCHEDULED" and row["SCHEDULED_TIME"] <= clock.now() + timedelta(minutes=1, seconds=1)


def test_clone_replace_drop_and_definition(session: Session) -> None:
    session.execute(ALERT)
    session.execute("CREATE ALERT twin CLONE low")
    assert _shown(session, "TWIN")["condition"] == "SHOW TABLES LIKE 'STOCK'"
    text = session.execute("SELECT GET_DDL('ALERT', 'twin')").rows()[0][0]
    session.execute(text)
    assert session.execute("SELECT GET_DDL('ALERT', 'twin')").rows()[0][0] == text
    session.execute("DROP ALERT twin")
    session.execute("DROP ALERT IF EXISTS twin")
    with pytest.raises(SnowmeltError, match="does not exist"):
        session.execute("DESCRIBE ALERT twin")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE ALERT a IF (EXISTS (SELECT 1)) THEN SELECT 1", "alerts on new data"),
        ("CREATE ALERT a SCHEDULE = 'now' IF (EXISTS (SELECT 1)) THEN SELECT 1", "Invalid schedule"),
        ("CREATE ALERT a SCHEDULE = '1 MINUTE' IF (EXISTS (DROP TABLE t)) THEN SELECT 1", "must be a SELECT"),
        ("CREATE ALERT a SCHEDULE = '1 MINUTE' IF (EXISTS (SELECT 1)) THEN SELEC 1", "syntax error"),
        ("CREATE ALERT a SCHEDULE = '1 MINUTE' WAREHOUSE = none IF (EXISTS (SELECT 1)) THEN SELECT 1", "warehouse"),
        ("CREATE ALERT a SCHEDULE = '1 MINUTE' AFTER = b IF (EXISTS (SELECT 1)) THEN SELECT 1", "AFTER"),
    ],
)
def test_what_is_refused(session: Session, statement: str, said: str) -> None:
    with pytest.raises(SnowmeltError, match=said):
        session.execute(statement)


def test_the_owner_needs_the_right_to_run_alerts(session: Session, opened: Account) -> None:
    session.execute(ALERT)
    session.execute("CREATE ROLE watcher")
    session.execute("GRANT ROLE watcher TO ROLE sysadmin")
    session.execute("GRANT OWNERSHIP ON ALERT low TO ROLE watcher")
    with pytest.raises(SnowmeltError, match="EXECUTE ALERT privilege must be granted"):
        session.execute("EXECUTE ALERT low")
    session.execute("GRANT EXECUTE ALERT ON ACCOUNT TO ROLE watcher")
    session.execute("EXECUTE ALERT low")
