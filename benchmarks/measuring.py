"""Timing two ways of doing the same thing, and what the samples say."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

Answer = TypeVar("Answer")
Work = Callable[[int], Answer]
"""Does the work of one round and returns what it gave. Warm-up rounds come first, counted from 0."""
Compare = Callable[[Answer, Answer], str | None]
"""Says how two answers differ; None when they are the same."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Milliseconds, in the order in which they were taken."""

    values: tuple[float, ...]
    warmup: tuple[float, ...] = ()
    """Rounds before: reported, but in no statistic."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        return quantile(self.values, 0.95)

    @property
    def maximum(self) -> float:
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Measure:
    """One operation, timed on one or both sides."""

    name: str
    snowmelt: Samples
    plain: Samples | None = None
    difference: str | None = None
    """How the two sides' answers differ; None when they are the same or there is no other side."""

    @property
    def ratio(self) -> float | None:
        """Snowmelt's median over plain Spark's: below 1, Snowmelt is faster."""
        return None if self.plain is None else self.snowmelt.median / self.plain.median

    @property
    def ratio_quartiles(self) -> tuple[float, float] | None:
        """The middle half of the ratios of rounds that ran one right after the other."""
        if self.plain is None:
            return None
        if len(self.snowmelt.values) != len(self.plain.values):
            return None  # not taken in turns
        ratios = [a / b for a, b in zip(self.snowmelt.values, self.plain.values, strict=True)]
        return quantile(ratios, 0.25), quantile(ratios, 0.75)


@dataclass(frozen=True, slots=True)
class Aim:
    """Something we hold ourselves to. Printed, never asserted: a loaded machine misses aims."""

    text: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one benchmark found."""

    measures: tuple[Measure, ...]
    aims: tuple[Aim, ...] = ()
    facts: dict[str, str | int | float] = field(default_factory=dict)
    """What a reader needs to judge the numbers, such as sizes."""

    @property
    def differences(self) -> list[str]:
        return [f"{measure.name}: {measure.difference}" for measure in self.measures if measure.difference]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the samples lies, interpolated between neighbours."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def side_by_side(
    name: str,
    snowmelt: Work[Answer],
    plain: Work[Answer],
    *,
    rounds: int,
    warmup: int,
    compare: Compare[Answer] | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> Measure:
    """Times both, round by round and in turns, so that whatever else the machine does meets both alike."""
    taken: tuple[list[float], list[float]] = ([], [])
    difference: str | None = None
    for number in range(warmup + rounds):
        step(f"{name}: {_round(number, warmup, rounds)}")
        answers: dict[int, Answer] = {}
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            answers[side], elapsed = timed(plain if side else snowmelt, number)
            taken[side].append(elapsed)
        if compare is not None and difference is None:
            difference = compare(answers[0], answers[1])
    ours, theirs = (Samples(tuple(side[warmup:]), tuple(side[:warmup])) for side in taken)
    return Measure(name, ours, theirs, difference)


def alone(
    name: str, work: Work[Answer], *, rounds: int, warmup: int, step: Callable[[str], None] = lambda _: None
) -> Measure:
    """Times something that plain Spark has no counterpart for."""
    step(name)
    taken = [timed(work, number)[1] for number in range(warmup + rounds)]
    return Measure(name, Samples(tuple(taken[warmup:]), tuple(taken[:warmup])))


def timed(work: Work[Answer], number: int) -> tuple[Answer, float]:
    """The answer and the milliseconds it took."""
    started = time.perf_counter()
    answer = work(number)
    return answer, (time.perf_counter() - started) * 1000


def _round(number: int, warmup: int, rounds: int) -> str:
    return f"warm-up {number + 1} of {warmup}" if number < warmup else f"round {number - warmup + 1} of {rounds}"
