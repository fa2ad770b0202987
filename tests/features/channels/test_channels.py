"""Channels through the client's API, in the process and over HTTP."""

from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal
from typing import Any

import httpx
import pyarrow as pa
import pytest

from snowmelt.core.errors import SnowmeltError, state_failed
from snowmelt.features.channels.committing import application
from snowmelt.features.channels.service import Channels
from snowmelt.ingest import Channel
from snowmelt.ingest.channels.errors import ChannelInvalidError
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.run import serving_beside
from tests.features.channels.conftest import Lake

SOON = 60.0
"""Seconds that nothing here takes, even on a busy machine."""


def committed(channel: Channel) -> str | None:
    assert channel.wait_for_flush(SOON)
    return channel.get_latest_committed_offset_token()


def test_rows_become_visible_with_their_token(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT, name VARCHAR)")
    channel = both.client().open_channel("c", "t")
    assert channel.get_latest_committed_offset_token() is None
    answer = channel.append_rows(pa.table({"id": [1, 2], "name": ["a", "b"]}), end_offset_token="2")
    assert (answer.rows, answer.rejected) == (2, 0)
    channel.insert_rows([{"id": 3, "name": "c"}], "3")
    channel.insert_row({"id": 4, "name": "d"}, "4")
    assert channel.wait_for_commit("4", SOON)
    assert channel.get_latest_committed_offset_token() == "4"
    assert [tuple(row.values()) for row in both.rows("T")] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    status = channel.get_channel_status()
    assert (status.rows_inserted_count, status.rows_error_count, status.pending_rows) == (4, 0, 0)
    assert status.status_code == "SUCCESS"
    assert status.rows_per_second > 0
    assert status.bytes_per_second > 0


def test_every_type(both: Lake) -> None:
    both.run(
        "CREATE TABLE t (id INT, n NUMBER(10,2), big NUMBER(38,0), f FLOAT, s VARCHAR(5), b BOOLEAN, d DATE, t TIME, "
        "ntz TIMESTAMP_NTZ, ltz TIMESTAMP_LTZ, short TIMESTAMP_NTZ(3), bin BINARY, v VARIANT, o OBJECT, a ARRAY)"
    )
    channel = both.client().open_channel("c", "t", on_error="ABORT")
    at = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
    row = {
        "id": 1, "n": Decimal("1.005"), "big": 12345678901234567890123456789012345678, "f": 1.5, "s": "hällo",
        "b": True, "d": dt.date(2024, 2, 29), "t": dt.time(12, 30, 15, 120000), "ntz": at,
        "ltz": at.replace(tzinfo=dt.UTC), "short": at, "bin": b"\x00\xff",
        "v": {"a": [1, 2.5, Decimal("0.10"), None, "x"], "b": {"c": True}}, "o": {"k": 1}, "a": [1, "two"],
    }  # fmt: skip
    as_text = {
        "id": "2", "n": "1.00", "big": "7", "f": "2.5", "s": "x", "b": "true", "d": "2024-02-29", "t": "12:30:15",
        "ntz": "2024-02-29 12:30:15.123456", "ltz": "2024-02-29 12:30:15", "v": '{"a": 1}', "o": '{"k": 1}', "a": "[1]",
    }  # fmt: skip
    other = {"id": 3, "n": 7.125, "big": 9, "f": 3, "b": False, "ntz": at.replace(tzinfo=dt.UTC), "v": 5}
    channel.insert_rows([row, as_text, other], "1")
    assert committed(channel) == "1"
    first, second, third = both.rows("T")
    assert first == {
        "ID": 1, "N": Decimal("1.01"), "BIG": Decimal(row["big"]), "F": 1.5, "S": "hällo", "B": True,
        "D": dt.date(2024, 2, 29), "T": "12:30:15.12", "NTZ": at, "LTZ": at.replace(tzinfo=dt.UTC),
        "SHORT": at.replace(microsecond=123000), "BIN": b"\x00\xff",
        "V": {"a": [1, Decimal("2.5"), Decimal("0.10"), None, "x"], "b": {"c": True}}, "O": {"k": 1}, "A": [1, "two"],
    }  # fmt: skip
    assert (second["N"], second["BIG"], second["F"], second["B"]) == (Decimal("1.00"), 7, 2.5, True)
    assert (second["NTZ"], second["V"], second["A"], second["T"]) == (at, {"a": 1}, [1], "12:30:15")
    assert (third["N"], third["F"], third["B"], third["NTZ"], third["V"]) == (Decimal("7.13"), 3.0, False, at, 5)


