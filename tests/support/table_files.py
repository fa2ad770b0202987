"""The files of a table, as they lie on disk."""

from __future__ import annotations

import pyarrow.parquet as pq

from snowmelt.runtime.account import Account
from snowmelt.storage.snapshot import DataFile
from tests.runtime.transactions.seeing import location


def live_files(account: Account, name: str) -> tuple[DataFile, ...]:
    """What the newest version consists of, in its order."""
    where = location(account, name)
    return account.store.files(where, account.store.latest_version(where)).files


def files_on_disk(account: Account, name: str) -> int:
    """Of any version."""
    return len(list(account.store.root.path(location(account, name)).glob("*.parquet")))


def rows_in_order(account: Account, name: str, column: str = "A") -> list[int]:
    """In the order in which the table's files have them."""
    return [row for file in live_files(account, name) for row in _rows_in(file.uri, column)]


def _rows_in(uri: str, column: str) -> list[int]:
    with pq.ParquetFile(uri.removeprefix("file://")) as opened:
        return [int(value) for value in opened.read([column]).column(0).to_pylist()]
