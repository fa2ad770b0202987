"""Cron expressions as Snowflake reads them: five fields, matched against the wall clock of one time zone.

An instant matches when the local time it has matches. So an hour that happens twice when clocks are set back is met
twice, and one that is left out when they are set forward is not met: Snowflake documents both. Libraries of the field
follow Debian's cron instead, which moves such runs.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_MINUTE = timedelta(minutes=1)
_HORIZON = timedelta(days=9 * 366)
"""February 29 comes back within eight years at the latest."""
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_ITEM = re.compile(r"(?:(?P<all>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d{1,4}))?\Z")


@dataclass(frozen=True, slots=True)
class Cron:
    zone: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    """Days of the month; None for `*`."""
    months: frozenset[int]
    weekdays: frozenset[int] | None
    """0 is Sunday; None for `*`."""
    last_day: bool = False
    """`L` among the days of the month."""
    last_weekdays: frozenset[int] = frozenset()
    """`5L`: the last Friday of a month."""

    def next(self, after: datetime) -> datetime | None:
        """The first instant later than `after` that matches; None when there is none in years."""
        zone = ZoneInfo(self.zone)
        at = _whole_minute(after) + _MINUTE
        end = at + _HORIZON
        while at <= end:
            local = at.astimezone(zone)
            if not self._on(local.date()):
                midnight = datetime(local.year, local.month, local.day, tzinfo=zone) + timedelta(days=1)
                at = max(midnight.astimezone(UTC), at + _MINUTE)
            elif local.hour not in self.hours:
                at += (60 - local.minute) * _MINUTE
            elif local.minute not in self.minutes:
                following = min((minute for minute in self.minutes if minute > local.minute), default=60)
                at += (following - local.minute) * _MINUTE
            else:
                return at
        return None

    def latest(self, at_or_before: datetime) -> datetime | None:
        """The last instant that matches and is not later."""
        zone = ZoneInfo(self.zone)
        at = _whole_minute(at_or_before)
        end = at - _HORIZON
        while at >= end:
            local = at.astimezone(zone)
            if not self._on(local.date()):
                midnight = datetime(local.year, local.month, local.day, tzinfo=zone)
                at = min(midnight.astimezone(UTC), at) - _MINUTE
            elif local.hour not in self.hours:
                at -= (local.minute + 1) * _MINUTE
            elif local.minute not in self.minutes:
                before = max((minute for minute in self.minutes if minute < local.minute), default=-1)
                at -= (local.minute - before) * _MINUTE
            else:
                return at
        return None

    def _on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month = self.days is None or day.day in self.days or (self.last_day and day.day == _last_day(day))
        of_week = self.weekdays is None or _weekday(day) in self.weekdays or self._last_of_its_kind(day)
        if self.days is None or self.weekdays is None:
            return of_month and of_week
        # Both fields say something: one of them is enough.
        return of_month or of_week

    def _last_of_its_kind(self, day: date) -> bool:
        return _weekday(day) in self.last_weekdays and day.day + 7 > _last_day(day)


def parse_cron(text: str, zone: str) -> Cron | None:
    """The five fields of an expression; None when they are none. `zone` must be known."""
    fields = text.split()
    if len(fields) != 5:
        return None
    minutes = _numbers(fields[0], 0, 59)
    hours = _numbers(fields[1], 0, 23)
    months = _numbers(fields[3], 1, 12, _MONTHS, 1)
    days, last_day = _days_of_month(fields[2])
    weekdays, last_weekdays = _days_of_week(fields[4])
    if not minutes or not hours or not months or days is _WRONG or weekdays is _WRONG:
        return None
    return Cron(
        zone,
        minutes,
        hours,
        None if fields[2] == "*" else days,
        months,
        None if fields[4] == "*" else weekdays,
        last_day,
        last_weekdays,
    )


_WRONG = frozenset({-1})


def _days_of_month(field: str) -> tuple[frozenset[int], bool]:
    items = field.split(",")
    others = [item for item in items if item.upper() != "L"]
    found = _numbers(",".join(others), 1, 31) if others else frozenset()
    return (_WRONG if found is None else found), len(others) < len(items)


def _days_of_week(field: str) -> tuple[frozenset[int], frozenset[int]]:
    items = field.split(",")
    plain = [item for item in items if not _is_last_weekday(item)]
    lasts = [_number(item[:-1], 0, 6, _DAYS, 0) for item in items if _is_last_weekday(item)]
    found = _numbers(",".join(plain), 0, 6, _DAYS, 0) if plain else frozenset()
    if found is None or None in lasts:
        return _WRONG, frozenset()
    return found, frozenset(number for number in lasts if number is not None)


def _is_last_weekday(item: str) -> bool:
    return len(item) > 1 and item[-1] in "Ll"


def _numbers(field: str, least: int, most: int, names: tuple[str, ...] = (), base: int = 0) -> frozenset[int] | None:
    """What a list of numbers, names, ranges and steps means; None when it is wrong."""
    found: set[int] = set()
    for item in field.split(","):
        match = _ITEM.match(item)
        if match is None:
            return None
        first, last = least, most
        if match["all"] is None:
            low = _number(match["first"], least, most, names, base)
            high = low if match["last"] is None else _number(match["last"], least, most, names, base)
            if low is None or high is None or low > high:
                return None
            # `5/10` goes on to the maximum.
            first, last = low, most if match["last"] is None and match["step"] is not None else high
        step = int(match["step"] or 1)
        if step == 0:
            return None
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, least: int, most: int, names: tuple[str, ...], base: int) -> int | None:
    if text.upper() in names:
        return names.index(text.upper()) + base
    if not text.isascii() or not text.isdigit() or len(text) > 4:
        return None
    return int(text) if least <= int(text) <= most else None


def _whole_minute(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(second=0, microsecond=0)


def _weekday(day: date) -> int:
    return day.isoweekday() % 7


def _last_day(day: date) -> int:
    return monthrange(day.year, day.month)[1]
