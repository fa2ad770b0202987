"""Why a query can't be kept up to date by its changes: typed, so that EXPLAIN and history can say it."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    VOLATILE_FUNCTION = "VOLATILE_FUNCTION"
    CLOCK_OUTSIDE_WHERE = "CLOCK_OUTSIDE_WHERE"
    INEXACT_KEY = "INEXACT_KEY"
    PYTHON = "PYTHON"
    UNSUPPORTED_OPERATOR = "UNSUPPORTED_OPERATOR"


class NotIncrementalError(Exception):
    """A query, or a part of one, that only recomputation keeps right.

    `operator` is what stands in the way, as the user would call it, and where; `advice` says what to change.
    """

    def __init__(self, reason: Reason, operator: str, advice: str, position: tuple[int, int] | None = None) -> None:
        # People count positions from 1; here the first one is 0.
        where = f" at line {position[0]}, position {position[1] + 1} of the query" if position is not None else ""
        super().__init__(f"{operator}{where} ({reason}): {advice}")
        self.reason = reason
        self.operator = operator + where
        self.advice = advice


class NoIdentityError(Exception):
    """A query whose rows are not made of single rows; `feature` says why."""

    def __init__(self, feature: str) -> None:
        super().__init__(feature)
        self.feature = feature
