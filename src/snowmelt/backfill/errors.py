"""Errors of backfills."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError


def backfill(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A backfill can't be done as it is asked for. Nothing was changed."""
    return SnowmeltError("370033", "F0000", message, hint=hint)
