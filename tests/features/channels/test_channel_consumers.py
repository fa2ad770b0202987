"""Streams, dynamic tables, time travel and queries see a channel's rows like any others, also after compaction."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from snowmelt.features.channels import compaction
from snowmelt.ingest import Channel, StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
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


_ZONED = dt.datetime(2024, 2, 28, 12, 30, 15, 123456, dt.timezone(dt.timedelta(hours=2)))
_VALUES = (
    ("NUMBER(10,2)", 1.005, "1.005::FLOAT"), ("NUMBER(10,2)", 2.675, "2.675::FLOAT"),
    ("NUMBER(5,0)", -2.5, "-2.5::FLOAT"), ("NUMBER(38,0)", 1e20, "1e20::FLOAT"),
    ("NUMBER(10,2)", Decimal("-1.005"), "-1.005"), ("INT", Decimal("2.5"), "2.5"),
    ("NUMBER(3,1)", Decimal("99.94"), "99.94"), ("NUMBER(5,2)", 999, "999"), ("FLOAT", 2**53 + 1, "9007199254740993"),
    ("FLOAT", Decimal("0.1"), "0.1"), ("FLOAT", "1e3", "'1e3'"), ("INT", " 42 ", "' 42 '"),
    ("TIME", dt.time(1, 2, 3, 450000), "'01:02:03.45'::TIME"), ("TIME", dt.time(0, 0), "'00:00:00'::TIME"),
    ("TIME(0)", dt.time(1, 2, 3, 450000), "'01:02:03.45'::TIME"),
    ("TIMESTAMP_NTZ", _ZONED, "'2024-02-28 12:30:15.123456 +02:00'::TIMESTAMP_TZ"),
    ("TIMESTAMP_LTZ", _ZONED, "'2024-02-28 12:30:15.123456 +02:00'::TIMESTAMP_TZ"),
    ("TIMESTAMP_TZ", _ZONED, "'2024-02-28 12:30:15.123456 +02:00'::TIMESTAMP_TZ"),
    ("TIMESTAMP_NTZ(3)", _ZONED.astimezone(dt.UTC), "'2024-02-28 10:30:15.123'::TIMESTAMP_NTZ"),
    ("TIMESTAMP_LTZ(0)", _ZONED.astimezone(dt.UTC), "'2024-02-28 10:30:15'::TIMESTAMP_LTZ"),
    ("TIMESTAMP_NTZ", dt.date(2024, 2, 29), "'2024-02-29'::DATE"), ("VARCHAR", 5, "5"), ("VARCHAR", True, "TRUE"),
    ("VARIANT", 5, "PARSE_JSON('5')"), ("VARIANT", 1.5, "PARSE_JSON('1.5')"), ("VARIANT", False, "PARSE_JSON('false')"),
    ("VARIANT", [1, {"a": "ä"}], "PARSE_JSON('[1, {\"a\": \"ä\"}]')"), ("BOOLEAN", "yes", "'yes'"),
    ("BINARY(2)", b"\x01\x02", "TO_BINARY('0102')"), ("DATE", "2024-02-29", "'2024-02-29'"),
)  # fmt: skip


def test_values_are_what_sql_makes_of_them(session: Session) -> None:
    declared = ", ".join(f"c{index} {type_}" for index, (type_, _, _) in enumerate(_VALUES))
    for name in ("by_channel", "by_sql"):
        session.execute(f"CREATE TABLE {name} ({declared})")
    session.execute(f"INSERT INTO by_sql SELECT {', '.join(expression for _, _, expression in _VALUES)}")
    with StreamingIngestClient("test", connection=session) as client:
        channel = client.open_channel("c", "by_channel", on_error="ABORT")
        channel.insert_rows([{f"c{index}": value for index, (_, value, _) in enumerate(_VALUES)}])
        assert channel.wait_for_flush(60)
    ours, theirs = (session.execute(f"SELECT * FROM {name}").rows()[0] for name in ("by_channel", "by_sql"))
    different = [(_VALUES[i], ours[i], theirs[i]) for i in range(len(_VALUES)) if ours[i] != theirs[i]]
    assert not different


def test_values_that_fit_nowhere_say_why(session: Session) -> None:
    session.execute("CREATE TABLE t (n NUMBER(3,1), i INT, d DATE, v VARIANT, b BINARY(2))")
    with StreamingIngestClient("test", connection=session) as client:
        channel = client.open_channel("c", "t")
        bad = [
            {"n": 99.95},
            {"n": 1000},
            {"i": "x"},
            {"d": "2024-02-30"},
            {"v": "{"},
            {"b": b"123"},
            {"n": float("nan")},
        ]
        found = channel.insert_rows([*bad, {"n": 1}])
        assert (found.rows, found.rejected) == (1, len(bad))
        assert [(error.row, error.column) for error in found.errors] == list(enumerate("NNIDVBN"))
