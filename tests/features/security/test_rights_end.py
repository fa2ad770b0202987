"""What a role made while it could read a table gives nothing of the table once any of the rights on the way is gone."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

_SETUP = """
CREATE SCHEMA far; CREATE TABLE far.top (a VARCHAR, n INT) CHANGE_TRACKING = TRUE;
INSERT INTO far.top VALUES ('before', 1); CREATE SCHEMA mine; GRANT OWNERSHIP ON SCHEMA mine TO ROLE {role};
GRANT USAGE ON WAREHOUSE compute_wh TO ROLE {role};
GRANT USAGE ON DATABASE {database} TO ROLE {role}; GRANT USAGE ON SCHEMA far TO ROLE {role};
GRANT SELECT ON TABLE far.top TO ROLE {role}
"""
_MADE = """
CREATE VIEW v AS SELECT * FROM far.top; CREATE SECURE VIEW sv AS SELECT * FROM v;
CREATE STREAM st ON TABLE far.top; CREATE STREAM stv ON VIEW v; CREATE VIEW over_st AS SELECT * FROM st;
CREATE FUNCTION f() RETURNS INT AS 'SELECT MAX(n) FROM far.top';
CREATE FUNCTION tf() RETURNS TABLE (a VARCHAR) AS 'SELECT a FROM far.top';
CREATE PROCEDURE p() RETURNS VARCHAR LANGUAGE SQL AS 'BEGIN RETURN (SELECT MAX(a) FROM far.top); END';
CREATE DYNAMIC TABLE dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS SELECT * FROM far.top
"""
_READS = (
    "SELECT a FROM far.top WHERE n = 1", "SELECT * FROM v", "SELECT * FROM sv", "SELECT * FROM st", "SELECT * FROM stv",
    "SELECT * FROM over_st", "SELECT f()", "SELECT * FROM TABLE(tf())", "CALL p()", "ALTER DYNAMIC TABLE dt REFRESH",
    "SELECT * FROM far.top CHANGES (INFORMATION => DEFAULT) AT (STREAM => 'st')",
    "CREATE OR REPLACE TABLE copied AS SELECT * FROM st", "CREATE OR REPLACE STREAM st2 ON VIEW v",
    "CREATE OR REPLACE TABLE cloned CLONE far.top", "EXPLAIN SELECT * FROM st",
)  # fmt: skip


def test_rights_that_end_end_everything_made_with_them(session: Session) -> None:
    database, role = str(session.database), f"READER_{session.id}"
    session.execute_script(f"CREATE ROLE {role}; CREATE USER {role} DEFAULT_SECONDARY_ROLES = ()")
    session.execute(f"GRANT ROLE {role} TO USER {role}")
    session.execute_script(_SETUP.format(role=role, database=database))
    reader = session.account.session(user=role, role=role, database=database, schema="MINE", warehouse="COMPUTE_WH")
    try:
        reader.execute_script(_MADE)
        session.execute("INSERT INTO far.top VALUES ('since', 2)")
        for sql in _READS[:-4]:
            reader.execute(sql)
        for right in ("SELECT ON TABLE far.top", "USAGE ON SCHEMA far", f"USAGE ON DATABASE {database}"):
            session.execute(f"REVOKE {right} FROM ROLE {role}")
            session.execute("INSERT INTO far.top VALUES ('after', 3)")
            for sql in _READS:
                with pytest.raises(SnowmeltError) as refused:
                    reader.execute(sql)
                # Without the database, what the role made is itself hidden, and functions are unknown.
                known = "not authorized" in refused.value.text or "DATABASE" in right
                assert known, (right, sql, refused.value.text)
            session.execute(f"GRANT {right} TO ROLE {role}")
            reader.execute("SELECT * FROM st")
    finally:
        reader.close()
        session.execute_script(f"DROP USER {role}; DROP ROLE {role}")
