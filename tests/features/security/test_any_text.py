"""Text of any kind through every way in: the statement may fail, and the histories go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.observing.service import Observing
from snowmelt.ingest.channels.ports import OpenRequest
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.journal import QueryJournal
from snowmelt.state.model import QueryRecord

ANY = st.text(
    st.one_of(
        st.characters(categories=("Cs", "Cc", "Co", "Zs", "Zl", "Lu", "Mn", "So")),
        st.sampled_from("\0\n\r\t\x7f\x85\u2028.'\"\\;$/ab\ud800\udfff"),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """One without Spark."""
    with open_account(tmp_path_factory.mktemp("any") / "data", settings=Settings()) as opened:
        yield opened


def _try(session: Session, sql: str, binds: list[object] | None = None) -> None:
    try:
        session.execute(sql, binds)
    except SnowmeltError as error:
        assert error.code != "300001", f"a defect for {sql!r}: {error}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("\ud800")
@example("..")
@example("a\0b")
@given(ANY)
def test_any_text_leaves_the_histories_whole(account: Account, text: str) -> None:
    session = account.session()
    literal = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    before = account.journal.set_aside
    _try(session, text)
    _try(session, f"SHOW TABLES LIKE {literal}")
    _try(session, "SHOW TABLES LIKE ?", [text])
    _try(session, f"ALTER SESSION SET QUERY_TAG = {literal}")
    for sql in (
        "CREATE TABLE {name} (a INT) COMMENT = {literal}", "CREATE DATABASE {name}", "CREATE SCHEMA {name}",
        "CREATE ROLE {name}", "CREATE USER {name} COMMENT = {literal}", "CREATE WAREHOUSE {name}",
        "CREATE STAGE {name}", "LIST @~/{text}", "CREATE TAG {name}", "DROP TABLE IF EXISTS {name}", "USE ROLE {name}",
    ):  # fmt: skip
        _try(session, sql.format(name=_quoted(text), literal=literal, text=text))
    session.execute("USE DATABASE SNOWMELT")
    strange = account.session(user=text or "x", database=text or None)
    _try(strange, "SHOW DATABASES")
    strange.close()
    account.audit.write("LOGIN", user=text, object=text, succeeded=False, client=text)
    last = session.execute("SHOW WAREHOUSES").query_id
    account.journal.flush()
    account.audit.flush()
    found = session.execute("SHOW DATABASES")
    assert account.journal.get(last) is not None
    assert account.journal.set_aside == before, "every record was made storable"
    assert not {row[1] for row in found.rows()} & {".", "..", "\ud800"}
    session.close()


@pytest.mark.parametrize("name", [".", "..", "a\0b", "a\nb", "a\x1bb", "\x85"])
@pytest.mark.parametrize("kind", ["TABLE {} (a INT)", "DATABASE {}", "SCHEMA {}", "ROLE {}", "USER {}", "WAREHOUSE {}"])
def test_no_object_gets_such_a_name(account: Account, kind: str, name: str) -> None:
    session = account.session()
    with pytest.raises(SnowmeltError) as raised:
        session.execute(f"CREATE {kind.format(_quoted(name))}")
    assert raised.value.code in ("000904", "001003")
    session.close()


def test_a_statement_that_is_not_text_is_refused_and_kept(account: Account) -> None:
    session = account.session()
    with pytest.raises(SnowmeltError, match="Invalid UTF8") as raised:
        session.execute("SELECT '\ud800'")
    assert raised.value.code == "100144"
    kept = account.journal.list(1, session.id)[0]
    assert kept.text == "SELECT '\ufffd'" and kept.error_code == "100144"
    session.close()


def test_a_record_that_can_not_be_stored_is_set_aside_and_counted(account: Account) -> None:
    good = account.journal.list(1)[0]
    journal = QueryJournal(account.state, interval=3600)
    journal.start(good.model_copy(update={"query_id": "bad", "text": "\ud800"}))
    for number in range(3):
        journal.start(good.model_copy(update={"query_id": f"good-{number}"}))
    journal.flush()
    assert journal.set_aside == 1
    journal.flush()
    assert journal.set_aside == 1, "and it is not tried again"
    with account.state.read() as state:
        assert all(state.queries.get(f"good-{number}") is not None for number in range(3))
    journal.close()
    names = {sample.metric.name for sample in account.services[Observing].samples()}
    assert "snowmelt_records_set_aside_total" in names


def test_no_more_records_wait_than_there_is_room_for(account: Account) -> None:
    good: QueryRecord = account.journal.list(1)[0]
    journal = QueryJournal(account.state, interval=3600, most=10, batch=1_000_000)
    for number in range(25):
        journal.start(good.model_copy(update={"query_id": f"waits-{number}"}))
    assert journal.set_aside == 15
    journal.close()


@pytest.mark.parametrize("name", ["", ".", "..", "a\nb", "\ud800"])
def test_a_channel_gets_no_such_name(account: Account, name: str) -> None:
    session = account.session()
    session.execute("CREATE TABLE IF NOT EXISTS c (a INT)")
    with pytest.raises(SnowmeltError):
        session.channel_door().open(OpenRequest(name, "c"))
    session.close()
