"""States of approximate aggregates.

Of percentiles: points with weights, in order, that stand for all values of a group. Such a state has the form of
Snowflake's, `{"state": [value, weight, …], "type": "tdigest", "version": 1}`. Up to `_POINTS` values are kept as they
are, so percentiles of few values are exact; the least and the greatest value always are.

Of frequent values: `{"counters": n, "state": [[value, count], …], "type": "approx_top_k", "version": 1}`, the most
frequent ones first.
"""

from __future__ import annotations

import json
import math
from typing import Any

_POINTS = 500
_Points = list[tuple[float, float]]


def digest(values: str) -> str | None:
    """The state of values, a JSON array of numbers; None if there are none, and `!` if one is NaN or infinite."""
    numbers = [float(value) for value in json.loads(values)]
    return _state([(number, 1.0) for number in numbers]) if all(map(math.isfinite, numbers)) else "!"


def merged_digest(states: str) -> str | None:
    """The state of all values of several states, a JSON array of their texts. `!` if one is no state."""
    points: _Points = []
    for state in json.loads(states):
        found = _points(state)
        if found is None:
            return "!"
        points += found
    return _state(points)


def digest_value(state: str, percentile: str) -> str | None:
    """The value at a percentile, with what lies between two points in proportion. `!` if it is no state."""
    points = _points(state)
    if points is None:
        return "!"
    target = float(percentile) * (sum(weight for _, weight in points) - 1)
    before, at, position = points[0][0], 0.0, 0.0
    for value, weight in points:
        middle = position + (weight - 1) / 2
        if middle >= target:
            share = (target - at) / (middle - at) if middle > at else 1.0
            return repr(value if share >= 1 or value == before else before + share * (value - before))
        before, at, position = value, middle, position + weight
    return repr(before)


def merged_counts(states: str, counters: str) -> str | None:
    """The state of several states' values with so many counters, `0` for those that they have. None if there are none,
    `!` if one is no state, `!!` if they have different numbers of counters."""
    counts: dict[str, int] = {}
    numbers: set[int] = set()
    for state in json.loads(states):
        document = _counted(state)
        if document is None:
            return "!"
        numbers.add(document["counters"])
        for value, count in document["state"]:
            key = json.dumps(value, sort_keys=True)
            counts[key] = counts.get(key, 0) + count
    if not numbers:
        return None
    if int(counters) == 0 and len(numbers) > 1:
        return "!!"
    most = int(counters) or numbers.pop()
    found = [[json.loads(key), count] for key, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    return json.dumps({"counters": most, "state": found[:most], "type": "approx_top_k", "version": 1})


def _counted(state: str) -> dict[str, Any] | None:
    try:
        document = json.loads(state)
        whole = document["type"] == "approx_top_k" and isinstance(document["counters"], int)
        return document if whole and all(isinstance(count, int) for _, count in document["state"]) else None
    except (ValueError, TypeError, KeyError):
        return None


def _points(state: str) -> _Points | None:
    try:
        document = json.loads(state)
        numbers = [float(number) for number in document["state"]] if document["type"] == "tdigest" else []
    except (ValueError, TypeError, KeyError):
        return None
    pairs = list(zip(numbers[::2], numbers[1::2], strict=False))
    return pairs if pairs and all(weight >= 1 for _, weight in pairs) else None


def _state(points: _Points) -> str | None:
    if not points:
        return None
    points.sort()
    if len(points) > _POINTS:
        points = [points[0], *_fewer(points[1:-1]), points[-1]]
    numbers = [number for point in points for number in point]
    return json.dumps({"state": numbers, "type": "tdigest", "version": 1})


def _fewer(points: _Points) -> _Points:
    """Neighbours put together: one point for each of so many equal shares of the weight."""
    whole = sum(weight for _, weight in points)
    shares: dict[int, _Points] = {}
    before = 0.0
    for value, weight in points:
        shares.setdefault(int((before + weight / 2) / whole * (_POINTS - 2)), []).append((value, weight))
        before += weight
    weights = [sum(weight for _, weight in share) for share in shares.values()]
    totals = [sum(value * weight for value, weight in share) for share in shares.values()]
    return [(total / weight, weight) for total, weight in zip(totals, weights, strict=True)]
