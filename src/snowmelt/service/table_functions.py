"""Table functions over metadata and results: TABLE(RESULT_SCAN(…)) and INFORMATION_SCHEMA's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.relations import Relation
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def call(run: Run, state: StateReader, name: str, arguments: dict[str, exp.Expression]) -> Relation:
    raise errors.unknown_function(name, None)
