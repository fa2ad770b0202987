"""Whatever a role tries, what it may not know of looks like what is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.accounts import FEATURES
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.sql.functions.catalog import FUNCTIONS

SECRET_ROW = "topsecretvalue"
HIDDEN_TABLE, HIDDEN_VIEW, HIDDEN_SCHEMA, HIDDEN_DATABASE = "HIDDEN_T", "HIDDEN_V", "HIDDEN_S", "HIDDEN_D"
_SETUP = f"""
CREATE DATABASE spied; CREATE SCHEMA shared; CREATE SCHEMA mine; CREATE SCHEMA {HIDDEN_SCHEMA};
CREATE TABLE {HIDDEN_SCHEMA}.inner_t (a VARCHAR);
CREATE TABLE shared.{HIDDEN_TABLE} (a VARCHAR, hidden_column INT);
INSERT INTO shared.{HIDDEN_TABLE} VALUES ('{SECRET_ROW}', 1);
CREATE VIEW shared.{HIDDEN_VIEW} AS SELECT a FROM shared.{HIDDEN_TABLE};
CREATE STREAM shared.hidden_st ON TABLE shared.{HIDDEN_TABLE}; CREATE STAGE shared.hidden_sg;
CREATE SEQUENCE shared.hidden_sq; CREATE FUNCTION shared.hidden_f() RETURNS VARCHAR AS '\\'{SECRET_ROW}\\'';
CREATE PROCEDURE shared.hidden_p() RETURNS VARCHAR LANGUAGE SQL AS 'BEGIN RETURN \\'{SECRET_ROW}\\'; END';
CREATE TABLE shared.written_t (a VARCHAR); INSERT INTO shared.written_t VALUES ('{SECRET_ROW}');
CREATE TABLE shared.open_t (a VARCHAR); INSERT INTO shared.open_t VALUES ('seen');
CREATE CONTRACT shared.hidden_c FROM TABLE shared.{HIDDEN_TABLE}; CREATE DATA PRODUCT shared.hidden_dp;
CREATE TAG shared.hidden_tag;
CREATE SECURE VIEW shared.counted AS SELECT count(*) AS n FROM shared.{HIDDEN_TABLE};
CREATE DATABASE {HIDDEN_DATABASE}; CREATE TABLE {HIDDEN_DATABASE}.public.t (a VARCHAR);
CREATE ROLE spy; CREATE USER spy DEFAULT_SECONDARY_ROLES = (); GRANT ROLE spy TO USER spy;
GRANT USAGE ON DATABASE spied TO ROLE spy; GRANT USAGE ON SCHEMA spied.shared TO ROLE spy;
GRANT OWNERSHIP ON SCHEMA spied.mine TO ROLE spy; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE spy;
GRANT SELECT ON TABLE spied.shared.open_t TO ROLE spy; GRANT SELECT ON VIEW spied.shared.counted TO ROLE spy;
GRANT INSERT, UPDATE, DELETE ON TABLE spied.shared.written_t TO ROLE spy
"""

_NAMES = st.sampled_from([
    f"spied.shared.{HIDDEN_TABLE}", f"shared.{HIDDEN_TABLE}", f"spied.shared.{HIDDEN_VIEW}",
    f"spied.{HIDDEN_SCHEMA}.inner_t", f"{HIDDEN_DATABASE}.public.t", "shared.hidden_st",
])  # fmt: skip
_ON_A_NAME = st.sampled_from([
    "SELECT * FROM {x}", "SELECT count(*) FROM {x}", "SELECT * FROM shared.open_t WHERE a IN (SELECT a FROM {x})",
    "DESCRIBE TABLE {x}", "DESCRIBE VIEW {x}", "SHOW COLUMNS IN TABLE {x}", "SHOW GRANTS ON TABLE {x}",
    "SELECT GET_DDL('TABLE', '{x}')", "SELECT GET_DDL('VIEW', '{x}')", "CREATE TABLE mine.c CLONE {x}",
    "CREATE TABLE mine.l LIKE {x}", "CREATE OR REPLACE VIEW mine.v AS SELECT * FROM {x}",
    "CREATE TABLE mine.q AS SELECT * FROM {x}", "INSERT INTO shared.written_t SELECT a FROM {x}",
    "INSERT INTO {x} VALUES ('a')", "UPDATE {x} SET a = 'b'", "DELETE FROM {x}", "TRUNCATE TABLE {x}",
    "TRUNCATE TABLE IF EXISTS {x}", "DROP TABLE {x}", "DROP TABLE IF EXISTS {x}", "DROP VIEW IF EXISTS {x}",
    "ALTER TABLE {x} ADD COLUMN z INT", "ALTER TABLE IF EXISTS {x} ADD COLUMN z INT",
    "ALTER TABLE {x} RENAME TO mine.r", "EXECUTE QUALITY CHECKS ON {x}", "SHOW QUALITY CHECKS IN TABLE {x}",
    "ALTER TABLE mine.own ADD QUALITY CHECK c AS REFERENCES (a) TABLE = {x} KEY = (a)",
    "ALTER TABLE mine.own ADD QUALITY CHECK c AS SQL (SELECT count(*) FROM {x}) MAX = 0",
    "CREATE STREAM mine.s ON TABLE {x}", "SELECT * FROM {x} AT (OFFSET => -1)",
    "SELECT * FROM {x} CHANGES (INFORMATION => DEFAULT) AT (OFFSET => -1)", "EXPLAIN SELECT * FROM {x}",
    "MERGE INTO shared.written_t t USING {x} s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "EXECUTE IMMEDIATE 'SELECT * FROM {x}'", "BEGIN SELECT a FROM {x}; EXCEPTION WHEN OTHER THEN RETURN SQLERRM; END",
    "GRANT SELECT ON TABLE {x} TO ROLE spy", "GRANT OWNERSHIP ON TABLE {x} TO ROLE spy", "COMMENT ON TABLE {x} IS 'x'",
    "COPY INTO @~/out FROM {x}", "COPY INTO {x} FROM @~/in", "UNDROP TABLE {x}",
    "SELECT SYSTEM$LAST_CHANGE_COMMIT_TIME('{x}')",
    "SELECT SYSTEM$STREAM_HAS_DATA('{x}')", "SHOW PRIMARY KEYS IN TABLE {x}", "ALTER TABLE mine.own SWAP WITH {x}",
    "CREATE CONTRACT mine.c FROM TABLE {x}", "CREATE DATA PRODUCT mine.dp OBJECTS = ({x})", "DESCRIBE CONTRACT {x}",
    "ALTER TABLE {x} SET CONTRACT = mine.c", "ALTER CONTRACT {x} CHECK", "DROP DATA PRODUCT {x}",
    "LIST @{x}", "SELECT {x}.NEXTVAL", "CALL {x}()", "SELECT {x}()", "SHOW STREAMS LIKE 'HIDDEN%' IN ACCOUNT",
])  # fmt: skip
_ON_PLACES = st.sampled_from([
    f"USE SCHEMA spied.{HIDDEN_SCHEMA}", f"SHOW TABLES IN SCHEMA spied.{HIDDEN_SCHEMA}",
    f"USE DATABASE {HIDDEN_DATABASE}",
    f"DROP SCHEMA IF EXISTS spied.{HIDDEN_SCHEMA}", f"CREATE TABLE spied.{HIDDEN_SCHEMA}.n (a INT)",
    f"SELECT * FROM {HIDDEN_DATABASE}.information_schema.tables", f"DESCRIBE DATABASE {HIDDEN_DATABASE}",
    f"SHOW SCHEMAS IN DATABASE {HIDDEN_DATABASE}", f"GRANT USAGE ON DATABASE {HIDDEN_DATABASE} TO ROLE spy",
])  # fmt: skip
_BLIND = st.sampled_from([
    "SHOW TABLES IN ACCOUNT", "SHOW TABLES HISTORY IN ACCOUNT", "SHOW VIEWS IN ACCOUNT", "SHOW OBJECTS IN ACCOUNT",
    "SHOW SCHEMAS IN ACCOUNT", "SHOW DATABASES", "SHOW DATABASES HISTORY", "SHOW STREAMS IN ACCOUNT",
    "SHOW STAGES IN ACCOUNT", "SHOW SEQUENCES IN ACCOUNT", "SHOW USER FUNCTIONS IN ACCOUNT",
    "SHOW USER PROCEDURES IN ACCOUNT", "SHOW TASKS IN ACCOUNT", "SHOW ALERTS IN ACCOUNT",
    "SHOW DYNAMIC TABLES IN ACCOUNT",
    "SHOW COLUMNS IN ACCOUNT", "SHOW GRANTS", "SHOW GRANTS TO ROLE spy", "SHOW GRANTS TO ROLE accountadmin",
    "SHOW ROLES", "SHOW USERS", "SHOW LOCKS IN ACCOUNT", "SHOW TRANSACTIONS IN ACCOUNT", "SHOW WAREHOUSES",
    "SHOW CONTRACTS IN ACCOUNT", "SHOW DATA PRODUCTS IN ACCOUNT", "SELECT SYSTEM$CATALOG_SNAPSHOT()",
    "SHOW TAGS IN ACCOUNT",
    "SELECT * FROM TABLE(information_schema.search_catalog('t'))",
    "SELECT * FROM information_schema.tables", "SELECT * FROM information_schema.columns",
    "SELECT * FROM information_schema.views", "SELECT * FROM information_schema.schemata",
    "SELECT * FROM information_schema.databases", "SELECT * FROM information_schema.functions",
    "SELECT * FROM information_schema.procedures", "SELECT * FROM information_schema.stages",
    "SELECT * FROM information_schema.sequences", "SELECT * FROM information_schema.object_privileges",
    "SELECT * FROM information_schema.table_privileges", "SELECT * FROM information_schema.applicable_roles",
    "SELECT * FROM information_schema.audit_log",
    "SELECT query_text FROM TABLE(information_schema.query_history()) WHERE user_name <> 'SPY'",
    "SELECT * FROM TABLE(information_schema.login_history())",
    "SELECT * FROM TABLE(information_schema.task_history())", "SHOW QUALITY CHECKS IN ACCOUNT",
    "SELECT * FROM TABLE(information_schema.quality_check_history())",
    "SELECT * FROM TABLE(information_schema.dynamic_table_refresh_history())",
    "SELECT * FROM shared.counted", "SELECT GET_DDL('VIEW', 'shared.counted')", "SHOW VIEWS LIKE 'counted'",
    "SELECT GET_DDL('SCHEMA', 'spied.shared')", "SELECT GET_DDL('DATABASE', 'spied')", "SELECT * FROM shared.written_t",
    "UPDATE shared.written_t SET a = 'x' WHERE a LIKE 't%'", "DELETE FROM shared.written_t WHERE a LIKE 't%'",
    "USE ROLE accountadmin", "USE SECONDARY ROLES ALL", "CREATE OR REPLACE TABLE mine.own (a VARCHAR)",
    "COPY INTO mine.own FROM 'file:///etc/'", "GET @~ file:///tmp/", "SELECT * FROM TABLE(RESULT_SCAN('{admin}'))",
    "SELECT CURRENT_AVAILABLE_ROLES()", "INSERT INTO shared.written_t VALUES ('mine')",
    "SHOW TABLES IN DATABASE spied", "SHOW OBJECTS IN SCHEMA spied.shared", "DESCRIBE SCHEMA spied.shared",
    "DESCRIBE DATABASE spied", "CREATE DATABASE stolen CLONE spied", "CREATE SCHEMA mine2 CLONE spied.shared",
])  # fmt: skip
_STATEMENTS = st.one_of(st.builds(lambda text, name: text.replace("{x}", name), _ON_A_NAME, _NAMES), _ON_PLACES, _BLIND)


class Spied:
    def __init__(self, account: Account) -> None:
        self.account = account
        admin = account.session()
        admin.execute_script(_SETUP)
        self.admin_query = admin.execute(f"SELECT a FROM spied.shared.{HIDDEN_TABLE}").query_id
        self.admin = admin

    def session(self) -> Session:
        return self.account.session(user="SPY", role="SPY", database="SPIED", schema="MINE")

    def close(self) -> None:
        self.admin.execute_script(f"DROP DATABASE spied; DROP DATABASE {HIDDEN_DATABASE}; DROP USER spy; DROP ROLE spy")
        self.admin.close()


@pytest.fixture(scope="module")
def spied(account: Account) -> Iterator[Spied]:
    place = Spied(account)
    yield place
    place.close()


def _outcome(session: Session, text: str) -> str:
    try:
        return "\n".join(str(row) for row in session.execute(text).rows())
    except SnowmeltError as error:
        return str(error)


def _absent(text: str) -> str:
    """The same statement about things that are not there at all."""
    return re.sub("hidden", "ABSENT", text, flags=re.IGNORECASE)


def _comparable(outcome: str) -> str:
    """Which of Snowmelt's own functions is nearest to a name depends on the name alone."""
    found = re.search(r"nearest function that exists here is (\w+)\.", outcome)
    assert found is None or found[1] in FUNCTIONS, outcome
    plain = outcome.replace(found[0], "") if found is not None else outcome
    return re.sub("(?i)hidden|absent", "?", plain)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements=st.lists(_STATEMENTS, min_size=1, max_size=5))
