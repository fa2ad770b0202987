"""Dead letters that are still open: sent the way once more, or set aside for good. Either way they are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from snowmelt.core.names import literal
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.records import Record

_COLUMNS = "flow, reason, record, origin, source_position, run_id, loaded_at"


@dataclass(frozen=True, slots=True)
class Letter:
    flow: str
    reason: str
    record: Record
    position: str

    @property
    def id(self) -> str:
        """The id by which people name the letter."""
        text = json.dumps([self.flow, self.position, self.reason], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def open_letters(connection: SqlConnection, table: str) -> list[Letter]:
    rows = connection.execute(
        f"SELECT flow, reason, TO_JSON(record), source_position FROM {table} ORDER BY loaded_at, flow, source_position"
    ).fetchall()
    return [Letter(flow, reason, json.loads(record), position) for flow, reason, record, position in rows]


def chosen_letters(letters: Sequence[Letter], ids: Sequence[str]) -> list[Letter]:
    """The letters that are named, or all. Raises `KeyError` for an id that no open letter has."""
    known = {letter.id: letter for letter in letters}
    return [known[name] for name in ids] if ids else list(letters)


def settle_letters(connection: SqlConnection, table: str, letters: Sequence[Letter], how: str, who: str) -> None:
    """From the open letters to `settled_letters`, in one transaction: none is in both, and none is lost."""
    for letter in letters:
        found = " AND ".join((
            f"flow = {literal(letter.flow)}", f"source_position = {literal(letter.position)}",
            f"reason = {literal(letter.reason)}",
        ))  # fmt: skip
        connection.execute("BEGIN")
        connection.execute(
            f"INSERT INTO settled_letters ({_COLUMNS}, settled, settled_by, settled_at) "
            f"SELECT {_COLUMNS}, {literal(how)}, {literal(who)}, CURRENT_TIMESTAMP() FROM {table} WHERE {found}"
        )
        connection.execute(f"DELETE FROM {table} WHERE {found}")
        connection.execute("COMMIT")


def replay_letters(
    connection: SqlConnection, table: str, letters: Sequence[Letter], send: Callable[[Letter], str | None], who: str
) -> dict[str, str]:
    """`send` gives a record the way once more, and says why it is still wrong, or None. Those that are, by their id."""
    failed: dict[str, str] = {}
    for letter in letters:
        reason = send(letter)
        if reason is None:
            settle_letters(connection, table, [letter], "replayed", who)
        else:
            failed[letter.id] = reason
    return failed
