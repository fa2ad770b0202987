"""Somebody with next to no rights, and objects that they would like to use."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.stage_folders import stage_root
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights.privileges import OWNERSHIP
from snowmelt.runtime.session import Session

_FIRST = """
CREATE DATABASE {db}; CREATE SCHEMA s; CREATE WAREHOUSE w_{n};
CREATE ROLE r_{n}; CREATE ROLE other_{n}; GRANT EXECUTE TASK ON ACCOUNT TO ROLE r_{n};
GRANT EXECUTE ALERT ON ACCOUNT TO ROLE r_{n}; CREATE NETWORK POLICY np_{n};
CREATE USER u_{n} DEFAULT_SECONDARY_ROLES = (); GRANT ROLE r_{n} TO USER u_{n};
GRANT ROLE r_{n} TO ROLE sysadmin;
GRANT USAGE ON DATABASE {db} TO ROLE r_{n}; GRANT USAGE ON SCHEMA {db}.s TO ROLE r_{n};
"""
_OBJECTS = {
    "t": "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)",
    "t2": "CREATE TABLE t2 (a INT)",
    "gone": "CREATE TABLE gone (a INT)",
    "v": "CREATE VIEW v AS SELECT a FROM t",
    "st": "CREATE STREAM st ON TABLE t",
    "sg": "CREATE STAGE sg",
    "pp": "CREATE PIPE pp AS COPY INTO t",
    "xs": "CREATE STAGE xs URL = 'file:///nowhere/'",
    "ff": "CREATE FILE FORMAT ff TYPE = CSV",
    "sq": "CREATE SEQUENCE sq",
    "f": "CREATE FUNCTION f() RETURNS INT AS '1'",
    "p": "CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL AS 'BEGIN RETURN 1; END'",
    "ct": "CREATE CONTRACT ct FROM TABLE t",
    "dp": "CREATE DATA PRODUCT dp",
    "tg": "CREATE TAG tg",
    "mp": "CREATE MASKING POLICY mp AS (v INT) RETURNS INT -> v",
    "rp": "CREATE ROW ACCESS POLICY rp AS (v INT) RETURNS BOOLEAN -> TRUE",
    "prp": "CREATE PROJECTION POLICY prp AS () RETURNS PROJECTION_CONSTRAINT -> PROJECTION_CONSTRAINT(ALLOW => TRUE)",
    "agp": "CREATE AGGREGATION POLICY agp AS () RETURNS AGGREGATION_CONSTRAINT -> NO_AGGREGATION_CONSTRAINT()",
    "al": "CREATE ALERT al WAREHOUSE = w_{n} SCHEDULE = '1 hour' IF (EXISTS (SHOW TABLES LIKE 'x')) THEN SELECT 1",
    "tk": "CREATE TASK tk WAREHOUSE = w_{n} SCHEDULE = '1 hour' AS SELECT 1",
    "dt": "CREATE DYNAMIC TABLE dt TARGET_LAG = '1 hour' WAREHOUSE = w_{n} INITIALIZE = ON_SCHEDULE AS SELECT a FROM t",
    "cn": "CREATE CONNECTOR cn {paused_connector}",
    "kc": "CREATE CONNECTOR kc {paused_connector} ROUTE = KAFKA BOOTSTRAP_SERVERS = '127.0.0.1:1'",
}
_PAUSED_CONNECTOR = (
    "TYPE = POSTGRES HOST = '127.0.0.1' PORT = 1 DATABASE = 'd' USER = 'u' TABLES = ('t') INITIALLY_PAUSED = TRUE"
)
_OVER_T = {"v", "st", "dt", "ct", "pp"}
_SEEN, _HIDDEN = "003001", {"002003", "002043"}
_HIDDEN_ELSEWHERE = (
    ("CALL", "002140"), ("SELECT f", "002140"), ("CREATE DYNAMIC TABLE", "002725"), ("CREATE TASK", "002725"),
    ("CREATE TASK", "001007"), ("CREATE ALERT", "001007"), ("SELECT sq.NEXTVAL", "000904"),
)  # fmt: skip
"""What statements say of a name that nobody has, where that is a code of their own."""
_ALWAYS_SEEN = ("SCHEMA ", "DATABASE ", "ACCOUNT", "ROLE ", "USER ", "NETWORK POLICY ")
"""The role has USAGE of the first two, and everybody knows the names of the others."""
_NOTES = {"queries", "audit_events", "warehouse_usage", "ledger"}
"""What is written of a refused statement, too: that it was tried. The ledger counts transactions, such notes' too."""


