"""Ranges of a change column that are read at the same time, and the place that says how far each is."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from snowmelt.extract_load.records import Batch
from snowmelt.extract_load.sources.base import read_json_place

_WAITING = 2
"""Batches for each reader that may wait to be loaded: what is held in memory."""


@dataclass(slots=True)
class Range:
    at: list[Any] | None
    """Values of change column and key behind which it goes on; None from the beginning."""
    end: Any
    """The last value of the change column that is part of it."""


@dataclass(slots=True)
class Ranges:
    at: list[Any] | None
    """Everything up to here is loaded."""
    open: list[Range] = field(default_factory=list)

    @classmethod
    def read(cls, place: str | None) -> Ranges:
        data: dict[str, Any] = read_json_place(place, "at") if place is not None else {"at": None}
        return cls(data["at"], [Range(at, end) for at, end in data.get("ranges", ())])

    def place(self) -> str:
        ranges = {"ranges": [(part.at, part.end) for part in self.open]} if self.open else {}
        return json.dumps({"at": self.at, **ranges})

    def closed(self) -> Ranges:
        """When all are read: everything up to where the last one got."""
        return Ranges(self.open[-1].at)


Read = Callable[[Range], Iterator[tuple[Batch, list[Any]]]]
"""The batches of a range, each with the values behind its last row."""


def read_ranges(ranges: Ranges, parallel: int, read: Read) -> Iterator[Batch]:
    """All of them; the place behind the last batch has no ranges any more."""
    if not ranges.open:
        return
    found = _merged(ranges.open, parallel, read) if parallel > 1 else _one_by_one(ranges.open, read)
    held: Batch | None = None
    for number, batch, at in found:
        if held is not None:
            yield held
        ranges.open[number].at = at
        held = replace(batch, place=ranges.place())
    if held is not None:
        yield replace(held, place=ranges.closed().place())


def _one_by_one(ranges: list[Range], read: Read) -> Iterator[tuple[int, Batch, list[Any]]]:
    for number, part in enumerate(ranges):
        for batch, at in read(replace(part)):
            yield number, batch, at


def _merged(ranges: list[Range], parallel: int, read: Read) -> Iterator[tuple[int, Batch, list[Any]]]:
    """Batches of all ranges, read by threads, in the order in which they come. An error of one ends all."""
    waiting: queue.Queue[tuple[int, Batch, list[Any]] | BaseException | None] = queue.Queue(parallel * _WAITING)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(ranges)):
        todo.put(number)
    ended = threading.Event()

    def give(item: tuple[int, Batch, list[Any]] | BaseException | None) -> None:
        while not ended.is_set():
            try:
                waiting.put(item, timeout=0.2)
            except queue.Full:
                continue
            return

    def work() -> None:
        try:
            while not ended.is_set():
                try:
                    number = todo.get_nowait()
                except queue.Empty:
                    break
                for batch, at in read(replace(ranges[number])):
                    give((number, batch, at))
                    if ended.is_set():
                        return
            give(None)
        except BaseException as error:
            give(error)

    threads = [threading.Thread(target=work, name=f"extract-{number}", daemon=True) for number in range(parallel)]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            item = waiting.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        ended.set()
        for thread in threads:
            thread.join()
