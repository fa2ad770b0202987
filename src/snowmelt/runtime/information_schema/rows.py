"""What gives the rows of one view of INFORMATION_SCHEMA."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from snowmelt.runtime.metadata.columns import Row
from snowmelt.state.model import Database
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Rows = Callable[["Run", StateReader, Database], Iterable[Row]]
