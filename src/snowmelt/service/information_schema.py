"""INFORMATION_SCHEMA views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.sql.relations import Relation
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def view(run: Run, state: StateReader, name: ObjectName) -> Relation:
    raise errors.not_found("Object", str(name))
