"""What SHOW lists: scopes, filters, pages, and the values in the cells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.core.patterns import like
from snowmelt.runtime.metadata.table_columns import type_json
from snowmelt.runtime.session import Session
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.state.model import Column, ForeignKey, Key, TableDefinition
from tests.runtime.metadata.catalog_objects import fill, put, table, view


def rows(session: Session, sql: str) -> list[dict[str, Any]]:
    result = session.execute(sql)
    return [dict(zip([column.name for column in result.columns], row, strict=True)) for row in result.rows()]


def names(session: Session, sql: str, column: str = "name") -> list[str]:
    return [row[column] for row in rows(session, sql)]


def refusal(session: Session, sql: str) -> str:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(sql)
    return str(caught.value).replace("SQL compilation error:\n", "")


# -- scopes -----------------------------------------------------------------------------------------------------------


def test_without_in_the_session_schema_is_shown(meta: Session) -> None:
    put(meta, "HERE", table("A"))
    meta.execute("CREATE SCHEMA other")
    put(meta, "THERE", table("A"))
    assert names(meta, "SHOW TABLES") == ["THERE"]
    assert names(meta, "SHOW TABLES IN SCHEMA public") == ["HERE"]
    assert names(meta, "SHOW TABLES IN public") == ["HERE"]
    assert names(meta, f"SHOW TABLES IN {meta.database}.public") == ["HERE"]
    assert names(meta, "SHOW TABLES IN DATABASE") == ["THERE", "HERE"]
    assert names(meta, f"SHOW TABLES IN {meta.database}") == ["THERE", "HERE"]
    assert {"THERE", "HERE"} <= set(names(meta, "SHOW TABLES IN ACCOUNT"))


def test_a_session_without_schema_sees_its_database(meta: Session) -> None:
    put(meta, "T", table("A"))
    meta.schema = None
    assert names(meta, "SHOW TABLES") == ["T"]
    meta.database = None
    assert "T" in names(meta, "SHOW TABLES")


@pytest.mark.parametrize("scope", ["nosuch", "DATABASE nosuch", "SCHEMA nosuch", "SCHEMA nosuch.public", "a.b.c"])
def test_a_scope_that_is_not_there(scope: str, meta: Session) -> None:
    for kind in ("TABLES", "VIEWS", "OBJECTS", "STAGES", "STREAMS", "USER FUNCTIONS"):
        assert refusal(meta, f"SHOW {kind} IN {scope}").startswith("002043 (02000)")


def test_a_relation_that_is_not_there(meta: Session) -> None:
    assert refusal(meta, "SHOW COLUMNS IN nosuch") == (
        "002003 (42S02): Table 'NOSUCH' does not exist or not authorized."
    )
    assert refusal(meta, 'SHOW PRIMARY KEYS IN TABLE "nosuch"') == (
        "002003 (42S02): Table '\"nosuch\"' does not exist or not authorized."
    )
    assert refusal(meta, "SHOW IMPORTED KEYS IN public.nosuch") == (
        f"002003 (42S02): Table '{meta.database}.PUBLIC.NOSUCH' does not exist or not authorized."
    )
    assert refusal(meta, "SHOW UNIQUE KEYS IN nosuch.x") == (
        f"002003 (02000): Schema '{meta.database}.NOSUCH' does not exist or not authorized."
    )


def test_tables_do_not_live_in_views(meta: Session) -> None:
    assert "Cannot show objects of type TABLE in VIEW" in refusal(meta, "SHOW TABLES IN VIEW v")


def test_identifier_names_a_scope(meta: Session) -> None:
    put(meta, "T", table("A"))
    meta.execute(f"SET place = '{meta.database}.public'")
    assert names(meta, "SHOW TABLES IN IDENTIFIER($place)") == ["T"]
    assert names(meta, "SHOW TABLES IN SCHEMA IDENTIFIER('public')") == ["T"]


# -- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("%", "", True),
        ("a%", "ABC", True),
        ("a_c", "abc", True),
        ("a_c", "ac", False),
        ("a\\_c", "a_c", True),
        ("a\\_c", "abc", False),
        ("100\\%", "100%", True),
        ("100\\%", "1000", False),
        ("a.c", "abc", False),
        ("x[1]", "x[1]", True),
        ("b", "abc", False),
        ("a%c", "a\nc", True),
        ("\\", "\\", True),
    ],
)
def test_like(pattern: str, text: str, matches: bool) -> None:
    assert (like(pattern, escapes=True).fullmatch(text) is not None) == matches


def test_like_starts_with_and_pages(meta: Session) -> None:
    for name in ("AB", "AC", "Ax", "B", "C_1", "CX1"):
        put(meta, name, table("A"))
    assert names(meta, "SHOW TABLES LIKE 'a%'") == ["AB", "AC", "Ax"]
    assert names(meta, r"SHOW TABLES LIKE 'c\\_1'") == ["C_1"]
    assert names(meta, "SHOW TABLES STARTS WITH 'A'") == ["AB", "AC", "Ax"]
    assert names(meta, "SHOW TABLES STARTS WITH 'a'") == []
    assert names(meta, "SHOW TABLES LIMIT 2") == ["AB", "AC"]
    assert names(meta, "SHOW TABLES LIMIT 2 FROM 'AC'") == ["Ax", "B"]
    assert names(meta, "SHOW OBJECTS LIMIT 10 FROM 'C'") == ["CX1", "C_1"]
    assert names(meta, "SHOW TABLES STARTS WITH 'A' LIMIT 5 FROM 'B'") == []


def test_some_kinds_read_pages_and_ignore_them(meta: Session) -> None:
    fill(meta)
    assert names(meta, "SHOW STAGES STARTS WITH 'X' LIMIT 1") == ["ST"]
    assert len(rows(meta, "SHOW COLUMNS IN TABLE t LIMIT 1")) == 2
    assert len(rows(meta, "SHOW BUILTIN FUNCTIONS LIMIT 1")) == len(FUNCTIONS)


def test_limits(meta: Session) -> None:
    assert 'page size "0" must be greater than 0' in refusal(meta, "SHOW TABLES IN SCHEMA nosuch LIMIT 0")
    assert refusal(meta, "SHOW TABLES LIMIT 10001").startswith("001008 (22023)")


def test_more_than_ten_thousand_rows_are_refused(meta: Session) -> None:
    wide = TableDefinition(
        columns=tuple(Column(name=f"C{index}", type=types.INTEGER) for index in range(10_001)), location="x"
    )
    put(meta, "WIDE", wide)
    assert refusal(meta, "SHOW COLUMNS IN TABLE wide").startswith("090201 (22000)")
    assert len(rows(meta, "SHOW COLUMNS LIKE 'c1%' IN TABLE wide")) == 1112


# -- cells ------------------------------------------------------------------------------------------------------------


def test_tables(meta: Session) -> None:
    meta.execute("CREATE TRANSIENT TABLE t (a INT, b DATE) CLUSTER BY (b) CHANGE_TRACKING = TRUE COMMENT = 'c'")
    meta.execute("CREATE TEMPORARY TABLE u (a INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    first, second = rows(meta, "SHOW TABLES")
    assert (first["kind"], second["kind"]) == ("TRANSIENT", "TEMPORARY")
    assert (first["cluster_by"], first["comment"], first["change_tracking"]) == ("LINEAR(b)", "c", "ON")
    assert (first["rows"], first["bytes"], first["owner"]) == (0, 0, "ACCOUNTADMIN")
    assert (second["retention_time"], second["comment"], second["change_tracking"]) == ("0", "", "OFF")
    assert [row["kind"] for row in rows(meta, "SHOW TERSE TABLES")] == ["TABLE", "TABLE"]


def test_temporary_tables_are_their_sessions_own(meta: Session) -> None:
    meta.execute("CREATE TEMPORARY TABLE u (a INT)")
    other = meta.account.session(database=meta.database)
    assert names(other, "SHOW TABLES") == []
    other.close()


def test_history_lists_what_was_dropped(meta: Session) -> None:
    item = put(meta, "T", table("A"))
    with meta.account.state.begin() as state:
        state.catalog.drop(item.id, state.now)
    put(meta, "T", table("A"))
    assert len(rows(meta, "SHOW TABLES")) == 1
    listed = rows(meta, "SHOW TABLES HISTORY")
    assert [row["dropped_on"] is None for row in listed] == [False, True]


def test_schemas_and_databases(meta: Session) -> None:
    meta.execute("CREATE TRANSIENT SCHEMA s WITH MANAGED ACCESS COMMENT = 'mine'")
    listed = {row["name"]: row for row in rows(meta, "SHOW SCHEMAS")}
    assert list(listed) == ["INFORMATION_SCHEMA", "PUBLIC", "S"]
    assert listed["INFORMATION_SCHEMA"]["owner"] == ""
    assert (listed["S"]["options"], listed["S"]["is_current"]) == ("TRANSIENT, MANAGED ACCESS", "Y")
    assert listed["PUBLIC"]["is_current"] == "N"
    terse = rows(meta, "SHOW TERSE SCHEMAS LIKE 's'")
    assert [(row["name"], row["kind"], row["schema_name"]) for row in terse] == [("S", None, None)]
    current = [row["name"] for row in rows(meta, "SHOW DATABASES") if row["is_current"] == "Y"]
    assert current == [meta.database]
    assert {row["kind"] for row in rows(meta, "SHOW TERSE DATABASES")} == {"STANDARD"}


def test_information_schema_views_are_listed(meta: Session) -> None:
    assert "TABLES" in names(meta, "SHOW VIEWS IN SCHEMA information_schema")
    assert "TABLES" in names(meta, "SHOW VIEWS IN DATABASE")
    assert names(meta, "SHOW VIEWS") == []
    assert "TABLE_NAME" in names(meta, "SHOW COLUMNS IN information_schema.tables", "column_name")


def test_views(meta: Session) -> None:
    put(meta, "V", view(meta, "select 1 as a", "A", secure=True), comment="x")
    (row,) = rows(meta, "SHOW VIEWS")
    assert (row["text"], row["is_secure"], row["is_materialized"]) == (
        "CREATE VIEW v AS select 1 as a",
        "true",
        "false",
    )
    assert [item["kind"] for item in rows(meta, "SHOW OBJECTS")] == ["VIEW"]


def test_columns(meta: Session) -> None:
    meta.execute(
        "CREATE TABLE t (id NUMBER(10,2) NOT NULL, n INT AUTOINCREMENT START 5 INCREMENT 3 ORDER, "
        "v VARCHAR(20) DEFAULT 'a''b' COMMENT 'text')"
    )
    listed = rows(meta, "SHOW COLUMNS IN TABLE t")
    assert [row["null?"] for row in listed] == ["NOT_NULL", "true", "true"]
    assert json.loads(listed[0]["data_type"]) == {"type": "FIXED", "precision": 10, "scale": 2, "nullable": False}
    assert listed[1]["autoincrement"] == "IDENTITY START 5 INCREMENT 3 ORDER"
    assert (listed[2]["default"], listed[2]["comment"]) == ("'a''b'", "text")


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (types.INTEGER, '{"type":"FIXED","precision":38,"scale":0,"nullable":true}'),
        (types.FLOAT, '{"type":"REAL","nullable":true}'),
        (
            types.VARCHAR,
            '{"type":"TEXT","length":16777216,"byteLength":16777216,"nullable":true,"fixed":false}',
        ),
        (types.varchar(20), '{"type":"TEXT","length":20,"byteLength":80,"nullable":true,"fixed":false}'),
        (types.TIME, '{"type":"TIME","precision":0,"scale":9,"nullable":true}'),
        (
            types.BINARY,
            '{"type":"BINARY","length":8388608,"byteLength":8388608,"nullable":true,"fixed":true}',
        ),
        (types.VARIANT, '{"type":"VARIANT","nullable":true}'),
        (types.DATE, '{"type":"DATE","nullable":true}'),
    ],
)
def test_type_json(type_: types.DataType, expected: str) -> None:
    assert type_json(type_, nullable=True) == expected


def test_keys(meta: Session) -> None:
    assert meta.database is not None
    parent = table("A", "B").model_copy(
        update={"primary_key": Key(name="PK", columns=("A", "B")), "unique_keys": (Key(name="UK", columns=("B",)),)}
    )
    put(meta, "PARENT", parent)
    reference = ForeignKey(
        name="FK",
        columns=("X", "Y"),
        references=ObjectName(meta.database, "PUBLIC", "PARENT"),
        referenced_columns=(),
    )
    put(meta, "CHILD", table("X", "Y").model_copy(update={"foreign_keys": (reference,)}))
    primary = rows(meta, "SHOW PRIMARY KEYS")
    assert [(row["column_name"], row["key_sequence"], row["constraint_name"]) for row in primary] == [
        ("A", 1, "PK"),
        ("B", 2, "PK"),
    ]
    assert names(meta, "SHOW UNIQUE KEYS IN parent", "column_name") == ["B"]
    imported = rows(meta, "SHOW IMPORTED KEYS IN TABLE child")
    assert [(row["fk_column_name"], row["pk_column_name"], row["pk_name"]) for row in imported] == [
        ("X", "A", "PK"),
        ("Y", "B", "PK"),
    ]
    assert rows(meta, "SHOW EXPORTED KEYS IN TABLE parent") == imported
    assert rows(meta, "SHOW EXPORTED KEYS IN TABLE child") == []


def test_stages_formats_and_sequences(meta: Session) -> None:
    fill(meta)
    (stage,) = rows(meta, "SHOW STAGES")
    assert (stage["url"], stage["type"], stage["cloud"]) == ("s3://bucket/x/", "EXTERNAL", "AWS")
    (format_,) = rows(meta, "SHOW FILE FORMATS")
    options = json.loads(format_["format_options"])
    assert (options["TYPE"], options["SKIP_HEADER"], options["FIELD_DELIMITER"]) == ("CSV", 1, "|")
    assert (options["ESCAPE"], options["NULL_IF"], options["TRIM_SPACE"]) == ("NONE", ["\\N"], False)
    (sequence,) = rows(meta, "SHOW SEQUENCES")
    assert (sequence["next_value"], sequence["interval"], sequence["ordered"]) == (5, 2, "N")


def test_routines(meta: Session) -> None:
    fill(meta)
    (function,) = rows(meta, "SHOW USER FUNCTIONS")
    assert (function["arguments"], function["is_builtin"]) == ("F(NUMBER) RETURN NUMBER", "N")
    assert names(meta, "SHOW PROCEDURES") == ["P"]
    assert set(names(meta, "SHOW FUNCTIONS")) == {"F", *FUNCTIONS}
    assert {row["is_builtin"] for row in rows(meta, "SHOW BUILTIN FUNCTIONS")} == {"Y"}


def test_warehouses(meta: Session) -> None:
    (row,) = rows(meta, "SHOW WAREHOUSES LIKE 'compute_wh'")
    assert (row["type"], row["size"], row["is_current"], row["auto_resume"]) == ("STANDARD", "X-Small", "Y", "true")
    assert row["resource_monitor"] == "null"
    assert row["state"] in ("STARTED", "SUSPENDED")


def test_parameters(meta: Session) -> None:
    (zone,) = rows(meta, "SHOW PARAMETERS LIKE 'timezone'")
    assert (zone["value"], zone["default"], zone["level"], zone["type"]) == ("UTC", "UTC", "", "STRING")
    meta.execute("ALTER SESSION SET TIMEZONE = 'Europe/Berlin', AUTOCOMMIT = TRUE")
    (zone,) = rows(meta, "SHOW PARAMETERS LIKE 'timezone' IN SESSION")
    assert (zone["value"], zone["level"]) == ("Europe/Berlin", "SESSION")
    (autocommit,) = rows(meta, "SHOW PARAMETERS LIKE 'AUTOCOMMIT'")
    assert (autocommit["value"], autocommit["type"]) == ("true", "BOOLEAN")
    put(meta, "T", table("A").model_copy(update={"retention_days": 7}))
    (retention,) = rows(meta, "SHOW PARAMETERS LIKE 'data_retention%' FOR TABLE t")
    assert (retention["value"], retention["default"], retention["level"]) == ("7", "1", "TABLE")
    assert rows(meta, "SHOW PARAMETERS LIKE 'data_retention%' IN DATABASE")[0]["level"] == ""
    assert refusal(meta, "SHOW PARAMETERS IN TABLE nosuch").startswith("002003 (42S02)")
    assert refusal(meta, "SHOW PARAMETERS IN WAREHOUSE nosuch").startswith("002043 (02000)")


def test_variables(meta: Session) -> None:
    meta.execute("SET (b, a) = (1.50, 'x')")
    listed = [(row["name"], row["value"], row["type"]) for row in rows(meta, "SHOW VARIABLES")]
    assert listed == [("A", "x", "text"), ("B", "1.50", "fixed")]
    assert names(meta, "SHOW VARIABLES LIKE 'a'") == ["A"]


def test_users_and_roles(meta: Session) -> None:
    assert names(meta, "SHOW USERS") == ["ADMIN"]
    roles = {row["name"]: row for row in rows(meta, "SHOW ROLES")}
    assert list(roles) == ["ACCOUNTADMIN", "PUBLIC", "SECURITYADMIN", "SYSADMIN", "USERADMIN"]
    assert roles["ACCOUNTADMIN"]["is_current"] == "Y"
    assert roles["USERADMIN"]["is_inherited"] == "Y"
    assert names(meta, "SHOW TERSE ROLES LIKE 'pub%'") == ["PUBLIC"]


def test_transactions_and_locks(meta: Session) -> None:
    meta.execute("CREATE TABLE t (a INT)")
    assert rows(meta, "SHOW TRANSACTIONS") == []
    meta.execute("BEGIN NAME mine")
    meta.execute("INSERT INTO t VALUES (1)")
    (transaction,) = rows(meta, "SHOW TRANSACTIONS")
    assert (transaction["name"], transaction["state"], transaction["session"]) == ("MINE", "running", meta.id)
    assert meta.execute("SELECT CURRENT_TRANSACTION()").rows() == [(str(transaction["id"]),)]
    (lock,) = rows(meta, "SHOW LOCKS IN ACCOUNT")
    assert (lock["resource"], lock["status"]) == (f"{meta.database}.PUBLIC.T", "HOLDING")
    assert lock["transaction"] == transaction["id"]
    meta.execute("ROLLBACK")
    assert rows(meta, "SHOW LOCKS") == []
