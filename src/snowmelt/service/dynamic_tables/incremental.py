"""Where incremental refresh is plugged in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snowmelt.service.dynamic_tables.definitions import BoundDefinition
from snowmelt.service.dynamic_tables.runs import RefreshRun
from snowmelt.service.transactions import PendingTable
from snowmelt.state.dynamic_model import DynamicState, RefreshMode
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader
from snowmelt.storage.commits import CommitResult

NOT_YET = "INCREMENTAL_REFRESH_NOT_AVAILABLE"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One refresh that need not start from nothing: everything its plan may look at."""

    run: RefreshRun
    state: StateReader
    table: CatalogObject
    pending: PendingTable
    """The table, held for writing; its version is what the table holds now."""
    dynamic: DynamicState
    """Where the table stands: its frontier is what `pending.base` was computed from."""
    bound: BoundDefinition
    """The query at the new versions."""
    data_timestamp: datetime


@dataclass(frozen=True, slots=True)
class Applied:
    """What an incremental refresh did."""

    result: CommitResult
    details: dict[str, Any]


def changes_by_plan(attempt: Attempt) -> Applied | None:
    """Brings the table to the new versions by what changed; None when a full refresh is to do it.

    Writes through `run.open_for_write` and `transactions.wrote`, as every writer does.
    """
    return None


def resolve_mode(configured: RefreshMode, bound: BoundDefinition) -> tuple[RefreshMode, str | None]:
    """What a configured mode means for a query, and why. Never AUTO."""
    if configured is RefreshMode.FULL:
        return RefreshMode.FULL, "USER_SPECIFIED_FULL_REFRESH"
    return RefreshMode.FULL, NOT_YET
