"""Whose a thing is, and what that allows: channels, schemas, future grants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.channels.ports import OpenRequest
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """One without Spark: rights are looked at before rows."""
    with open_account(tmp_path_factory.mktemp("owners") / "data", settings=Settings()) as opened:
        yield opened


@pytest.fixture
def admin(account: Account) -> Iterator[Session]:
    session = account.session()
    session.execute_script(
        """
        CREATE OR REPLACE DATABASE d; CREATE OR REPLACE ROLE maker; CREATE OR REPLACE ROLE other;
        CREATE OR REPLACE ROLE reader; GRANT USAGE ON DATABASE d TO ROLE public;
        CREATE SCHEMA plain; CREATE SCHEMA managed WITH MANAGED ACCESS;
        GRANT USAGE ON ALL SCHEMAS IN DATABASE d TO ROLE public;
        """
    )
    for role in ("maker", "other", "reader"):
        session.execute(f"CREATE OR REPLACE USER u_{role}")
        session.execute(f"GRANT ROLE {role} TO USER u_{role}")
        session.execute(f"GRANT ROLE {role} TO ROLE sysadmin")
    yield session
    session.close()


def _as(account: Account, role: str, schema: str = "PLAIN", user: str | None = None) -> Session:
    return account.session(user=user or f"U_{role}", role=role, database="D", schema=schema)


def _code(session: Session, sql: str) -> str | None:
    try:
        session.execute(sql)
    except SnowmeltError as error:
        return error.code
    return None


# -- channels ----------------------------------------------------------------------------------------------------------


def test_a_channel_is_its_makers(account: Account, admin: Session) -> None:
    admin.execute_script(
        "USE SCHEMA d.plain; CREATE TABLE t (a INT); GRANT INSERT ON TABLE t TO ROLE maker; "
        "GRANT INSERT ON TABLE t TO ROLE other"
    )
    maker, other = _as(account, "MAKER"), _as(account, "OTHER")
    ticket = maker.channel_door().open(OpenRequest("c", "t")).ticket
    for attempt in (
        lambda: other.channel_door().open(OpenRequest("c", "t")),
        lambda: other.channel_door().drop("t", "c"),
    ):
        with pytest.raises(SnowmeltError, match="Insufficient privileges to operate on channel"):
            attempt()
    assert maker.channel_door().status(ticket) is not None, "nobody took it away"
    again = maker.channel_door().open(OpenRequest("c", "t"))
    assert again.ticket.client_sequencer == ticket.client_sequencer + 1
    # The table's owner may end it, and its maker may not after losing the table.
    admin.execute("REVOKE INSERT ON TABLE t FROM ROLE maker")
    with pytest.raises(SnowmeltError):
        maker.channel_door().drop("t", "c")
    admin.channel_door().drop("d.plain.t", "c")
    assert other.channel_door().open(OpenRequest("c", "t")).ticket.client_sequencer == 1
    for session in (maker, other):
        session.close()


def test_a_renamed_role_keeps_its_channels(account: Account, admin: Session) -> None:
    admin.execute_script("USE SCHEMA d.plain; CREATE TABLE t (a INT); GRANT INSERT ON TABLE t TO ROLE maker")
    maker = _as(account, "MAKER")
    ticket = maker.channel_door().open(OpenRequest("c", "t")).ticket
    maker.channel_door().close(ticket)
    admin.execute("DROP ROLE IF EXISTS renamed")
    admin.execute("ALTER ROLE maker RENAME TO renamed")
    renamed = _as(account, "RENAMED", user="U_MAKER")
    renamed.channel_door().drop("t", "c")
    maker.close()
    renamed.close()


# -- schemas and future grants -----------------------------------------------------------------------------------------


def test_owning_a_schema_is_not_owning_what_others_make_in_it(account: Account, admin: Session) -> None:
    admin.execute_script(
        "GRANT OWNERSHIP ON SCHEMA d.plain TO ROLE maker REVOKE CURRENT GRANTS; "
        "GRANT USAGE, CREATE TABLE ON SCHEMA d.plain TO ROLE other"
    )
    maker, other = _as(account, "MAKER"), _as(account, "OTHER")
    other.execute("CREATE TABLE theirs (a INT)")
    shown = [row for row in admin.execute("SHOW TABLES IN SCHEMA d.plain").rows() if row[1] == "THEIRS"]
    assert "OTHER" in shown[0], "what is created belongs to the role that created it"
    for sql in (
        "DESCRIBE TABLE theirs", "INSERT INTO theirs VALUES (1)", "ALTER TABLE theirs ADD COLUMN b INT",
        "GRANT SELECT ON TABLE theirs TO ROLE maker", "GRANT OWNERSHIP ON TABLE theirs TO ROLE maker",
        "CREATE TABLE copied CLONE theirs", "TRUNCATE TABLE theirs",
    ):  # fmt: skip
        assert _code(maker, sql) in ("003001", "002003"), sql
    for session in (maker, other):
        session.close()


@pytest.mark.parametrize(
    "sql", ["GRANT {p} ON FUTURE TABLES IN {c} TO ROLE maker", "REVOKE {p} ON FUTURE TABLES IN {c} FROM ROLE maker"]
)
@pytest.mark.parametrize("privilege", ["SELECT", "OWNERSHIP"])
def test_future_grants_are_for_who_manages_grants(account: Account, admin: Session, sql: str, privilege: str) -> None:
    if privilege == "OWNERSHIP" and sql.startswith("REVOKE"):
        sql = "GRANT {p} ON FUTURE TABLES IN {c} TO ROLE other"
    for kind, name in (("SCHEMA", "d.plain"), ("SCHEMA", "d.managed"), ("DATABASE", "d")):
        admin.execute(f"GRANT OWNERSHIP ON {kind} {name} TO ROLE maker COPY CURRENT GRANTS")
    maker = _as(account, "MAKER")
    assert _code(maker, sql.format(p=privilege, c="SCHEMA d.plain")) == "003001", (
        "its owner could read what others make"
    )
    assert _code(maker, sql.format(p=privilege, c="DATABASE d")) == "003001"
    assert _code(maker, sql.format(p=privilege, c="SCHEMA d.managed")) is None
    admin.execute("GRANT MANAGE GRANTS ON ACCOUNT TO ROLE maker")
    assert _code(maker, sql.format(p=privilege, c="SCHEMA d.plain")) is None
    admin.execute("REVOKE MANAGE GRANTS ON ACCOUNT FROM ROLE maker")
    maker.close()


def test_future_grants_of_a_schema_take_the_place_of_its_databases(account: Account, admin: Session) -> None:
    admin.execute_script(
        "GRANT SELECT ON FUTURE TABLES IN DATABASE d TO ROLE other; "
        "GRANT SELECT ON FUTURE TABLES IN SCHEMA d.plain TO ROLE reader; "
        "CREATE TABLE d.plain.x (a INT); CREATE TABLE d.managed.y (a INT)"
    )
    reader, other = _as(account, "READER"), _as(account, "OTHER")
    assert _code(reader, "DESCRIBE TABLE d.plain.x") is None
    assert _code(other, "DESCRIBE TABLE d.plain.x") == "002003", "even for another role"
    assert _code(other, "DESCRIBE TABLE d.managed.y") is None
    for session in (reader, other):
        session.close()


def test_future_ownership_decides_who_owns_what_is_created(account: Account, admin: Session) -> None:
    admin.execute_script(
        "GRANT OWNERSHIP ON FUTURE TABLES IN SCHEMA d.plain TO ROLE reader; "
        "GRANT CREATE TABLE ON SCHEMA d.plain TO ROLE maker"
    )
    maker, reader = _as(account, "MAKER"), _as(account, "READER")
    maker.execute("CREATE TABLE made (a INT)")
    assert _code(maker, "DROP TABLE made") in ("003001", "002003")
    assert _code(reader, "DROP TABLE made") is None
    for session in (maker, reader):
        session.close()


def test_in_a_managed_schema_grants_are_the_schemas_owners(account: Account, admin: Session) -> None:
    admin.execute_script(
        "GRANT OWNERSHIP ON SCHEMA d.managed TO ROLE maker REVOKE CURRENT GRANTS; "
        "GRANT USAGE, CREATE TABLE ON SCHEMA d.managed TO ROLE other"
    )
    maker, other = _as(account, "MAKER", "MANAGED"), _as(account, "OTHER", "MANAGED")
    other.execute("CREATE TABLE theirs (a INT)")
    assert _code(other, "GRANT SELECT ON TABLE theirs TO ROLE reader") == "003001"
    assert _code(other, "GRANT OWNERSHIP ON TABLE theirs TO ROLE reader") == "003001"
    admin.execute("GRANT SELECT ON TABLE d.managed.theirs TO ROLE maker")
    assert _code(maker, "GRANT SELECT ON TABLE theirs TO ROLE reader") is None
    assert _code(maker, "ALTER TABLE theirs ADD COLUMN b INT") == "003001", "it is not its owner"
    for session in (maker, other):
        session.close()
