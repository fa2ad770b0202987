"""Freshness over time: a row for each time in which something had one status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from snowmelt.observe.availability import Availability, Span, measure, month_of
from snowmelt.observe.freshness import Freshness, FreshnessStatus
from snowmelt.state.observing_model import FreshnessSpan
from snowmelt.state.store import StateReader, StateStore

_MOMENT = timedelta(microseconds=1)


class FreshnessLog:
    """One writer. What it wrote last is kept, so that nothing is written while nothing changes."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._open: dict[str, FreshnessSpan] | None = None

    def note(self, standing: Iterable[Freshness], at: datetime) -> None:
        """Writes down what changed since the last time. What is promised no longer, or gone, ends."""
        if self._open is None:
            with self._store.read() as state:
                self._open = {span.object_id: span for span in state.observations.open_spans()}
        promised = [item for item in standing if item.limit is not None]
        changed = [span for item in promised for span in _changes(self._open.get(item.id), item)]
        present = {item.id for item in promised}
        changed += [
            span.model_copy(update={"until": max(at, span.since + _MOMENT)})
            for id, span in self._open.items()
            if id not in present and span.until is None
        ]
        if changed:
            with self._store.begin() as state:
                state.observations.put_spans(changed)
            # Of one object the span that begins comes after the one that ends.
            self._open.update((span.object_id, span) for span in changed)


def _changes(before: FreshnessSpan | None, item: Freshness) -> Iterator[FreshnessSpan]:
    """The span that ends and the one that begins; none when the status is what it was."""
    lasts = before is not None and before.until is None
    same_promise = before is not None and (before.limit, before.tier) == (item.limit, item.tier)
    if before is not None and lasts and same_promise and before.status == item.status:
        return
    at = _since(item)
    if item.promised_at is not None and not (lasts and same_promise):
        at = max(at, item.promised_at)
    if before is not None and before.until is not None:
        at = max(at, before.until)
    elif before is not None:
        at = max(at, before.since + _MOMENT)
        yield before.model_copy(update={"until": at})
    yield FreshnessSpan(
        object_id=item.id, kind=item.kind.value, name=item.name, status=item.status.value, since=at,
        limit=item.limit, tier=item.tier,
    )  # fmt: skip


def _since(item: Freshness) -> datetime:
    """When the status began: a breach at its exact instant, even if nobody was there to see it."""
    if (
        item.status is FreshnessStatus.BREACHED
        and not item.missing
        and item.data_timestamp is not None
        and item.limit is not None
    ):
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
    return (span for span in spans if span.status != FreshnessStatus.UNKNOWN)


def _span(span: FreshnessSpan) -> Span:
    return Span(span.since, span.until, span.status != FreshnessStatus.BREACHED)
