"""How somebody learns of what happens, and what happens to the rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from typing import Generic, ParamSpec

from snowmelt.state.model import CatalogObject
from snowmelt.storage.commits import CommitResult

_P = ParamSpec("_P")


class Event(Generic[_P]):
    """Call it when it happens. Subscribers are called in order."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[_P, object]] = []

    def subscribe(self, subscriber: Callable[_P, object]) -> None:
        self._subscribers.append(subscriber)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        for subscriber in self._subscribers:
            subscriber(*args, **kwargs)


class Around(Generic[_P]):
    """Call it around what happens. Subscribers see how that begins and ends."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[_P, AbstractContextManager[object]]] = []

    def subscribe(self, subscriber: Callable[_P, AbstractContextManager[object]]) -> None:
        self._subscribers.append(subscriber)

    @contextmanager
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Iterator[None]:
        with ExitStack() as stack:
            for subscriber in self._subscribers:
                stack.enter_context(subscriber(*args, **kwargs))
            yield


class TableEvents:
    """What has been written to tables."""

    def __init__(self) -> None:
        self.table_written: Event[[str | None, CatalogObject, int, CommitResult]] = Event()
        """A commit: by which query, to which table, on which version. Nobody may see it yet."""
        self.table_reverted: Event[[str | None, CatalogObject]] = Event()
        """All that a transaction wrote to a table is taken back, to be written in another way."""
        self.rows_committed: Event[[frozenset[str], datetime]] = Event()
        """Rows of the tables with these ids became visible at this instant."""
