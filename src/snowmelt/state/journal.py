"""Query history off the statement's path: buffered in memory, written in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.state.model import QueryRecord
from snowmelt.state.queries import Records
from snowmelt.state.store import StateStore

_log = structlog.get_logger(__name__)
_PROBES = 20
"""If this many records fail and none succeeds, the store is at fault, not the records."""
SparkJobs = Callable[[Iterable[str]], Mapping[str, tuple[int, ...]]]
"""By query id, the Spark jobs that ran for it so far."""


class QueryJournal:
    """Takes query records at once and stores them soon.

    Reads through the journal see every record it took. A crash loses at most the last `interval` seconds of
    history, never data: nothing else depends on it. A failed write is tried again at the next interval. One record that
    can't be stored does not hold up the others: it is set aside, counted and logged. No more than `most` records wait.
    """

    def __init__(
        self, store: StateStore, *, jobs: SparkJobs = lambda _: {}, interval: float = 0.5, batch: int = 200,
        most: int = 10_000, attempts: int = 1_000,
    ) -> None:  # fmt: skip
        self._store = store
        self._jobs = jobs
        """Asked in the background and when somebody lists queries, never while a statement runs."""
        self._interval = interval
        self._batch = batch
        self._most = most
        self._attempts = attempts
        """How often a record that is alone in failing is tried: the store may be what fails."""
        self._failures: dict[str, int] = {}
        self.set_aside = 0
        """How many records were given up."""
        self._buffer: dict[str, QueryRecord] = {}
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._beside: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name="snowmelt-query-journal", daemon=True)
        self._thread.start()

    def write_beside(self, write: Callable[[], None]) -> None:
        """What else is written in the background, as often as the history is."""
        self._beside.append(write)

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
        """The records that `Queries.list` gives, with the buffered ones in place of the stored ones."""

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
            records = {id: _with_jobs(query, jobs) for id, query in taken.items()}
            try:
                self._store_all(records.values())
                stored = set(records)
            except OSError:
                # No record's fault: all of them wait.
                raise
            except Exception as error:
                stored = self._store_each(records, error)
            with self._lock:
                for query_id, query in taken.items():
                    # A record that changed meanwhile waits for the next flush.
                    if query_id in stored and self._buffer.get(query_id) is query:
                        del self._buffer[query_id]

    def _store_all(self, records: Iterable[QueryRecord]) -> None:
        with self._store.begin() as transaction:
            transaction.queries.record(tuple(records))

    def _store_each(self, records: Mapping[str, QueryRecord], first: Exception) -> set[str]:
        """One by one, after all together failed. Returns those that are done with. Raises when none could be stored:
        then it is the store that fails, and all of them wait, but none of them for ever."""
        stored: set[str] = set()
        failed: dict[str, Exception] = {}
        for id, record in records.items():
            try:
                self._store_all([record])
                stored.add(id)
            except OSError:
                raise
            except Exception as error:
                failed[id] = error
            if len(failed) >= _PROBES and not stored:
                break
        works = bool(stored)
        for id, reason in failed.items():
            self._failures[id] = self._failures.get(id, 0) + 1
            # Not an error of the store's: nothing but the record can be wrong.
            if works or not isinstance(reason, SnowmeltError) or self._failures[id] >= self._attempts:
                self._give_up(id, str(reason))
                stored.add(id)
        if not stored:
            raise first
        return stored

    def _give_up(self, query_id: str, reason: str) -> None:
        self.set_aside += 1
        self._failures.pop(query_id, None)
        _log.warning("query_record_set_aside", query_id=query_id, reason=reason[:200], set_aside=self.set_aside)

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
            while len(self._buffer) > self._most:
                self._give_up(next(iter(self._buffer)), "too many records wait")
                del self._buffer[next(iter(self._buffer))]
        if full:
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(self._interval)
            self._wake.clear()
            if self._closing.is_set():
                return
            for write in (self.flush, *self._beside):
                try:
                    write()
                except Exception as error:
                    _log.warning("background_write_failed", error=str(error), buffered=len(self._buffer))


def _with_jobs(query: QueryRecord, jobs: Mapping[str, tuple[int, ...]]) -> QueryRecord:
    found = jobs.get(query.query_id)
    return query if found is None else query.model_copy(update={"spark_jobs": found})
