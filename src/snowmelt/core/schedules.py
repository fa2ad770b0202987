"""The SCHEDULE of a task: every so often, or by cron."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import available_timezones

from snowmelt.core import errors
from snowmelt.core.cron import Cron, parse_cron
from snowmelt.core.errors import SnowmeltError

LEAST_SECONDS = 10
MOST_MINUTES = 11_520
_INTERVAL = re.compile(r"\+?(\d{1,9})\s+(HOURS?|H|MINUTES?|M|SECONDS?|S)\s*\Z", re.IGNORECASE)
_CRON = re.compile(r"USING CRON (.+) (\S+)", re.IGNORECASE)
_UNITS = {"H": 3_600, "M": 60, "S": 1}


@dataclass(frozen=True, slots=True)
class Every:
    """At its beginning, when the task was resumed, plus whole multiples of the interval."""

    interval: timedelta

    def next(self, after: datetime, beginning: datetime) -> datetime:
        passed = max((after - beginning) // self.interval, 0)
        return beginning + (passed + 1) * self.interval

    def latest(self, at_or_before: datetime, beginning: datetime) -> datetime | None:
        passed = (at_or_before - beginning) // self.interval
        return beginning + passed * self.interval if passed > 0 else None


@dataclass(frozen=True, slots=True)
class ByCron:
    cron: Cron

    def next(self, after: datetime, beginning: datetime) -> datetime | None:
        return self.cron.next(after)

    def latest(self, at_or_before: datetime, beginning: datetime) -> datetime | None:
        found = self.cron.latest(at_or_before)
        return found if found is not None and found > beginning else None


Schedule = Every | ByCron


def parse_interval(text: str) -> timedelta | None:
    """`5 MINUTES`, as schedules and completion targets are written; None when it is none."""
    found = _INTERVAL.match(text)
    return None if found is None else timedelta(seconds=int(found[1]) * _UNITS[found[2][0].upper()])


@lru_cache(maxsize=4096)
def parse_schedule(text: str) -> Schedule:
    """Raises what Snowflake says of a schedule that it does not take."""
    interval = parse_interval(text)
    if interval is not None:
        if interval < timedelta(seconds=LEAST_SECONDS):
            raise _refused(f"Cannot set schedule less than {LEAST_SECONDS} seconds.")
        if interval > timedelta(minutes=MOST_MINUTES):
            raise _refused(f"Cannot set schedule greater than {MOST_MINUTES:,} minutes.")
        return Every(interval)
    written = _CRON.fullmatch(" ".join(text.split()))
    if written is None:
        raise _invalid()
    zone = written[2]
    if zone not in available_timezones():
        if len(written[1].split()) != 5:
            raise _invalid()
        raise _refused(
            f'Invalid schedule was specified. "{zone}" is not a recognized time zone. Please specify time zones '
            "accepted by the TIMEZONE parameter."
        )
    cron = parse_cron(written[1], zone)
    if cron is None:
        raise _invalid()
    if cron.next(_SOME_DAY) is None:
        raise _refused("No valid time could be found under the schedule and/or interval specified")
    return ByCron(cron)


_SOME_DAY = datetime.fromisoformat("2024-01-01T00:00:00+00:00")


def _invalid() -> SnowmeltError:
    return _refused(
        "Invalid schedule was specified. Please refer to the docs on what constitutes a valid schedule.",
        "Write '<n> SECONDS|MINUTES|HOURS' or 'USING CRON <minute> <hour> <day> <month> <weekday> <time zone>'.",
    )


def _refused(message: str, hint: str | None = None) -> SnowmeltError:
    return errors.task_refused(message, hint)
