"""What a slowly changing dimension must hold, found by walking over the events of each key: no SQL, no windows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

COLUMNS = ("K", "A", "B", "DELETED", "AT", "TIE")


class Event(NamedTuple):
    k: int | None
    a: str | None
    b: str | None
    deleted: bool | None
    at: int | None
    tie: int | None


@dataclass(slots=True)
class Version:
    k: int | None
    a: str | None
    b: str | None
    valid_from: int
    valid_to: int | None = None
    previous: str | None = None
    """What A was in the version before."""


def versions(events: Iterable[Event], *, tracked: tuple[str, ...]) -> list[Version]:
    found: list[Version] = []
    for lives in _decisive(events).values():
        found += _walked(lives, tracked)
    return found


def current(events: Iterable[Event]) -> Counter[tuple[object, ...]]:
    """Type 1."""
    newest = (lives[max(lives)] for lives in _decisive(events).values())
    return Counter((event.k, event.a, event.b) for event in newest if not event.deleted)


def _decisive(events: Iterable[Event]) -> dict[int | None, dict[int, Event]]:
    """By key and instant, the last event of those that have both."""
    found: dict[int | None, dict[int, Event]] = defaultdict(dict)
    for event in events:
        if event.at is None:
            continue
        there = found[event.k].get(event.at)
        if there is None or _rank(event) > _rank(there):
            found[event.k][event.at] = event
    return found


def _rank(event: Event) -> tuple[object, ...]:
    """Later ties win, then deletions, then greater values; NULL is the least."""
    least = -1 if event.tie is None else event.tie
    return least, bool(event.deleted), event.a or "", event.b or ""


def _walked(lives: dict[int, Event], tracked: tuple[str, ...]) -> Iterator[Version]:
    is_open: Version | None = None
    for at in sorted(lives):
        event = lives[at]
        if event.deleted:
            if is_open is not None:
                is_open.valid_to = at
                yield is_open
            is_open = None
        elif is_open is not None and all(getattr(is_open, name) == getattr(event, name) for name in tracked):
            is_open.a, is_open.b = event.a, event.b
        else:
            previous = None
            if is_open is not None:
                is_open.valid_to, previous = at, is_open.a
                yield is_open
            is_open = Version(event.k, event.a, event.b, at, previous=previous)
    if is_open is not None:
        yield is_open


def assert_sound(found: Iterable[Version], events: Iterable[Event]) -> None:
    """No two current versions of a key, no overlap, and no gap but where a deletion was."""
    deletions = {(event.k, event.at) for event in events if event.deleted}
    by_key: dict[int | None, list[Version]] = defaultdict(list)
    for version in found:
        by_key[version.k].append(version)
    for key, history in by_key.items():
        history.sort(key=lambda version: version.valid_from)
        assert sum(version.valid_to is None for version in history) <= 1, f"two current versions of {key}"
        for version, following in pairwise(history):
            assert version.valid_to is not None, f"a version of {key} goes on beside the next one"
            assert version.valid_from < version.valid_to <= following.valid_from, f"{key} overlaps"
            assert version.valid_to == following.valid_from or (key, version.valid_to) in deletions, f"gap of {key}"
