"""What the history and the state store say of a refresh: that it runs, what it did, or why it failed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.features.dynamic_tables import scheduling
from snowmelt.ivm.cost import ComputeEngine
from snowmelt.runtime import correlation
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.definitions import BoundDefinition
from snowmelt.runtime.pending import PendingTable
from snowmelt.state.dynamic_model import (
    DynamicDefinition,
    DynamicRefresh,
    DynamicState,
    OperatorState,
    RefreshAction,
    RefreshState,
    RefreshTrigger,
)
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader, StateTransaction
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)
_CANCELLED = "000604"


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """How a refresh ended."""

    table_id: str
    name: ObjectName
    data_timestamp: datetime
    state: RefreshState
    action: RefreshAction | None = None
    refresh_id: str | None = None
    """The row of history; None when there was nothing to do, because the table is as new as that already."""
    rows_inserted: int = 0
    rows_deleted: int = 0
    reason: str | None = None
    """Why all rows were computed anew, if they were."""
    error: SnowmeltError | None = None

    @property
    def succeeded(self) -> bool:
        return self.state is RefreshState.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Again:
    """A refresh that failed and is tried again."""

    refresh_id: str
    attempts: int
    """So far."""


@dataclass(frozen=True, slots=True)
class Done:
    """A refresh whose rows are in the table's log."""

    action: RefreshAction
    result: CommitResult
    bound: BoundDefinition
    before: DynamicState
    reinit_reason: str | None
    times: dict[str, int]
    details: dict[str, Any]
    states: dict[str, OperatorState]
    time_dependent: bool
    chose_full: bool
    engine: ComputeEngine


