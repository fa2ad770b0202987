"""Target lags: how stale a dynamic table may be."""

from __future__ import annotations

import re

_LAG = re.compile(r"\s*(\d{1,9})\s+(second|minute|hour|day)s?\s*", re.IGNORECASE)
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


def parse_lag(text: str) -> int | None:
    """Seconds from `5 minutes`; None when the text is no lag. Zero is one, which nobody can keep."""
    found = _LAG.fullmatch(text)
    return int(found.group(1)) * _UNITS[found.group(2).lower()] if found is not None else None


def show_lag(seconds: int) -> str:
    """The lag as SHOW prints it: `1 minute, 30 seconds`."""
    parts: list[str] = []
    for unit, size in _UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return ", ".join(parts) or "0 seconds"