def test_what_a_row_leaves_out_gets_its_default(lake: Lake) -> None:
    lake.run(
        "CREATE TABLE t (id INT AUTOINCREMENT, kind VARCHAR DEFAULT 'new', at TIMESTAMP_NTZ DEFAULT "
        "CURRENT_TIMESTAMP(), note VARCHAR DEFAULT 'none')"
    )
    channel = lake.client().open_channel("c", "t")
    channel.insert_rows([{"note": "a"}, {"note": None}, {"kind": "old"}, {}], "1")
    assert committed(channel) == "1"
    found = lake.rows("T")
    assert sorted(row["ID"] for row in found) == [1, 2, 3, 4]
    assert sorted((row["KIND"], row["NOTE"] or "") for row in found) == [
        ("new", ""), ("new", "a"), ("new", "none"), ("old", "none")
    ]  # fmt: skip
    assert all(row["AT"] is not None for row in found)


def test_opening_again_fences_the_former_writer(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT)")
    former = both.client().open_channel("c", "t")
    former.insert_rows([{"id": 1}], "1")
    assert committed(former) == "1"
    former.insert_rows([{"id": 2}], "2")
    current = both.client().open_channel("c", "t")
    token = current.get_latest_committed_offset_token()
    assert token in ("1", "2"), "what was not committed by then never will be"
    with pytest.raises(ChannelInvalidError, match=r"another writer|not open"):
        former.insert_rows([{"id": 3}], "3")
    current.insert_rows([{"id": 4}], "4")
    assert committed(current) == "4"
    assert both.column("T", "ID") == ([1, 4] if token == "1" else [1, 2, 4])
    assert current.get_channel_status().client_sequencer == 2