def test_what_a_role_has_no_right_to_does_not_exist_for_it(spied: Spied, statements: list[str]) -> None:
    session, other = spied.session(), spied.session()
    try:
        for written in statements:
            text = written.replace("{admin}", spied.admin_query)
            outcome = _outcome(session, text)
            assert SECRET_ROW not in outcome, text
            if "hidden" not in text.lower():
                assert "hidden" not in outcome.lower(), text
            else:
                assert _comparable(outcome) == _comparable(_outcome(other, _absent(text))), text
    finally:
        session.close()
        other.close()


_HIDDEN_OBJECTS = {
    f"spied.shared.{HIDDEN_TABLE}": "TABLE", f"spied.shared.{HIDDEN_VIEW}": "VIEW", "spied.shared.hidden_st": "STREAM",
    "spied.shared.hidden_sg": "STAGE", "spied.shared.hidden_sq": "SEQUENCE", "spied.shared.hidden_f()": "FUNCTION",
    "spied.shared.hidden_p()": "PROCEDURE", "spied.shared.hidden_c": "CONTRACT", "spied.shared.hidden_dp": "PRODUCT",
    "spied.shared.hidden_tag": "TAG", f"spied.{HIDDEN_SCHEMA}": "SCHEMA", HIDDEN_DATABASE: "DATABASE",
}  # fmt: skip


