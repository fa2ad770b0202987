"""A flow: one source's records into one destination, with retries, dead letters, and a log that tells runs apart."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.destinations.base import Loader
from snowmelt.extract_load.destinations.snowmelt import DeadLetterLoader
from snowmelt.extract_load.drift import ColumnChange
from snowmelt.extract_load.records import Batch, Rejected
from snowmelt.extract_load.schemas import column_changes, discarded_values
from snowmelt.extract_load.sources.base import Extractor
from snowmelt.extract_load.transforming import Transformed, Transformer


@dataclass(frozen=True, slots=True)
class Flow:
    name: str
    extractor: Extractor
    loader: Loader
    transformer: Transformer | None = None
    dead_letters: DeadLetterLoader | None = None
    """Takes rejected records with their reason; without it a rejected record stops the run."""
    attempts: int = 5
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


@dataclass(slots=True)
class FlowResult:
    name: str
    rows: int = 0
    rejected: int = 0
    discarded_values: int = 0
    """Left out by the schema policy discard_value."""
    batches: int = 0
    place: str | None = None
    column_changes: list[ColumnChange] = field(default_factory=list)
    """How the source's columns differ from those that are known, under every policy."""


def run_flow(flow: Flow) -> FlowResult:
    """Everything behind the committed place. Again, right after, it finds nothing to do."""
    log = structlog.get_logger("snowmelt.extract_load").bind(flow=flow.name, run_id=flow.loader.run_id)
    result = FlowResult(flow.name, place=flow.loader.place())
    discarded = discarded_values(flow.transformer)
    for attempt in Retrying(
        stop=stop_after_attempt(flow.attempts), wait=wait_exponential(multiplier=0.2, max=30),
        retry=retry_if_exception(_transient), reraise=True,
        before_sleep=lambda state: log.warning("retry", attempt=state.attempt_number, error=str(_error(state))),
    ):  # fmt: skip
        with attempt, _ending(flow.extractor.extract(flow.loader.place())) as batches:
            for batch in batches:
                _load(flow, batch, result)
                log.info("batch", rows=result.rows, rejected=result.rejected, origin=batch.origin)
    if flow.dead_letters is not None:
        flow.dead_letters.settle()
    result.discarded_values = discarded_values(flow.transformer) - discarded
    if result.discarded_values:
        log.warning("discarded values", count=result.discarded_values)
    result.column_changes = column_changes(flow.transformer)
    for change in result.column_changes:
        log.warning("schema change", change=str(change), records=change.count)
    log.info("done", rows=result.rows, rejected=result.rejected, batches=result.batches)
    return result


@contextmanager
def _ending(batches: Iterator[Batch]) -> Iterator[Iterator[Batch]]:
    """What an extractor holds open is closed with the run, not when somebody forgets the error that ended it."""
    try:
        yield batches
    finally:
        if isinstance(batches, Generator):
            batches.close()


def _load(flow: Flow, batch: Batch, result: FlowResult) -> None:
    made = flow.transformer.transform_rows(batch.rows) if flow.transformer is not None else Transformed(batch.rows)
    late = [Rejected(reason, batch.rows.record(index), batch.position(index)) for index, reason in made.rejected]
    bad = [*batch.rejected, *late]
    stamp = flow.now().isoformat()
    if bad:
        _set_aside(flow, bad, batch.origin, stamp)
    flow.loader.load(replace(batch, rows=made.rows, positions=(), rejected=()), stamp)
    if flow.dead_letters is not None:
        flow.dead_letters.batch_committed()
    result.rows += len(made.rows)
    result.rejected += len(bad)
    result.batches += 1
    result.place = batch.place


def _set_aside(flow: Flow, bad: list[Rejected], origin: str, stamp: str) -> None:
    """First: whatever happens then, they are kept, and kept once."""
    if flow.dead_letters is None:
        raise errors.configuration(
            f"{origin}, {bad[0].position}: {bad[0].reason}.",
            hint="Give the flow a table for dead letters, so that the rest can go on.",
        )
    protect = flow.transformer.protected if flow.transformer is not None else lambda letter: letter
    flow.dead_letters.keep([protect(letter) for letter in bad], origin, stamp)


def _transient(error: BaseException) -> bool:
    """A typed error says so itself; connections that break are worth another try."""
    if isinstance(error, SnowmeltError):
        return error.transient
    return isinstance(error, ConnectionError | TimeoutError | OperationalError)


def _error(state: Any) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
