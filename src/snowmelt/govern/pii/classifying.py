"""Which class of personal data a column has, from its name and from a sample of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from snowmelt.govern.pii.classes import CLASSES, PiiClass, by_name

_SURE, _LIKELY = 0.8, 0.5
"""Share of the values that look like one."""


class Confidence(StrEnum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class PiiFinding:
    column: str
    found: PiiClass
    confidence: Confidence
    coverage: float
    """Share of the sampled values that look like it; 0 when only the name speaks for it."""

    def as_json(self) -> dict[str, Any]:
        """In the shape of Snowflake's SYSTEM$CLASSIFY."""
        return {
            "recommendation": {
                "semantic_category": self.found.name,
                "privacy_category": self.found.privacy.value,
                "confidence": self.confidence.value,
                "coverage": round(self.coverage, 4),
                "details": [],
            },
            "alternates": [],
        }


def classify(column: str, values: Sequence[str]) -> PiiFinding | None:
    """`values`: texts that the column has, without NULLs; none when it was not looked at."""
    named = by_name(column)
    shares = [(_share(found, values), found) for found in CLASSES.values() if found.looks is not None and values]
    share, seen = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if seen is not None and share >= _LIKELY:
        sure = share >= _SURE or seen is named
        return PiiFinding(column, seen, Confidence.HIGH if sure else Confidence.MEDIUM, share)
    if named is None:
        return None
    # Values that could be judged and do not look like it speak against the name.
    doubted = named.looks is not None and len(values) > 0
    return PiiFinding(column, named, Confidence.LOW if doubted else Confidence.MEDIUM, _share(named, values))


def _share(found: PiiClass, values: Sequence[str]) -> float:
    if found.looks is None or not values:
        return 0.0
    return sum(map(found.looks, values)) / len(values)
