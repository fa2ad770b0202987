"""SNOWFLAKE.ACCOUNT_USAGE: every view answers, says what the account is, and is for those who were let in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.account_usage.layouts import LAYOUTS
from snowmelt.runtime.account_usage.rows import ROWS
from snowmelt.runtime.session import Session
from tests.support.slt import drop_database

USAGE = "SNOWFLAKE.ACCOUNT_USAGE"


@pytest.fixture(scope="module")
def admin(account: Account) -> Iterator[Session]:
    session = account.session()
    session.execute_script(
        """
        CREATE DATABASE used; CREATE SCHEMA s; USE SCHEMA s; CREATE ROLE used_role; CREATE USER used_user;
        GRANT ROLE used_role TO USER used_user; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE used_role;
        CREATE TABLE t (id INT, k VARCHAR); INSERT INTO t VALUES (1, 'a'), (2, 'b'); CREATE STAGE st;
        CREATE VIEW v AS WITH gone AS (SELECT * FROM t) SELECT * FROM gone;
        CREATE SECURE VIEW sv AS SELECT * FROM used.s.v;
        CREATE DYNAMIC TABLE dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS SELECT COUNT(*) AS n FROM t;
        CREATE MASKING POLICY m AS (x VARCHAR) RETURNS VARCHAR -> '*';
        ALTER TABLE t MODIFY COLUMN k SET MASKING POLICY m;
        CREATE TASK tk WAREHOUSE = compute_wh SCHEDULE = '1 hour' AS SELECT 1;
        COPY INTO @st/f FROM (SELECT 3 AS id, 'c' AS k); COPY INTO t FROM @st/f;
        GRANT SELECT ON TABLE t TO ROLE used_role
        """
    )
    with pytest.raises(SnowmeltError):
        session.execute("SELECT missing FROM t")
    yield session
    drop_database(account, "USED")
    session.execute_script("DROP USER used_user; DROP ROLE used_role")
    session.close()


def _rows(session: Session, view: str, columns: str = "*", where: str = "TRUE") -> list[tuple[Any, ...]]:
    return session.execute(f"SELECT {columns} FROM {USAGE}.{view} WHERE {where}").rows()


@pytest.mark.parametrize("view", ROWS)
def test_every_view_answers_with_its_columns(admin: Session, view: str) -> None:
    found = admin.execute(f"SELECT * FROM {USAGE}.{view}")
    found.rows()
    assert [column.name for column in found.columns] == [part.partition(":")[0] for part in LAYOUTS[view].split(", ")]


def test_every_view_has_a_layout() -> None:
    assert ROWS.keys() == LAYOUTS.keys()


EXPECTED = {
    ("TABLES", "TABLE_NAME, TABLE_TYPE, ROW_COUNT", "TABLE_CATALOG = 'USED'"):
        {("T", "BASE TABLE", 3), ("DT", "BASE TABLE", 1), ("V", "VIEW", None), ("SV", "VIEW", None)},
    ("VIEWS", "TABLE_NAME, VIEW_DEFINITION IS NULL", "TABLE_CATALOG = 'USED'"): {("V", False), ("SV", True)},
    ("COLUMNS", "COLUMN_NAME, DATA_TYPE", "TABLE_NAME = 'T' AND TABLE_CATALOG = 'USED'"):
        {("ID", "NUMBER"), ("K", "TEXT")},
    ("SCHEMATA", "SCHEMA_NAME", "CATALOG_NAME = 'USED'"): {("PUBLIC",), ("S",), ("INFORMATION_SCHEMA",)},
    ("USERS", "NAME, DISABLED, HAS_PASSWORD", "NAME = 'USED_USER'"): {("USED_USER", False, False)},
    ("GRANTS_TO_USERS", "ROLE", "GRANTEE_NAME = 'USED_USER'"): {("USED_ROLE",)},
    ("GRANTS_TO_ROLES", "PRIVILEGE, GRANTED_ON, NAME", "GRANTEE_NAME = 'USED_ROLE'"):
        {("USAGE", "WAREHOUSE", "COMPUTE_WH"), ("SELECT", "TABLE", "T")},
    ("QUERY_HISTORY", "QUERY_TYPE, EXECUTION_STATUS, ERROR_CODE", "QUERY_TEXT = 'SELECT missing FROM t'"):
        {("SELECT", "FAIL", "000904")},
    ("DYNAMIC_TABLE_REFRESH_HISTORY", "NAME, STATE", "DATABASE_NAME = 'USED'"): {("DT", "SUCCEEDED")},
    ("TABLE_STORAGE_METRICS", "TABLE_NAME, ACTIVE_BYTES > 0, DELETED", "TABLE_CATALOG = 'USED'"):
        {("T", True, False), ("DT", True, False)},
    ("COPY_HISTORY", "TABLE_NAME, ROW_COUNT, STATUS", "TABLE_CATALOG_NAME = 'USED'"): {("T", 1, "Loaded")},
    ("POLICY_REFERENCES", "POLICY_NAME, REF_ENTITY_NAME, REF_COLUMN_NAME", "POLICY_DB = 'USED'"): {("M", "T", "K")},
    ("OBJECT_DEPENDENCIES", "REFERENCED_OBJECT_NAME, REFERENCING_OBJECT_NAME", "REFERENCING_DATABASE = 'USED'"):
        {("T", "V"), ("V", "SV"), ("T", "DT")},
}  # fmt: skip


@pytest.mark.parametrize("asked", EXPECTED, ids=lambda asked: asked[0])
def test_what_they_say(admin: Session, asked: tuple[str, str, str]) -> None:
    assert set(_rows(admin, *asked)) == EXPECTED[asked]


def test_days_add_up_to_what_hours_say(admin: Session) -> None:
    hours = f"(SELECT SUM(CREDITS_USED) FROM {USAGE}.WAREHOUSE_METERING_HISTORY)"
    days = f"(SELECT SUM(CREDITS_USED) FROM {USAGE}.METERING_DAILY_HISTORY)"
    # A warehouse that is up costs more while it is asked.
    assert admin.execute(f"SELECT {hours} > 0, ABS({days} - {hours}) < 0.1").rows() == [(True, True)]


def test_nobody_is_shown_what_is_under_way_or_due(admin: Session) -> None:
    assert _rows(admin, "QUERY_HISTORY", "*", "EXECUTION_STATUS = 'RUNNING'") == []
    assert _rows(admin, "TASK_HISTORY", "*", "NAME = 'TK'") == []


def test_it_takes_a_privilege(account: Account, admin: Session) -> None:
    reader = account.session(user="USED_USER", role="USED_ROLE", warehouse="COMPUTE_WH")
    for view in ROWS:
        with pytest.raises(SnowmeltError) as caught:
            reader.execute(f"SELECT COUNT(*) FROM {USAGE}.{view}")
        assert caught.value.code == "002003"
    admin.execute("GRANT IMPORTED PRIVILEGES ON DATABASE SNOWFLAKE TO ROLE used_role")
    assert _rows(reader, "TABLES", "TABLE_NAME", "TABLE_CATALOG = 'USED' AND TABLE_NAME = 'DT'") == [("DT",)]
    assert _rows(reader, "QUERY_HISTORY", "COUNT(*) > 5", "USER_NAME = 'ADMIN'") == [(True,)]
    admin.execute(f"CREATE VIEW used.s.mine AS SELECT NAME FROM {USAGE}.ROLES")
    admin.execute("REVOKE IMPORTED PRIVILEGES ON DATABASE SNOWFLAKE FROM ROLE used_role")
    with pytest.raises(SnowmeltError):
        _rows(reader, "TABLES")
    assert ("USED_ROLE",) in admin.execute("SELECT * FROM used.s.mine").rows()
    admin.execute("DROP VIEW used.s.mine")
    reader.close()


def test_a_misspelt_view_is_named(admin: Session) -> None:
    with pytest.raises(SnowmeltError, match="The nearest view is QUERY_HISTORY"):
        _rows(admin, "QUERY_HISTORYS")