class Place:
    """The objects of one case, and a user who has nothing but USAGE of their database and schema."""

    def __init__(self, account: Account, number: int, mentioned: Collection[str] = _OBJECTS.keys()) -> None:
        """`mentioned`: names of the objects that there shall be, and other words."""
        self.account = account
        self.words = {"n": str(number), "db": f"SEC_{number}", "paused_connector": _PAUSED_CONNECTOR}
        self.admin = account.session()
        self.admin.execute_script(_FIRST.format(**self.words))
        wanted = set(mentioned) | ({"t"} if _OVER_T & set(mentioned) else set())
        for name, statements in _OBJECTS.items():
            if name in wanted:
                self.admin.execute_script(statements.format(**self.words))
        self.user = self.login()

    def login(self) -> Session:
        name = self.words["n"]
        return self.account.session(
            user=f"U_{name}", role=f"R_{name}", database=self.words["db"], schema="S", warehouse=f"W_{name}"
        )

    def sql(self, text: str) -> str:
        return text.format(**self.words)

    def grant(self, privilege: str, on: str) -> None:
        option = " COPY CURRENT GRANTS" if privilege == OWNERSHIP else ""
        self.admin.execute(self.sql(f"GRANT {privilege} ON {on} TO ROLE r_{{n}}{option}"))

    def revoke(self, privilege: str, on: str) -> None:
        if privilege == OWNERSHIP:
            self.admin.execute(self.sql(f"GRANT OWNERSHIP ON {on} TO ROLE ACCOUNTADMIN COPY CURRENT GRANTS"))
        else:
            self.admin.execute(self.sql(f"REVOKE {privilege} ON {on} FROM ROLE r_{{n}}"))

    def close(self) -> None:
        self.user.close()
        self.admin.execute("USE DATABASE SNOWMELT")
        for name in (self.words["db"], f"{self.words['db']}_X", f"FRESH_{self.words['n']}"):
            self.admin.execute(f"DROP DATABASE IF EXISTS {name}")
        for name in ("W", "W9", "FRESH"):
            self.admin.execute(f"DROP WAREHOUSE IF EXISTS {name}_{self.words['n']}")
        for name in ("R", "OTHER", "FRESH"):
            self.admin.execute(f"DROP ROLE IF EXISTS {name}_{self.words['n']}")
        for name in ("NP", "FRESH"):
            self.admin.execute(f"DROP NETWORK POLICY IF EXISTS {name}_{self.words['n']}")
        self.admin.execute(self.sql("DROP USER IF EXISTS u_{n}"))
        self.admin.execute(self.sql("DROP USER IF EXISTS fresh_{n}"))
        self.admin.close()

    def outcome(self, sql: str) -> str | None:
        """The code of the error that the user gets, if any."""
        try:
            self.user.execute(self.sql(sql))
        except SnowmeltError as error:
            return error.code
        return None

    def standing(self) -> dict[str, list[str]]:
        """All that the account knows, by the table of the state store, and the files of stages."""
        with closing(sqlite3.connect(f"file:{self.account.data_dir / 'state.db'}?mode=ro", uri=True)) as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            kept = [name for name in names if name not in _NOTES]
            rows = {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in kept}
            live = {id for (id,) in connection.execute("SELECT id FROM objects WHERE dropped_on IS NULL")}
            # Workers of connectors that other tests dropped note their end when they get to it.
            noted = connection.execute("SELECT * FROM connectors")
            rows["connectors"] = sorted(repr(row) for row in noted if row[0] in live)
        # Warehouses of other tests go down when somebody looks.
        rows["warehouses"] = [row for row in rows["warehouses"] if f"_{self.words['n']}'" in row]
        stages = Path(stage_root(self.account)) / "stages"
        return rows | {"files of stages": sorted(str(path) for path in stages.rglob("*") if path.is_file())}

    def refused(self, sql: str) -> str | None:
        """The code of the error that the user gets. Nothing may have changed by it."""
        before = self.standing()
        code = self.outcome(sql)
        after = self.standing()
        changed = {name: after[name] for name in after if after[name] != before[name]}
        assert code is None or not changed, f"refused with {code}, and yet changed {list(changed)}"
        return code

    def check(self, sql: str, wanted: Sequence[tuple[str, str]], seen: Collection[str] = ()) -> None:
        """The statement is denied while one of the privileges is missing, and allowed with all of them.

        What the role sees, among it what `seen` names, it has insufficient privileges on; all else does not exist.
        """
        plain = sql.replace("OR REPLACE ", "")
        for missing in wanted:
            held = [item for item in wanted if item != missing]
            for privilege, on in held:
                self.grant(privilege, on)
            code, on = self.refused(sql), missing[1]
            # Of a hidden thing, whoever may create learns that its name is taken.
            replaced = sql.startswith("CREATE OR REPLACE") and missing[0] == OWNERSHIP
            known = replaced or on.startswith(_ALWAYS_SEEN) or on in seen or on in [on for _, on in held]
            hidden = _HIDDEN | {own for start, own in _HIDDEN_ELSEWHERE if plain.startswith(start)}
            assert code in ({_SEEN} if known else hidden), f"{code} without {missing}, known: {known}"
            for privilege, on in held:
                self.revoke(privilege, on)
        for privilege, on in wanted:
            self.grant(privilege, on)
        assert (found := self.outcome(sql)) is None, found
