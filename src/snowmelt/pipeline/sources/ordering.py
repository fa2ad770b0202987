"""Places of sources that are read by a change column and a key, or as a whole, whatever gives the records."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from snowmelt.core import errors
from snowmelt.pipeline.records import Batch, Record, Rejected, Whole
from snowmelt.pipeline.sources.base import read_json_place


def parts(records: Iterable[Record], size: int) -> Iterator[list[Record]]:
    found = iter(records)
    while part := list(islice(found, size)):
        yield part


def key_positions(rows: Sequence[Record], key: Sequence[str]) -> list[str]:
    """Of records that have a key, for people."""
    return [", ".join(f"{name}={row.get(name)}" for name in key) for row in rows] if key else []


def undivided(batches: Iterator[list[Record]], column: str) -> Iterator[list[Record]]:
    """Batches that end where the column's value changes: without a key, nothing else tells rows of one value apart."""
    held: list[Record] = []
    for rows in batches:
        held += rows
        whole = [row for row in held if row[column] != held[-1][column]]
        if whole:
            held = held[len(whole) :]
            yield whole
    if held:
        yield held


def whole_batches(
    read: Callable[[], Iterator[list[Record]]], after: str | None, origin: str, key: Sequence[str] = (),
    rejected: Sequence[Rejected] = (),
) -> Iterator[Batch]:  # fmt: skip
    """Everything, whenever anything in it is another. The place is its digest, how many batches, and which reading.

    `read` is called twice, and must give the same both times. A source that holds nothing is one empty batch.
    """
    digest = hashlib.sha256()
    count = 0
    for rows in read():
        digest.update(json.dumps(rows, sort_keys=True).encode())
        count += 1
    digest.update("".join(identity(item) for item in rejected).encode())
    count = max(count, 1)
    known, given, read_before = [*(after or "").split(":"), "0", "0"][:3]
    same = known == digest.hexdigest()
    skip = int(given) if same else 0
    if skip == count:
        return
    reading = int(read_before) + (not same)
    for number, rows in enumerate(chain(read(), [[]]), start=1):
        if skip < number <= count:
            place = f"{digest.hexdigest()}:{number}:{reading}"
            whole = Whole(number, number == count, reading)
            yield Batch(rows, place, origin, key_positions(rows, key), rejected if number == 1 else (), whole)


def changed_batches(
    records: Iterable[Record], after: str | None, origin: str, *, key: Sequence[str], change: str, size: int,
    rejected: Sequence[Rejected] = (),
) -> Iterator[Batch]:  # fmt: skip
    """Records in any order, as those behind a place in the order of change column and key.

    What has no place in that order is a dead letter, and the next place remembers it while the source still gives it.
    """
    columns = (change, *key)
    placed, unplaced = _placed(records, columns)
    letters = {identity(item): item for item in (*rejected, *unplaced)}
    at, known = read_place(after)
    if at is not None:
        bound = ordered(at)
        placed = [item for item in placed if item[0] > bound]
    placed.sort(key=lambda item: item[0])
    # What a source gives twice while pages move is the same record at the same place.
    rows = [item[1] for index, item in enumerate(placed) if not key or not index or item[0] != placed[index - 1][0]]
    fresh = [item for mark, item in letters.items() if mark not in known]
    batches = parts(rows, size)
    for part in batches if key else undivided(batches, change):
        at = [part[-1][name] for name in columns]
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


def _placed(
    records: Iterable[Record], columns: Sequence[str]
) -> tuple[list[tuple[tuple[Any, ...], Record]], list[Rejected]]:
    placed, unplaced = [], []
    for number, record in enumerate(records, start=1):
        missing = [name for name in columns if record.get(name) is None]
        if missing:
            unplaced.append(Rejected(f"{', '.join(missing)} is missing", record, f"record {number}"))
        else:
            placed.append((ordered([record[name] for name in columns]), record))
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