def _calls(name: str, kind: str) -> Iterator[str]:
    """Every function that the account answers, with the name in each of its arguments."""
    for word, function in FEATURES.system_functions.items():
        for place in range(function.most):
            others = [f"'{kind}'"] * max(function.least, place + 1)
            given = [f"'{name}'" if index == place else other for index, other in enumerate(others)]
            yield f"{'CALL' if function.only_called else 'SELECT'} {word}({', '.join(given)})"
    for schema, functions in (
        ("information_schema", FEATURES.table_functions),
        ("snowflake.core", FEATURES.core_functions),
    ):
        for word, table_function in functions.items():
            if word.startswith("QUERY_HISTORY"):  # It shows the calls themselves.
                continue
            for argument in table_function.arguments:
                yield f"SELECT * FROM TABLE({schema}.{word}({argument} => '{name}'))"
            yield f"SELECT * FROM TABLE({schema}.{word}('{name}', '{kind}'))"


@pytest.mark.parametrize(
    "name",
    [
        f"spied.shared.{HIDDEN_TABLE}",
        *(pytest.param(other, marks=pytest.mark.slow) for other in list(_HIDDEN_OBJECTS)[1:]),
    ],
)
def test_no_function_tells_of_what_is_hidden(spied: Spied, name: str) -> None:
    """A function that takes a name says of a hidden object what it says of one that is not there."""
    session = spied.session()
    told = []
    for call in _calls(name, _HIDDEN_OBJECTS[name]):
        hidden, absent = _outcome(session, call), _outcome(session, _absent(call))
        if "Internal error" in hidden or SECRET_ROW in hidden or _comparable(hidden) != _comparable(absent):
            told.append((call, hidden[:200], absent[:200]))
    session.close()
    assert told == [], "\n".join(map(str, told))
