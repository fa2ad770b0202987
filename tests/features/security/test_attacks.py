"""What somebody with a small role tries, to get at what is not theirs. None of it needs Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session

_HIDDEN = ("002003", "002043", "002141", "003001")


@pytest.fixture(scope="module")
def owner(account: Account) -> Iterator[Session]:
    admin = account.session()
    admin.execute_script(
        """
        CREATE DATABASE raided; CREATE SCHEMA s; CREATE SCHEMA theirs; CREATE ROLE raider; CREATE USER raider;
        GRANT ROLE raider TO USER raider; GRANT ROLE raider TO ROLE sysadmin;
        CREATE TABLE s.t (a INT); CREATE TABLE s.other (a INT);
        CREATE TABLE s.taken (a INT); DROP TABLE s.taken;
        CREATE PROCEDURE s.p() RETURNS INT LANGUAGE SQL AS 'BEGIN RETURN 1; END';
        CREATE TASK s.tk WAREHOUSE = compute_wh SCHEDULE = '1 hour' AS SELECT 1;
        GRANT USAGE ON DATABASE raided TO ROLE raider; GRANT USAGE ON SCHEMA s TO ROLE raider;
        GRANT OWNERSHIP ON SCHEMA theirs TO ROLE raider; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE raider;
        """
    )
    yield admin
    admin.execute_script("USE DATABASE snowmelt; DROP DATABASE raided; DROP USER raider; DROP ROLE raider")
    admin.close()


@pytest.fixture
def raider(account: Account, owner: Session) -> Iterator[Session]:
    session = account.session(user="RAIDER", role="RAIDER", database="RAIDED", schema="THEIRS", warehouse="COMPUTE_WH")
    yield session
    session.close()


def _code(session: Session, sql: str) -> str | None:
    try:
        session.execute(sql)
    except SnowmeltError as error:
        return error.code
    return None


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW v AS SELECT a FROM raided.s.t", "CREATE STREAM st ON TABLE raided.s.t",
        "CREATE TABLE c CLONE raided.s.t", "CREATE TABLE c LIKE raided.s.t", "CREATE SCHEMA c CLONE raided.s",
        "ALTER TABLE raided.s.t RENAME TO theirs.t", "ALTER TABLE raided.s.t SWAP WITH raided.s.other",
        "SELECT GET_DDL('TABLE', 'raided.s.t')", "SELECT * FROM ERROR_TABLE(raided.s.t)",
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE "
        "AS SELECT a FROM raided.s.t",
        "EXPLAIN DYNAMIC TABLE AS SELECT a FROM raided.s.t", "CALL raided.s.p()", "EXECUTE TASK raided.s.tk",
        "ALTER TASK raided.s.tk MODIFY AS SELECT 2", "ALTER TASK raided.s.tk RESUME", "DROP TASK raided.s.tk",
    ],
)  # fmt: skip
def test_what_is_hidden_is_not_reached_by_another_way(raider: Session, sql: str) -> None:
    assert _code(raider, sql) in _HIDDEN


def test_what_is_dropped_is_not_brought_back_by_others(owner: Session, raider: Session) -> None:
    assert _code(raider, "UNDROP TABLE raided.s.taken") is not None
    assert owner.execute("SHOW TABLES LIKE 'TAKEN' IN SCHEMA raided.s").rows() == []


def test_a_view_reads_no_longer_than_its_owner_may(owner: Session, raider: Session) -> None:
    owner.execute("GRANT SELECT ON TABLE raided.s.t TO ROLE raider")
    raider.execute("CREATE VIEW kept AS SELECT a FROM raided.s.t")
    owner.execute("REVOKE SELECT ON TABLE raided.s.t FROM ROLE raider")
    assert _code(raider, "SELECT a FROM kept") == "002037"
    assert _code(owner, "SELECT a FROM raided.theirs.kept") == "002037", "its owner's rights, whoever asks"


def test_a_procedure_with_owners_rights_has_those_of_its_owner_alone(owner: Session, raider: Session) -> None:
    raider.execute(
        "CREATE PROCEDURE steal() RETURNS INT LANGUAGE SQL EXECUTE AS OWNER AS 'BEGIN DROP TABLE raided.s.t; END'"
    )
    assert _code(owner, "CALL raided.theirs.steal()") in _HIDDEN
    assert len(owner.execute("SHOW TABLES LIKE 'T' IN SCHEMA raided.s").rows()) == 1


def test_a_results_rows_are_the_roles_that_ran_the_query(owner: Session, raider: Session) -> None:
    shown = owner.execute("SHOW TABLES IN SCHEMA raided.s").query_id
    assert _code(raider, f"SELECT * FROM TABLE(RESULT_SCAN('{shown}'))") is not None
