"""What changed in a source between two of its versions: rows with weights, read from the change feed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.ivm.algebra import WEIGHT
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader
from snowmelt.storage.feed import CHANGE_TYPE
from snowmelt.storage.grouping import grouped

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_MOST_KEPT = 16
_KEPT_BYTES = 1_000_000
"""Of one; larger ones are worth less than the memory."""
_Key = tuple[str, str, tuple[tuple[int, int], ...], tuple[str, ...]]
_Commits = tuple[str, tuple[tuple[int, int], ...]]
"""A table's folder, and which of its commits."""
_MOST_COUNTS = 256
_CAME = pa.array(["insert", "update_postimage"])


@dataclass(frozen=True, slots=True)
class ChangeSet:
    rows: pa.Table
    """The columns asked for, in stored form, and the weight."""
    inserts_only: bool


class ChangeSets:
    """The small change sets that were read lately: a commit is read once for all tables that it makes due.

    What versions of a table changed is always the same, so nothing here is ever out of date.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, ChangeSet] = OrderedDict()
        self._counts: OrderedDict[_Commits, int] = OrderedDict()

    def count(self, account: Account, location: str, ranges: Sequence[tuple[int, int]]) -> int:
        """About how many rows `read` would give; 0 where counting them would take long."""
        key = (location, tuple(ranges))
        with self._lock:
            found = self._counts.get(key)
        if found is None:
            found = account.store.rows_changed(location, ranges) or 0
            with self._lock:
                self._counts[key] = found
                while len(self._counts) > _MOST_COUNTS:
                    self._counts.popitem(last=False)
        return found

    def read(
        self, account: Account, state: StateReader, table: CatalogObject, names: Sequence[str],
        versions: tuple[int, int], limit: int,
    ) -> ChangeSet | None:  # fmt: skip
        """The changes after the first version up to the second; None when they are more than `limit` rows."""
        definition = table.definition
        assert isinstance(definition, TableDefinition)
        ranges = tuple(state.versions.change_ranges(table.id, *versions))
        key = (table.id, definition.location, ranges, tuple(names))
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = _read(account, definition.location, ranges, names, limit)
        if found is not None and found.rows.nbytes <= _KEPT_BYTES:
            with self._lock:
                self._kept[key] = found
                self._kept.move_to_end(key)
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
        return found


def _read(
    account: Account, location: str, ranges: Sequence[tuple[int, int]], names: Sequence[str], limit: int
) -> ChangeSet | None:
    reader = account.store.changes(location, ranges, names)
    schema = pa.schema([reader.schema.field(name) for name in names])
    parts: list[pa.Table] = []
    count = 0
    for batch in reader:
        count += batch.num_rows
        if count > limit:
            return None
        came = pc.is_in(batch.column(CHANGE_TYPE), value_set=_CAME)
        weight = pc.if_else(came, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
        rows = pa.Table.from_batches([batch]).select(list(names))
        parts.append(rows.append_column(WEIGHT, weight))
    empty = pa.schema([*schema, pa.field(WEIGHT, pa.int64())]).empty_table()
    return _netted(pa.concat_tables([empty, *parts]), names)


def _netted(rows: pa.Table, names: Sequence[str]) -> ChangeSet:
    """What came and went again is gone, where the columns can be compared."""
    if not pc.any(pc.less(rows.column(WEIGHT), 0)).as_py():
        return ChangeSet(rows, inserts_only=True)
    if names and all(_comparable(rows.schema.field(name).type) for name in names):
        summed = grouped(rows, names).aggregate([(WEIGHT, "sum")])
        weights = summed.column(f"{WEIGHT}_sum")
        rows = summed.select(list(names)).append_column(WEIGHT, weights).filter(pc.not_equal(weights, 0))
    return ChangeSet(rows, inserts_only=not pc.any(pc.less(rows.column(WEIGHT), 0)).as_py())


def _comparable(type_: pa.DataType) -> bool:
    return not pa.types.is_nested(type_)
