"""One refresh of one dynamic table.

Everything that makes the refresh true becomes so in one step: the table's new version, its frontier, its data timestamp
and the row of history. Until then nobody sees anything of it, and a process that dies leaves the table as it was.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import structlog
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.features.dynamic_tables import by_changes, frozen, pins, redefining
from snowmelt.features.dynamic_tables import errors as refresh_errors
from snowmelt.features.dynamic_tables.binding import Binding
from snowmelt.features.dynamic_tables.recording import Again, Done, RefreshOutcome, RefreshRecord
from snowmelt.ivm.redefinition import DifferentError
from snowmelt.runtime import correlation
from snowmelt.runtime.incremental import filling, operator_states
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.definitions import BoundDefinition
from snowmelt.runtime.incremental.operator_states import OperatorStates
from snowmelt.runtime.incremental.runs import QUERY_TYPE, RefreshRun, refresh_run
from snowmelt.runtime.pending import PendingTable, Transaction
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.runtime.run import Run
from snowmelt.runtime.writing import RowWriter
from snowmelt.state.dynamic_model import (
    DynamicDefinition,
    DynamicState,
    OperatorState,
    RefreshAction,
    RefreshMode,
    RefreshState,
    RefreshTrigger,
)
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_ATTEMPTS = 5
_SHORT_MS = 1_000


def refresh_table(
    account: Account,
    table: CatalogObject,
    data_timestamp: datetime,
    trigger: RefreshTrigger,
    *,
    caller: Run | None = None,
    completion_target: datetime | None = None,
    lock_timeout: float | None = None,
    counts_as_failure: bool = True,
    as_caller: bool = False,
    again: Again | None = None,
) -> RefreshOutcome:
    """Brings the table to the data timestamp, at or before which nobody may commit any more (`StateStore.settle`).

    Its dynamic sources must have been refreshed to it before. Never raises for a refresh that fails: the outcome and
    the history say so. `counts_as_failure`: whether a failed scheduled refresh is one of those in a row that suspend
    the table; False for an attempt that will be repeated. `as_caller`: with the caller's user and warehouse. `again`:
    the refresh that failed and is repeated, whose row of history this one takes over.
    """
    for attempt in range(_ATTEMPTS):
        with account.state.read() as state:
            current = state.catalog.by_id(table.id)
        if current is None or current.dropped_on is not None:
            error = errors.not_found("Dynamic table", str(table.name))
            return RefreshOutcome(table.id, table.name, data_timestamp, RefreshState.FAILED, error=error)
        work = _TableRefresh(
            account, current, data_timestamp, trigger, caller, completion_target, counts_as_failure, as_caller, again
        )
        try:
            with account.tracing.span(
                "refresh", table=str(current.name), trigger=trigger.value, refresh_id=work.record.row.id
            ):
                return work.record.announce(work.refresh(lock_timeout))
        except errors.StatementConflictError as error:
            # Somebody altered the table, or wrote it from outside: nothing of the refresh remains, so look again.
            if attempt == _ATTEMPTS - 1:
                return work.record.announce(work.record.fail(error))
    raise AssertionError("the last attempt returns")


def refresh_altered(run: Run, table: CatalogObject, dynamic: DynamicState, data_timestamp: datetime) -> RefreshOutcome:
    """Computes all rows of a table that the statement's transaction just altered, and commits that transaction.

    `table` and `dynamic` are what that transaction makes of them. When it fails nothing of it remains, and no row of
    history: the statement is the one that fails.
    """
    transaction = run.transaction
    work = _TableRefresh(run.account, table, data_timestamp, RefreshTrigger.CREATION, run, None, False, False)
    outcome = work.record.announce(work.compute(transaction, transaction.pending[table.id], dynamic))
    if not outcome.succeeded:
        work.record.forget()
    return outcome


class _TableRefresh:
    def __init__(
        self,
        account: Account,
        table: CatalogObject,
        at: datetime,
        trigger: RefreshTrigger,
        caller: Run | None,
        completion_target: datetime | None,
        counts_as_failure: bool,
        as_caller: bool,
        again: Again | None = None,
    ) -> None:
        assert isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
        self.account = account
        self.table = table
        self.definition: DynamicDefinition = table.definition.dynamic
        self.at = at
        self.caller = caller
        self.as_caller = as_caller
        self.started = account.clock.now()
        self.record = RefreshRecord(
            account, table, self.definition, at, self.started, trigger, completion_target, counts_as_failure, again
        )

    # -- the way through ------------------------------------------------------------------------------------------

    def refresh(self, lock_timeout: float | None) -> RefreshOutcome:
        account = self.account
        if self.definition.require_user and not self.as_caller:
            return self.record.fail(refresh_errors.user_required(str(self.table.name)))
        transaction = account.transactions.begin(explicit=False, at=self.started)
        try:
            check = self.caller.check_cancelled if self.caller is not None else _never
            with account.tracing.span("wait for the table"):
                pending = account.transactions.open_for_write(transaction, self.table, lock_timeout, check)
            # Nobody else refreshes or alters the table from here on.
            with account.state.read() as state:
                dynamic = _untouched(state, state.dynamic.require(self.table.id), pending)
                idle = pins.unchanged(account, state, dynamic, self.at)
                frontier = pins.moved_frontier(state, dynamic, self.at) if idle else {}
            if dynamic.data_timestamp is not None and dynamic.data_timestamp >= self.at:
                account.transactions.rollback(transaction)
                return self.record.outcome(RefreshState.SUCCEEDED, RefreshAction.NO_DATA, refresh_id=None)
            self.record.update({"graph_valid_from": dynamic.graph_since})
            if idle:
                return self._no_data(transaction, dynamic, frontier)
        except errors.StatementConflictError:
            account.transactions.rollback(transaction)
            raise
        except SnowmeltError as error:
            account.transactions.rollback(transaction)
            return self.record.fail(error)
        except BaseException:
            account.transactions.rollback(transaction)
            raise
        return self.compute(transaction, pending, dynamic)

    def _no_data(
        self, transaction: Transaction, dynamic: DynamicState, frontier: dict[str, int]
    ) -> RefreshOutcome:  # fmt: skip
        """The data timestamp moves, and nothing else happens."""
        values = {"version": dynamic.version, "frontier": frontier, "action": RefreshAction.NO_DATA}
        transaction.at_commit.append(lambda state: self.record.succeed(state, values, {"frontier": frontier}))
        self.account.transactions.commit(transaction)
        return self.record.outcome(RefreshState.SUCCEEDED, RefreshAction.NO_DATA)

    def compute(self, transaction: Transaction, pending: PendingTable, dynamic: DynamicState) -> RefreshOutcome:
        account = self.account
        first = dynamic.data_timestamp is None or dynamic.reinit_reason is not None
        warehouse = (self.definition.initialization_warehouse if first else None) or self.definition.warehouse
        done: list[Done] = []
        try:
            with refresh_run(
                account,
                self.table.name,
                self.table.owner,
                warehouse,
                transaction,
                self.caller,
                as_caller=self.as_caller,
            ) as run:
                run.refreshed_id = self.table.id
                self.record.update({"query_id": run.query_id, "warehouse": run.session.warehouse})
                if first or not self._is_short(dynamic):
                    self.record.begin()
                reached("refresh-recorded")

                def work() -> Result:
                    with run.atomic():
                        done.append(self._write(run, pending, dynamic))
                        run.transaction.at_commit.append(self.record.flip(done[0], pending))
                    return status(DONE, QUERY_TYPE)

                run.session.perform(run, QUERY_TYPE, work)
        except errors.StatementConflictError:
            account.transactions.rollback(transaction)
            self.record.forget()
            raise
        except SnowmeltError as error:
            account.transactions.rollback(transaction)
            return self.record.fail(error)
        except BaseException:
            account.transactions.rollback(transaction)
            raise
        finally:
            structlog.contextvars.unbind_contextvars("correlation_id", "table")
        reached("refresh-done")
        reason = done[0].reinit_reason
        return self.record.outcome(RefreshState.SUCCEEDED, done[0].action, done[0].result, reason=reason)

    def _write(self, run: RefreshRun, pending: PendingTable, dynamic: DynamicState) -> Done:
        """Computes the rows and commits them to the table's log, where nobody sees them yet."""
        began = self.account.clock.now()
        span, engine = self.account.tracing.span, self.account.engine
        spark_before = engine.spark_work(run.tag)
        with self.account.state.read() as state:
            with span("bind"):
                binding = Binding(run, state, self.table, self.at, dynamic.dependencies)
                bound = binding.bound
            newest = correlation.of_versions(self.account.journal, state, bound.versions, dynamic.frontier)
            self.record.correlation_id = newest
            structlog.contextvars.bind_contextvars(correlation_id=newest, table=str(self.table.name))
            filling.check_columns(self.table, bound.query)
            reason = pins.reinit_reason(dynamic, bound.dependencies)
            if reason is None and dynamic.refresh_mode is not RefreshMode.FULL:
                reason = pins.forgotten(state, dynamic.frontier)
            started_from_nothing = dynamic.data_timestamp is None
            carried: redefining.CarriedOver | None = None
            if reason is None and dynamic.rows_of is not None:
                try:
                    carried = redefining.carry_over(run, state, self.table, pending, dynamic, self.at)
                    dynamic = carried.dynamic
                except DifferentError as different:
                    reason = f"The query was changed: {different}."
            bound_at = self.account.clock.now()
            applied: by_changes.Applied | by_changes.InFull | None = None
            rows: exp.Select | None = None
            states: dict[str, OperatorState] = {}
            if reason is None and not started_from_nothing and dynamic.refresh_mode is not RefreshMode.FULL:
                with span("by changes", correlation_id=newest):
                    # What was carried over is followed by changes: who changed the definition was told so.
                    attempt = by_changes.Attempt(
                        run, state, self.table, pending, dynamic, bound, binding.compile, self.at, carried is None
                    )
                    applied = by_changes.changes_by_plan(attempt)
            if not isinstance(applied, by_changes.Applied):
                self.record.begin()
                bound = binding.anew()
                kept = pending.version if not started_from_nothing else None
                whole = self._whole(run, bound, dynamic, applied)
                states = whole.states
                rows = filling.all_rows(run, self.table, whole.bound, kept)
            assert isinstance(self.table.definition, TableDefinition)
            moving = bound.time_dependent or frozen.may_shrink(bound.environment, self.table.definition)
        reached("refresh-bound")
        if isinstance(applied, by_changes.Applied):
            action, result, details = RefreshAction.INCREMENTAL, applied.result, applied.details
            states = applied.states
            if carried is not None:
                result = redefining.together(carried.result, result)
                details = {**details, "carried_over": carried.how, "compiled": True}
        else:
            assert rows is not None
            with span("in full", correlation_id=newest):
                result = RowWriter(run, self.table).write(rows, overwrite=True)
            action = RefreshAction.REINITIALIZE if reason is not None else RefreshAction.FULL
            details = {"reason": reason or (applied.reason if applied else dynamic.refresh_mode_reason)}
        ended = self.account.clock.now()
        times = {
            "queuedTimeMs": _milliseconds(self.started, began),
            "compilationTimeMs": _milliseconds(began, bound_at),
            "executionTimeMs": _milliseconds(bound_at, ended),
        }
        # Listed while the table is held: afterwards another refresh may write states of its own.
        unnamed = OperatorStates(run, pending.definition).unnamed(states)
        run.transaction.after_commit.append(lambda: operator_states.remove(unnamed))
        chose_full = isinstance(applied, by_changes.InFull) and applied.cheaper
        computed_by = engine.engine_since(run.tag, spark_before)
        return Done(action, result, bound, dynamic, reason, times, details, states, moving, chose_full, computed_by)

    def _is_short(self, dynamic: DynamicState) -> bool:
        """Whether it is over before anybody could look for it: its only row of history is written when it ends."""
        expected = dynamic.costs.incremental_ms
        return dynamic.refresh_mode is not RefreshMode.FULL and expected is not None and expected < _SHORT_MS

    def _whole(
        self, run: RefreshRun, bound: BoundDefinition, dynamic: DynamicState, declined: by_changes.InFull | None
    ) -> incremental.Filled:
        """The query for all rows, with the states that the next refresh by changes needs.

        They make a full refresh up to a third slower. Where one after the other is full because so much changes, no
        refresh by changes is to be expected; if one is wanted after all, it becomes a full one that fills them.
        """
        if dynamic.refresh_mode is RefreshMode.FULL:
            return incremental.Filled(bound, {})
        if declined is not None and declined.cheaper and dynamic.costs.chose_full:
            return incremental.Filled(incremental.reproducible(bound), {})
        return incremental.filled(run, self.table, bound)


def _untouched(state: StateReader, dynamic: DynamicState, pending: PendingTable) -> DynamicState:
    """The state; when another tool wrote the table since its last refresh, what it holds is not the query's result."""
    if dynamic.version is None or dynamic.version == pending.base.version or dynamic.reinit_reason is not None:
        return dynamic
    if not state.versions.foreign_since(dynamic.table_id, dynamic.version):
        return dynamic
    return dynamic.model_copy(update={"reinit_reason": "Another tool wrote to the dynamic table."})


def _milliseconds(start: datetime, end: datetime) -> int:
    return max(round((end - start).total_seconds() * 1000), 0)


def _never() -> None:
    """Nothing asks this refresh to stop."""
