"""DESCRIBE: columns and properties of one object, and what it says when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.runtime.metadata.catalog_objects import fill, put, table, view

_TABLE = [
    "name", "type", "kind", "null?", "default", "primary key", "unique key", "check", "expression", "comment",
    "policy name", "privacy domain", "write default",
]  # fmt: skip


def described(session: Session, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    result = session.execute(sql)
    return [column.name for column in result.columns], result.rows()


def refusal(session: Session, sql: str) -> str:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(sql)
    return str(caught.value).replace("SQL compilation error:\n", "")


def test_table(meta: Session) -> None:
    meta.execute(
        "CREATE TABLE t (c1 INT PRIMARY KEY, c2 NUMBER(5,2) UNIQUE, c3 INT IDENTITY, "
        "c4 VARCHAR(30) DEFAULT 'n' COMMENT 'rare')"
    )
    names, rows = described(meta, "DESCRIBE TABLE t")
    assert names == _TABLE
    assert [row[:7] for row in rows] == [
        ("C1", "NUMBER(38,0)", "COLUMN", "N", None, "Y", "N"),
        ("C2", "NUMBER(5,2)", "COLUMN", "Y", None, "N", "Y"),
        ("C3", "NUMBER(38,0)", "COLUMN", "Y", "IDENTITY START 1 INCREMENT 1 NOORDER", "N", "N"),
        ("C4", "VARCHAR(30)", "COLUMN", "Y", "'n'", "N", "N"),
    ]
    assert [row[9] for row in rows] == [None, None, None, "rare"]


def test_words_for_relations_are_interchangeable(meta: Session) -> None:
    put(meta, "V", view(meta, "select 1", "A"))
    put(meta, "T", table("A"))
    for word in ("TABLE", "VIEW", "DYNAMIC TABLE", "MATERIALIZED VIEW"):
        assert described(meta, f"DESC {word} v")[1][0][0] == "A"
        assert described(meta, f"DESC {word} t")[1][0][0] == "A"
    assert described(meta, "DESC VIEW information_schema.tables")[1][0][:2] == ("TABLE_CATALOG", "VARCHAR(134217728)")


def test_schema_evolution_shows_its_column(meta: Session) -> None:
    put(meta, "T", table("A").model_copy(update={"schema_evolution": True}))
    names, _ = described(meta, "DESC TABLE t")
    assert names[-3:] == ["privacy domain", "schema_evolution_record", "write default"]


def test_result(meta: Session) -> None:
    meta.execute("SELECT 1 AS a, 'x' AS \"b\"")
    names, rows = described(meta, "DESCRIBE RESULT LAST_QUERY_ID()")
    assert names == _TABLE[:10]
    assert [row[:4] for row in rows] == [("A", "NUMBER(1,0)", "COLUMN", "Y"), ("b", "VARCHAR(1)", "COLUMN", "Y")]
    assert refusal(meta, "DESCRIBE RESULT 'nosuch'") == "000709 (02000): Statement nosuch not found"


def test_containers(meta: Session) -> None:
    fill(meta)
    names, rows = described(meta, "DESC SCHEMA public")
    assert names == ["created_on", "name", "kind"]
    assert [row[1:] for row in rows] == [
        ("F", "FUNCTION"), ("FF", "FILE FORMAT"), ("P", "PROCEDURE"), ("SEQ", "SEQUENCE"), ("ST", "STAGE"),
        ("T", "TABLE"), ("V", "VIEW"),
    ]  # fmt: skip
    rows = described(meta, f"DESC DATABASE {meta.database}")[1]
    assert [row[1:] for row in rows] == [("INFORMATION_SCHEMA", "SCHEMA"), ("PUBLIC", "SCHEMA")]
    assert [row[1:] for row in described(meta, "DESC WAREHOUSE compute_wh")[1]] == [("COMPUTE_WH", "WAREHOUSE")]


def test_stage_and_file_format(meta: Session) -> None:
    fill(meta)
    names, rows = described(meta, "DESC STAGE st")
    assert names == ["parent_property", "property", "property_type", "property_value", "property_default"]
    assert ("STAGE_FILE_FORMAT", "RECORD_DELIMITER", "String", "\\n", "\\n") in rows
    assert ("STAGE_LOCATION", "URL", "String", '["s3://bucket/x/"]', "") in rows
    assert described(meta, "DESC TABLE t TYPE = STAGE")[0] == names
    names, rows = described(meta, "DESC FILE FORMAT ff")
    assert names == ["property", "property_type", "property_value", "property_default"]
    assert ("SKIP_HEADER", "Integer", "1", "0") in rows
    assert ("NULL_IF", "List", "[\\\\N]", "[\\\\N]") in rows


def test_routines_and_sequences(meta: Session) -> None:
    fill(meta)
    assert described(meta, "DESC FUNCTION f(int)")[1] == [
        ("signature", "(X NUMBER)"),
        ("returns", "NUMBER(38,0)"),
        ("language", "SQL"),
        ("body", "x + 1"),
    ]
    assert ("execute as", "OWNER") in described(meta, "DESC PROCEDURE p()")[1]
    names, rows = described(meta, "DESC SEQUENCE seq")
    assert names[:5] == ["name", "database_name", "schema_name", "next_value", "interval"]
    assert rows[0][3:5] == (5, 2)


def test_user(meta: Session) -> None:
    assert ("NAME", "ADMIN", "null", "Name") in described(meta, "DESC USER admin")[1]
    assert refusal(meta, "DESC USER nobody").startswith("002003 (02000): User 'NOBODY'")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("TABLE x", "002003 (42S02): Table '{place}.X'"),
        ("VIEW x", "002003 (42S02): View '{place}.X'"),
        ("TABLE nosuch.x", "002003 (02000): Schema '{database}.NOSUCH'"),
        ("TABLE nosuch.s.x", "002003 (02000): Database 'NOSUCH'"),
        ("SCHEMA nosuch", "002003 (02000): Schema '{database}.NOSUCH'"),
        ("DATABASE nosuch", "002003 (02000): Database 'NOSUCH'"),
        ("WAREHOUSE nosuch", "002003 (02000): Warehouse 'NOSUCH'"),
        ("STAGE x", "002003 (02000): Stage '{place}.X'"),
        ("FILE FORMAT x", "002003 (02000): File format '{place}.X'"),
        ("SEQUENCE x", "002003 (02000): Sequence '{place}.X'"),
        ("FUNCTION x(int)", "002003 (02000): Function '{place}.X(int)'"),
        ("STREAM x", "002003 (02000): Stream '{place}.X'"),
        ("TASK x", "002003 (02000): Task '{place}.X'"),
        ("ALERT x", "002003 (02000): Alert '{place}.X'"),
    ],
)
def test_what_is_not_there(sql: str, expected: str, meta: Session) -> None:
    start = expected.format(database=meta.database, place=f"{meta.database}.PUBLIC")
    assert refusal(meta, f"DESCRIBE {sql}") == f"{start} does not exist or not authorized."


def test_views_have_no_stage(meta: Session) -> None:
    put(meta, "V", view(meta, "select 1", "A"))
    assert refusal(meta, "DESC VIEW v TYPE = STAGE").startswith("000002 (0A000)")
