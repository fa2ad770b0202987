"""The text of GET_DDL, kind by kind."""

from __future__ import annotations

import pytest

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.definitions import FileFormatDefinition
from snowmelt.features.scripting.statements import CreateRoutine
from snowmelt.runtime.metadata.ddl_scripts import in_dependency_order
from snowmelt.runtime.session import Session
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.state.model import Column, SequenceDefinition, StageDefinition
from tests.runtime.metadata.catalog_objects import fill, function, put, table, view


def ddl(session: Session, arguments: str) -> str:
    (row,) = session.execute(f"SELECT GET_DDL({arguments})").rows()
    return str(row[0])


def refusal(session: Session, arguments: str) -> str:
    with pytest.raises(SnowmeltError) as caught:
        ddl(session, arguments)
    return str(caught.value).replace("SQL compilation error:\n", "")


def test_table(meta: Session) -> None:
    meta.execute("CREATE TABLE parent (id INT, CONSTRAINT pk PRIMARY KEY (id))")
    meta.execute(
        "CREATE TRANSIENT TABLE t (id INT NOT NULL AUTOINCREMENT, \"select\" VARCHAR(5) DEFAULT 'x' COMMENT 'it''s', "
        "FOREIGN KEY (id) REFERENCES parent (id)) CLUSTER BY (id) COMMENT = 'c'"
    )
    assert ddl(meta, "'table', 't'") == (
        "create or replace TRANSIENT TABLE T cluster by (id)(\n"
        "\tID NUMBER(38,0) NOT NULL autoincrement start 1 increment 1 noorder,\n"
        "\t\"select\" VARCHAR(5) DEFAULT 'x' COMMENT 'it''s',\n"
        f"\tforeign key (ID) references {meta.database}.PUBLIC.PARENT(ID)\n"
        ")COMMENT='c'\n;"
    )
    assert "\tconstraint PK primary key (ID)\n" in ddl(meta, "'TABLE', 'parent'")
    assert ddl(meta, "'TABLE', 'public.parent', TRUE").startswith(
        f"create or replace TABLE {meta.database}.PUBLIC.PARENT ("
    )


def test_views_and_tables_are_interchangeable(meta: Session) -> None:
    definition = view(meta, "select 1 as a -- one", "A", secure=True)
    documented = definition.model_copy(update={"columns": (Column(name="A", type=types.VARCHAR, comment="first"),)})
    put(meta, "V", documented, comment="mine")
    expected = "create or replace secure view V(\n\tA COMMENT 'first'\n) COMMENT='mine' as select 1 as a -- one\n;"
    assert ddl(meta, "'VIEW', 'v'") == expected
    assert ddl(meta, "'TABLE', 'v'") == expected


def test_sequence_format_and_stage(meta: Session) -> None:
    put(meta, "S", SequenceDefinition(start=5, step=-2, ordered=True), comment="x")
    assert ddl(meta, "'SEQUENCE', 's'") == (
        "create or replace sequence S start with 5 increment by -2 order COMMENT='x';"
    )
    put(meta, "F", FileFormatDefinition(type="CSV", options={"SKIP_HEADER": 1, "NULL_IF": ("\\N", ""), "ESCAPE": None}))
    assert ddl(meta, "'FILE_FORMAT', 'f'") == (
        "create or replace FILE FORMAT F\n"
        "\tTYPE = CSV\n\tSKIP_HEADER = 1\n\tNULL_IF = ('\\\\N', '')\n\tESCAPE = NONE\n;"
    )
    put(meta, "G", StageDefinition(url="s3://b/x/", directory=True))
    assert ddl(meta, "'STAGE', 'g'") == (
        "create or replace STAGE G\n\tURL = 's3://b/x/'\n\tDIRECTORY = (ENABLE = TRUE)\n;"
    )


def test_functions_by_their_argument_types(meta: Session) -> None:
    put(meta, "F", function(meta, "x || '!'", "X", returns=types.VARCHAR), comment="one")
    put(meta, "F", function(meta, "1", "X", "Y"))
    assert ddl(meta, "'FUNCTION', 'f(number)'") == (
        'CREATE OR REPLACE FUNCTION "F"("X" NUMBER(38,0))\n'
        "RETURNS VARCHAR(16777216)\nLANGUAGE SQL\nCOMMENT='one'\nAS 'x || ''!''';"
    )
    assert '"Y"' in ddl(meta, "'FUNCTION', 'f(number(10, 2), int)'")
    assert refusal(meta, "'FUNCTION', 'f(varchar)'") == (
        f"002003 (02000): Function '{meta.database}.PUBLIC.F(varchar)' does not exist or not authorized."
    )


