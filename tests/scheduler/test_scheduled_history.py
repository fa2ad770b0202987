"""What the history says when refreshes are tried again, and when a lag can't be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.dynamic_tables.scheduled import ScheduledTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.incremental import filling
from snowmelt.runtime.session import Session
from snowmelt.scheduler.ports import FailedRefresh, RefreshEnd, RefreshRequest
from tests.support.dynamic_tables import table_id


@pytest.fixture
def scheduled(account: Account) -> Iterator[ScheduledTables]:
    found = ScheduledTables(account)
    yield found
    found._session.close()


def history(session: Session, table: str) -> list[tuple[Any, ...]]:
    found = session.execute(
        "SELECT state, state_message, details FROM "
        f"TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => '{session.database}.PUBLIC.{table}')) "
        # Several come within one millisecond, which is what the column has.
        "WHERE refresh_trigger = 'SCHEDULED' ORDER BY data_timestamp, state DESC"
    )
    return [(state, message, json.loads(details or "{}")) for state, message, details in found.rows()]


def request(session: Session, id: str, at: datetime) -> RefreshRequest:
    return RefreshRequest(id, at, at, None, timedelta(seconds=1))


def test_a_refresh_that_is_tried_again_has_one_row(
    scheduled: ScheduledTables, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE s (v INT)")
    session.execute("INSERT INTO s VALUES (1)")
    session.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE "
        "AS SELECT v FROM s"
    )
    id, at = table_id(session, "D"), session.account.state.settle()
    failures = iter([True, True, False])

    def all_rows(*arguments: Any) -> Any:
        if next(failures):
            raise SnowmeltError("000603", "XX000", "The network is away.", transient=True)
        return computed(*arguments)

    computed = filling.all_rows
    monkeypatch.setattr(filling, "all_rows", all_rows)
    for attempt in (1, 2):
        with pytest.raises(SnowmeltError, match="network"):
            scheduled.refresh(request(session, id, at))
        [(state, message, details)] = history(session, "D")
        assert (state, "network" in message, details.get("attempts", 1)) == ("FAILED", True, attempt)
    assert scheduled.refresh(request(session, id, at)) is RefreshEnd.SUCCEEDED
    [(state, message, details)] = history(session, "D")
    assert (state, message, details["attempts"]) == ("SUCCEEDED", "", 3)


def test_a_lag_that_can_not_be_kept_is_one_row(scheduled: ScheduledTables, session: Session) -> None:
    session.execute("CREATE TABLE s (v INT)")
    session.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 second' WAREHOUSE = COMPUTE_WH INITIALIZE = ON_SCHEDULE "
        "AS SELECT v FROM s"
    )
    id = table_id(session, "D")

    def refreshed() -> None:
        scheduled.refresh(request(session, id, session.account.state.settle()))

    def skipped() -> None:
        scheduled.record([FailedRefresh(id, session.account.state.settle(), RefreshEnd.SKIPPED)])

    refreshed()
    skipped()
    assert history(session, "D")[-1][1] == "Skipped refreshing because an earlier refresh was still running."
    for _ in range(3):
        refreshed()
        skipped()
    rows = history(session, "D")
    assert [state for state, *_ in rows] == ["SUCCEEDED"] * 4 + ["SKIPPED"]
    assert "4 times" in rows[-1][1] and rows[-1][2] == {"skipped": 4}
    # It kept its lag for a while: what comes then is another story.
    refreshed()
    refreshed()
    skipped()
    assert [state for state, *_ in history(session, "D")].count("SKIPPED") == 2
