"""Statements whose rights are asked where their names are resolved, or that show what a role may know.

With the table of rules, every kind of statement that there is has a case.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import FEATURES
from snowmelt.runtime.account import Account
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.session import Begin, Commit, Rollback, UnsetVariables
from snowmelt.sql.tokens import SqlText
from tests.features.security.places import Place
from tests.features.security.test_authorisation_table import CASES

_NUMBER = 900
_OTHER = "ROLE OTHER_{n}"
NAMED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("SELECT a FROM t", ("SELECT ON TABLE T",)),
    ("SELECT a FROM v", ("SELECT ON VIEW V",)),
    ("SELECT a FROM st", ("SELECT ON STREAM ST", "SELECT ON TABLE T")),
    ("SELECT f()", ("USAGE ON FUNCTION F()",)),
    ("SELECT sq.NEXTVAL", ("USAGE ON SEQUENCE SQ",)),
    ("SELECT $1 FROM @sg (FILE_FORMAT => ff)", ("READ ON STAGE SG", "USAGE ON FILE FORMAT FF")),
    ("EXPLAIN SELECT a FROM t", ("SELECT ON TABLE T",)),
    ("SET x = (SELECT MAX(a) FROM t)", ("SELECT ON TABLE T",)),
    ("BEGIN LET x INT := (SELECT MAX(a) FROM t); RETURN x; END", ("SELECT ON TABLE T",)),
    ("EXECUTE IMMEDIATE 'SELECT a FROM t'", ("SELECT ON TABLE T",)),
    ("USE WAREHOUSE w_{n}", ("USAGE ON WAREHOUSE W_{n}",)),
    ("DESCRIBE TABLE t", ("SELECT ON TABLE T",)),
    ("DESCRIBE TASK tk", ("MONITOR ON TASK TK",)),
    ("DESCRIBE ALERT al", ("MONITOR ON ALERT AL",)),
    ("LIST @sg", ("READ ON STAGE SG",)),
    ("REMOVE @sg/nothing", ("WRITE ON STAGE SG",)),
    ("PUT 'file://{file}' @sg", ("WRITE ON STAGE SG", "CREATE INTEGRATION ON ACCOUNT")),
    ("GET @sg 'file://{folder}'", ("READ ON STAGE SG", "CREATE INTEGRATION ON ACCOUNT")),
    ("COPY FILES INTO @sg/copies FROM @sg", ("WRITE ON STAGE SG", "READ ON STAGE SG")),
    ("EXECUTE IMMEDIATE FROM @scripts/one.sql", ("READ ON STAGE SCRIPTS",)),
    (
        "CREATE TABLE child (a INT REFERENCES parent (a))",
        ("CREATE TABLE ON SCHEMA {db}.S", "REFERENCES ON TABLE PARENT"),
    ),
    ("GRANT SELECT ON TABLE t TO ROLE other_{n}", ("OWNERSHIP ON TABLE T",)),
    ("REVOKE SELECT ON TABLE t FROM ROLE other_{n}", ("OWNERSHIP ON TABLE T",)),
    ("GRANT OWNERSHIP ON TABLE t2 TO ROLE other_{n}", ("OWNERSHIP ON TABLE T2",)),
    ("GRANT ROLE other_{n} TO USER u_{n}", (f"OWNERSHIP ON {_OTHER}",)),
    ("REVOKE ROLE other_{n} FROM USER u_{n}", (f"OWNERSHIP ON {_OTHER}",)),
    ("ALTER USER stranger_{n} SET COMMENT = 'x'", ("OWNERSHIP ON USER STRANGER_{n}",)),
)
"""A statement, and all the privileges that it asks for. Ownership comes last: whoever has owned sees more."""
SHOWN = (
    ("SHOW TABLES LIKE 'T' IN SCHEMA s", "SELECT ON TABLE T"),
    ("SHOW VIEWS LIKE 'V' IN SCHEMA s", "SELECT ON VIEW V"),
    ("SHOW WAREHOUSES LIKE 'W_{n}'", "USAGE ON WAREHOUSE W_{n}"),
    ("SELECT 1 FROM information_schema.tables WHERE table_name = 'T'", "SELECT ON TABLE T"),
)
ASK_NOTHING: set[type[Statement]] = {UnsetVariables, Begin, Commit, Rollback}
"""They are about the session alone."""


@pytest.fixture(scope="module")
def place(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    opened = Place(account, _NUMBER)
    folder: Path = tmp_path_factory.mktemp("files")
    (folder / "rows.csv").write_text("1\n", encoding="utf-8")
    opened.words |= {"file": str(folder / "rows.csv"), "folder": str(folder)}
    script: Path = tmp_path_factory.mktemp("script") / "one.sql"
    script.write_text("SELECT 1", encoding="utf-8")
    opened.admin.execute("CREATE STAGE scripts")
    opened.admin.execute(f"PUT 'file://{script}' @scripts AUTO_COMPRESS = FALSE")
    opened.admin.execute("CREATE TABLE parent (a INT PRIMARY KEY)")
    opened.admin.execute(opened.sql("CREATE USER stranger_{n}"))
    yield opened
    opened.admin.execute(opened.sql("DROP USER stranger_{n}"))
    opened.close()


def _privileges(asked: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(privilege, on) for privilege, _, on in (ask.partition(" ON ") for ask in asked)]


@pytest.mark.parametrize(("sql", "asked"), NAMED, ids=[sql[:40] for sql, _ in NAMED])
def test_a_statement_asks_for_what_it_names(place: Place, sql: str, asked: tuple[str, ...]) -> None:
    wanted = _privileges(asked)
    uses_warehouse = not any("WAREHOUSE" in ask for ask in asked)
    if uses_warehouse:
        place.grant("USAGE", "WAREHOUSE W_{n}")
    place.check(sql, wanted)
    for privilege, on in wanted:
        place.revoke(privilege, on)
    if uses_warehouse:
        place.revoke("USAGE", "WAREHOUSE W_{n}")


@pytest.mark.parametrize(("sql", "asked"), SHOWN, ids=[sql[:40] for sql, _ in SHOWN])
def test_only_what_a_role_may_know_of_is_shown(place: Place, sql: str, asked: str) -> None:
    [(privilege, on)] = _privileges((asked,))
    if sql.startswith("SELECT"):
        place.grant("USAGE", "WAREHOUSE W_{n}")
    assert place.user.execute(place.sql(sql)).rows() == []
    place.grant(privilege, on)
    assert len(place.user.execute(place.sql(sql)).rows()) == 1
    place.revoke(privilege, on)
    assert place.user.execute(place.sql(sql)).rows() == []
    if sql.startswith("SELECT"):
        place.revoke("USAGE", "WAREHOUSE W_{n}")


def test_every_kind_of_statement_has_a_case(place: Place) -> None:
    texts = [case.sql for case in CASES] + [sql for sql, _ in (*NAMED, *SHOWN)]
    covered = {type(parse_statement(SqlText(place.sql(text)))) for text in texts}
    assert set(FEATURES.handlers) - covered == ASK_NOTHING
