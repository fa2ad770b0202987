"""Places of sources that are read by a change column and a key, or as a whole, whatever gives the records."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow.compute as pc

from snowmelt.core import errors
from snowmelt.extract_load.records import Batch, Record, Rejected, Rows, Whole, rows_of, together
from snowmelt.extract_load.sources.base import read_json_place

Given = Rows | Sequence[Record]


def parts(given: Given, size: int) -> Iterator[Rows]:
    rows = rows_of(given)
    for start in range(0, len(rows), size):
        yield rows.slice(start, size)


def key_positions(rows: Rows, key: Sequence[str]) -> Sequence[str] | Callable[[int], str]:
    """Of records that have a key, for people. Made of those that somebody asks for."""

    def position(index: int) -> str:
        return key_position(rows.record(index), key)

    return position if key else ()


def key_position(record: Record, key: Sequence[str]) -> str:
    return ", ".join(f"{name}={record.get(name)}" for name in key)


def undivided(batches: Iterator[Rows], column: str) -> Iterator[Rows]:
    """Batches that end where the column's value changes: without a key, nothing else tells rows of one value apart."""
    held = Rows([])
    for rows in batches:
        held = together([held, rows]) if len(held) else rows
        values = held.values(column)
        whole = sum(value != values[-1] for value in values)
        if whole:
            yield held.slice(0, whole)
            held = held.slice(whole, len(held) - whole)
    if len(held):
        yield held


def whole_batches(
    read: Callable[[], Iterator[Rows]], after: str | None, origin: str, key: Sequence[str] = (),
    rejected: Sequence[Rejected] = (),
) -> Iterator[Batch]:  # fmt: skip
    """Everything, whenever anything in it is another. The place is its digest, how many batches, and which reading.

    `read` is called twice, and must give the same both times. A source that holds nothing is one empty batch.
    """
    digest = hashlib.sha256()
    count = 0
    for rows in read():
        digest.update(_content(rows))
        count += 1
    digest.update("".join(identity(item) for item in rejected).encode())
    count = max(count, 1)
    known, given, read_before = [*(after or "").split(":"), "0", "0"][:3]
    same = known == digest.hexdigest()
    skip = int(given) if same else 0
    if skip == count:
        return
    reading = int(read_before) + (not same)
    for number, rows in enumerate(chain(read(), [Rows([])]), start=1):
        if skip < number <= count:
            place = f"{digest.hexdigest()}:{number}:{reading}"
            whole = Whole(number, number == count, reading)
            yield Batch(rows, place, origin, key_positions(rows, key), rejected if number == 1 else (), whole)


def _content(rows: Rows) -> bytes | memoryview:
    """What makes rows the same: the documents of a table one behind the other, the records' names in any order."""
    if not rows.columnar:
        return json.dumps(list(rows.records), sort_keys=True).encode()
    documents = rows.documents()
    size = pc.sum(pc.binary_length(documents)).as_py() or 0
    return memoryview(documents.buffers()[2])[:size] if size else b""


def changed_batches(
    given: Given, after: str | None, origin: str, *, key: Sequence[str], change: str, size: int,
    rejected: Sequence[Rejected] = (),
) -> Iterator[Batch]:  # fmt: skip
    """Rows in any order, as those behind a place in the order of change column and key.

    What has no place in that order is a dead letter, and the next place remembers it while the source still gives it.
    """
    rows = rows_of(given)
    columns = (change, *key)
    placed, unplaced = _placed(rows, columns)
    letters = {identity(item): item for item in (*rejected, *unplaced)}
    at, known = read_place(after)
    if at is not None:
        bound = ordered(at)
        placed = [item for item in placed if item[0] > bound]
    placed.sort(key=lambda item: item[0])
    # What a source gives twice while pages move is the same record at the same place.
    new = [item[1] for index, item in enumerate(placed) if not key or not index or item[0] != placed[index - 1][0]]
    fresh = [item for mark, item in letters.items() if mark not in known]
    batches = parts(rows.take(new), size)
    for part in batches if key else undivided(batches, change):
        last = part.record(len(part) - 1)
        at = [last[name] for name in columns]
        yield Batch(part, _place(at, letters), origin, key_positions(part, key), fresh)
        fresh = []
    if fresh:
        yield Batch([], _place(at, letters), origin, (), fresh)


def read_place(place: str | None) -> tuple[list[Any] | None, frozenset[str]]:
    """The last values of change column and key, and the letters that were given."""
    if place is None:
        return None, frozenset()
    data = read_json_place(place, "at")
    return data["at"], frozenset(data.get("letters", ()))


def _place(at: list[Any] | None, letters: Iterable[str]) -> str:
    marks = sorted(letters)
    return json.dumps({"at": at, **({"letters": marks} if marks else {})})


def identity(letter: Rejected) -> str:
    """The same for the same record, wherever it stands."""
    text = json.dumps([letter.reason, letter.record], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _placed(rows: Rows, columns: Sequence[str]) -> tuple[list[tuple[tuple[Any, ...], int]], list[Rejected]]:
    """The rows that have a place, each with it, and those that have none."""
    placed, unplaced = [], []
    for index, values in enumerate(zip(*[rows.values(name) for name in columns], strict=True)):
        missing = [name for name, value in zip(columns, values, strict=True) if value is None]
        if missing:
            reason = f"{', '.join(missing)} is missing"
            unplaced.append(Rejected(reason, rows.record(index), f"record {index + 1}"))
        else:
            placed.append((ordered(values), index))
    return placed, unplaced


def ordered(values: Sequence[Any]) -> tuple[Any, ...]:
    """Values of one place as something that compares: times by the instant, numbers by size, else text."""
    return tuple(_comparable(value) for value in values)


def _comparable(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise errors.configuration(
            f"A change column or key holds {type(value).__name__}, which has no order.",
            hint="Choose one of numbers, times or text.",
        )
    if isinstance(value, int | float):
        return 0, value
    try:
        moment = dt.datetime.fromisoformat(value)
    except ValueError:
        return 2, value
    return 1, moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
