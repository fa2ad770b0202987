"""MAX_DATA_EXTENSION_TIME_IN_DAYS of tables and dynamic tables, by every statement that takes it."""

from __future__ import annotations

from snowmelt.runtime.session import Session


def extension(session: Session, table: str) -> str:
    found = session.execute(f"SHOW PARAMETERS LIKE 'MAX_DATA_EXTENSION_TIME_IN_DAYS' IN TABLE {table}").rows()
    return str(found[0][1])


def test_a_dynamic_table_keeps_its_extension(session: Session) -> None:
    session.execute("CREATE TABLE t (id INT)")
    dynamic = "DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE"
    session.execute(f"CREATE {dynamic} MAX_DATA_EXTENSION_TIME_IN_DAYS = 3 AS SELECT id FROM t")
    assert extension(session, "d") == "3"
    session.execute("ALTER DYNAMIC TABLE d SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 5")
    assert extension(session, "d") == "5"
    session.execute("ALTER DYNAMIC TABLE d UNSET MAX_DATA_EXTENSION_TIME_IN_DAYS")
    assert extension(session, "d") == "14"
    session.execute(f"CREATE OR ALTER {dynamic} MAX_DATA_EXTENSION_TIME_IN_DAYS = 7 AS SELECT id FROM t")
    assert extension(session, "d") == "7"
