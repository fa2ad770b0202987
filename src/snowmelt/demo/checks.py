"""The verdict: is everything that the pipeline made what it has to be?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from snowmelt.runtime.results import Executes


@dataclass(frozen=True, slots=True)
class DemoCheck:
    what: str
    passed: bool
    detail: str


SourceRows = Callable[[str], list[tuple[Any, ...]]]

_COPIES = (
    ("customers", "SELECT id, name, city, tier FROM customers", " WHERE is_current"),
    ("orders", "SELECT id, customer_id, status, placed_at FROM orders", ""),
    ("order_lines", "SELECT order_id, line, product, quantity, price FROM order_lines", ""),
)
"""What must be the same on both sides: a table, the query, and what the query needs here in addition."""


def verdict(
    session: Executes, source: SourceRows, tables: Sequence[str], changes: int, failures: Sequence[str]
) -> Iterator[DemoCheck]:
    """One answer after the other, for a pipeline that has come to rest.

    `changes`: how many rows the source has read out and committed; `tables`: the dynamic ones.
    """
    yield _every_change_once(session, changes)
    for table in tables:
        yield _equals_its_query(session, table)
    yield _sound_versions(session)
    for table, query, current in _COPIES:
        yield compared(table, _rows(session, query + current), source(query))
    yield _same_total(session, source)
    yield DemoCheck("nothing failed", not failures, "; ".join(failures) or "no refresh, no task, no dead letter")


def compared(table: str, here: Iterable[Sequence[Any]], there: Iterable[Sequence[Any]]) -> DemoCheck:
    """Row for row, whatever the order."""
    found, expected = Counter(map(_comparable, here)), Counter(map(_comparable, there))
    missing, surplus = expected - found, found - expected
    what = f"{table} equals PostgreSQL's"
    if not missing and not surplus:
        return DemoCheck(what, True, f"{expected.total():,} rows, one by one")
    examples = ", ".join(f"missing {row}" for row in list(missing)[:1]) or f"unexpected {next(iter(surplus))}"
    return DemoCheck(what, False, f"{missing.total():,} missing, {surplus.total():,} unexpected: {examples}")


def _every_change_once(session: Executes, changes: int) -> DemoCheck:
    query = "SELECT COUNT(*), COUNT(DISTINCT change_number) FROM raw_changes"
    ((rows, distinct),) = _rows(session, query)
    what = "raw_changes has every change once"
    return DemoCheck(what, rows == distinct == changes, f"{rows:,} of {changes:,}")


def _equals_its_query(session: Executes, table: str) -> DemoCheck:
    found = _json(session, f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{table}')")
    detail = f"{found['actual_rows']:,} rows"
    if not found["equal"]:
        detail += f", {found['missing_rows']} missing, {found['unexpected_rows']} unexpected"
    return DemoCheck(f"{table.lower()} equals its query", bool(found["equal"]), detail)


def _sound_versions(session: Executes) -> DemoCheck:
    found = _json(session, "SELECT SYSTEM$CHECK_SCD('customers')")
    wrong = {name: count for name, count in found["violations"].items() if count}
    detail = f"{found['versions']:,} versions, no overlap, no gap" if found["sound"] else str(wrong)
    return DemoCheck("customers has sound versions", bool(found["sound"]), detail)


def _same_total(session: Executes, source: SourceRows) -> DemoCheck:
    ((here,),) = _rows(session, "SELECT SUM(revenue) FROM revenue")
    ((there,),) = source("SELECT SUM(quantity * price) FROM order_lines")
    return DemoCheck("revenue adds up to PostgreSQL's", here == there, f"{here:,} and {there:,}")


def _rows(session: Executes, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.execute(query).rows()]


def _json(session: Executes, query: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_rows(session, query)[0][0])
    return found


def _comparable(row: Sequence[Any]) -> tuple[Any, ...]:
    """Numbers by their value, whatever their type; instants by the moment that they are, in any zone."""
    return tuple(Decimal(value).normalize() if isinstance(value, int | Decimal) else value for value in row)
