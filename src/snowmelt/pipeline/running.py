"""A flow: one source's records into one raw table, with retries, dead letters, and a log that tells runs apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from snowmelt.core.errors import SnowmeltError
from snowmelt.pipeline.extracting import Batch, Extractor, Record
from snowmelt.pipeline.loading import DeadLetterLoader, Loader
from snowmelt.pipeline.transforming import RejectedRecordError, Transformer


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
    batches: int = 0
    place: str | None = None


def run_flow(flow: Flow) -> FlowResult:
    """Everything behind the committed place. Again, right after, it finds nothing to do."""
    log = structlog.get_logger("snowmelt.pipeline").bind(flow=flow.name, run_id=flow.loader.run_id)
    result = FlowResult(flow.name, place=flow.loader.place())
    for attempt in Retrying(
        stop=stop_after_attempt(flow.attempts), wait=wait_exponential(multiplier=0.2, max=30),
        retry=retry_if_exception(_transient), reraise=True,
        before_sleep=lambda state: log.warning("retry", attempt=state.attempt_number, error=str(_error(state))),
    ):  # fmt: skip
        with attempt:
            for batch in flow.extractor.extract(flow.loader.place()):
                _load(flow, batch, result)
                log.info("batch", rows=result.rows, rejected=result.rejected, origin=batch.origin)
    log.info("done", rows=result.rows, rejected=result.rejected, batches=result.batches)
    return result


def _load(flow: Flow, batch: Batch, result: FlowResult) -> None:
    good: list[Record] = []
    bad: list[Record] = []
    for record in batch.records:
        try:
            made = flow.transformer.transform(record) if flow.transformer is not None else record
        except RejectedRecordError as error:
            if flow.dead_letters is None:
                raise
            bad.append({"reason": str(error), "record": record})
            continue
        if made is not None:
            good.append(made)
    stamp = flow.now().isoformat()
    if bad and flow.dead_letters is not None:
        # First, and by the same place: whatever happens then, they are kept, and kept once.
        flow.dead_letters.load(Batch(bad, batch.place, batch.origin), stamp)
    flow.loader.load(Batch(good, batch.place, batch.origin), stamp)
    result.rows += len(good)
    result.rejected += len(bad)
    result.batches += 1
    result.place = batch.place


def _transient(error: BaseException) -> bool:
    """A typed error says so itself; connections that break are worth another try."""
    if isinstance(error, SnowmeltError):
        return error.transient
    return isinstance(error, ConnectionError | TimeoutError | OperationalError)


def _error(state: Any) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
