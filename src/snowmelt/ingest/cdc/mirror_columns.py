"""Columns that a mirror of a captured table has beside those of its source."""

from __future__ import annotations

POSITION = "_SNOWMELT_LSN"
CHANGED_AT = "_SNOWMELT_CHANGED_AT"
DELETED = "_SNOWMELT_DELETED"
METADATA = frozenset({POSITION, CHANGED_AT, DELETED})
