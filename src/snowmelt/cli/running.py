"""A statement that Ctrl-C stops, with a line that tells how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from rich.console import Console

from snowmelt.cli.opening import AnySession
from snowmelt.runtime.results import Result
from snowmelt.sql.tokens import SqlText

_ASK = 0.5
"""Seconds between two questions how far Spark is."""


class StatementStopped(KeyboardInterrupt):
    """Ctrl-C was pressed while a statement ran. It was stopped, and has ended."""


def run_statement(session: AnySession, statement: str | SqlText, label: str = "running") -> Result:
    """The statement's result.

    It runs in a thread of its own. Ctrl-C stops it and waits for its end, which raises `StatementStopped`; a second one
    waits for nothing.
    """
    future: Future[Result] = Future()
    threading.Thread(target=_fulfil, args=(future, lambda: session.execute(statement)), daemon=True).start()
    with _status(label) as show:
        try:
            _wait(future, lambda seconds: show(_line(session, label, seconds)))
        except KeyboardInterrupt:
            show("stopping the statement …")
            session.cancel()
            _wait(future, lambda _: None)
            raise StatementStopped from None
    return future.result()


@contextmanager
def _status(label: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error, for people only: a pipe sees nothing of it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(label) as status:
        yield status.update


def _fulfil(future: Future[Result], work: Callable[[], Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # whoever waits gets it
        future.set_exception(error)


def _wait(future: Future[Result], tell: Callable[[float], None]) -> None:
    """Until the statement ended, telling now and then how long it has been."""
    began = time.monotonic()
    while True:
        try:
            future.exception(_ASK)
        except TimeoutError:
            tell(time.monotonic() - began)
        else:
            return


def _line(session: AnySession, label: str, seconds: float) -> str:
    progress = session.progress()
    parts = [label, f"{seconds:.0f} s", *([] if progress is None else [str(progress)])]
    return " · ".join(parts)
