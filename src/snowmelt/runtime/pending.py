"""What a transaction is until it is committed or undone: the tables it writes, and what comes true with them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from snowmelt.core.names import ObjectName
from snowmelt.runtime.stream_windows import StreamWindow
from snowmelt.state.model import CatalogObject, TableDefinition, TableVersion
from snowmelt.state.store import StateTransaction
from snowmelt.storage.commits import CommitTag


@dataclass(frozen=True, slots=True)
class PendingMark:
    """Where a table stood in a transaction."""

    version: int
    rows: int
    bytes: int
    opened: int = 0


@dataclass(slots=True)
class PendingTable:
    """A table that the transaction holds, and may have written."""

    table: CatalogObject
    base: TableVersion
    """What was visible when the transaction took the table."""
    version: int
    """What the transaction itself sees."""
    rows: int
    bytes: int
    operation: str = ""
    query_id: str | None = None
    replaced: bool = False
    """A statement of the transaction wrote all rows anew, and may have been undone since."""
    undone: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of versions that cancel out: statements that failed, each with its undoing."""
    opened: int = 1
    """How many times a statement of the transaction has taken the table for writing."""

    @property
    def mark(self) -> PendingMark:
        return PendingMark(self.version, self.rows, self.bytes, self.opened)

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition


@dataclass(frozen=True, slots=True)
class Savepoint:
    """Where a transaction stood before a statement."""

    tables: Mapping[str, PendingMark] = field(default_factory=dict)
    """Where every table stood that it held."""
    at_commit: int = 0
    """How many actions it had put off until its commit."""


@dataclass(slots=True)
class Transaction:
    id: str
    """A number, as text."""
    explicit: bool
    """Begun with BEGIN: lasts until COMMIT or ROLLBACK. Otherwise it is one statement long."""
    pending: dict[str, PendingTable] = field(default_factory=dict)
    at_commit: list[Callable[[StateTransaction], None]] = field(default_factory=list)
    """Everything else that must become true at the same moment, such as stream offsets and load history."""
    after_commit: list[Callable[[], None]] = field(default_factory=list)
    """What follows once everything is visible, such as deleting files that were loaded. Must not raise."""
    after_rollback: list[Callable[[BaseException | None], None]] = field(default_factory=list)
    """What follows once nothing of it remains: told of the error that was the cause, if one was. Must not raise."""
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    started_at: datetime | None = None
    snapshot_at: datetime | None = None
    """For an explicit transaction: the time of the newest commit before it began."""
    windows: dict[str, StreamWindow] = field(default_factory=dict)
    """By id, the streams that it read; it reads the same from them each time."""
    aborted: bool = False
    """Rolled back by an error, as TRANSACTION_ABORT_ON_ERROR asks; nothing runs in it before COMMIT or ROLLBACK."""
    task_id: str | None = None
    """The task whose statements write in it."""
    unflushed: list[Path] = field(default_factory=list)
    """Files that it relies on once it is committed, and that no table's log names."""
    quarantined: dict[ObjectName, int] = field(default_factory=dict)
    """By table, the rows that its quality checks took out while it was committed."""

    def tag(self, query_id: str | None) -> CommitTag:
        return CommitTag(self.id, query_id)

    def savepoint(self) -> Savepoint:
        return Savepoint({table_id: item.mark for table_id, item in self.pending.items()}, len(self.at_commit))
