"""Query history off the statement's path: buffered in memory, written in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import structlog

from snowmelt.state.model import QueryRecord
from snowmelt.state.queries import Records
from snowmelt.state.store import StateStore

_log = structlog.get_logger(__name__)
SparkJobs = Callable[[Iterable[str]], Mapping[str, tuple[int, ...]]]
"""By query id, the Spark jobs that ran for it so far."""


class QueryJournal:
    """Takes query records at once and stores them soon.

    Reads through the journal see every record it took. A crash loses at most the last `interval` seconds of
    history, never data: nothing else depends on it. A failed write is tried again at the next interval.
    """

    def __init__(
        self, store: StateStore, *, jobs: SparkJobs = lambda _: {}, interval: float = 0.5, batch: int = 200
    ) -> None:
        self._store = store
        self._jobs = jobs
        """Asked in the background and when somebody lists queries, never while a statement runs."""
        self._interval = interval
        self._batch = batch
        self._buffer: dict[str, QueryRecord] = {}
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snowmelt-query-journal", daemon=True)
        self._thread.start()

    def start(self, query: QueryRecord) -> None:
        self._add(query)

    def finish(self, query: QueryRecord) -> None:
        """Replace what `start` took."""
        self._add(query)

    def get(self, query_id: str) -> QueryRecord | None:
        buffered = self._buffer.get(query_id)
        if buffered is not None:
            return buffered
        with self._store.read() as reader:
            return reader.queries.get(query_id)

    def list(
        self,
        limit: int,
        session_id: str | None = None,
        *,
        user: str | None = None,
        status: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Records:
        """As `Queries.list`, with the buffered records in place of the stored ones."""

        def wanted(query: QueryRecord) -> bool:
            return (
                (session_id is None or query.session_id == session_id)
                and (user is None or query.user == user)
                and (status is None or query.status == status)
                and (since is None or query.start_time >= since)
                and (until is None or query.start_time <= until)
            )

        with self._lock:
            buffered = dict(self._buffer)
        with self._store.read() as reader:
            # A buffered record can only replace a stored one, so this many stored ones are enough.
            stored = reader.queries.list(
                limit + len(buffered), session_id, user=user, status=status, since=since, until=until
            )
        found = [query for query in stored if query.query_id not in buffered]
        found += [query for query in buffered.values() if wanted(query)]
        found.sort(key=lambda query: query.query_id)
        found.sort(key=lambda query: query.start_time, reverse=True)
        jobs = self._jobs(query.query_id for query in found[:limit] if query.query_id in buffered)
        return [_with_jobs(query, jobs) for query in found[:limit]]

    def flush(self) -> None:
        """Store everything taken so far. When this raises, nothing is lost: it stays buffered."""
        with self._flushing:
            with self._lock:
                taken = dict(self._buffer)
            if not taken:
                return
            jobs = self._jobs(taken)
            with self._store.begin() as transaction:
                transaction.queries.record(tuple(_with_jobs(query, jobs) for query in taken.values()))
            with self._lock:
                for query_id, query in taken.items():
                    # A record that changed meanwhile waits for the next flush.
                    if self._buffer.get(query_id) is query:
                        del self._buffer[query_id]

    def close(self) -> None:
        """Stop the thread and store what is left. Call it before the store is closed."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self.flush()

    def _add(self, query: QueryRecord) -> None:
        with self._lock:
            self._buffer[query.query_id] = query
            full = len(self._buffer) >= self._batch
        if full:
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(self._interval)
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                self.flush()
            except Exception as error:
                _log.warning("query_journal_flush_failed", error=str(error), buffered=len(self._buffer))


def _with_jobs(query: QueryRecord, jobs: Mapping[str, tuple[int, ...]]) -> QueryRecord:
    found = jobs.get(query.query_id)
    return query if found is None else query.model_copy(update={"spark_jobs": found})
