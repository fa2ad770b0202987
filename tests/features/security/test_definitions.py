"""Definitions as they are shown: to their owner as written, to others without secrets, histories without any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.metadata.information_schema import view_columns
from snowmelt.runtime.session import Session
from snowmelt.state import definitions
from tests.support.secrets import ADDRESSES, MARKER, WRITTEN

SIGNED, WITH_PASSWORD = ADDRESSES
COMMENT = f"COMMENT = 'from {WITH_PASSWORD}'"
SET_PASSWORDS = "; ".join(
    f"ALTER USER nobody SET PASSWORD /* it's */ = {written}" for written in WRITTEN if "$$" not in written
)
BLOCK = f"BEGIN {SET_PASSWORDS}; END"
QUERY = f"SELECT a FROM t WHERE password = '{MARKER}' OR note = '{SIGNED}'"
SIGNED_STORE = SIGNED.replace("https", "azure")
OPTIONS = "WAREHOUSE = compute_wh SCHEDULE = '1 hour'"
CONFIG = f'CONFIG = \'{{"password": "{MARKER}", "url": "{WITH_PASSWORD}"}}\''
KINDS: dict[str, tuple[str, str, str]] = {
    "TABLE": (
        "t", f"CREATE TABLE t (a INT, password VARCHAR DEFAULT '{WITH_PASSWORD}', note VARCHAR COMMENT '{SIGNED}', "
        f"CHECK (password = '{MARKER}')) {COMMENT}", "SELECT",
    ),
    "VIEW": ("v", f"CREATE VIEW v {COMMENT} AS {QUERY}", "SELECT"),
    "DYNAMIC_TABLE": (
        "dt", f"CREATE DYNAMIC TABLE dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE "
        f"{COMMENT} AS {QUERY}", "SELECT, MONITOR",
    ),
    "STAGE": ("sg", f"CREATE STAGE sg URL = '{SIGNED_STORE}' {COMMENT}", "USAGE"),
    "PIPE": ("pp", f"CREATE PIPE pp {COMMENT} AS COPY INTO t FROM @~ PATTERN = '{WITH_PASSWORD}'", "MONITOR"),
    "FILE_FORMAT": ("ff", f"CREATE FILE FORMAT ff TYPE = CSV {COMMENT}", "USAGE"),
    "SEQUENCE": ("sq", f"CREATE SEQUENCE sq {COMMENT}", "USAGE"),
    "FUNCTION": (
        "f()", f"CREATE FUNCTION f() RETURNS INT {COMMENT} AS $$ SELECT MAX(a) FROM t WHERE password = '{MARKER}' $$",
        "USAGE",
    ),
    "PROCEDURE": ("p()", f"CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL {COMMENT} AS $$ {BLOCK} $$", "USAGE"),
    "STREAM": ("st", f"CREATE STREAM st ON TABLE t {COMMENT}", "SELECT"),
    "TASK": ("tk", f"CREATE TASK tk {OPTIONS} {CONFIG} {COMMENT} AS {BLOCK}", "MONITOR"),
    "ALERT": ("al", f"CREATE ALERT al {OPTIONS} {COMMENT} IF (EXISTS ({QUERY})) THEN {BLOCK}", "MONITOR"),
    "CONNECTOR": (
        "cn", "CREATE CONNECTOR cn TYPE = POSTGRES HOST = '127.0.0.1' PORT = 1 DATABASE = 'd' USER = 'u' "
        f"TABLES = ('t') INITIALLY_PAUSED = TRUE {COMMENT}", "MONITOR",
    ),
    "CONTRACT": (
        "ct", "CREATE CONTRACT ct AS $$\napiVersion: v3.1.0\nkind: DataContract\nid: c\nname: c\nversion: 1.0.0\n"
        f"status: active\ndescription:\n  purpose: see {WITH_PASSWORD}\nschema:\n  - name: t\n    properties:\n"
        f"      - name: a\n        logicalType: integer\n        physicalType: NUMBER(38,0)\n$$ {COMMENT}", "USAGE",
    ),
    "DATA_PRODUCT": (
        "dp", f"CREATE DATA PRODUCT dp DOCUMENTATION = '{SIGNED}' OBJECTS = (t) {COMMENT}", "USAGE",
    ),
    "MASKING_POLICY": (
        "mp", f"CREATE MASKING POLICY mp AS (v VARCHAR) RETURNS VARCHAR -> '{WITH_PASSWORD}' {COMMENT}", "APPLY",
    ),
    "ROW_ACCESS_POLICY": (
        "rp", f"CREATE ROW ACCESS POLICY rp AS (v VARCHAR) RETURNS BOOLEAN -> v <> '{WITH_PASSWORD}' {COMMENT}",
        "APPLY",
    ),
    "PROJECTION_POLICY": (
        "pp", "CREATE PROJECTION POLICY pp AS () RETURNS PROJECTION_CONSTRAINT -> PROJECTION_CONSTRAINT(ALLOW => "
        f"CURRENT_ROLE() <> '{WITH_PASSWORD}') {COMMENT}", "APPLY",
    ),
    "AGGREGATION_POLICY": (
        "ap", "CREATE AGGREGATION POLICY ap AS () RETURNS AGGREGATION_CONSTRAINT -> AGGREGATION_CONSTRAINT("
        f"MIN_GROUP_SIZE => LENGTH('{WITH_PASSWORD}')) {COMMENT}", "APPLY",
    ),
    "TAG": ("tg", f"CREATE TAG tg ALLOWED_VALUES '{WITH_PASSWORD}' {COMMENT}", "APPLY"),
}  # fmt: skip
"""By the word that GET_DDL has for the kind: the name, the statement, and a privilege that shows the object."""
NOBODYS = {"STAGE", "CONNECTOR"}
"""Kinds whose texts are addresses of other systems, and their secrets credentials."""
SHOWN = tuple(f"SHOW {kind}" for kind in (
    "TABLES", "VIEWS", "DYNAMIC TABLES", "STAGES", "FILE FORMATS", "SEQUENCES", "USER FUNCTIONS", "PROCEDURES",
    "STREAMS", "TASKS", "ALERTS", "CONNECTORS", "CONTRACTS", "DATA PRODUCTS", "TAGS", "PIPES", "OBJECTS", "COLUMNS",
    "QUALITY CHECKS",
))  # fmt: skip
NO_HISTORY = {"INFER_SCHEMA"}


def test_every_kind_has_a_case() -> None:
    assert {kind.value.replace(" ", "_") for kind in definitions.kinds()} <= set(KINDS)


@pytest.fixture(scope="module")
def owner(account: Account) -> Iterator[Session]:
    admin = account.session()
    admin.execute_script(
        "CREATE DATABASE written; CREATE SCHEMA s; CREATE ROLE their_owner; CREATE ROLE their_reader;"
        "CREATE USER definition_reader; GRANT ROLE their_reader TO USER definition_reader;"
        "GRANT ROLE their_owner TO ROLE sysadmin; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE their_reader;"
        "GRANT USAGE ON DATABASE written TO ROLE their_reader; GRANT USAGE ON SCHEMA s TO ROLE their_reader"
    )
    for kind, (name, statement, privilege) in KINDS.items():
        admin.execute(statement)
        admin.execute(f"GRANT {privilege} ON {kind.replace('_', ' ')} {name} TO ROLE their_reader")
    admin.execute("ALTER TASK tk RESUME")
    yield admin
    admin.execute_script(
        "USE DATABASE snowmelt; DROP DATABASE written; DROP ROLE their_owner; DROP ROLE their_reader;"
        "DROP USER definition_reader"
    )
    admin.close()


@pytest.fixture(scope="module")
def reader(account: Account, owner: Session) -> Iterator[Session]:
    session = account.session(
        user="DEFINITION_READER", role="THEIR_READER", database="WRITTEN", schema="S", warehouse="COMPUTE_WH"
    )
    yield session
    session.close()


def told(session: Session, sql: str) -> str:
    """All that comes back: rows, or the error."""
    try:
        return str(session.execute(sql).rows())
    except SnowmeltError as error:
        return f"failed: {error} {error.hint}"


def described(kind: str) -> str:
    return f"DESCRIBE {kind.replace('_', ' ')} {KINDS[kind][0]}"


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_not_the_owner_sees_no_secret(owner: Session, reader: Session, kind: str) -> None:
    text = told(reader, f"SELECT GET_DDL('{kind}', '{KINDS[kind][0]}')")
    assert "create or replace" in text.lower(), text
    assert MARKER not in text
    if kind not in {"STREAM", "TAG"}:
        assert MARKER not in told(reader, described(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_owner_sees_what_was_written(owner: Session, kind: str) -> None:
    text = told(owner, f"SELECT GET_DDL('{kind}', '{KINDS[kind][0]}')")
    assert (MARKER in text) is (kind not in NOBODYS), text


def test_lists_and_scripts_show_no_secret(owner: Session, reader: Session) -> None:
    for statement in (*SHOWN, "SELECT GET_DDL('SCHEMA', 's')", "SELECT GET_DDL('DATABASE', 'written')"):
        text = told(reader, statement)
        assert not text.startswith("failed"), text
        assert MARKER not in text, statement


def test_information_schema_shows_no_secret(owner: Session, reader: Session) -> None:
    for view in view_columns():
        text = told(reader, f"SELECT * FROM information_schema.{view}")
        assert not text.startswith("failed"), text
        assert MARKER not in text, view


def test_histories_show_no_secret_to_anybody(owner: Session) -> None:
    owner.execute("EXECUTE TASK tk")
    functions = owner.account.features.table_functions
    for function in sorted(functions.keys() - NO_HISTORY):
        if not functions[function].required:
            assert MARKER not in told(owner, f"SELECT * FROM TABLE(information_schema.{function}())"), function
    shown = told(owner, "SELECT query_text FROM TABLE(information_schema.task_history())")
    assert "ALTER USER nobody SET PASSWORD" in shown and "***" in shown


def test_what_prints_definitions_finds_them_in_one_place() -> None:
    """Only `metadata/catalog.py` gives out what `as_shown` has passed."""
    runtime, features = (Path(__file__).parents[3] / "src/snowmelt" / name for name in ("runtime", "features"))
    printing = [
        features / "relations/describe.py", *runtime.glob("metadata/*.py"), *runtime.glob("information_schema/*.py"),
        *features.glob("*/listing.py"), *features.glob("*/information_schema.py"),
    ]  # fmt: skip
    by_name = re.compile(r"state\.catalog\.(find|objects|routines)\(")
    allowed = {"catalog.py"}
    names_only = {
        ("metadata", "keys.py"), ("security", "information_schema.py"), ("contracts", "listing.py"),
        ("data_products", "listing.py"), ("streams", "listing.py"), ("tasks", "listing.py"),
    }  # fmt: skip
    """They look whether the name is there, and print no text of what they find."""
    for path in printing:
        if path.name not in allowed and (path.parent.name, path.name) not in names_only:
            assert by_name.search(path.read_text(encoding="utf-8")) is None, path
