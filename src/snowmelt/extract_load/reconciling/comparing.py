"""A comparison: days that differ are looked at row by row, and once more when what is on its way has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from snowmelt.extract_load.reconciling.model import (
    ComparedRow,
    DayTotals,
    Key,
    Reconciliation,
    compare_rows,
    differing_days,
)
from snowmelt.extract_load.reconciling.sides import Side, SourceSide

Repair = Callable[[SourceSide, list[Key]], int]
"""Loads the rows that have these keys; how many."""


def reconcile(
    source: SourceSide, table: Side, *, bring: Callable[[], None], repair: Repair | None = None
) -> Reconciliation:
    """`bring` loads what is new and refreshes, so that what was on its way is no difference.

    `repair` fetches what was committed behind the place of a change column.
    """
    first = _compare(source, table)
    if not first.found.differences:
        return first.found
    bring()
    found = _settled(source, table, first)
    late = [key for key, kind in found.differences.items() if kind != "extra"]
    if repair is not None and late:
        before = _Look(found, {key: first.rows[key] for key in found.differences})
        repaired = repair(source, late)
        bring()
        found = _settled(source, table, before)
        found.repaired = repaired
    return found


def compare(source: Side, table: Side) -> Reconciliation:
    """How they differ now."""
    return _compare(source, table).found


@dataclass(slots=True)
class _Look:
    """What one look found, with the rows of the source that differ as they were then."""

    found: Reconciliation
    rows: dict[Key, ComparedRow | None]


def _compare(source: Side, table: Side) -> _Look:
    source.forget()
    there, here = source.totals(), table.totals()
    days = differing_days(there, here)
    # Where keys are no numbers that could be added up, equal totals may still hide other rows.
    summed = set(source.compared.key) <= set(source.compared.sums)
    found = Reconciliation(source.compared, _rows(there), _rows(here), tuple(days))
    if not days and summed:
        return _Look(found, {})
    wanted = days if summed else None
    rows = source.rows(wanted)
    found.differences = compare_rows(rows, table.rows(wanted))
    if "missing" in found.differences.values():
        # Rows that gates kept out are not lost: they are told as what they are.
        kept = table.kept_out()
        found.differences = {
            key: kind for key, kind in found.differences.items() if kind != "missing" or key not in kept
        }
    return _Look(found, {key: rows.get(key) for key in found.differences})


def _rows(of_days: Mapping[str, DayTotals]) -> int:
    return sum(item.rows for item in of_days.values())


def _settled(source: Side, table: Side, before: _Look) -> Reconciliation:
    """What differs in both looks while the source's row stayed the same was not merely on its way."""
    now = _compare(source, table)
    now.found.days = before.found.days
    now.found.differences = {
        key: kind for key, kind in now.found.differences.items()
        if key in before.rows and before.rows[key] == now.rows[key]
    }  # fmt: skip
    return now.found
