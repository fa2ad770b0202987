"""How long a change takes from its commit in the source until it can be seen in a table.

Only instants are compared, and none of them comes from the pipeline's own columns: when the source's commit returned,
when the change was counted as visible, when a run that began afterwards had ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class StopwatchMark:
    """So many changes had happened, or were visible, by then."""

    count: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ProcessingStep:
    """Something that took in all that was visible at `since`, and showed it at `until`: a refresh, a task's run."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Percentiles:
    p50: timedelta
    p95: timedelta
    p99: timedelta


@dataclass(frozen=True, slots=True)
class Journey:
    """A commit of the source with `changes` rows, and when they could be seen where it has come to."""

    changes: int
    committed: datetime
    visible: datetime


def landed(commits: Sequence[StopwatchMark], sightings: Sequence[StopwatchMark]) -> list[Journey]:
    """The commits that were seen, each at the first sighting that counts all of its changes."""
    counts = [mark.count for mark in sightings]
    journeys: list[Journey] = []
    before = 0
    for commit in commits:
        index = bisect_left(counts, commit.count)
        if index == len(sightings):
            break
        journeys.append(Journey(commit.count - before, commit.at, sightings[index].at))
        before = commit.count
    return journeys


def onward(journeys: Sequence[Journey], steps: Sequence[ProcessingStep]) -> list[Journey]:
    """The journeys that a step has taken in, each by the first step that could. Steps are in their order."""
    begins = [step.since for step in steps]
    found: list[Journey] = []
    for journey in journeys:
        index = bisect_left(begins, journey.visible)
        if index == len(steps):
            break
        found.append(Journey(journey.changes, journey.committed, steps[index].until))
    return found


def percentiles(journeys: Sequence[Journey]) -> Percentiles | None:
    """Over changes rather than commits; None when there was none."""
    taken = sorted((journey.visible - journey.committed, journey.changes) for journey in journeys)
    total = sum(changes for _, changes in taken)
    if not total:
        return None

    def at(share: float) -> timedelta:
        reached = 0
        for duration, changes in taken:
            reached += changes
            if reached >= share * total:
                return duration
        return taken[-1][0]

    return Percentiles(at(0.50), at(0.95), at(0.99))
