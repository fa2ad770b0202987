"""Streams, dynamic tables, time travel and queries see a channel's rows like any others, also after compaction."""

from __future__ import annotations

from snowmelt.ingest import Channel, StreamingIngestClient
from snowmelt.service.account import Account
from snowmelt.service.channels import compaction
from snowmelt.service.session import Session
from snowmelt.state.model import ObjectKind


def test_consumers_of_a_channels_table(account: Account, session: Session) -> None:
    session.execute("CREATE TABLE t (id INT NOT NULL, grp INT, v VARIANT) CHANGE_TRACKING = TRUE")
    session.execute("CREATE STREAM s ON TABLE t")
    session.execute("CREATE TABLE seen (id INT)")
    session.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL "
        "AS SELECT grp, COUNT(*) AS n, SUM(v:x::INT) AS x FROM t GROUP BY grp"
    )
    with StreamingIngestClient("test", connection=session) as client:
        channel = client.open_channel("c", "t")
        for first in range(0, 60, 10):
            _commit(channel, range(first, first + 10))
        _consume(account, session, 60)
        before = session.execute("SELECT CURRENT_TIMESTAMP()").rows()[0][0]
        _commit(channel, range(60, 70))
        assert compaction.compact(account, _table_id(account, session), fewest=2) == 7
        session.execute("UPDATE t SET grp = 9 WHERE id < 5")
        # Unchanged rows that were moved are no changes, and those that changed are known by their birthplaces.
        shown = session.execute(
            "SELECT METADATA$ACTION, METADATA$ISUPDATE, COUNT(*) FROM s GROUP BY ALL ORDER BY ALL"
        ).rows()
        assert [tuple(row) for row in shown] == [("DELETE", True, 5), ("INSERT", False, 10), ("INSERT", True, 5)]
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
        _check_groups(session)
        past = session.execute("SELECT COUNT(*) FROM t AT (TIMESTAMP => ?)", [before]).rows()[0][0]
        assert past == 60
        channel.insert_rows([{"id": None, "grp": 1}], "bad")
        assert channel.wait_for_flush(60)
        assert [tuple(row) for row in session.execute(
            "SELECT offset_token, column_name, error_code, row_data:grp::INT FROM ERROR_TABLE(t)"
        ).rows()] == [("bad", "ID", "100072", 1)]  # fmt: skip
        history = session.execute(
            "SELECT SUM(rows_inserted), SUM(rows_error_count), MAX(end_offset) FROM "
            "TABLE(INFORMATION_SCHEMA.SNOWPIPE_STREAMING_CHANNEL_HISTORY(TABLE_NAME => 'T', CHANNEL_NAME => 'c'))"
        ).rows()
        assert tuple(history[0]) == (70, 1, "bad")


def _commit(channel: Channel, numbers: range) -> None:
    channel.insert_rows([{"id": n, "grp": n % 3, "v": {"x": n}} for n in numbers], str(numbers[-1]))
    assert channel.wait_for_flush(60)


def _consume(account: Account, session: Session, wanted: int) -> None:
    session.execute("INSERT INTO seen SELECT id FROM s")
    assert session.execute("SELECT COUNT(*), COUNT(DISTINCT id) FROM seen").rows() == [(wanted, wanted)]
    session.execute("ALTER DYNAMIC TABLE d REFRESH")
    _check_groups(session)
    assert compaction.compact(account, _table_id(account, session), fewest=100) == 0


def _check_groups(session: Session) -> None:
    shown = session.execute("SELECT grp, n, x FROM d ORDER BY grp").rows()
    assert shown == session.execute("SELECT grp, COUNT(*), SUM(v:x::INT) FROM t GROUP BY grp ORDER BY grp").rows()


def _table_id(account: Account, session: Session) -> str:
    with account.state.read() as state:
        found = state.catalog.objects([ObjectKind.TABLE], session.database)
    return next(item.id for item in found if item.name.name == "T")


def test_error_table_without_errors_is_empty(session: Session) -> None:
    session.execute("CREATE TABLE t (id INT)")
    assert session.execute("SELECT * FROM ERROR_TABLE(t)").rows() == []
