"""What others ask of an account's dynamic tables: the scheduler, and code that is imported below that of refreshes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from snowmelt.features.dynamic_tables import checking, graph, group, inspecting, refresh, scheduled, soundness
from snowmelt.features.dynamic_tables.graph import RefreshGraph
from snowmelt.features.dynamic_tables.recording import RefreshOutcome
from snowmelt.runtime.run import Run
from snowmelt.scheduler.runner import RefreshRunner
from snowmelt.state.dynamic_model import RefreshTrigger
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


class DynamicTables:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._runner: RefreshRunner | None = None

    def start(self) -> None:
        """From now on, until the account is closed, they are refreshed as their lags need it."""
        if self._runner is None:
            self._runner = scheduled.runner(self._account, self._account.settings.parallel_refreshes)
            self._runner.start()

    def wake(self) -> None:
        """A statement changed something that the scheduler should look at."""
        if self._runner is not None:
            self._runner.wake()

    def note_commit(self, tables: frozenset[str], at: datetime) -> None:
        """Rows of these tables became visible: what reads them may be due sooner."""
        if self._runner is not None:
            self._runner.note_commit(tables, at)

    def load(self) -> tuple[int, int]:
        """How many refreshes the scheduler runs, and how many wait for a worker."""
        return self._runner.load() if self._runner is not None else (0, 0)

    def stop(self, timeout: float, cancelling: float = 10.0) -> None:
        """Refreshes that run may finish within so many seconds; then they are cancelled, which takes time too."""
        if self._runner is not None:
            self._runner.stop(timeout, cancel_timeout=cancelling)
            self._runner = None

    def graph(self) -> RefreshGraph:
        """The live dynamic tables, where each stands and what it reads."""
        with self._account.state.read() as state:
            return graph.load(state)

    def refresh_table(
        self,
        table: CatalogObject,
        data_timestamp: datetime,
        trigger: RefreshTrigger,
        *,
        completion_target: datetime | None = None,
        counts_as_failure: bool = True,
    ) -> RefreshOutcome:
        """See `refresh.refresh_table`."""
        return refresh.refresh_table(
            self._account,
            table,
            data_timestamp,
            trigger,
            completion_target=completion_target,
            counts_as_failure=counts_as_failure,
        )

    def refresh(
        self, table_ids: Collection[str], trigger: RefreshTrigger, data_timestamp: datetime | None = None
    ) -> dict[str, RefreshOutcome]:
        """See `group.refresh_graph`."""
        return group.refresh_graph(self._account, table_ids, trigger, data_timestamp=data_timestamp)

    def check(self, table: CatalogObject, caller: Run | None = None) -> dict[str, Any]:
        """See `checking.check`."""
        return checking.check(self._account, table, caller)

    def refresh_changes(
        self, run: Run, table: CatalogObject, query_id: str, source: str | None, numbers: Sequence[int]
    ) -> dict[str, Any]:
        """See `inspecting.refresh_changes`."""
        return inspecting.refresh_changes(self._account, table, query_id, run, source, numbers)

    def check_versions(self, run: Run, table: CatalogObject, key: str | None) -> dict[str, Any]:
        """See `soundness.check`."""
        return soundness.check(run, table, key)
