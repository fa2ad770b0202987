"""One parser for Debezium's envelopes, whichever way they came: from the embedded engine or from a topic of Kafka.

An envelope says what happened to one row: `op`, `before`, `after`, and in `source` where in the log. It comes with or
without its schema (`{"schema": …, "payload": …}`). What is no envelope raises `PoisonError`, and the rest goes on.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

UNAVAILABLE = "__debezium_unavailable_value"
"""What stands for a large value that the source did not write to its log because the change left it alone."""
_UNAVAILABLE_FORMS: tuple[Any, ...] = (
    UNAVAILABLE,
    [UNAVAILABLE],
    base64.b64encode(UNAVAILABLE.encode()).decode(),
    [base64.b64encode(UNAVAILABLE.encode()).decode()],
    list(UNAVAILABLE.encode()),
)
"""As text, as a list of texts, as bytes, and as a list of numbers, which are the codes of its letters."""

_DECODER = json.JSONDecoder(parse_float=Decimal)


def is_unavailable(value: Any) -> bool:
    return value in _UNAVAILABLE_FORMS


class Operation(StrEnum):
    READ = "READ"
    """A row that a snapshot found."""
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"


class SnapshotMark(StrEnum):
    """Whether a change was read by a snapshot, and where in it."""

    NONE = ""
    FIRST = "first"
    MIDDLE = "true"
    LAST_OF_TABLE = "last_in_data_collection"
    LAST = "last"
    INCREMENTAL = "incremental"
    """Read beside the changes, by order."""


class PoisonError(Exception):
    """Something that is no change: it goes to the dead letters, and the next one is looked at."""


@dataclass(frozen=True, slots=True)
class CapturedChange:
    """What happened to one row of the source."""

    operation: Operation
    table: str
    """`schema.table`, as the source spells them."""
    key: dict[str, Any] | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    ts_ms: int | None
    """When the source committed it, or the snapshot read it."""
    lsn: int | None = None
    """The position in the source's log: it grows within a transaction, and in a binlog from one to the next too."""
    transaction: int | None = None
    sequence: str | None = None
    row: int = 0
    """Which of the rows at that position; zero where nobody counts them."""
    snapshot: SnapshotMark = SnapshotMark.NONE
    schema: int = 0
    """The number of the shape that its rows have; 0 when it came without one."""

    @property
    def behind_commit(self) -> int | None:
        """The position of the commit before this change's transaction; None in the first one after a snapshot.

        It grows from transaction to transaction, as the positions of changes do not: long transactions commit behind
        shorter ones that began later.
        """
        if self.sequence is None:
            return None
        try:
            commit, _ = json.loads(self.sequence)
            return int(commit) if commit is not None else None
        except (ValueError, TypeError):
            return None

    @property
    def identity(self) -> str:
        """The same for the same change, however often it is delivered.

        Not the log position alone: one record of the log can hold many rows.
        """
        row = self.key if self.key is not None else [self.before, self.after]
        parts = [self.lsn, self.transaction, self.operation.value, self.table, row, *([self.row] if self.row else [])]
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=9).hexdigest()


_OPERATIONS = {
    "r": Operation.READ,
    "c": Operation.INSERT,
    "u": Operation.UPDATE,
    "d": Operation.DELETE,
    "t": Operation.TRUNCATE,
}
_SNAPSHOTS = {
    "first": SnapshotMark.FIRST,
    "first_in_data_collection": SnapshotMark.MIDDLE,
    "true": SnapshotMark.MIDDLE,
    "last_in_data_collection": SnapshotMark.LAST_OF_TABLE,
    "last": SnapshotMark.LAST,
    "incremental": SnapshotMark.INCREMENTAL,
}


def parse(key: str | None, value: str, schema: int = 0) -> CapturedChange | None:
    """The change that an envelope tells of; None for what is not about a row (transaction borders, messages).

    Raises `PoisonError` when it can't be understood.
    """
    envelope = _payload(_json(value))
    if not isinstance(envelope, dict):
        raise PoisonError("the envelope is not a JSON object")
    operation = envelope.get("op")
    if operation == "m" or (operation is None and "status" in envelope):
        return None
    known = _OPERATIONS.get(operation) if isinstance(operation, str) else None
    if known is None:
        raise PoisonError(f"the envelope has no operation that is known: {operation!r}")
    source = envelope.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("table"), str):
        raise PoisonError("the envelope does not say which table it is about")
    before, after = _row(envelope, "before"), _row(envelope, "after")
    if known in (Operation.READ, Operation.INSERT, Operation.UPDATE) and after is None:
        raise PoisonError(f"an envelope of {known} without the row that it makes")
    keys = _payload(_json(key)) if key else None
    if keys is not None and not isinstance(keys, dict):
        raise PoisonError("the key is not a JSON object")
    if known is Operation.DELETE and before is None and keys is None:
        raise PoisonError("an envelope of DELETE that does not say which row")
    return CapturedChange(
        operation=known,
        table=".".join(part for part in (source.get("schema") or source.get("db"), source["table"]) if part),
        key=keys,
        before=before,
        after=after,
        ts_ms=_whole(source.get("ts_ms")) or _whole(envelope.get("ts_ms")),
        lsn=binlog_position(source.get("file"), source.get("pos")) if "file" in source else _whole(source.get("lsn")),
        transaction=_whole(source.get("txId")),
        sequence=_sequence(source),
        row=_whole(source.get("row")) or 0,
        snapshot=_SNAPSHOTS.get(str(source.get("snapshot")).lower(), SnapshotMark.NONE),
        schema=schema,
    )


def binlog_position(file: Any, position: Any) -> int | None:
    """One number for a position in a binlog: its files are numbered, and of four gigabytes at most."""
    number = str(file).rpartition(".")[2]
    if not number.isdigit() or not isinstance(position, int):
        return None
    return (int(number) << 32) + position


def _sequence(source: dict[str, Any]) -> str | None:
    """What the source says of the order of its changes; of a binlog file, position, row and GTID."""
    if source.get("file"):
        return json.dumps([source["file"], source.get("pos"), source.get("row"), source.get("gtid")])
    return source["sequence"] if isinstance(source.get("sequence"), str) else None


def _json(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except ValueError as error:
        raise PoisonError(f"not JSON: {error}") from None


def _payload(parsed: Any) -> Any:
    """What an envelope with its schema carries; the same for one without."""
    if isinstance(parsed, dict) and parsed.keys() == {"schema", "payload"}:
        return parsed["payload"]
    return parsed


def schema_of(value: str) -> dict[str, Any] | None:
    """The schema that came with an envelope, if one did."""
    parsed = _json(value)
    if isinstance(parsed, dict) and parsed.keys() == {"schema", "payload"} and isinstance(parsed["schema"], dict):
        return parsed["schema"]
    return None


def _row(envelope: dict[str, Any], name: str) -> dict[str, Any] | None:
    """JSON's null is no row: as a VARIANT it would be a value that is not NULL."""
    row = envelope.get(name)
    if row is None:
        return None
    if not isinstance(row, dict):
        raise PoisonError(f"`{name}` of the envelope is not a JSON object")
    return row


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
