"""Asking Spark in threads that may wait for ever: a process that is frozen does not answer, and does not hang up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue


class Asker:
    """One thread that asks the same thing each time it is told to. It keeps no process from ending."""

    def __init__(self, ask: Callable[[], str | None]) -> None:
        self._ask = ask
        self._questions: SimpleQueue[Future[str | None] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="snowmelt-engine-ping", daemon=True).start()

    def ask(self) -> Future[str | None]:
        question: Future[str | None] = Future()
        self._questions.put(question)
        return question

    def close(self) -> None:
        """The thread ends when its last question is answered."""
        self._questions.put(None)

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            try:
                question.set_result(self._ask())
            except Exception as error:
                question.set_exception(error)


def finishes(step: Callable[[], None], seconds: float) -> bool:
    """Whether the step ended in time, be it with an error. If not, its thread is left to itself."""

    def attempt() -> None:
        try:
            step()
        except Exception as error:
            failed.append(error)

    failed: list[Exception] = []
    thread = threading.Thread(target=attempt, name="snowmelt-engine-stop", daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
