"""Statements that ran when a process ended."""

from __future__ import annotations

from pathlib import Path

from snowmelt.accounts import open_account


def test_the_history_says_that_they_failed(tmp_path: Path) -> None:
    with open_account(tmp_path) as account:
        account.session().execute("SELECT 1")
        (record,) = account.journal.list(1)
        account.journal.start(record.model_copy(update={"query_id": "left", "status": "running", "end_time": None}))
    with open_account(tmp_path) as account:
        found = account.session().execute(
            "SELECT execution_status, error_code, error_message, end_time IS NOT NULL"
            " FROM TABLE(snowmelt.information_schema.query_history()) WHERE query_id = 'left'"
        )
        expected = ("FAILED_WITH_ERROR", 605, "The process ended while the statement ran.", True)
        assert [tuple(row) for row in found.rows()] == [expected]
