"""Trying again what failed for a reason that may pass."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_when_event_set, wait_random_exponential
from tenacity.nap import sleep_using_event

from snowmelt.core.errors import SnowmeltError


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a transient error is tried again, and after how many seconds."""

    attempts: int = 4
    first_wait: float = 0.2
    longest_wait: float = 5.0

    def retrying(self, stopping: Event) -> Retrying:
        """Gives up, and stops waiting, as soon as the event is set. The last error is raised as it is."""
        return Retrying(
            retry=retry_if_exception(_is_transient),
            stop=stop_after_attempt(self.attempts) | stop_when_event_set(stopping),
            wait=wait_random_exponential(multiplier=self.first_wait, max=self.longest_wait),
            sleep=sleep_using_event(stopping),
            reraise=True,
        )


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, SnowmeltError) and error.transient