def test_a_token_of_the_writers_choice(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    channel = lake.client().open_channel("c", "t", offset_token="lsn-7")
    assert channel.get_latest_committed_offset_token() == "lsn-7"


def test_abort_refuses_the_batch_and_names_row_and_column(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT NOT NULL, name VARCHAR(3))")
    channel = both.client().open_channel("c", "t", on_error="ABORT")
    with pytest.raises(SnowmeltError, match="row 1, column ID") as refused:
        channel.insert_rows([{"id": 1, "name": "a"}, {"id": None, "name": "b"}], "1")
    assert refused.value.code == "100072"
    with pytest.raises(SnowmeltError, match=r"row 0, column NAME") as refused:
        channel.insert_rows([{"id": 1, "name": "long"}], "1")
    assert refused.value.code == "100074"
    with pytest.raises(SnowmeltError, match=r"Extra columns: \[NAM\]"):
        channel.insert_rows([{"id": 1, "nam": "a"}], "1")
    channel.insert_rows([{"id": 2, "name": "b"}], "2")
    assert committed(channel) == "2"
    assert both.column("T", "ID") == [2]


def test_abort_ends_a_channel_of_single_rows(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT NOT NULL)")
    channel = lake.client().open_channel("c", "t", on_error="ABORT")
    channel.insert_row({"id": 1}, "1")
    assert committed(channel) == "1"
    channel.insert_row({"id": None}, "2")
    with pytest.raises(SnowmeltError, match="column ID"):
        channel.wait_for_commit("2", SOON)
    with pytest.raises(SnowmeltError, match="column ID"):
        channel.insert_row({"id": 3}, "3")
    assert lake.column("T", "ID") == [1]


def test_continue_keeps_bad_rows_in_the_error_table(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT NOT NULL, name VARCHAR(3))")
    channel = both.client().open_channel("c", "t", on_error="CONTINUE")
    answer = channel.insert_rows(
        [{"id": 1, "name": "a"}, {"id": None, "name": "b"}, {"id": 3, "name": "long"}, {"id": 4, "more": 1.5}], "9"
    )
    assert (answer.rows, answer.rejected) == (1, 3)
    assert answer.errors[0].column == "ID"
    channel.insert_row({"id": 5}, "10")
    channel.insert_row({"id": None, "name": "x"}, "11")
    assert committed(channel) == "11"
    assert both.column("T", "ID") == [1, 5]
    status = channel.get_channel_status()
    assert (status.rows_inserted_count, status.rows_error_count) == (2, 4)
    assert status.last_error_offset_token_upper_bound == "11"
    assert "NULL result" in (status.last_error_message or "")
    found = [
        (row["OFFSET_TOKEN"], row["COLUMN_NAME"], row["ERROR_CODE"], row["ROW_DATA"])
        for row in both.rows("T_CHANNEL_ERRORS")
    ]
    assert sorted(found, key=str) == sorted(
        [
            ("9", "ID", "100072", {"id": None, "name": "b"}),
            ("9", "NAME", "100074", {"id": 3, "name": "long"}),
            ("9", None, "0004", {"id": 4, "more": Decimal("1.5")}),
            ("11", "ID", "100072", {"id": None, "name": "x"}),
        ],
        key=str,
    )
    assert {row["CHANNEL_NAME"] for row in both.rows("T_CHANNEL_ERRORS")} == {"c"}


def test_new_columns_are_added_where_the_channel_may(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT)")
    channel = both.client().open_channel("c", "t", on_error="ABORT", schema_evolution=True)
    channel.insert_rows([{"id": 1, "name": "a", "nothing": None}], "1")
    channel.insert_rows([{"id": 2, "price": Decimal("1.25"), "tags": ["x"], '"Mixed"': True}], "2")
    assert committed(channel) == "2"
    columns = {row[0]: row[1] for row in both.run("DESCRIBE TABLE t")}
    assert columns == {
        "ID": "NUMBER(38,0)", "NAME": "VARCHAR(16777216)", "PRICE": "NUMBER(38,2)", "TAGS": "VARIANT",
        "Mixed": "BOOLEAN",
    }  # fmt: skip
    assert both.rows("T")[1] == {"ID": 2, "NAME": None, "PRICE": Decimal("1.25"), "TAGS": ["x"], "Mixed": True}


def test_a_table_that_gets_columns_meanwhile(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    channel = lake.client().open_channel("c", "t")
    holder = lake.account.session()
    holder.execute("BEGIN")
    holder.execute("INSERT INTO t VALUES (0)")
    channel.insert_rows([{"id": 1}], "1")
    channel.initiate_flush()
    holder.execute("COMMIT")
    lake.run("ALTER TABLE t ADD COLUMN name VARCHAR DEFAULT 'n'")
    channel.insert_rows([{"id": 2, "name": "x"}], "2")
    assert committed(channel) == "2"
    assert [(row["ID"], row["NAME"]) for row in lake.rows("T")][-1] == (2, "x")
    assert lake.column("T", "ID") == [0, 1, 2]


def test_rows_wait_for_a_transaction_that_holds_the_table(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    channel = lake.client().open_channel("c", "t")
    holder = lake.account.session()
    holder.execute("BEGIN")
    holder.execute("INSERT INTO t VALUES (1)")
    channel.insert_rows([{"id": 2}], "2")
    channel.initiate_flush()
    assert not channel.wait_for_commit("2", timeout_seconds=0.2)
    holder.execute("ROLLBACK")
    assert channel.wait_for_commit("2", SOON)
    assert lake.column("T", "ID") == [2]


def test_channels_of_a_table_share_a_commit(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    client = lake.client()
    one, two = client.open_channel("one", "t"), client.open_channel("two", "t")
    holder = lake.account.session()
    holder.execute("BEGIN")
    holder.execute("INSERT INTO t VALUES (0)")
    one.insert_rows([{"id": 1}], "first")
    one.initiate_flush()
    # The first batch may be on its way alone; the others are taken together once the table is free.
    for number in range(2, 6):
        (one if number % 2 else two).insert_rows([{"id": number}], str(number))
    holder.execute("COMMIT")
    assert (committed(one), committed(two)) == ("5", "4")
    assert lake.column("T", "ID") == [0, 1, 2, 3, 4, 5]
    assert lake.version("T") <= 3, "one commit for the transaction, and at most two for five batches"
    with lake.account.state.read() as state:
        for channel in state.channels.of_tables([lake.table("T").id]):
            found = lake.account.store.app_version(lake.location("T"), application(channel.id))
            assert found == channel.row_sequencer, "the Delta log tells the same as the state store"


def test_a_table_dropped_under_its_channels(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT)")
    client = both.client()
    channel = client.open_channel("c", "t")
    channel.insert_rows([{"id": 1}], "1")
    assert committed(channel) == "1"
    assert [row[1] for row in both.run("SHOW CHANNELS IN TABLE t")] == ["c"]
    both.run("DROP TABLE t")
    with pytest.raises(ChannelInvalidError, match="dropped"):
        channel.insert_rows([{"id": 2}], "2")
    assert both.run("SHOW CHANNELS IN ACCOUNT") == []
    both.run("CREATE TABLE t (id INT)")
    assert client.open_channel("c", "t").get_latest_committed_offset_token() is None


def test_show_channels_statuses_and_drop(both: Lake) -> None:
    both.run("CREATE TABLE t (id INT)")
    client = both.client()
    for name in ("b", "a"):
        with client.open_channel(name, "snowmelt.public.t") as channel:
            channel.insert_rows([{"id": 1}], f"{name}1")
    shown = both.session.execute("SHOW CHANNELS LIKE '%' IN SCHEMA public")
    assert [column.name for column in shown.columns] == [
        "created_on", "name", "database_name", "schema_name", "table_name", "client_sequencer", "row_sequencer",
        "offset_token", "parent_name", "parent_domain",
    ]  # fmt: skip
    assert [tuple(row[1:]) for row in shown.rows()] == [
        (name, "SNOWMELT", "PUBLIC", "T", "1", "1", f"{name}1", "T", "TABLE") for name in ("a", "b")
    ]
    assert client.get_latest_committed_offset_tokens("t", ["a", "x"]) == {"a": "a1", "x": None}
    client.drop_channel("a", "t")
    assert list(client.get_channel_statuses("t", ["a", "b"])) == ["b"]
    with pytest.raises(SnowmeltError, match="does not exist"):
        client.drop_channel("a", "t")
    assert both.column("T", "ID") == [1, 1], "rows stay"


def test_closed_is_closed(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    client = lake.client()
    channel = client.open_channel("c", "t")
    channel.insert_row({"id": 1}, "1")
    channel.close()
    assert lake.column("T", "ID") == [1], "closing commits what was sent"
    with pytest.raises(SnowmeltError, match="closed"):
        channel.insert_row({"id": 2})
    client.close()
    with pytest.raises(SnowmeltError, match="closed"):
        client.open_channel("c", "t")


def test_closing_the_account_commits_what_was_taken(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    channel = lake.client().open_channel("c", "t")
    channel.insert_rows([{"id": 1}], "1")
    lake.account.services[Channels].stop(SOON)
    assert lake.column("T", "ID") == [1]


def test_threads_share_a_channel(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    channel = lake.client().open_channel("c", "t")

    def send(first: int) -> None:
        for number in range(first, first + 500):
            channel.insert_row({"id": number})

    threads = [threading.Thread(target=send, args=(number * 500,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert channel.wait_for_flush(SOON)
    assert sorted(lake.column("T", "ID")) == list(range(2000))


@pytest.mark.parametrize("name", ["missing", "a view", "x.y.z.t", ""])
def test_tables_that_can_not_be_written(both: Lake, name: str) -> None:
    with pytest.raises(SnowmeltError):
        both.client().open_channel("c", name)


def test_without_the_privilege_there_is_no_channel(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT)")
    lake.run("CREATE ROLE writer")
    lake.run("CREATE USER ann PASSWORD = 'correct horse battery'")
    lake.run("GRANT ROLE writer TO USER ann")
    lake.run("GRANT USAGE ON DATABASE snowmelt TO ROLE writer")
    lake.run("GRANT USAGE ON SCHEMA public TO ROLE writer")
    lake.run("GRANT SELECT ON TABLE t TO ROLE writer")
    ann = lake.account.session(user="ANN", role="WRITER")
    lake.session = ann
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        lake.client().open_channel("c", "t")
    admin = lake.account.session()
    admin.execute("GRANT INSERT ON TABLE t TO ROLE writer")
    channel = lake.client().open_channel("c", "t", schema_evolution=True)
    channel.insert_rows([{"id": 1}], "1")
    assert committed(channel) == "1"
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        channel.insert_rows([{"id": 2, "more": 1}], "2")
    for container in ("SCHEMA public", "DATABASE snowmelt"):
        admin.execute(f"REVOKE USAGE ON {container} FROM ROLE writer")
        with pytest.raises(SnowmeltError, match="does not exist or not authorized"):
            channel.insert_rows([{"id": 2}], "2")
        admin.execute(f"GRANT USAGE ON {container} TO ROLE writer")
    admin.execute("REVOKE INSERT ON TABLE t FROM ROLE writer")
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        channel.insert_rows([{"id": 2}], "2")


def test_a_table_that_evolves_takes_new_columns_from_a_role_that_may(lake: Lake) -> None:
    lake.run("CREATE TABLE t (id INT) ENABLE_SCHEMA_EVOLUTION = TRUE")
    lake.run("CREATE USER ann")
    lake.run("CREATE ROLE writer")
    lake.run("GRANT ROLE writer TO USER ann")
    lake.run("GRANT USAGE ON DATABASE snowmelt TO ROLE writer")
    lake.run("GRANT USAGE ON SCHEMA public TO ROLE writer")
    lake.run("GRANT INSERT ON TABLE t TO ROLE writer")
    admin = lake.account.session()
    lake.session = lake.account.session(user="ANN", role="WRITER")
    channel = lake.client().open_channel("c", "t")
    channel.insert_rows([{"id": 1, "more": 1}], "1")
    assert committed(channel) == "1"
    assert channel.get_channel_status().rows_error_count == 1, "without the right, as without the parameter"
    admin.execute("GRANT EVOLVE SCHEMA ON TABLE t TO ROLE writer")
    channel.insert_rows([{"id": 2, "more": 5}], "2")
    assert committed(channel) == "2"
    lake.session = admin
    assert [tuple(row.values()) for row in lake.rows("T")] == [(2, 5)]
    admin.execute("ALTER TABLE t SET ENABLE_SCHEMA_EVOLUTION = FALSE")
    channel.insert_rows([{"id": 3, "again": 1}], "3")
    assert committed(channel) == "3"
    assert channel.get_channel_status().rows_error_count == 2


def test_a_table_that_evolves_takes_rows_without_a_value_that_it_asked_for(lake: Lake) -> None:
    def not_null() -> list[str]:
        found = lake.session.execute("DESCRIBE TABLE t")
        at = [column.name for column in found.columns].index("null?")
        return [row[0] for row in found.rows() if row[at] == "N"]

    lake.run(
        "CREATE TABLE t (id INT NOT NULL, a INT NOT NULL, b INT NOT NULL DEFAULT 7, k INT PRIMARY KEY NOT NULL)"
        " ENABLE_SCHEMA_EVOLUTION = TRUE"
    )
    channel = lake.client().open_channel("c", "t")
    channel.insert_rows([{"id": 1, "k": 1}, {"id": 2, "k": 2, "a": 1, "b": None}], "1")
    assert committed(channel) == "1"
    assert channel.get_channel_status().rows_error_count == 0
    assert [tuple(row.values()) for row in lake.rows("T")] == [(1, None, 7, 1), (2, 1, None, 2)]
    assert not_null() == ["ID", "K"]
    # A primary key holds its columns, and a table that does not evolve all of them.
    channel.insert_rows([{"id": 3}], "2")
    lake.run("ALTER TABLE t SET ENABLE_SCHEMA_EVOLUTION = FALSE")
    channel.insert_rows([{"k": 4}], "3")
    assert committed(channel) == "3"
    assert channel.get_channel_status().rows_error_count == 2
    assert not_null() == ["ID", "K"]


def test_an_answer_that_gets_lost_is_asked_for_again(lake: Lake) -> None:
    server = HttpServer(lake.account, load_credentials(lake.account.data_dir)[0])
    lost: list[str] = []

    def lose(response: httpx.Response) -> None:
        if response.request.url.path.endswith("/rows") and len(lost) < 2:
            lost.append(response.request.url.path)
            raise httpx.ReadError("the connection broke before the answer came")

    lake.run("CREATE TABLE t (id INT)")
    with serving_beside(server, Address(port=0)) as port:
        lake.url = f"http://127.0.0.1:{port}"
        client = lake.client()
        assert client._remote is not None
        client._remote._http.event_hooks = {"response": [lose]}
        with client.open_channel("c", "t") as channel:
            channel.insert_rows([{"id": 1}], "1")
            channel.insert_rows([{"id": 2}], "2")
            assert committed(channel) == "2"
    assert len(lost) == 2
    assert lake.column("T", "ID") == [1, 2], "the server knew the batch that came again"


def test_a_commit_whose_end_is_not_heard_of_counts_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    flip = lake.account.transactions._flip
    failed: list[bool] = []

    def interrupted(transaction: Any, changed: Any) -> None:
        flip(transaction, changed)
        if not failed:
            failed.append(True)
            raise state_failed("the connection broke after COMMIT was sent")

    lake.run("CREATE TABLE t (id INT)")
    channel = lake.client().open_channel("c", "t")
    monkeypatch.setattr(lake.account.transactions, "_flip", interrupted)
    for number in range(3):
        channel.insert_rows([{"id": number}], str(number))
        assert committed(channel) == str(number)
    assert failed
    assert lake.column("T", "ID") == [0, 1, 2]
    assert channel.get_channel_status().rows_inserted_count == 3
