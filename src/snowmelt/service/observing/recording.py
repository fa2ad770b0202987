"""Freshness over time: a row for each time in which something had one status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from snowmelt.observe.availability import Availability, Span, measure, month_of
from snowmelt.observe.freshness import Freshness, Status
from snowmelt.state.observing_model import FreshnessSpan
from snowmelt.state.store import StateReader, StateStore


class FreshnessLog:
    """One writer. What it wrote last is kept, so that nothing is written while nothing changes."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._open: dict[str, FreshnessSpan] | None = None

    def note(self, standing: Iterable[Freshness]) -> None:
        """Writes down what changed since the last time."""
        if self._open is None:
            with self._store.read() as state:
                self._open = {span.object_id: span for span in state.observations.open_spans()}
        changed = [
            span for item in standing if item.limit is not None for span in _changes(self._open.get(item.id), item)
        ]
        if changed:
            with self._store.begin() as state:
                state.observations.put_spans(changed)
            self._open.update((span.object_id, span) for span in changed if span.until is None)


def _changes(before: FreshnessSpan | None, item: Freshness) -> Iterator[FreshnessSpan]:
    """The span that ends and the one that begins; none when the status is what it was."""
    if before is not None and before.status == item.status and (before.limit, before.tier) == (item.limit, item.tier):
        return
    at = _since(item)
    if before is not None:
        at = max(at, before.since + timedelta(microseconds=1))
        yield before.model_copy(update={"until": at})
    yield FreshnessSpan(
        object_id=item.id, kind=item.kind.value, name=item.name, status=item.status.value, since=at,
        limit=item.limit, tier=item.tier,
    )  # fmt: skip


def _since(item: Freshness) -> datetime:
    """When the status began: a breach at its exact instant, even if nobody was there to see it."""
    if item.status is Status.BREACHED and item.data_timestamp is not None and item.limit is not None:
        return item.data_timestamp + timedelta(seconds=item.limit)
    return item.at


def availability(state: StateReader, at: datetime, now: datetime) -> dict[str, tuple[FreshnessSpan, Availability]]:
    """By object: its newest span of the month that `at` lies in, and how available it was, until now at most."""
    start, end = month_of(at)
    end = min(end, now)
    spans: dict[str, list[FreshnessSpan]] = {}
    for span in state.observations.spans(start, end):
        spans.setdefault(span.object_id, []).append(span)
    return {
        id: (found[-1], measure(map(_span, _known(found)), start, end, found[-1].tier)) for id, found in spans.items()
    }


def _known(spans: Iterable[FreshnessSpan]) -> Iterator[FreshnessSpan]:
    """Before there was any data nothing was promised."""
    return (span for span in spans if span.status != Status.UNKNOWN)


def _span(span: FreshnessSpan) -> Span:
    return Span(span.since, span.until, span.status != Status.BREACHED)