def test_a_procedure_keeps_what_only_its_statement_says(meta: Session) -> None:
    text = (
        "CREATE PROCEDURE p(n INT) RETURNS VARCHAR LANGUAGE PYTHON RUNTIME_VERSION = '3.11' "
        "PACKAGES = ('snowflake-snowpark-python') HANDLER = 'main' EXECUTE AS CALLER AS 'def main(s, n): return n'"
    )
    definition = function(
        meta,
        "def main(s, n): return n",
        "N",
        kind="PROCEDURE",
        language="PYTHON",
        handler="main",
        returns=types.VARCHAR,
        execute_as_caller=True,
        text=text,
    )
    put(meta, "P", definition)
    printed = ddl(meta, "'PROCEDURE', 'p(int)'")
    statement = parse_statement(printed.rstrip(";"))
    original = parse_statement(text)
    assert isinstance(statement, CreateRoutine)
    assert isinstance(original, CreateRoutine)
    assert statement.options == original.options
    assert (statement.execute_as, statement.language) == ("CALLER", "PYTHON")
    assert statement.body is not None
    assert statement.body.text == definition.body


def test_schema_script_runs(meta: Session) -> None:
    meta.execute("CREATE SCHEMA s COMMENT = 'x'")
    for statement in (
        "CREATE SEQUENCE seq START = 7",
        "CREATE TABLE b (id INT DEFAULT seq.NEXTVAL)",
        "CREATE TABLE a (id INT)",
        "CREATE VIEW z AS SELECT id FROM a -- all",
        "CREATE VIEW y (k COMMENT 'key') AS SELECT id FROM z",
        "CREATE FILE FORMAT f TYPE = CSV ESCAPE = '\\\\' NULL_IF = ('\\\\N')",
        "CREATE STAGE st FILE_FORMAT = (FORMAT_NAME = f)",
        "CREATE FUNCTION g(n INT) RETURNS INT AS 'n + 1'",
        "CREATE FUNCTION h(n INT) RETURNS TABLE (k INT) AS 'select n'",
        "CREATE PROCEDURE p(t VARCHAR DEFAULT 'it''s') RETURNS VARCHAR LANGUAGE SQL AS $$BEGIN RETURN t; END$$",
    ):
        meta.execute(statement)
    script = ddl(meta, "'SCHEMA', 's'")
    assert script.startswith("create or replace SCHEMA S COMMENT='x';\n\ncreate or replace sequence SEQ")
    assert script.index("view Z") < script.index("view Y")
    meta.execute_script(script)
    assert ddl(meta, "'SCHEMA', 's'") == script


def test_database_script_runs(meta: Session) -> None:
    meta.execute("CREATE SCHEMA s")
    meta.execute("CREATE TABLE a (id INT)")
    script = ddl(meta, f"'DATABASE', '{meta.database}', TRUE")
    assert f"create or replace TABLE {meta.database}.S.A (" in script
    meta.execute_script(script)
    assert ddl(meta, f"'DATABASE', '{meta.database}', TRUE") == script


def test_views_come_behind_what_they_read(meta: Session) -> None:
    first = put(meta, "A", view(meta, "select * from b join s2.c", "X"))
    second = put(meta, "B", view(meta, 'select * from "C" where exists (select 1 from d)', "X"))
    third = put(meta, "C", view(meta, "select 1", "X"))
    fourth = put(meta, "D", view(meta, "with q as (select 1) select * from q", "X"))
    ordered = in_dependency_order([first, second, third, fourth])
    assert [item.name.name for item in ordered] == ["C", "D", "B", "A"]


def test_warehouse(meta: Session) -> None:
    text = ddl(meta, "'WAREHOUSE', 'compute_wh'")
    assert text.startswith("create or replace warehouse COMPUTE_WH\nwith\n\twarehouse_type='STANDARD'")
    parse_statement(text.rstrip(";"))


def test_refusals(meta: Session) -> None:
    put(meta, "T", table("A"))
    place = f"{meta.database}.PUBLIC"
    assert refusal(meta, "'TABLE', 'nosuch'") == (
        f"002003 (42S02): Table '{place}.NOSUCH' does not exist or not authorized."
    )
    assert refusal(meta, "'SEQUENCE', 't'") == f"002003 (02000): Sequence '{place}.T' does not exist or not authorized."
    assert refusal(meta, "'SCHEMA', 'nosuch'").startswith("002003 (02000): Schema")
    assert (
        refusal(meta, "'DATABASE', 'nosuch'") == "002003 (02000): Database 'NOSUCH' does not exist or not authorized."
    )
    assert refusal(meta, "'CONTACT', 's'") == "000002 (0A000): Unsupported feature 'GET_DDL of CONTACT'."
    assert refusal(meta, "'TABEL', 't'").startswith("001008 (22023)")
    assert refusal(meta, "'TABLE'").startswith("000938 (22023)")
    assert refusal(meta, "'TABLE', 't', TRUE, 1").startswith("000939 (22023)")
    assert refusal(meta, "'TABLE', NULL").startswith("001008 (22023)")
    with pytest.raises(SnowmeltError, match="argument 2 to function GET_DDL needs to be constant, found 'X'"):
        meta.execute("SELECT GET_DDL('TABLE', x) FROM VALUES ('t') AS v (x)")


def test_every_kind_has_a_text(meta: Session) -> None:
    fill(meta)
    script = ddl(meta, "'SCHEMA', 'public'")
    for word in ("TABLE T", "view V", "sequence SEQ", "STAGE ST", "FILE FORMAT FF", 'FUNCTION "F"', 'PROCEDURE "P"'):
        assert word in script
