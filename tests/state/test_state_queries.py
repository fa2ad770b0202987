"""Query history and the journal in front of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from snowmelt.state.journal import QueryJournal
from snowmelt.state.model import QueryRecord
from snowmelt.state.store import StateStore, StateTransaction
from snowmelt.state.trimming import HISTORIES
from tests.state.builders import T0, query
from tests.support.waiting import DEADLINE

NEVER = 3600.0


def finished(record: QueryRecord) -> QueryRecord:
    return record.model_copy(update={"status": "success", "end_time": record.start_time + timedelta(seconds=1)})


def seconds(count: int) -> timedelta:
    return timedelta(seconds=count)


def test_queries_are_found_by_what_they_are(store: StateStore) -> None:
    records = [query(f"q{index}", T0 + seconds(index), session=f"s{index % 2}") for index in range(6)]
    with store.begin() as transaction:
        queries = transaction.queries
        for record in records:
            queries.start(record)
        queries.finish(finished(records[3]))
        assert queries.get("q3") == finished(records[3])
        assert queries.get("none") is None

        def ids(**options: object) -> list[str]:
            return [record.query_id for record in queries.list(4, **options)]  # type: ignore[arg-type]

        assert ids() == ["q5", "q4", "q3", "q2"]
        assert ids(session_id="s0") == ["q4", "q2", "q0"]
        assert ids(status="success") == ["q3"]
        assert ids(user="BOB") == []
        assert ids(since=T0 + seconds(1), until=T0 + seconds(2)) == ["q2", "q1"]
        abandoned = queries.abandon_running("000605", "the server stopped")
        assert len(abandoned) == 5 and ids(status="running") == []
        assert transaction.trims.trim(HISTORIES["queries"], T0 + seconds(4), 10) == 4
        assert ids() == ["q5", "q4"]


def test_the_journal_shows_what_it_has_not_stored_yet(store: StateStore) -> None:
    records = [query(f"q{index}", T0 + seconds(index)) for index in range(4)]
    journal = QueryJournal(store, interval=NEVER)
    for record in records[:3]:
        journal.start(record)
    journal.flush()
    journal.finish(finished(records[1]))
    journal.start(records[3])
    with store.read() as reader:
        stored = reader.queries.get("q1")
        assert stored is not None and stored.status == "running"
        assert reader.queries.get("q3") is None
    assert journal.get("q1") == finished(records[1])
    assert journal.get("q0") == records[0]
    assert [record.query_id for record in journal.list(3)] == ["q3", "q2", "q1"]
    assert [record.query_id for record in journal.list(2, status="running")] == ["q3", "q2"]
    assert [record.query_id for record in journal.list(9, status="success", session_id="s1")] == ["q1"]
    journal.close()
    with store.read() as reader:
        assert reader.queries.get("q1") == finished(records[1])
        assert reader.queries.get("q3") == records[3]


class Watched:
    """A store that tells when something was committed, and can be made to fail."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self.failures = 0
        self.committed = threading.Event()
        self.read = store.read

    @contextmanager
    def begin(self) -> Iterator[StateTransaction]:
        with self._store.begin() as transaction:
            if self.failures:
                self.failures -= 1
                raise OSError("disk full")
            yield transaction
        self.committed.set()


def test_a_full_buffer_is_stored_at_once(store: StateStore) -> None:
    watched = Watched(store)
    journal = QueryJournal(watched, interval=NEVER, batch=3)  # type: ignore[arg-type]
    journal.start(query("q0"))
    journal.start(query("q1"))
    assert not watched.committed.is_set()
    journal.start(query("q2"))
    assert watched.committed.wait(DEADLINE)
    journal.close()


def test_a_failed_write_is_tried_again(store: StateStore) -> None:
    watched = Watched(store)
    watched.failures = 2
    journal = QueryJournal(watched, interval=0.01)  # type: ignore[arg-type]
    journal.start(query("q0"))
    assert watched.committed.wait(DEADLINE)
    journal.close()
    with store.read() as reader:
        assert reader.queries.get("q0") == query("q0")


def test_a_write_that_fails_at_close_is_reported(store: StateStore) -> None:
    watched = Watched(store)
    journal = QueryJournal(watched, interval=NEVER)  # type: ignore[arg-type]
    journal.start(query("q0"))
    watched.failures = 1
    with pytest.raises(OSError, match="disk full"):
        journal.close()
    assert journal.get("q0") == query("q0")
