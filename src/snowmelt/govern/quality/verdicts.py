"""The verdict of a check on measured numbers: passed or failed, and the message. Knows no tables and no files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev

from snowmelt.core.lag import show_lag
from snowmelt.state.quality_model import CheckKind, FailureAction, QualityCheck, QualityResult, ResultStatus

_FEWEST = 3
"""A check needs this many earlier results before it calls a value unusual."""
_SMALLEST_SHARE = 1e-4
"""An empty bin counts as this share: PSI has no value for one."""


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    check: QualityCheck
    passed: bool
    value: float | None = None
    rows_checked: int | None = None
    rows_failed: int | None = None
    message: str | None = None
    profile: tuple[float, ...] = ()
    tolerated: bool = False
    """The check failed and the write goes on: its bad rows are quarantined."""

    @property
    def stops(self) -> bool:
        """Whether the write must not become visible."""
        return not self.passed and not self.tolerated and self.check.action is not FailureAction.WARN


def of_rows(check: QualityCheck, failed: int, checked: int) -> CheckVerdict:
    """Rows that failed. As many as the threshold may; where they are quarantined, beyond it the write fails."""
    limit = check.threshold
    over = limit.exceeded(failed, checked) if limit is not None else failed > 0
    quarantines = check.action is FailureAction.QUARANTINE
    passed = failed == 0 if quarantines else not over
    message = None
    if failed:
        beyond = f", more than {limit}" if limit is not None and over else ""
        message = f"{failed} of {checked} rows failed {check.kind}{_columns(check)}{beyond}"
    tolerated = quarantines and (limit is None or not over)
    return CheckVerdict(check, passed, float(failed), checked, failed, message, tolerated=tolerated)


def of_value(check: QualityCheck, value: float | None, earlier: Sequence[QualityResult] = ()) -> CheckVerdict:
    """A number that was measured; `earlier` are the check's last results, the newest first."""
    if value is None:
        # Of no rows nothing can be said, but that they are not fresh.
        stale = check.kind is CheckKind.FRESHNESS
        return CheckVerdict(check, not stale, message="there are no rows" if stale else None)
    if check.kind is CheckKind.VOLUME:
        return _unusual(check, value, earlier)
    low = float(check.minimum.strip("()'")) if check.minimum is not None else -math.inf
    high = float(check.maximum.strip("()'")) if check.maximum is not None else math.inf
    if not low <= value <= high:
        return CheckVerdict(check, False, value, message=_out_of_bounds(check, value, low, high))
    return _within(check, value, earlier) if check.within is not None else CheckVerdict(check, True, value)


def of_rows_left(check: QualityCheck, rows: int, before: int | None, earlier: Sequence[QualityResult]) -> CheckVerdict:
    """How many rows a table has; `before` the write there were so many, or nobody knows."""
    found = of_value(check, float(rows), earlier)
    if not found.passed or check.of_before is None or before is None or rows >= before * check.of_before / 100:
        return found
    message = f"{check.kind} is {rows}, less than {check.of_before:g} % of the {before} rows before"
    return CheckVerdict(check, False, float(rows), message=message)


def _out_of_bounds(check: QualityCheck, value: float, low: float, high: float) -> str:
    what = f"{check.kind}{_columns(check)}"
    if check.kind is CheckKind.FRESHNESS:
        return f"the newest row is {show_lag(int(value))} old, and may be {show_lag(int(high))}"
    bound = f"at least {low:g}" if value < low else f"at most {high:g}"
    return f"{what} is {value:g}, and must be {bound}"


def _within(check: QualityCheck, value: float, earlier: Sequence[QualityResult]) -> CheckVerdict:
    values = _good(earlier)
    if not values or check.within is None:
        return CheckVerdict(check, True, value)
    expected = fmean(values)
    allowed = abs(expected) * check.within / 100
    passed = abs(value - expected) <= allowed
    message = f"{check.kind} is {value:g}, and differs by more than {check.within:g} % from {expected:g} on average"
    return CheckVerdict(check, passed, value, message=None if passed else message)


def _unusual(check: QualityCheck, value: float, earlier: Sequence[QualityResult]) -> CheckVerdict:
    """Fails a value that is too many standard deviations away from the earlier ones."""
    values = _good(earlier)
    if len(values) < _FEWEST:
        return CheckVerdict(check, True, value)
    # Writes that all brought the same number have no deviation: a tenth of them is nothing unusual.
    expected, spread = fmean(values), max(pstdev(values), abs(fmean(values)) / 10)
    limit = float(check.maximum or 3)
    passed = abs(value - expected) <= limit * spread
    message = f"{value:g} rows came, where {expected:g} were usual (more than {limit:g} standard deviations away)"
    return CheckVerdict(check, passed, value, message=None if passed else message)


def _good(earlier: Sequence[QualityResult]) -> list[float]:
    """What earlier results measured, without those that failed: they say nothing of what is usual."""
    return [item.value for item in earlier if item.value is not None and item.status is ResultStatus.PASSED]


# -- drift ------------------------------------------------------------------------------------------------------------


def of_distribution(check: QualityCheck, baseline: Sequence[float], counts: Sequence[float]) -> CheckVerdict:
    """`baseline`: the bounds between bins, then the share of rows in each. `counts`: see `counts_upto`.

    Later results carry the baseline on, so that a slow drift is one.
    """
    total = counts[-1]
    if not total:
        return CheckVerdict(check, True, None, profile=tuple(baseline))
    expected = baseline[len(counts) - 1 :]
    found = shares(counts)
    value = psi(expected, found) if check.method == "PSI" else ks(expected, found)
    passed = value <= float((check.maximum or "0").strip("()'"))
    message = f"{check.method} of {', '.join(check.columns)} is {value:.4g}, and must be at most {check.maximum}"
    return CheckVerdict(check, passed, value, message=None if passed else message, profile=tuple(baseline))


def shares(counts: Sequence[float]) -> list[float]:
    """The part of the rows in each bin, from how many lie at or below each bound and how many there are."""
    total = counts[-1]
    return [(upto - before) / total for before, upto in pairwise([0.0, *counts])]


def psi(expected: Sequence[float], found: Sequence[float]) -> float:
    """The population stability index: 0 for the same distribution, above 0.2 for another one as a rule."""
    pairs = [(max(e, _SMALLEST_SHARE), max(f, _SMALLEST_SHARE)) for e, f in zip(expected, found, strict=True)]
    return sum((f - e) * math.log(f / e) for e, f in pairs)


def ks(expected: Sequence[float], found: Sequence[float]) -> float:
    """Kolmogorov and Smirnov's distance: the largest gap between the two cumulative distributions, from 0 to 1."""
    gap = farthest = 0.0
    for e, f in zip(expected, found, strict=True):
        gap += f - e
        farthest = max(farthest, abs(gap))
    return farthest


def _columns(check: QualityCheck) -> str:
    return f" ({', '.join(check.columns)})" if check.columns else ""
