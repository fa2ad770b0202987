"""Durations and sizes as people write them: `5 minutes`, `30s`, `2 TB`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*+([A-Za-z]*)")
_SECONDS = {
    "": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3_600, "hour": 3_600, "hours": 3_600, "d": 86_400, "day": 86_400, "days": 86_400,
    "week": 604_800, "weeks": 604_800,
}  # fmt: skip
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15}
_STEPS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def _read(value: object, units: dict[str, int], what: str) -> object:
    if not isinstance(value, str):
        return value
    found = _NUMBER.fullmatch(value.strip())
    factor = units.get(found.group(2).lower()) if found is not None else None
    if found is None or factor is None:
        known = ", ".join(unit for unit in units if unit)
        raise ValueError(f"'{value}' is not a valid {what}: write a number and one of {known}")
    return float(found.group(1)) * factor


def seconds(value: object) -> object:
    return _read(value, _SECONDS, "duration")


def seconds_of(text: str) -> float:
    """The seconds of a duration as `show_seconds` writes it."""
    found = seconds(text)
    assert isinstance(found, float)
    return found


def size(value: object) -> object:
    return _read(value, _BYTES, "size")


Seconds = Annotated[float, BeforeValidator(seconds, json_schema_input_type=str | float), Field(gt=0)]
Bytes = Annotated[float, BeforeValidator(size, json_schema_input_type=str | float), Field(ge=0)]


def show_seconds(value: float) -> str:
    """`90 seconds`, `5 minutes`, `0.5 seconds`: the largest unit that leaves a whole number."""
    for unit, length in _STEPS:
        if value >= length and value % length == 0:
            count = int(value // length)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{value:.15g} seconds"


def about_seconds(value: float) -> str:
    """What was computed rather than said: `55.6 hours`, `12 minutes`."""
    unit, length = next(((unit, length) for unit, length in _STEPS[1:] if value >= length), _STEPS[-1])
    count = f"{value / length:.3g}"
    return f"{count} {unit}{'' if count == '1' else 's'}"


def show_bytes(value: float) -> str:
    for unit in ("PB", "TB", "GB", "MB", "kB"):
        length = _BYTES[unit.lower()]
        if value >= length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.0f} bytes"
