"""Questions to a table of versions: has a key two current ones, do they overlap, is one missing between them."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core.names import quote
from snowmelt.sql.scd import DELETED, SEQUENCE, ScdEvents, ordered_events

FOUND = ("versions", "two_current", "overlaps", "empty", "wrongly_current", "gaps")
"""What `versions_query` counts, column by column."""
_SPANS = """
SELECT {keys}, VALID_FROM, VALID_TO, IS_CURRENT,
  LEAD(VALID_FROM) OVER (PARTITION BY {keys} ORDER BY VALID_FROM, VALID_TO) AS NEXT_FROM,
  SUM(IFF(IS_CURRENT, 1, 0)) OVER (PARTITION BY {keys}) AS CURRENT_VERSIONS
FROM {table}
"""
_COUNTS = """
WITH SPANS AS ({spans})
SELECT COUNT(*) AS C0, COUNT_IF(IS_CURRENT AND CURRENT_VERSIONS > 1) AS C1,
  COUNT_IF(NEXT_FROM < VALID_TO OR (VALID_TO IS NULL AND NEXT_FROM IS NOT NULL)) AS C2,
  COUNT_IF(VALID_TO <= VALID_FROM) AS C3, COUNT_IF(IS_CURRENT IS DISTINCT FROM (VALID_TO IS NULL)) AS C4,
  COUNT_IF(NEXT_FROM > VALID_TO) AS C5
FROM SPANS
"""
_EXPLAINED = """
WITH SPANS AS ({spans}),
  DELETIONS AS (SELECT DISTINCT {keys}, {sequence} AS DELETED_AT FROM ({events}) WHERE {deleted})
SELECT COUNT(*) AS C0 FROM SPANS JOIN DELETIONS ON VALID_TO = DELETED_AT AND {same_key} WHERE NEXT_FROM > VALID_TO
"""
_UNPLACED = "SELECT COUNT(*) AS C0 FROM ({events}) WHERE {sequence} IS NULL"


def versions_query(table: str, key: Sequence[str]) -> str:
    """One row of counts, in the order of FOUND. A gap may be the time between a deletion and what came after."""
    return _COUNTS.format(spans=_spans(table, key))


def explained_gaps_query(table: str, events: ScdEvents) -> str:
    """How many gaps begin with a deletion among the events."""
    key = [column.name for column in events.key]
    same_key = " AND ".join(f"EQUAL_NULL(SPANS.{quote(name)}, DELETIONS.{quote(name)})" for name in key)
    return _EXPLAINED.format(
        spans=_spans(table, key), keys=_listed(key), same_key=same_key, **_about_events(events), deleted=quote(DELETED)
    )


def unplaced_query(events: ScdEvents) -> str:
    """How many events have no position in the order, so that they count for nothing."""
    return _UNPLACED.format(**_about_events(events))


def _about_events(events: ScdEvents) -> dict[str, str]:
    return {"events": ordered_events(events).sql(dialect="snowflake"), "sequence": quote(SEQUENCE)}


def _spans(table: str, key: Sequence[str]) -> str:
    return _SPANS.format(table=table, keys=_listed(key))


def _listed(key: Sequence[str]) -> str:
    return ", ".join(map(quote, key))
