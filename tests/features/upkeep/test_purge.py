"""What was dropped goes for good when its retention is over, and not before."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.purge import purge
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import TableDefinition

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def _folders(account: Account) -> set[str]:
    return {location.rsplit("/", 1)[-1].rsplit("-", 1)[0] for location in account.store.root.locations()}


def _kept(account: Account) -> set[str]:
    with account.state.read() as state:
        return {item.name.name for item in state.catalog.objects(include_dropped=True)}


def test_a_table_stays_for_its_retention(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute_script(
        """CREATE TABLE one (a INT); CREATE TABLE three (a INT) DATA_RETENTION_TIME_IN_DAYS = 3;
        CREATE TABLE none (a INT) DATA_RETENTION_TIME_IN_DAYS = 0; CREATE TABLE live (a INT);
        INSERT INTO three VALUES (1); DROP TABLE one; DROP TABLE three; DROP TABLE none"""
    )
    clock.advance(SECOND)
    assert purge(account).objects == ("SNOWMELT.PUBLIC.NONE",)
    clock.advance(DAY - 2 * SECOND)
    assert purge(account).objects == ()
    session.execute("UNDROP TABLE one")
    session.execute("DROP TABLE one")
    clock.advance(DAY + SECOND)
    assert purge(account).objects == ("SNOWMELT.PUBLIC.ONE",)
    assert _folders(account) == {"three", "live"}
    assert _kept(account) == {"THREE", "LIVE"}
    clock.advance(DAY + SECOND)
    with pytest.raises(SnowmeltError, match="Table THREE did not exist or was purged"):
        session.execute("UNDROP TABLE three")
    purge(account)
    assert _kept(account) == {"LIVE"}


def test_a_stage_goes_with_its_files(
    account: Account, session: Session, clock: ManualClock, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.csv").write_text("1")
    session.execute_script(f"CREATE STAGE st; PUT 'file://{outside}/a.csv' @st AUTO_COMPRESS = FALSE")
    assert session.execute("LIST @st").data.num_rows == 1
    session.execute("DROP STAGE st")
    assert len(list((tmp_path / "stages").glob("*/a.csv"))) == 1
    clock.advance(2 * DAY)
    assert purge(account).objects == ("SNOWMELT.PUBLIC.ST",)
    assert list((tmp_path / "stages").glob("*")) == []


def test_opening_an_account_purges(tmp_path: Path, clock: ManualClock) -> None:
    with open_account(tmp_path, clock=clock) as account:
        account.session().execute_script("CREATE TABLE t (a INT); DROP TABLE t")
    clock.advance(2 * DAY)
    with open_account(tmp_path, clock=clock) as account:
        assert _folders(account) == set()
        assert _kept(account) == set()


def test_what_went_with_its_container_stays_as_long(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute_script(
        """CREATE DATABASE d DATA_RETENTION_TIME_IN_DAYS = 5;
        CREATE TABLE short (a INT) DATA_RETENTION_TIME_IN_DAYS = 1;
        CREATE SCHEMA s; CREATE TABLE t (a INT); CREATE TABLE before (a INT) DATA_RETENTION_TIME_IN_DAYS = 1;
        DROP TABLE before; DROP SCHEMA s; DROP DATABASE d"""
    )
    clock.advance(2 * DAY)
    assert purge(account).objects == ("D.S.BEFORE",)
    session.execute("UNDROP DATABASE d")
    session.execute("UNDROP SCHEMA d.s")
    assert session.execute("SHOW TABLES IN DATABASE d").data.num_rows == 2
    session.execute("DROP DATABASE d")
    clock.advance(5 * DAY + SECOND)
    purged = purge(account)
    assert (len(purged.objects), purged.schemas, purged.databases) == (2, 2, 1)
    with account.state.read() as state:
        assert [item.name for item in state.catalog.databases(include_dropped=True)] == ["SNOWMELT"]
    assert _folders(account) == set()


def test_a_clone_outlives_its_source(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute_script(
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); CREATE TABLE c CLONE t; DROP TABLE t"
    )
    clock.advance(2 * DAY)
    assert purge(account).objects == ("SNOWMELT.PUBLIC.T",)
    with account.state.read() as state:
        (clone,) = state.catalog.objects()
        assert isinstance(clone.definition, TableDefinition)
        version = state.versions.visible(clone.id)
    assert version is not None
    assert account.store.read(clone.definition.location, version.version).num_rows == 2


def test_nothing_is_left_of_a_purged_table(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute_script(
        """CREATE TABLE t (id INT AUTOINCREMENT, a INT) DATA_RETENTION_TIME_IN_DAYS = 1;
        INSERT INTO t (a) VALUES (1); ALTER TABLE t RENAME COLUMN a TO b"""
    )
    with account.state.read() as state:
        (table,) = state.catalog.objects()
    session.execute("DROP TABLE t")
    clock.advance(2 * DAY)
    purge(account)
    with account.state.read() as state:
        assert state.catalog.by_id(table.id) is None
        assert state.versions.history(table.id) == []
        assert state.shapes.all(table.id) == []
        assert state.counters.peek(table.id, "ID") is None
        assert state.parameters.all("TABLE", table.id) == {}


def test_a_table_being_written_waits(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute_script("CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)")
    account.session().execute("DROP TABLE t")
    clock.advance(2 * DAY)
    assert purge(account).objects == ()
    session.execute("ROLLBACK")
    assert purge(account).objects == ("SNOWMELT.PUBLIC.T",)
