"""Every rule of the table of privileges, allowed and denied, through SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from snowmelt.core.kinds import OWN_TYPES
from snowmelt.runtime.account import Account
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.rights.asks import OWNERSHIP, Subject
from snowmelt.runtime.rights.privileges import privileges, rules
from tests.features.security.places import Place

T, S, D = Subject.TARGET, Subject.SCHEMA, Subject.DATABASE
REPLACED, SOURCE, WAREHOUSE, ACCOUNT = Subject.REPLACED, Subject.SOURCE, Subject.WAREHOUSE, Subject.ACCOUNT


@dataclass(frozen=True)
class Case:
    """A statement that asks for a rule, and what its subjects are called here."""

    rule: str
    sql: str
    subjects: dict[Subject, str] = field(default_factory=dict)
    """`TABLE T`, in words that GRANT takes. Schema, database and account need not be given."""
    before: str = ""
    """What the administrator does first."""
    also: tuple[str, ...] = ()
    """Grants that the statement needs besides, for what it reads."""

    @property
    def mentioned(self) -> list[str]:
        """All words of the case, in small letters: what it needs is among them."""
        return re.findall(r"\w+", " ".join((self.sql, *self.subjects.values(), self.before, *self.also)).lower())

    def on(self, subject: Subject) -> str:
        known = {Subject.SCHEMA: "SCHEMA {db}.S", Subject.DATABASE: "DATABASE {db}", Subject.ACCOUNT: "ACCOUNT"}
        return self.subjects.get(subject) or known[subject]


_V = "SELECT ON TABLE T2"
_IF = "SCHEDULE = '1 hour' IF (EXISTS (SHOW TABLES LIKE 'nothing')) THEN SELECT 1"
_CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: c
version: 1.0.0
status: active
schema:
  - name: t
    properties:
      - name: a
        physicalType: INT
"""
CASES = (
    Case("INSERT", "INSERT INTO t VALUES (9)", {T: "TABLE T"}),
    Case("INSERT", "INSERT ALL INTO t VALUES (9) SELECT 1", {T: "TABLE T"}),
    Case("INSERT OVERWRITE", "INSERT OVERWRITE INTO t VALUES (9)", {T: "TABLE T"}),
    Case("UPDATE", "UPDATE t SET a = 3 WHERE a = 1", {T: "TABLE T"}),
    Case("DELETE", "DELETE FROM t WHERE a = 1", {T: "TABLE T"}),
    Case("MERGE INSERT", "MERGE INTO t USING t2 ON t.a = t2.a WHEN NOT MATCHED THEN INSERT VALUES (t2.a)",
         {T: "TABLE T"}, also=(_V,)),
    Case("MERGE UPDATE", "MERGE INTO t USING t2 ON t.a = t2.a WHEN MATCHED THEN UPDATE SET a = 5",
         {T: "TABLE T"}, also=(_V,)),
    Case("MERGE DELETE", "MERGE INTO t USING t2 ON t.a = t2.a WHEN MATCHED THEN DELETE", {T: "TABLE T"}, also=(_V,)),
    Case("TRUNCATE TABLE", "TRUNCATE TABLE t", {T: "TABLE T"}),
    Case("COPY INTO TABLE", "COPY INTO t FROM @sg FILE_FORMAT = (TYPE = CSV)", {T: "TABLE T"},
         also=("READ ON STAGE SG",)),
    Case("COPY INTO LOCATION", "COPY INTO @sg/out FROM t", {SOURCE: "TABLE T"}, also=("WRITE ON STAGE SG",)),
    Case("CREATE TABLE", "CREATE TABLE fresh (a INT)"),
    Case("CREATE TABLE", "CREATE OR REPLACE TABLE t (a INT)", {REPLACED: "TABLE T"}),
    Case("CREATE TABLE LIKE", "CREATE TABLE fresh LIKE t", {SOURCE: "TABLE T"}),
    Case("CREATE TABLE CLONE", "CREATE TABLE fresh CLONE t", {SOURCE: "TABLE T"}),
    Case("CREATE TEMPORARY", "CREATE TEMPORARY TABLE fresh (a INT)"),
    Case("CREATE VIEW", "CREATE VIEW fresh AS SELECT 1 AS one"),
    Case("CREATE VIEW", "CREATE OR REPLACE VIEW v AS SELECT 1 AS one", {REPLACED: "VIEW V"}),
    Case("CREATE DYNAMIC TABLE",
         "CREATE DYNAMIC TABLE fresh TARGET_LAG = '1 hour' WAREHOUSE = w_{n} AS SELECT a FROM t",
         {WAREHOUSE: "WAREHOUSE W_{n}"}, also=("SELECT ON TABLE T",)),
    Case("CREATE DYNAMIC TABLE CLONE", "CREATE DYNAMIC TABLE fresh CLONE dt", {SOURCE: "DYNAMIC TABLE DT"},
         before="ALTER DYNAMIC TABLE dt REFRESH"),
    Case("CREATE STREAM", "CREATE STREAM fresh ON TABLE t", {SOURCE: "TABLE T"},
         before="ALTER TABLE t SET CHANGE_TRACKING = TRUE"),
    Case("CREATE TASK", "CREATE TASK fresh WAREHOUSE = w_{n} SCHEDULE = '1 hour' AS SELECT 1",
         {WAREHOUSE: "WAREHOUSE W_{n}"}),
    Case("CREATE ALERT", f"CREATE ALERT fresh WAREHOUSE = w_{{n}} {_IF}", {WAREHOUSE: "WAREHOUSE W_{n}"}),
    Case("CREATE ALERT", f"CREATE OR REPLACE ALERT al WAREHOUSE = w_{{n}} {_IF}",
         {WAREHOUSE: "WAREHOUSE W_{n}", REPLACED: "ALERT AL"}),
    Case("CREATE ALERT CLONE", "CREATE ALERT fresh CLONE al", {SOURCE: "ALERT AL"}),
    Case("CREATE TASK CLONE", "CREATE TASK fresh CLONE tk", {SOURCE: "TASK TK"}),
    Case("CREATE CONNECTOR", "CREATE CONNECTOR fresh {paused_connector}", also=("CREATE INTEGRATION ON ACCOUNT",)),
    Case("ADDRESS", "CREATE CONNECTOR fresh {paused_connector}", also=("CREATE CONNECTOR ON SCHEMA {db}.S",)),
    Case("ADDRESS", "ALTER CONNECTOR cn SET PORT = 2", also=("OWNERSHIP ON CONNECTOR CN",)),
    Case("ADDRESS", "ALTER STAGE xs SET URL = 'file:///elsewhere/'", also=("OWNERSHIP ON STAGE XS",)),
    Case("CREATE STAGE", "CREATE STAGE fresh"),
    Case("CREATE PIPE", "CREATE PIPE fresh AS COPY INTO t FROM @sg",
         also=("INSERT ON TABLE T", "READ ON STAGE SG")),
    Case("CREATE PIPE", "CREATE OR REPLACE PIPE pp AS COPY INTO t FROM @sg", {REPLACED: "PIPE PP"},
         also=("INSERT ON TABLE T", "READ ON STAGE SG")),
    Case("ALTER PIPE", "ALTER PIPE pp SET COMMENT = 'x'", {T: "PIPE PP"}),
    Case("REFRESH PIPE", "ALTER PIPE pp REFRESH", {T: "PIPE PP"}),
    Case("ADDRESS", "CREATE STAGE fresh URL = 'file:///nowhere/'", also=("CREATE STAGE ON SCHEMA {db}.S",)),
    Case("CREATE FILE FORMAT", "CREATE FILE FORMAT fresh TYPE = CSV"),
    Case("CREATE SEQUENCE", "CREATE SEQUENCE fresh"),
    Case("CREATE FUNCTION", "CREATE FUNCTION fresh() RETURNS INT AS '1'"),
    Case("CREATE PROCEDURE", "CREATE PROCEDURE fresh() RETURNS INT LANGUAGE SQL AS 'BEGIN RETURN 1; END'"),
    Case("ALTER TABLE", "ALTER TABLE t ADD COLUMN b INT", {T: "TABLE T"}),
    Case("ALTER TABLE", "ALTER TABLE t ADD QUALITY CHECK c AS NOT_NULL (a)", {T: "TABLE T"}),
    Case("EXECUTE QUALITY CHECKS", "EXECUTE QUALITY CHECKS ON t", {T: "TABLE T"}),
    Case("ALTER TABLE RENAME", "ALTER TABLE t RENAME TO t9", {T: "TABLE T"}),
    Case("ALTER VIEW RENAME", "ALTER VIEW v RENAME TO v9", {T: "VIEW V"}),
    Case("ALTER DYNAMIC TABLE RENAME", "ALTER DYNAMIC TABLE dt RENAME TO dt9", {T: "DYNAMIC TABLE DT"}),
    Case("ALTER STAGE RENAME", "ALTER STAGE sg RENAME TO sg9", {T: "STAGE SG"}),
    Case("ALTER FILE FORMAT RENAME", "ALTER FILE FORMAT ff RENAME TO ff9", {T: "FILE FORMAT FF"}),
    Case("ALTER SEQUENCE RENAME", "ALTER SEQUENCE sq RENAME TO sq9", {T: "SEQUENCE SQ"}),
    Case("ALTER FUNCTION RENAME", "ALTER FUNCTION f() RENAME TO f9", {T: "FUNCTION F()"}),
    Case("ALTER PROCEDURE RENAME", "ALTER PROCEDURE p() RENAME TO p9", {T: "PROCEDURE P()"}),
    Case("COMMENT", "COMMENT ON COLUMN t.a IS 'x'", {T: "TABLE T"}),
    Case("SWAP", "ALTER TABLE t SWAP WITH t2", {T: "TABLE T", SOURCE: "TABLE T2"}),
    Case("ALTER VIEW", "ALTER VIEW v SET COMMENT = 'x'", {T: "VIEW V"}),
    Case("ALTER DYNAMIC TABLE", "ALTER DYNAMIC TABLE dt SET COMMENT = 'x'", {T: "DYNAMIC TABLE DT"}),
    Case("ALTER DYNAMIC TABLE OPERATE", "ALTER DYNAMIC TABLE dt SUSPEND", {T: "DYNAMIC TABLE DT"}),
    Case("ALTER STREAM", "ALTER STREAM st SET COMMENT = 'x'", {T: "STREAM ST"}),
    Case("ALTER TASK", "ALTER TASK tk SET COMMENT = 'x'", {T: "TASK TK"}),
    Case("ALTER ALERT", "ALTER ALERT al SET COMMENT = 'x'", {T: "ALERT AL"}),
    Case("ALTER ALERT OPERATE", "ALTER ALERT al SUSPEND", {T: "ALERT AL"}),
    Case("EXECUTE ALERT", "EXECUTE ALERT al", {T: "ALERT AL"}),
    Case("ALTER TASK OPERATE", "ALTER TASK tk SUSPEND", {T: "TASK TK"}),
    Case("ALTER CONNECTOR", "ALTER CONNECTOR cn SET SLOT_WARNING_MB = 2", {T: "CONNECTOR CN"}),
    Case("ALTER CONNECTOR OPERATE", "ALTER CONNECTOR cn PAUSE", {T: "CONNECTOR CN"}),
    Case("CHECK CONNECTOR", "ALTER CONNECTOR cn CHECK", {T: "CONNECTOR CN"}),
    Case("CHECK CONNECTOR", "ALTER CONNECTOR kc CONFIG", {T: "CONNECTOR KC"}),
    Case("EXECUTE TASK", "EXECUTE TASK tk", {T: "TASK TK"}),
    Case("ALTER STAGE", "ALTER STAGE sg SET COMMENT = 'x'", {T: "STAGE SG"}),
    Case("ALTER FILE FORMAT", "ALTER FILE FORMAT ff SET COMMENT = 'x'", {T: "FILE FORMAT FF"}),
    Case("ALTER SEQUENCE", "ALTER SEQUENCE sq SET COMMENT = 'x'", {T: "SEQUENCE SQ"}),
    Case("ALTER FUNCTION", "ALTER FUNCTION f() SET COMMENT = 'x'", {T: "FUNCTION F()"}),
    Case("ALTER PROCEDURE", "ALTER PROCEDURE p() SET COMMENT = 'x'", {T: "PROCEDURE P()"}),
    Case("DROP", "DROP TABLE t", {T: "TABLE T"}),
    Case("DROP", "DROP VIEW v", {T: "VIEW V"}),
    Case("DROP", "DROP STREAM st", {T: "STREAM ST"}),
    Case("DROP", "DROP TASK tk", {T: "TASK TK"}),
    Case("DROP", "DROP ALERT al", {T: "ALERT AL"}),
    Case("DROP", "DROP SCHEMA s", {T: "SCHEMA {db}.S"}),
    Case("DROP", "DROP WAREHOUSE w_{n}", {T: "WAREHOUSE W_{n}"}),
    Case("DROP", "DROP PROCEDURE p()", {T: "PROCEDURE P()"}),
    Case("COMMENT", "COMMENT ON TABLE t IS 'x'", {T: "TABLE T"}),
    Case("CALL", "CALL p()", {T: "PROCEDURE P()"}),
    Case("EXPLAIN DYNAMIC TABLE", "EXPLAIN DYNAMIC TABLE dt", {T: "DYNAMIC TABLE DT"}, also=("SELECT ON TABLE T",)),
    Case("CREATE DATABASE", "CREATE DATABASE fresh_{n}"),
    Case("CREATE DATABASE CLONE", "CREATE DATABASE fresh_{n} CLONE {db}", {SOURCE: "DATABASE {db}"}),
    Case("CREATE SCHEMA", "CREATE SCHEMA fresh"),
    Case("CREATE SCHEMA CLONE", "CREATE SCHEMA fresh CLONE s", {SOURCE: "SCHEMA {db}.S"}),
    Case("CREATE WAREHOUSE", "CREATE WAREHOUSE fresh_{n}"),
    Case("ALTER DATABASE", "ALTER DATABASE {db} SET COMMENT = 'x'", {T: "DATABASE {db}"}),
    Case("ALTER DATABASE RENAME", "ALTER DATABASE {db} RENAME TO {db}_x", {T: "DATABASE {db}"}),
    Case("ALTER SCHEMA", "ALTER SCHEMA s SET COMMENT = 'x'", {T: "SCHEMA {db}.S"}),
    Case("ALTER SCHEMA RENAME", "ALTER SCHEMA s RENAME TO s9", {T: "SCHEMA {db}.S"}),
    Case("COMMENT ON CONTAINER", "COMMENT ON SCHEMA s IS 'x'", {T: "SCHEMA {db}.S"}),
    Case("ALTER WAREHOUSE", "ALTER WAREHOUSE w_{n} SET COMMENT = 'x'", {T: "WAREHOUSE W_{n}"}),
    Case("ALTER WAREHOUSE OPERATE", "ALTER WAREHOUSE w_{n} SUSPEND", {T: "WAREHOUSE W_{n}"}),
    Case("ALTER WAREHOUSE RENAME", "ALTER WAREHOUSE w_{n} RENAME TO w9_{n}", {T: "WAREHOUSE W_{n}"}),
    Case("ALTER ACCOUNT", "ALTER ACCOUNT UNSET WEEK_START"),
    Case("CREATE USER", "CREATE USER fresh_{n}"),
    Case("CREATE ROLE", "CREATE ROLE fresh_{n}"),
    Case("CREATE NETWORK POLICY", "CREATE NETWORK POLICY fresh_{n} ALLOWED_IP_LIST = ('10.0.0.0/8')"),
    Case("ALTER NETWORK POLICY", "ALTER NETWORK POLICY np_{n} SET COMMENT = 'x'", {T: "NETWORK POLICY NP_{n}"}),
    Case("ALTER ROLE", "ALTER ROLE other_{n} SET COMMENT = 'x'", {T: "ROLE OTHER_{n}"}),
    Case("CREATE CONTRACT", "CREATE CONTRACT fresh AS '" + _CONTRACT + "'"),
    Case("CREATE CONTRACT", "CREATE OR REPLACE CONTRACT ct AS '" + _CONTRACT + "'", {REPLACED: "CONTRACT CT"}),
    Case("CREATE CONTRACT FROM TABLE", "CREATE CONTRACT fresh FROM TABLE t2", {SOURCE: "TABLE T2"}),
    Case("CREATE DATA PRODUCT", "CREATE DATA PRODUCT fresh DOMAIN = 'x'"),
    Case("CREATE DATA PRODUCT", "CREATE OR REPLACE DATA PRODUCT dp", {REPLACED: "DATA PRODUCT DP"}),
    Case("ALTER CONTRACT", "ALTER CONTRACT ct SET COMMENT = 'x'", {T: "CONTRACT CT"}),
    Case("ALTER CONTRACT CONSUMER", "ALTER CONTRACT ct ADD CONSUMER me", {T: "CONTRACT CT"}),
    Case("CHECK CONTRACT", "ALTER CONTRACT ct CHECK", {T: "CONTRACT CT"}),
    Case("ALTER CONTRACT RENAME", "ALTER CONTRACT ct RENAME TO ct9", {T: "CONTRACT CT"}),
    Case("ALTER DATA PRODUCT", "ALTER DATA PRODUCT dp SET COMMENT = 'x'", {T: "DATA PRODUCT DP"}),
    Case("ALTER DATA PRODUCT RENAME", "ALTER DATA PRODUCT dp RENAME TO dp9", {T: "DATA PRODUCT DP"}),
    Case("ALTER TABLE", "ALTER TABLE t SET CONTRACT = ct", {T: "TABLE T"}, also=("APPLY ON CONTRACT CT",)),
    Case("DROP", "DROP CONTRACT ct", {T: "CONTRACT CT"}),
    Case("DROP", "DROP DATA PRODUCT dp", {T: "DATA PRODUCT DP"}),
    Case("CREATE MASKING POLICY", "CREATE MASKING POLICY fresh AS (v INT) RETURNS INT -> v"),
    Case("CREATE MASKING POLICY", "CREATE OR REPLACE MASKING POLICY mp AS (v INT) RETURNS INT -> v",
         {REPLACED: "MASKING POLICY MP"}),
    Case("ALTER MASKING POLICY", "ALTER MASKING POLICY mp SET BODY -> -1", {T: "MASKING POLICY MP"}),
    Case("ALTER MASKING POLICY RENAME", "ALTER MASKING POLICY mp RENAME TO mp9", {T: "MASKING POLICY MP"}),
    Case("APPLY MASKING POLICY", "ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY mp",
         also=("OWNERSHIP ON TABLE T", "APPLY ON MASKING POLICY MP")),
    Case("DROP", "DROP MASKING POLICY mp", {T: "MASKING POLICY MP"}),
    Case("CREATE ROW ACCESS POLICY", "CREATE ROW ACCESS POLICY fresh AS (v INT) RETURNS BOOLEAN -> TRUE"),
    Case("ALTER ROW ACCESS POLICY", "ALTER ROW ACCESS POLICY rp SET BODY -> FALSE", {T: "ROW ACCESS POLICY RP"}),
    Case("ALTER ROW ACCESS POLICY RENAME", "ALTER ROW ACCESS POLICY rp RENAME TO rp9", {T: "ROW ACCESS POLICY RP"}),
    Case("APPLY ROW ACCESS POLICY", "ALTER TABLE t ADD ROW ACCESS POLICY rp ON (a)",
         also=("OWNERSHIP ON TABLE T", "APPLY ON ROW ACCESS POLICY RP")),
    Case("CREATE PROJECTION POLICY", "CREATE PROJECTION POLICY fresh AS () RETURNS PROJECTION_CONSTRAINT -> "
         "PROJECTION_CONSTRAINT(ALLOW => TRUE)"),
    Case("ALTER PROJECTION POLICY", "ALTER PROJECTION POLICY prp SET BODY -> PROJECTION_CONSTRAINT(ALLOW => FALSE)",
         {T: "PROJECTION POLICY PRP"}),
    Case("ALTER PROJECTION POLICY RENAME", "ALTER PROJECTION POLICY prp RENAME TO prp9", {T: "PROJECTION POLICY PRP"}),
    Case("APPLY PROJECTION POLICY", "ALTER TABLE t MODIFY COLUMN a SET PROJECTION POLICY prp",
         also=("OWNERSHIP ON TABLE T", "APPLY ON PROJECTION POLICY PRP")),
    Case("CREATE AGGREGATION POLICY", "CREATE AGGREGATION POLICY fresh AS () RETURNS AGGREGATION_CONSTRAINT -> "
         "NO_AGGREGATION_CONSTRAINT()"),
    Case("ALTER AGGREGATION POLICY",
         "ALTER AGGREGATION POLICY agp SET BODY -> AGGREGATION_CONSTRAINT(MIN_GROUP_SIZE => 5)",
         {T: "AGGREGATION POLICY AGP"}),
    Case("ALTER AGGREGATION POLICY RENAME", "ALTER AGGREGATION POLICY agp RENAME TO agp9",
         {T: "AGGREGATION POLICY AGP"}),
    Case("APPLY AGGREGATION POLICY", "ALTER TABLE t SET AGGREGATION POLICY agp",
         also=("OWNERSHIP ON TABLE T", "APPLY ON AGGREGATION POLICY AGP")),
    Case("CREATE TAG", "CREATE TAG fresh"),
    Case("CREATE TAG", "CREATE OR REPLACE TAG tg", {REPLACED: "TAG TG"}),
    Case("ALTER TAG", "ALTER TAG tg SET COMMENT = 'x'", {T: "TAG TG"}),
    Case("ALTER TAG RENAME", "ALTER TAG tg RENAME TO tg9", {T: "TAG TG"}),
    Case("ALTER TABLE", "ALTER TABLE t SET TAG tg = 'x'", {T: "TABLE T"}, also=("APPLY ON TAG TG",)),
    Case("DROP", "DROP TAG tg", {T: "TAG TG"}),
    Case("UNDROP", "UNDROP TABLE gone", {T: "TABLE GONE"}),
)  # fmt: skip
_ELSEWHERE = {"ALTER USER"}
"""Rules that tests of their own are about."""


