"""The state store with somebody's eyes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from snowmelt.state.sight import Sight
from snowmelt.state.store import StateReader, StateStore, StateTransaction


@dataclass(frozen=True, slots=True)
class SightedStore:
    """What a statement reads and writes through: names that its roles may not know of are not there."""

    store: StateStore
    sight: Sight | None
    keeps_grants: bool = False
    """COPY GRANTS: what replaces something has its grants."""

    def read(self) -> AbstractContextManager[StateReader]:
        return self.store.read(self.sight)

    def begin(self) -> AbstractContextManager[StateTransaction]:
        return self.store.begin(self.sight, keeps_grants=self.keeps_grants)
