"""Events that were received, on their way to a raw table: each once, and durable before its sender is answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from queue import Empty, Queue
from typing import Any, Protocol

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.destinations.snowmelt import Committing, DeadLetterLoader
from snowmelt.extract_load.records import Record, Rejected, Rows
from snowmelt.extract_load.running import FlowResult
from snowmelt.extract_load.schemas import column_changes
from snowmelt.extract_load.transforming import Transformer
from snowmelt.ingest.channels.ports import HasChannelDoor

REMEMBERED = 200_000
"""Events that a receiver knows by their ids. A repeat of an older one lands again, and is one row by its key."""
_GROUP = 1_000
"""Events of one commit."""
_WAITING = 2_000
"""Requests that wait for a commit. One more is asked to come again."""
_PREFIX = "event "


class AccountConnection(HasChannelDoor, SqlConnection, Protocol):
    """Runs SQL, and opens channels."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    id: str
    """The same whenever the sender sends it."""
    record: Record | None
    """None for what is no record."""
    rejected: Rejected | None = None


@dataclass(slots=True)
class _Request:
    events: Sequence[ReceivedEvent]
    answer: Future[int]


class WebhookLanding:
    """Takes the events of one flow, and lands all that wait in one commit through a channel.

    The offset token counts the events. Ids that are known were landed before, perhaps by a receiver that was killed
    before it could answer: they are answered, and not landed again.
    """

    def __init__(
        self, connection: AccountConnection, name: str, raw: str, letters: str, run_id: str,
        transformer: Callable[[], Transformer], *, remembered: int = REMEMBERED,
    ) -> None:  # fmt: skip
        self.name, self._raw, self._run_id, self._remembered = name, raw, run_id, remembered
        self._make_transformer, self._transformer = transformer, transformer()
        self._known = dict.fromkeys(_landed_ids(connection, name, raw, letters, remembered))
        self._target = Committing(connection, raw, f"{name}_events")
        self._letters = DeadLetterLoader(connection, letters, name, run_id, channel=f"{name}_events")
        token = self._target.token()
        self._count = int(json.loads(token)["events"]) if token is not None else 0
        self._waiting: Queue[_Request | None] = Queue(_WAITING)
        self._lock = threading.Lock()
        self._result = FlowResult(name)
        self._worker = threading.Thread(target=self._work, name=f"receiver-{name}", daemon=True)
        self._worker.start()

    def submit(self, events: Sequence[ReceivedEvent]) -> Future[int]:
        """How many of them were new, once they are durable. Raises `queue.Full` when too many wait."""
        answer: Future[int] = Future()
        self._waiting.put_nowait(_Request(events, answer))
        return answer

    def result(self) -> FlowResult:
        """What came since this was asked last."""
        with self._lock:
            found, self._result = self._result, FlowResult(self.name)
            found.column_changes = column_changes(self._transformer)
            self._transformer = self._make_transformer()
        return found

    def close(self) -> None:
        """Lands what waits, then closes."""
        self._waiting.put(None)
        self._worker.join()
        self._letters.close()
        self._target.close()

    def _work(self) -> None:
        while (request := self._waiting.get()) is not None:
            requests, last = self._gathered(request)
            self._land(requests)
            if last:
                return

    def _gathered(self, first: _Request) -> tuple[list[_Request], bool]:
        """All that wait, up to a commit's size; and whether the end is behind them."""
        found, size = [first], len(first.events)
        while size < _GROUP:
            try:
                request = self._waiting.get_nowait()
            except Empty:
                break
            if request is None:
                return found, True
            found.append(request)
            size += len(request.events)
        return found, False

    def _land(self, requests: Sequence[_Request]) -> None:
        try:
            counts = self._commit(requests)
        except Exception as error:
            if len(requests) == 1:
                requests[0].answer.set_exception(error)
                return
            # One that can't be landed must not keep the others out.
            for request in requests:
                self._land([request])
            return
        for request, count in zip(requests, counts, strict=True):
            request.answer.set_result(count)

    def _commit(self, requests: Sequence[_Request]) -> list[int]:
        fresh: dict[str, ReceivedEvent] = {}
        counts = []
        for request in requests:
            before = len(fresh)
            fresh |= {item.id: item for item in request.events if item.id not in self._known and item.id not in fresh}
            counts.append(len(fresh) - before)
        if fresh:
            with self._lock:
                self._commit_events(list(fresh.values()))
            self._known |= dict.fromkeys(fresh)
            for old in list(islice(self._known, max(0, len(self._known) - self._remembered))):
                del self._known[old]
        return counts

    def _commit_events(self, events: Sequence[ReceivedEvent]) -> None:
        stamp = datetime.now(UTC).isoformat()
        readable = [(item.id, item.record) for item in events if item.record is not None]
        made = self._transformer.transform_rows(Rows([record for _, record in readable]))
        late = [Rejected(reason, readable[index][1], readable[index][0]) for index, reason in made.rejected]
        bad = [*(item.rejected for item in events if item.rejected is not None), *late]
        if bad:
            self._letters.keep([self._transformer.protected(letter) for letter in bad], "webhook", stamp)
        kept = range(len(readable)) if made.kept is None else made.kept
        rows = [
            self._row(readable[index][0], record, stamp) for index, record in zip(kept, made.rows.records, strict=True)
        ]
        token = json.dumps({"events": self._count + len(events)})
        try:
            self._target.commit(rows, token)
        except SnowmeltError:
            # It may have been committed all the same: then the events are here.
            if self._target.token() != token:
                raise
        self._letters.batch_committed()
        self._letters.settle()
        self._count += len(events)
        self._result.rows += len(rows)
        self._result.rejected += len(bad)
        self._result.batches += 1

    def _row(self, name: str, record: Record, stamp: str) -> dict[str, Any]:
        origin = f"{_PREFIX}{name}"
        return {"record": json.dumps(record), "origin": origin, "run_id": self._run_id, "loaded_at": stamp}


def _landed_ids(connection: SqlConnection, name: str, raw: str, letters: str, most: int) -> Collection[str]:
    """Of the newest events, oldest first; those that are dead letters, or were, are here as well."""
    flow = literal(name)
    found = connection.execute(
        f"SELECT SUBSTR(origin, {len(_PREFIX) + 1}) AS id, loaded_at FROM {raw} WHERE STARTSWITH(origin, '{_PREFIX}') "
        f"UNION ALL SELECT source_position, loaded_at FROM {letters} WHERE flow = {flow} "
        f"UNION ALL SELECT source_position, loaded_at FROM settled_letters WHERE flow = {flow} "
        f"ORDER BY loaded_at DESC LIMIT {most}"
    ).fetchall()
    return [row[0] for row in reversed(found)]