class RefreshRecord:
    """The row of history of one refresh, from its beginning to its end."""

    def __init__(
        self,
        account: Account,
        table: CatalogObject,
        definition: DynamicDefinition,
        at: datetime,
        started: datetime,
        trigger: RefreshTrigger,
        completion_target: datetime | None,
        counts_as_failure: bool,
        again: Again | None,
    ) -> None:
        self.account = account
        self.table = table
        self.at = at
        self.counts_as_failure = counts_as_failure
        self.correlation_id: str | None = None
        """Of the newest change that the refresh takes in."""
        self.repeats = again is not None
        self.announced = False
        """Whether the history says that it runs."""
        self.row = DynamicRefresh(
            id=again.refresh_id if again is not None else str(uuid.uuid4()),
            table_id=table.id,
            name=table.name,
            state=RefreshState.EXECUTING,
            data_timestamp=at,
            started_at=started,
            completion_target=completion_target,
            trigger=trigger,
            target_lag=definition.target_lag,
            warehouse=definition.warehouse,
            details={"attempts": again.attempts + 1} if again is not None else {},
        )

    def update(self, values: dict[str, Any]) -> None:
        self.row = self.row.model_copy(update=values)

    def begin(self) -> None:
        """The history says that it runs, for those who look meanwhile and for the next start if it never ends."""
        if not self.announced:
            # First: the row may be there although its commit seemed to fail.
            self.announced = True
            with self.account.state.begin() as state:
                state.dynamic.record_refresh(self.row)

    def forget(self) -> None:
        """Nothing of it remains, and no row of history either."""
        if self.announced or self.repeats:
            with self.account.state.begin() as state:
                state.dynamic.forget_refresh(self.row.id)
            self.announced = False

    def flip(self, done: Done, pending: PendingTable) -> Callable[[StateTransaction], None]:
        """What becomes true with the table's new version."""
        bound = done.bound

        def record(state: StateTransaction) -> None:
            values: dict[str, Any] = {
                "version": pending.version,
                "frontier": dict(bound.versions),
                "action": done.action,
                "reinit_reason": done.reinit_reason,
                "statistics": {**_counts(done.result), **done.times},
                "changed_inputs": _changed_inputs(bound, done.before.frontier),
                "last_completed_dependency": _last_dependency(state, bound),
                "details": {**self.row.details, **done.details, "engine": done.engine.value, **self._correlated()},
            }
            stands = {
                "dependencies": bound.dependencies,
                "time_dependent": done.time_dependent,
                "reinit_reason": None,
                "rows_of": None,
                "version": pending.version,
                "operator_states": done.states,
                "costs": incremental.costs_after(
                    done.before.costs,
                    done.times["executionTimeMs"],
                    done.engine,
                    changed_rows=done.details.get("changed_rows"),
                    rows=incremental.source_rows(state, bound),
                    chose_full=done.chose_full,
                    compiled=done.details.get("compiled", False),
                ),
                "frontier": dict(bound.versions),
            }
            self.succeed(state, values, stands)
            inputs = scheduling.direct_inputs
            if inputs(bound.dependencies) != inputs(done.before.dependencies):
                scheduling.note_definition(state, self.table.id, ())

        return record

    def succeed(self, state: StateTransaction, values: dict[str, Any], stands: dict[str, Any]) -> None:
        """The table stands at its new data timestamp, and the history says how it got there."""
        current = state.dynamic.require(self.table.id)
        if current.data_timestamp is not None and current.data_timestamp >= self.at:
            raise errors.internal(f"{self.table.name} was refreshed twice at once.")
        state.dynamic.put(current.model_copy(update={**stands, "data_timestamp": self.at, "failures": 0}))
        self.update({**values, "state": RefreshState.SUCCEEDED, "ended_at": state.now})
        state.dynamic.record_refresh(self.row)

    def _correlated(self) -> dict[str, str]:
        return {} if self.correlation_id is None else {correlation.DETAIL: self.correlation_id}

    def fail(self, error: SnowmeltError) -> RefreshOutcome:
        """The table stays as it is; a scheduled failure counts. One whose commit succeeded, though its answer was lost,
        is no failure."""
        ended = RefreshState.CANCELLED if error.code == _CANCELLED else RefreshState.FAILED
        with self.account.state.begin() as state:
            recorded = state.dynamic.refresh(self.row.id)
            if recorded is not None and recorded.state is RefreshState.SUCCEEDED:
                self.row = recorded
                return self.outcome(RefreshState.SUCCEEDED, recorded.action)
            self.update({"state": ended, "state_code": error.code, "state_message": error.text, "ended_at": state.now})
            state.dynamic.record_refresh(self.row)
            self.announced = True
            if self.row.trigger is RefreshTrigger.SCHEDULED and self.counts_as_failure:
                scheduling.note_failure(state, self.table)
        return self.outcome(ended, None, error=error)

    def announce(self, outcome: RefreshOutcome) -> RefreshOutcome:
        """The outcome, once those who count refreshes know of it. One that did nothing does not count."""
        if outcome.refresh_id is not None:
            self.account.events.refresh_ended(self.row)
            _log.info("refreshed", state=outcome.state.value, action=outcome.action, refresh_id=self.row.id,
                      correlation_id=self.correlation_id, table=str(self.table.name))  # fmt: skip
        return outcome

    def outcome(
        self,
        state: RefreshState,
        action: RefreshAction | None,
        result: CommitResult | None = None,
        *,
        refresh_id: str | None = "",
        reason: str | None = None,
        error: SnowmeltError | None = None,
    ) -> RefreshOutcome:
        return RefreshOutcome(
            table_id=self.table.id,
            name=self.table.name,
            data_timestamp=self.at,
            state=state,
            action=action,
            refresh_id=self.row.id if refresh_id == "" else refresh_id,
            rows_inserted=_counts(result)["numInsertedRows"] if result is not None else 0,
            rows_deleted=_counts(result)["numDeletedRows"] if result is not None else 0,
            reason=reason,
            error=error,
        )


def _counts(result: CommitResult) -> dict[str, int]:
    """What a refresh did, for its history: an update is a row that goes and one that comes."""
    return {
        "numInsertedRows": result.rows_inserted + result.rows_updated,
        "numDeletedRows": result.rows_deleted + result.rows_updated,
        "numCopiedRows": 0,
    }


def _changed_inputs(bound: BoundDefinition, frontier: dict[str, int]) -> tuple[dict[str, Any], ...]:
    """The sources that are not what the frontier says."""
    return tuple(
        {"name": str(item.name), "kind": item.kind}
        for item in bound.dependencies
        if item.object_id in bound.versions and bound.versions[item.object_id] != frontier.get(item.object_id)
    )


def _last_dependency(state: StateReader, bound: BoundDefinition) -> dict[str, Any] | None:
    """The dynamic source that was refreshed last."""
    found = [
        refresh
        for item in bound.dependencies
        if item.kind == "DYNAMIC_TABLE" and (refresh := state.dynamic.last_refresh(item.object_id)) is not None
    ]
    if not found:
        return None
    last = max(found, key=lambda refresh: refresh.ended_at or refresh.data_timestamp)
    return {"qualified_name": str(last.name), "data_timestamp": last.data_timestamp.isoformat()}
