"""LIKE, STARTS WITH and LIMIT … FROM of SHOW."""

from __future__ import annotations

from collections.abc import Iterable

from snowmelt.core import errors, patterns
from snowmelt.runtime.metadata.columns import Row
from snowmelt.sql.statements.show import ShowStatement

MAX_ROWS = 10_000


def check_limit(statement: ShowStatement) -> None:
    limit = statement.limit
    if limit is not None and limit <= 0:
        raise errors.SnowmeltError("001003", "42000", f'page size "{limit}" must be greater than 0 in limit clause')
    if limit is not None and limit > MAX_ROWS:
        raise errors.invalid_value(str(limit), "LIMIT")


def chosen(rows: Iterable[Row], statement: ShowStatement, named: str, *, paged: bool) -> list[Row]:
    """The rows that the statement asks for. `named` is the column that LIKE and its siblings look at.

    Without `paged`, STARTS WITH and LIMIT are read and mean nothing. Raises when more than 10,000 rows remain.
    """
    found = list(rows)
    if statement.like is not None:
        pattern = patterns.like(statement.like, escapes=True)
        found = [row for row in found if pattern.fullmatch(str(row[named]))]
    if paged:
        found = _page(found, statement, named)
    if len(found) > MAX_ROWS:
        raise errors.SnowmeltError(
            "090201",
            "22000",
            f"The result set size exceeded the max number of rows({MAX_ROWS}) supported for SHOW statements. "
            "Use LIMIT option to limit result set to a smaller number.",
        )
    return found


def _page(rows: list[Row], statement: ShowStatement, named: str) -> list[Row]:
    prefix, after = statement.starts_with, statement.from_name
    if prefix is not None:
        rows = [row for row in rows if str(row[named]).startswith(prefix)]
    if after is not None:
        rows = [row for row in rows if str(row[named]) > after]
    return rows[: statement.limit]
