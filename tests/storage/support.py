"""What the storage tests share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from snowmelt.core import types
from snowmelt.state.model import Column
from snowmelt.storage.schema import arrow_schema
from snowmelt.storage.table import CommitTag, DeltaStore
from snowmelt.storage.variant import decode, encode_json

TAG = CommitTag("transaction-1", "query-1")
COLUMNS = (
    Column(name="ID", type=types.INTEGER, nullable=False),
    Column(name="NAME", type=types.VARCHAR),
    Column(name="AMOUNT", type=types.number(12, 2)),
    Column(name="DOC", type=types.VARIANT),
    Column(name="SEEN", type=types.TIMESTAMP_NTZ),
    Column(name="AT", type=types.TIMESTAMP_TZ),
)
SMALL = (COLUMNS[0], COLUMNS[1])


def rows(*given: Mapping[str, Any], columns: tuple[Column, ...] = COLUMNS) -> pa.Table:
    """Rows of a table; DOC is given as JSON text, and what is not given is NULL."""

    def stored(name: str, value: Any) -> Any:
        if name == "DOC" and value is not None:
            metadata, encoded = encode_json(value)
            return {"metadata": metadata, "value": encoded}
        return value

    schema = arrow_schema(columns)
    return pa.Table.from_pylist(
        [{name: stored(name, row.get(name)) for name in schema.names} for row in given], schema=schema
    )


def small(*pairs: tuple[int, str | None]) -> pa.Table:
    return rows(*({"ID": key, "NAME": name} for key, name in pairs), columns=SMALL)


def names(store: DeltaStore, location: str, version: int | None = None) -> list[tuple[int, str | None]]:
    found = store.read(location, store.latest_version(location) if version is None else version, ["ID", "NAME"])
    return sorted(((row["ID"], row["NAME"]) for row in found.to_pylist()), key=repr)


def feed(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The change feed as a multiset of (change, version, ID, NAME, decoded DOC)."""
    return Counter(
        (row["_change_type"], row["_commit_version"], row["ID"], row["NAME"], repr(document(row.get("DOC"))))
        for row in table.to_pylist()
    )


def document(stored: Mapping[str, bytes] | None) -> Any:
    return "NULL" if stored is None else decode(stored["metadata"], stored["value"])
