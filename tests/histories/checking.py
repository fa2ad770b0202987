"""What a history of transactions proves: Adya's phenomena, found as Elle finds them, by lists that only grow.

Every value is appended once, to one key, so a list that somebody read says in which order its transactions came. From
that follow edges (`ww`: came behind, `wr`: read what it wrote), and a cycle of them is a phenomenon. What is promised
is in docs/design/transactions.md: read committed, and more than that: each statement reads one moment of all its
tables, that moment is not before the statement began, and nothing that was acknowledged is lost or there twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

Key = str
Value = int


class Fate(Enum):
    COMMITTED = auto()
    ABORTED = auto()
    UNKNOWN = auto()
    """Nobody answered: all of it happened, or nothing."""


@dataclass(frozen=True, slots=True)
class Append:
    key: Key
    value: Value


@dataclass(frozen=True, slots=True)
class Read:
    """One statement that read all of these lists."""

    lists: Mapping[Key, tuple[Value, ...]]
    began: float


@dataclass(frozen=True, slots=True)
class Transaction:
    name: str
    steps: tuple[Append | Read, ...]
    fate: Fate
    acknowledged: float = float("inf")
    """When its client heard that it was committed."""

    @property
    def appends(self) -> list[Append]:
        return [step for step in self.steps if isinstance(step, Append)]


@dataclass(frozen=True, slots=True)
class Anomaly:
    kind: str
    what: str


def anomalies(history: Sequence[Transaction], final: Mapping[Key, tuple[Value, ...]]) -> list[Anomaly]:
    """All phenomena of a history; `final` are the lists after the last transaction has ended."""
    found = _History(history, final)
    return [
        *found.lost_and_doubled(), *found.other_orders(), *found.aborted_reads(), *found.torn_transactions(),
        *found.torn_reads(), *found.old_reads(), *found.cycles(),
    ]  # fmt: skip


class _History:
    def __init__(self, history: Sequence[Transaction], final: Mapping[Key, tuple[Value, ...]]) -> None:
        self._history = history
        self._final = final
        self._writer = {step.value: each for each in history for step in each.appends}
        self._by_name = {each.name: each for each in history}

    def lost_and_doubled(self) -> Iterator[Anomaly]:
        """What was acknowledged is there once; nothing is there that nobody wrote."""
        there = Counter(value for values in self._final.values() for value in values)
        for value, times in there.items():
            if times > 1:
                yield Anomaly("doubled", f"{value} is there {times} times")
            if value not in self._writer:
                yield Anomaly("invented", f"nobody wrote {value}")
        for each in self._history:
            if each.fate is Fate.COMMITTED:
                for step in each.appends:
                    if step.value not in self._final.get(step.key, ()):
                        yield Anomaly("lost", f"{step.value}, which {each.name} appended to {step.key}")

    def torn_transactions(self) -> Iterator[Anomaly]:
        """Whatever nobody heard of is there as a whole or not at all."""
        for each in self._history:
            there = {step.value in self._final.get(step.key, ()) for step in each.appends}
            if len(there) > 1:
                yield Anomaly("torn", f"a part of {each.name} is there")

    def other_orders(self) -> Iterator[Anomaly]:
        """Lists are only appended to: what was read is a beginning of what is there in the end."""
        for each, read in self._reads():
            own = {step.value for step in each.appends}
            for key, values in read.lists.items():
                foreign = tuple(value for value in values if value not in own)
                final = tuple(value for value in self._final.get(key, ()) if value not in own)
                if foreign != final[: len(foreign)]:
                    yield Anomaly("other order", f"{each.name} read {values} of {key}, in the end {final}")

    def aborted_reads(self) -> Iterator[Anomaly]:
        """G1a: somebody else's values that were never committed. G1b: of a transaction, not its last ones."""
        for each, read in self._reads():
            for key, values in read.lists.items():
                for value in values:
                    writer = self._writer.get(value)
                    if writer is None or writer is each:
                        continue
                    if writer.fate is Fate.ABORTED:
                        yield Anomaly("aborted read", f"{each.name} read {value} of {writer.name}")
                    rest = {step.value for step in writer.appends if step.key == key} - set(values)
                    if rest:
                        yield Anomaly("intermediate read", f"{each.name} read {value} of {writer.name}, not {rest}")

    def torn_reads(self) -> Iterator[Anomaly]:
        """A statement sees of a transaction all that it wrote to the lists that the statement reads, or nothing."""
        for each, read in self._reads():
            for writer in self._others(each):
                seen = {step.value in read.lists[step.key] for step in writer.appends if step.key in read.lists}
                if len(seen) > 1:
                    yield Anomaly("torn read", f"{each.name} read a part of {writer.name}")

    def old_reads(self) -> Iterator[Anomaly]:
        """A statement sees all that was acknowledged before it began."""
        for each, read in self._reads():
            for writer in self._others(each):
                if writer.fate is Fate.COMMITTED and writer.acknowledged < read.began:
                    missing = [
                        step.value for step in writer.appends
                        if step.key in read.lists and step.value not in read.lists[step.key]
                    ]  # fmt: skip
                    if missing:
                        yield Anomaly("old read", f"{each.name} did not see {missing} of {writer.name}")

    def cycles(self) -> Iterator[Anomaly]:
        """G0: transactions that wrote behind each other. G1c: that, or read from each other."""
        written = self._ww()
        for kind, edges in (("G0", written), ("G1c", _joined(written, self._wr()))):
            try:
                TopologicalSorter(edges).prepare()
            except CycleError as error:
                yield Anomaly(kind, " -> ".join(error.args[1]))
                return

    def _ww(self) -> dict[str, set[str]]:
        edges: dict[str, set[str]] = defaultdict(set)
        for values in self._final.values():
            names = [self._writer[value].name for value in values if value in self._writer]
            for before, behind in pairwise(names):
                if before != behind:
                    edges[behind].add(before)
        return edges

    def _wr(self) -> dict[str, set[str]]:
        edges: dict[str, set[str]] = defaultdict(set)
        for each, read in self._reads():
            for values in read.lists.values():
                edges[each.name] |= {self._writer[value].name for value in values if value in self._writer}
            edges[each.name].discard(each.name)
        return edges

    def _reads(self) -> Iterator[tuple[Transaction, Read]]:
        for each in self._history:
            for step in each.steps:
                if isinstance(step, Read):
                    yield each, step

    def _others(self, reader: Transaction) -> Iterator[Transaction]:
        return (each for each in self._history if each is not reader and each.appends)


def _joined(*graphs: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    edges: dict[str, set[str]] = defaultdict(set)
    for graph in graphs:
        for name, others in graph.items():
            edges[name] |= set(others)
    return edges
