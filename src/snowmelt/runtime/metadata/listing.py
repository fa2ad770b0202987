"""What one kind of SHOW answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from snowmelt.runtime.metadata.columns import Row
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.store import StateReader

Rows = Callable[[Any, StateReader, ShowStatement], Iterable[Row]]
"""Makes the rows of a listing. The first argument is the `Run`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Where the rows come from. A row holds what TERSE and HISTORY show too; the layout picks."""

    rows: Rows
    named: str = "name"
    """The column that LIKE, STARTS WITH and LIMIT … FROM look at."""
    paged: bool = True
    """Whether STARTS WITH and LIMIT mean anything: of some kinds Snowflake only parses them."""
