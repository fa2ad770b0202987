"""How long a statement may wait and run: the limits of its session and of its warehouse."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime import parameters
from snowmelt.runtime.metering import TIME_LIMIT, Metering


class Metered(Protocol):
    @property
    def metering(self) -> Metering: ...


class LimitedSession(Protocol):
    @property
    def account(self) -> Metered: ...
    @property
    def warehouse(self) -> str | None: ...

    def parameter(self, name: str) -> str | int | bool: ...


def seconds(session: LimitedSession, parameter: str) -> int:
    """The session's limit or its warehouse's: the smaller one counts; 0 for none."""
    limits = (int(session.parameter(parameter)), session.account.metering.limit(session.warehouse, parameter))
    return min((given for given in limits if given), default=0)


@contextmanager
def stopping(limit: int, stop: Callable[[], None]) -> Iterator[None]:
    """Stops what runs inside after STATEMENT_TIMEOUT_IN_SECONDS, if a limit was set."""
    if limit in (0, parameters.default(TIME_LIMIT)):
        yield
        return
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        stop()

    timer = threading.Timer(limit, expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except SnowmeltError as error:
        if expired.is_set():
            raise errors.timed_out(limit) from error
        raise
    finally:
        timer.cancel()
