"""Whoever writes passes the gate: statements, loads, channels, connectors, tasks and refreshes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest import StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.connectors.test_landing import Lander, delete, put


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return session.execute(query).rows()


def declare(session: Session, table: str, action: str = "QUARANTINE") -> None:
    session.execute(f"CREATE TABLE {table} (a INT, b INT)")
    session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK there AS NOT_NULL (a) ON_FAILURE = {action}")
    session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK bound AS RANGE (b) MIN = 0 MAX = 5 ON_FAILURE = {action}")


@pytest.fixture
def stage(session: Session, tmp_path: Path) -> str:
    file = tmp_path / "rows.csv"
    file.write_text("4,4\n5,-5\n", encoding="utf-8")
    session.execute("CREATE STAGE sg")
    session.execute(f"PUT 'file://{file}' @sg")
    return "sg"


def test_no_statement_gets_around_the_gate(session: Session, stage: str) -> None:
    declare(session, "t", "FAIL")
    session.execute("INSERT INTO t VALUES (1, 1)")
    for statement in (
        "INSERT INTO t VALUES (2, -2)",
        "INSERT INTO t SELECT NULL, 1",
        "INSERT OVERWRITE INTO t VALUES (2, 2), (3, 30)",
        "UPDATE t SET b = 6",
        "MERGE INTO t USING (SELECT 1 AS a, 60 AS b) s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b",
        "MERGE INTO t USING (SELECT 2 AS a, 60 AS b) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b)",
        f"COPY INTO t FROM @{stage} FILE_FORMAT = (TYPE = CSV)",
        "BEGIN INSERT INTO t VALUES (9, 9); RETURN 1; END",
    ):
        with pytest.raises(SnowmeltError, match=r"THERE|BOUND") as refused:
            session.execute(statement)
        assert refused.value.code == "370020", statement
    assert rows(session, "SELECT a, b FROM t") == [(1, 1)]
    loads = "INFORMATION_SCHEMA.COPY_HISTORY(TABLE_NAME => 't', START_TIME => DATEADD(DAY, -1, CURRENT_TIMESTAMP()))"
    assert rows(session, f"SELECT COUNT(*) FROM TABLE({loads})") == [(0,)]


def test_channels_and_copy_pass_the_gate_too(session: Session, stage: str) -> None:
    declare(session, "t")
    client = StreamingIngestClient("test", connection=session)
    channel = client.open_channel("c", "t")
    channel.append_rows(pa.table({"a": [1, None, 3], "b": [1, 2, 99]}), end_offset_token="3")
    assert channel.wait_for_flush(120)
    assert channel.get_latest_committed_offset_token() == "3"
    client.close()
    session.execute(f"COPY INTO t FROM @{stage} FILE_FORMAT = (TYPE = CSV)")
    assert sorted(rows(session, "SELECT a, b FROM t")) == [(1, 1), (4, 4)]
    found = rows(session, "SELECT b, quality_checks FROM t_quarantine ORDER BY b")
    assert found == [(-5, "BOUND"), (2, "THERE"), (99, "BOUND")]
    operations = rows(
        session,
        "SELECT DISTINCT operation FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY(TABLE_NAME => 't')) ORDER BY 1",
    )
    assert operations == [("COPY",), ("STREAMING INGEST",)]


def test_a_channel_whose_rows_are_refused_ends_and_no_other(session: Session) -> None:
    declare(session, "t", "FAIL")
    client = StreamingIngestClient("test", connection=session)
    bad, fine = client.open_channel("bad", "t"), client.open_channel("fine", "t")
    bad.append_rows(pa.table({"a": [1], "b": [1]}), end_offset_token="1")
    assert bad.wait_for_flush(120)
    bad.append_rows(pa.table({"a": [2], "b": [99]}), end_offset_token="2")
    fine.append_rows(pa.table({"a": [3], "b": [3]}), end_offset_token="1")
    with pytest.raises(SnowmeltError, match="BOUND") as ended:
        bad.wait_for_flush(120)
    assert ended.value.code == "0013"
    bad.close(wait_for_flush=False)
    assert fine.wait_for_flush(120)
    again = client.open_channel("bad", "t")
    assert again.get_latest_committed_offset_token() == "1"
    again.append_rows(pa.table({"a": [2], "b": [2]}), end_offset_token="2")
    assert again.wait_for_flush(120)
    client.close()
    assert sorted(rows(session, "SELECT a, b FROM t")) == [(1, 1), (2, 2), (3, 3)]


def test_a_connector_passes_the_gate(account: Account) -> None:
    account.engine.session()
    mirror = Lander(account, "gated", "TARGET = MIRROR")
    mirror.land(put(1, "a", 1))
    with closing(account.session(database=mirror.database, schema=mirror.schema)) as session:
        session.execute("ALTER TABLE items ADD QUALITY CHECK short AS LENGTH (body) MAX = 3 ON_FAILURE = QUARANTINE")
        mirror.land(put(2, "b", 2), put(3, "much too long", 3), put(1, "also too long", 4, op="u"))
        assert mirror.items() == [(2, "b")]
        kept = rows(session, "SELECT id, body, quality_checks FROM items_quarantine ORDER BY id")
        assert kept == [(1, "also too long", "SHORT"), (3, "much too long", "SHORT")]
        mirror.land(put(1, "ok", 5, op="u"), delete(3, 6))
        assert mirror.items() == [(1, "ok"), (2, "b")]
        session.execute("ALTER TABLE items ADD OR REPLACE QUALITY CHECK short AS LENGTH (body) MAX = 3")
        with pytest.raises(SnowmeltError, match="SHORT"):
            mirror.land(put(4, "d", 7), put(5, "much too long", 8))
        assert mirror.items() == [(1, "ok"), (2, "b")]
        session.execute("ALTER TABLE items DROP QUALITY CHECK short")
        # The source gives again what did not land.
        mirror.restart()
        mirror.land(put(4, "d", 7), put(5, "much too long", 8))
        assert mirror.items() == [(1, "ok"), (2, "b"), (4, "d"), (5, "much too long")]


def test_a_task_whose_write_is_refused_is_suspended_and_consumes_nothing(session: Session) -> None:
    session.execute("CREATE TABLE raw (a INT, b INT)")
    session.execute("CREATE STREAM fresh ON TABLE raw")
    declare(session, "product", "SUSPEND")
    session.execute("CREATE TASK tk SCHEDULE = '1 hour' AS INSERT INTO product SELECT a, b FROM fresh")
    session.execute("ALTER TASK tk RESUME")
    session.execute("INSERT INTO raw VALUES (1, 1), (2, 99)")
    session.execute("EXECUTE TASK tk")
    assert rows(session, "SELECT * FROM product") == []
    assert _standing(session) == ("suspended", "SUSPENDED_DUE_TO_QUALITY_CHECK")
    history = "SELECT state, error_code FROM TABLE(INFORMATION_SCHEMA.TASK_HISTORY(TASK_NAME => 'tk'))"
    assert ("FAILED", "370020") in [(row[0], str(row[1])) for row in rows(session, history)]
    session.execute("UPDATE raw SET b = 2 WHERE a = 2")
    session.execute("EXECUTE TASK tk")
    assert sorted(rows(session, "SELECT a, b FROM product")) == [(1, 1), (2, 2)]
    assert rows(session, "SELECT * FROM fresh") == []


def _standing(session: Session) -> tuple[str, str]:
    session.execute("SHOW TASKS")
    query = 'SELECT "state", "last_suspended_reason" FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))'
    ((state, reason),) = rows(session, query)
    return state, reason


def test_three_boundaries_of_one_pipeline(session: Session) -> None:
    """What is wrong is kept where it is found: at the source, in the transformation, before the product."""
    declare(session, "source")
    options = "TARGET_LAG = DOWNSTREAM WAREHOUSE = compute_wh"
    session.execute(f"CREATE DYNAMIC TABLE transformed {options} AS SELECT a, 10 / NULLIF(b, 0) AS share FROM source")
    session.execute(
        "ALTER DYNAMIC TABLE transformed ADD QUALITY CHECK known AS NOT_NULL (share) ON_FAILURE = QUARANTINE"
    )
    session.execute(f"CREATE DYNAMIC TABLE sink {options} AS SELECT a, SUM(share) AS total FROM transformed GROUP BY a")
    session.execute("ALTER DYNAMIC TABLE sink ADD QUALITY CHECK sane AS RANGE (total) MAX = 10")
    session.execute("INSERT INTO source VALUES (1, 1), (2, 0), (3, 99), (4, 2)")
    session.execute("ALTER DYNAMIC TABLE sink REFRESH")
    good = [(1, 10), (4, 5)]
    assert _whole(session, "sink") == good
    assert rows(session, "SELECT a FROM source_quarantine") == [(3,)]
    assert rows(session, "SELECT a FROM transformed_quarantine") == [(2,)]
    session.execute("INSERT INTO source VALUES (1, 5)")
    with pytest.raises(SnowmeltError, match="SANE"):
        session.execute("ALTER DYNAMIC TABLE sink REFRESH")
    assert _whole(session, "sink") == good, "the last good version stays"
    session.execute("DELETE FROM source WHERE a = 1 AND b = 5")
    session.execute("ALTER DYNAMIC TABLE sink REFRESH")
    assert _whole(session, "sink") == good


def _whole(session: Session, table: str) -> list[tuple[int, int]]:
    return [(int(row[0]), int(row[1])) for row in rows(session, f"SELECT * FROM {table} ORDER BY 1")]
