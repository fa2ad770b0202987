"""Streams, dynamic tables, Time Travel and clones do not notice upkeep: before, during and long after it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings, UpkeepSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.service import FinishedJob, Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.scheduler.upkeep import Compact, VacuumJob
from snowmelt.state.model import TableDefinition
from tests.conftest import SPARK

UPKEEP = UpkeepSettings(small_files=4, vacuum_seconds=0, grace_seconds=60)
HOUR = timedelta(hours=1)


@pytest.fixture
def kept(shared_account: Account, tmp_path: Path, clock: ManualClock) -> Iterator[Account]:
    shared_account.engine.session()  # the one Spark of all tests
    with open_account(tmp_path, settings=Settings(spark=SPARK, upkeep=UPKEEP), clock=clock) as opened:
        yield opened


def rows(session: Session, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.execute(text).rows()]


def upkeep(account: Account) -> list[FinishedJob]:
    done = account.services[Upkeep].run()
    assert not [item for item in done if item.outcome != "DONE"], done
    return done


def compacted(done: list[FinishedJob]) -> int:
    return sum(item.files for item in done if isinstance(item.job, Compact))


def removed(done: list[FinishedJob]) -> int:
    return sum(item.files for item in done if isinstance(item.job, VacuumJob))


def refreshed(session: Session, clock: ManualClock) -> str:
    """Refreshes D, compares it with its query, and says how it was done."""
    clock.advance(timedelta(minutes=1))
    session.execute("ALTER DYNAMIC TABLE d REFRESH")
    found = rows(session, "SELECT grp, n FROM d ORDER BY grp")
    assert found == rows(session, "SELECT grp, COUNT(*) FROM t GROUP BY grp ORDER BY grp")
    history = "TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'SNOWMELT.PUBLIC.D'))"
    newest = f"SELECT refresh_action FROM {history} ORDER BY data_timestamp DESC LIMIT 1"
    return str(rows(session, newest)[0][0])


@pytest.mark.timeout(900)
def test_nobody_notices(kept: Account, clock: ManualClock) -> None:
    session = kept.session()
    session.execute_script(
        """CREATE TABLE t (id INT, grp INT) CHANGE_TRACKING = TRUE; CREATE STREAM s ON TABLE t;
        CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL
        AS SELECT grp, COUNT(*) AS n FROM t GROUP BY grp"""
    )
    for number in range(10):
        session.execute(f"INSERT INTO t VALUES ({number}, {number % 3})")
    assert refreshed(session, clock) == "INCREMENTAL"
    then = clock.now()
    clock.advance(HOUR)
    session.execute("CREATE TABLE copy CLONE t")
    assert compacted(upkeep(kept)) >= 10
    # Rows in other files are the same rows: there is nothing to do for anybody.
    assert refreshed(session, clock) == "NO_DATA"
    session.execute("UPDATE t SET grp = 9 WHERE id < 3")
    session.execute("DELETE FROM t WHERE id = 5")
    changes = rows(session, "SELECT METADATA$ACTION, METADATA$ISUPDATE, id, grp FROM s ORDER BY id")
    assert changes == [("INSERT", False, n, 9 if n < 3 else n % 3) for n in range(10) if n != 5]
    assert refreshed(session, clock) == "INCREMENTAL"
    assert rows(session, f"SELECT COUNT(*), SUM(grp) FROM t AT (TIMESTAMP => '{then}'::TIMESTAMP_TZ)") == [(10, 9)]

    # Three days later: beyond Time Travel, and not beyond the stream, which holds everything since its offset.
    clock.advance(72 * HOUR)
    upkeep(kept)
    assert rows(session, "SELECT METADATA$ACTION, METADATA$ISUPDATE, id, grp FROM s ORDER BY id") == changes
    assert refreshed(session, clock) == "NO_DATA"
    session.execute("CREATE TABLE seen AS SELECT id FROM s")
    session.execute("INSERT INTO t VALUES (100, 1)")
    assert rows(session, "SELECT id FROM seen ORDER BY id") == [(row[2],) for row in changes]
    session.execute("INSERT INTO seen SELECT id FROM s")
    assert refreshed(session, clock) == "INCREMENTAL"

    # Nobody needs the first files any more: they go, and the clone has its own.
    clock.advance(72 * HOUR)
    assert removed(upkeep(kept)) >= 10
    assert rows(session, "SELECT COUNT(*) FROM t") == [(10,)]
    assert rows(session, "SELECT COUNT(*), SUM(grp) FROM copy") == [(10, 9)]
    session.execute("INSERT INTO t VALUES (101, 1)")
    assert rows(session, "SELECT METADATA$ACTION, id FROM s ORDER BY id") == [("INSERT", 101)]
    assert refreshed(session, clock) == "INCREMENTAL"
    history = "SELECT DISTINCT job FROM TABLE(INFORMATION_SCHEMA.UPKEEP_HISTORY()) WHERE outcome = 'DONE' ORDER BY 1"
    assert rows(session, history)[0] == ("COMPACT",)


@pytest.mark.timeout(900)
def test_a_dynamic_table_that_stands_still_for_too_long_begins_anew(kept: Account, clock: ManualClock) -> None:
    session = kept.session()
    session.execute_script(
        """CREATE TABLE t (id INT, grp INT) CHANGE_TRACKING = TRUE;
        INSERT INTO t VALUES (1, 1), (2, 1), (3, 2);
        CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL
        AS SELECT grp, COUNT(*) AS n FROM t GROUP BY grp;
        ALTER DYNAMIC TABLE d SUSPEND"""
    )
    clock.advance(HOUR)
    session.execute("DELETE FROM t WHERE id = 1")
    clock.advance(13 * 24 * HOUR)
    assert removed(upkeep(kept)) == 0, "it would be carried on"
    check = "SELECT PARSE_JSON(SYSTEM$CHECK_DYNAMIC_TABLE('d')):equal::BOOLEAN"
    assert rows(session, check) == [(True,)]
    # Rows only put into other files after that, as far as what is left of the history tells.
    clock.advance(2 * 24 * HOUR)
    assert removed(upkeep(kept)) >= 1
    assert rows(session, "SELECT grp, n FROM d ORDER BY grp") == [(1, 2), (2, 1)]
    with pytest.raises(SnowmeltError, match=r"changes of SNOWMELT\.PUBLIC\.T .* are gone\.\s+Refresh"):
        session.execute(check)
    assert refreshed(session, clock) == "REINITIALIZE"
    told = "SELECT details:reason::VARCHAR FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY())"
    assert "MAX_DATA_EXTENSION_TIME_IN_DAYS" in rows(session, f"{told} ORDER BY data_timestamp DESC LIMIT 1")[0][0]
    session.execute("INSERT INTO t VALUES (4, 2)")
    assert refreshed(session, clock) == "INCREMENTAL"


@pytest.mark.timeout(900)
def test_spark_reads_and_writes_a_table_whose_log_was_cleaned(kept: Account, clock: ManualClock) -> None:
    session = kept.session()
    session.execute("CREATE TABLE t (id INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    for number in range(130):
        session.execute(f"INSERT INTO t VALUES ({number})")
    with kept.state.read() as state:
        table = next(item for item in state.catalog.objects() if item.name.name == "T")
    assert isinstance(table.definition, TableDefinition)
    location = table.definition.location
    kept.store.care.make_checkpoint(location, kept.store.latest_version(location))
    clock.advance(HOUR)
    done = upkeep(kept)
    clock.advance(HOUR)
    done += upkeep(kept)
    assert sum(item.rows for item in done if isinstance(item.job, VacuumJob)) > 100 + 100, "versions and entries"
    session.execute("INSERT INTO t SELECT id + 1000 FROM t WHERE id < 3")
    uri = kept.store.root.uri_of(location)
    frame = kept.engine.session().read.format("delta").load(uri)
    assert frame.count() == 133
    assert rows(session, "SELECT COUNT(*), MAX(id) FROM t") == [(133, 1002)]
