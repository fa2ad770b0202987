"""The definition of a table at the versions of a refresh: compiled by one before, if that still holds, or bound now."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.features.dynamic_tables import pins
from snowmelt.runtime.incremental.definitions import BoundDefinition, bind
from snowmelt.runtime.incremental.kept import Compiled, KeptPlans
from snowmelt.state.dynamic_model import Dependency
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.incremental.runs import RefreshRun


class Binding:
    def __init__(
        self, run: RefreshRun, state: StateReader, table: CatalogObject, at: datetime, known: tuple[Dependency, ...]
    ) -> None:
        """`known`: what earlier bindings found, as `bind` takes it."""
        self._run, self._state, self._table, self._at, self._known = run, state, table, at, known
        self._plans = run.account.services[KeptPlans]
        # Before anything is looked up: whoever changes rights meanwhile makes what is compiled here stale at once.
        self._rights = run.account.state.rights_version()
        self._prepared = self._plans.find(run, state, table, known, at, pins.at_timestamp(state, at, known))
        self.bound = self._prepared.bound if self._prepared is not None else self._bind()

    def _bind(self) -> BoundDefinition:
        definition = self._table.definition
        assert isinstance(definition, TableDefinition) and definition.dynamic is not None
        choose = pins.at_timestamp(self._state, self._at)
        return bind(self._run, self._state, self._table.name, definition.dynamic, self._at, choose, self._known)

    def compile(self) -> Compiled:
        """Raises `NotIncrementalError`."""
        if self._prepared is not None:
            return self._prepared.compiled
        return self._plans.compile(self._run, self._state, self._table, self._known, self._rights, self.bound)

    def anew(self) -> BoundDefinition:
        """With a query that can be run as it is, for a full refresh."""
        if self._prepared is not None:
            self._prepared, self.bound = None, self._bind()
        return self.bound
