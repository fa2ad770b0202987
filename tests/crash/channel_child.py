"""A process that writes numbered rows through channels, from their committed tokens on, until it is done or killed."""

from __future__ import annotations

from typing import Any

import pandas  # noqa: F401  (pyarrow imports it at first use, which takes a second)
import pyarrow as pa

from snowmelt.accounts import open_account
from snowmelt.features.channels import compaction
from snowmelt.ingest import Channel, StreamingIngestClient
from snowmelt.runtime.account import Account
from tests.crash.child import main

BAD = 11
"""Every so many rows have NULL where the table takes none."""
_BATCH = 7


def live(order: dict[str, Any]) -> None:
    with open_account(order["data"]) as account:
        session = account.session()
        session.execute("CREATE TABLE IF NOT EXISTS t (channel VARCHAR, id INT NOT NULL, raw VARCHAR)")
        with StreamingIngestClient("child", connection=session) as client:
            channels = [client.open_channel(name, "t") for name in order["channels"]]
            _send(account, channels, order["rows"])


def _send(account: Account, channels: list[Channel], rows: int) -> None:
    """Turn by turn, one batch each; a commit now and then, and files put together now and then."""
    places = [_after(channel) for channel in channels]
    turn = 0
    while any(place < rows for place in places):
        for index, channel in enumerate(channels):
            numbers = range(places[index], min(places[index] + _BATCH, rows))
            if numbers:
                _append(channel, numbers, turn)
                places[index] = numbers.stop
        turn += 1
        if turn % 3 == 0:
            channels[0].wait_for_flush()
        if turn % 6 == 0:
            _compact(account)


def _append(channel: Channel, numbers: range, turn: int) -> None:
    rows = [
        {"channel": channel.name, "id": None if number % BAD == 0 else number, "raw": str(number)} for number in numbers
    ]
    token = str(numbers[-1])
    if turn % 2:
        channel.append_rows(pa.Table.from_pylist(rows), offset_token=token)
    else:
        channel.insert_rows(rows, token)


def _after(channel: Channel) -> int:
    token = channel.get_latest_committed_offset_token()
    return 0 if token is None else int(token) + 1


def _compact(account: Account) -> None:
    with account.state.read() as state:
        tables = [item for item in state.catalog.objects() if item.name.name == "T"]
    compaction.compact(account, tables[0].id, fewest=2)


if __name__ == "__main__":
    main(live)