@pytest.fixture
def place(account: Account, request: pytest.FixtureRequest) -> Iterator[Place]:
    case: Case = request.param
    opened = Place(account, CASES.index(case), case.mentioned)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("place", "case"), [(case, case) for case in CASES], ids=lambda case: case.sql[:40], indirect=["place"]
)
def test_a_statement_is_denied_without_each_privilege_and_allowed_with_all(place: Place, case: Case) -> None:
    asks = [(ask.subject, ask.privileges[0]) for ask in rules()[case.rule]]
    asks = [(subject, privilege) for subject, privilege in asks if subject is not REPLACED or REPLACED in case.subjects]
    wanted = [(privilege, case.on(subject)) for subject, privilege in asks if (subject, privilege) != (S, "USAGE")]
    if not any("WAREHOUSE" in on for on in case.subjects.values()):
        place.grant("USAGE", "WAREHOUSE W_{n}")
    if case.before:
        place.admin.execute(case.before)
    for grant in case.also:
        privilege, _, on = grant.partition(" ON ")
        place.grant(privilege, on)
    if case.rule == "UNDROP":
        place.admin.execute("DROP TABLE gone")
        assert place.refused(case.sql) == "090025", "as if it had never been there"
        place.admin.execute("UNDROP TABLE gone")
        place.grant(OWNERSHIP, "TABLE GONE")
        place.admin.execute("DROP TABLE gone")
        wanted = []
    place.check(case.sql, wanted, [grant.partition(" ON ")[2] for grant in case.also])


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} | _ELSEWHERE == set(rules())


def test_every_kind_has_its_privileges() -> None:
    assert set(privileges()) == {"ACCOUNT", *OWN_TYPES, *(kind.name for kind in all_kinds().all)}
