"""What secure views and functions are made of is shown to their owner alone, however a plan or text comes out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights.plans import SEALED, without_addresses
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition

SECRETS = ("sekrit", "hidden_base")
PLANS = (
    "SELECT a FROM sealed", "SELECT a FROM outer_view", "SELECT sealed_f(a) FROM open_t", "SELECT f_of_sealed(1)",
    "SELECT COUNT(*) FROM open_t JOIN sealed USING (a)",
)  # fmt: skip
KINDS = ("EXPLAIN", "EXPLAIN USING JSON", "EXPLAIN USING TEXT", "EXPLAIN USING TABULAR")
TEXTS = (
    "SHOW VIEWS", "SHOW OBJECTS", "SHOW FUNCTIONS", "SHOW USER FUNCTIONS", "SHOW PROCEDURES", "SHOW DYNAMIC TABLES",
    "DESCRIBE VIEW sealed", "DESCRIBE FUNCTION sealed_f(INT)", "DESCRIBE PROCEDURE sealed_p()",
    "SELECT * FROM information_schema.views", "SELECT * FROM information_schema.functions",
    "SELECT * FROM information_schema.procedures", "SELECT * FROM information_schema.tables",
    "SELECT * FROM information_schema.columns", "SELECT query_text FROM TABLE(information_schema.query_history())",
)  # fmt: skip
DDLS = (
    "GET_DDL('VIEW', 'sealed')", "GET_DDL('FUNCTION', 'sealed_f(INT)')", "GET_DDL('PROCEDURE', 'sealed_p()')",
    "GET_DDL('SCHEMA', 's')", "GET_DDL('DATABASE', 'bodies')",
)  # fmt: skip


@pytest.fixture(scope="module")
def owner(account: Account) -> Iterator[Session]:
    admin = account.session()
    admin.execute_script(
        """
        CREATE DATABASE bodies; CREATE SCHEMA s; CREATE ROLE body_reader; CREATE USER body_user;
        GRANT ROLE body_reader TO USER body_user;
        CREATE TABLE hidden_base (a INT, note VARCHAR); INSERT INTO hidden_base VALUES (1, 'x'), (2, 'sekrit');
        CREATE TABLE open_t (a INT); INSERT INTO open_t VALUES (1);
        CREATE SECURE VIEW sealed AS SELECT a, note FROM hidden_base WHERE note <> 'sekrit';
        CREATE VIEW outer_view AS SELECT a FROM sealed;
        CREATE SECURE FUNCTION sealed_f(n INT) RETURNS VARCHAR AS $$ CONCAT('sekrit', n) $$;
        CREATE FUNCTION f_of_sealed(n INT) RETURNS VARCHAR AS $$ sealed_f(n) $$;
        CREATE SECURE PROCEDURE sealed_p() RETURNS VARCHAR LANGUAGE SQL AS $$ BEGIN RETURN 'sekrit'; END $$;
        CREATE DYNAMIC TABLE dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE
            AS SELECT a FROM sealed;
        GRANT USAGE ON DATABASE bodies TO ROLE body_reader; GRANT USAGE ON SCHEMA s TO ROLE body_reader;
        GRANT USAGE ON WAREHOUSE compute_wh TO ROLE body_reader;
        GRANT SELECT ON VIEW sealed TO ROLE body_reader; GRANT SELECT ON VIEW outer_view TO ROLE body_reader;
        GRANT SELECT ON TABLE open_t TO ROLE body_reader; GRANT MONITOR ON DYNAMIC TABLE dt TO ROLE body_reader;
        GRANT USAGE ON FUNCTION sealed_f(INT) TO ROLE body_reader;
        GRANT USAGE ON FUNCTION f_of_sealed(INT) TO ROLE body_reader;
        GRANT USAGE ON PROCEDURE sealed_p() TO ROLE body_reader;
        """
    )
    yield admin
    admin.execute_script("USE DATABASE snowmelt; DROP DATABASE bodies; DROP ROLE body_reader; DROP USER body_user")
    admin.close()


@pytest.fixture(scope="module")
def reader(account: Account, owner: Session) -> Iterator[Session]:
    session = account.session(
        user="BODY_USER", role="BODY_READER", database="BODIES", schema="S", warehouse="COMPUTE_WH"
    )
    yield session
    session.close()


def told(session: Session, sql: str) -> str:
    """All that comes back, in small letters: rows, or the error."""
    try:
        return str(session.execute(sql).rows()).lower()
    except SnowmeltError as error:
        return str(error).lower()


@pytest.mark.parametrize("query", PLANS)
def test_explain_shows_bodies_to_their_owner_alone(reader: Session, owner: Session, query: str) -> None:
    assert any(secret in told(owner, f"EXPLAIN {query}") for secret in SECRETS), "else the test shows nothing"
    for kind in KINDS:
        text = told(reader, f"{kind} {query}")
        assert SEALED.lower() in text and not any(secret in text for secret in SECRETS)


def test_explain_shows_what_is_open_and_no_places(account: Account, reader: Session, owner: Session) -> None:
    for session in (reader, owner):
        text = told(session, "EXPLAIN SELECT a FROM open_t WHERE a > 7")
        assert "> 7" in text and SEALED.lower() not in text
        for place in (str(account.data_dir), account.store.root.uri, "file:/"):
            assert place.lower() not in text


@pytest.mark.parametrize("sql", ["EXPLAIN DYNAMIC TABLE dt", "EXPLAIN DYNAMIC TABLE AS SELECT a FROM outer_view"])
def test_the_plan_of_a_refresh_is_sealed_too(reader: Session, owner: Session, sql: str) -> None:
    assert "hidden_base" in told(owner, sql)
    text = told(reader, sql)
    assert SEALED.lower() in text and "refresh mode" in text
    assert not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize("sql", TEXTS + tuple(f"SELECT {ddl}" for ddl in DDLS))
def test_no_listing_and_no_ddl_shows_a_body(reader: Session, sql: str) -> None:
    text = told(reader, sql)
    assert not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize("ddl", DDLS)
def test_the_owner_reads_what_is_theirs(owner: Session, ddl: str) -> None:
    assert any(secret in told(owner, f"SELECT {ddl}") for secret in SECRETS)


def test_errors_quote_neither_places_nor_what_is_sealed(account: Account, reader: Session, owner: Session) -> None:
    owner.execute_script(
        "CREATE TABLE hidden_base_2 (a INT); INSERT INTO hidden_base_2 VALUES (1); "
        "CREATE SECURE VIEW broken AS SELECT a FROM hidden_base_2; GRANT SELECT ON VIEW broken TO ROLE body_reader"
    )
    with account.state.read() as state:
        found = state.catalog.find(ObjectName("BODIES", "S", "HIDDEN_BASE_2"), [ObjectKind.TABLE])
    assert found is not None and isinstance(found.definition, TableDefinition)
    for file in Path(account.store.root.uri_of(found.definition.location)).glob("*.parquet"):
        file.unlink()
    with pytest.raises(SnowmeltError) as failed:
        owner.execute("SELECT a FROM broken")
    assert "<storage>" in str(failed.value) and str(account.data_dir) not in str(failed.value)
    with pytest.raises(SnowmeltError, match="inside a secure view or function"):
        reader.execute("SELECT a FROM broken")


def test_what_spark_says_of_files_is_left_out() -> None:
    plan = (
        "(1) Scan parquet\nLocation: InMemoryFileIndex [s3a://b/t/part-0.parquet, ... 3 entries]\n"
        "FileScan Location: InMemoryFileIndex(1 paths)[file:/srv/t/x.parquet], PushedFilters: []\nReadSchema: ()"
    )
    shown = without_addresses(plan)
    assert "/" not in shown and "ReadSchema" in shown and "PushedFilters" in shown
