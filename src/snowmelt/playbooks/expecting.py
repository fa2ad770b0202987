"""Whether the rows of a result are what a probe or a step expects."""

from __future__ import annotations

from collections.abc import Iterable

from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.model import Expectation
from snowmelt.runtime.render import render
from snowmelt.runtime.results import Result


def unmet(expectations: Iterable[Expectation], result: Result) -> list[str]:
    """The expectations that do not hold, in words."""
    return [text for text in (_unmet(item, result) for item in expectations) if text]


def _unmet(expected: Expectation, result: Result) -> str:
    count = result.data.num_rows
    if expected.rows is not None:
        return "" if (count > 0) is expected.rows else f"expected {expected.text}, found {count}"
    wanted = {item.casefold() for item in expected.wanted}
    found = column(result, expected.column or "")
    against = sorted({str(value) for value in found if (str(value).casefold() in wanted) is expected.negated})
    if not found:
        return f"expected {expected.text}, found no rows"
    return f"expected {expected.text}, found {', '.join(against[:5])}" if against else ""


def column(result: Result, name: str) -> list[str | None]:
    """The values of a column as text. Raises when there is no such column."""
    for index, item in enumerate(result.columns):
        if item.name.casefold() == name.casefold():
            return [None if row[index] is None else render(row[index], item.type) for row in result.rows()]
    names = ", ".join(item.name for item in result.columns)
    raise playbook_errors.playbook(f"The result has no column '{name}'; it has {names}.")


def is_true(result: Result) -> bool:
    """The answer of a query that gives one value."""
    rows = result.rows()
    return bool(rows) and str(rows[0][0]).casefold() in ("true", "1")
