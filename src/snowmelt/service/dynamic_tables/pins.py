"""Which version of every source belongs to a data timestamp, and whether any of them differs from the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.service.dynamic_tables import boundaries
from snowmelt.service.dynamic_tables.definitions import Choose, fingerprint
from snowmelt.state.dynamic_model import Dependency, DynamicState
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.account import Account


def version_at(state: StateReader, table: CatalogObject, at: datetime) -> int:
    """The version of a source that a refresh at the data timestamp `at` reads.

    Of a dynamic table that is what it holds for `at`, not what was visible then: a group is refreshed one table after
    the other, later than the data timestamp that all of them get.
    """
    assert isinstance(table.definition, TableDefinition)
    if table.definition.dynamic is not None:
        refresh = state.dynamic.refresh_as_of(table.id, at)
        if refresh is None or refresh.version is None:
            raise errors.not_initialized(str(table.name))
        return refresh.version
    found = state.versions.as_of(table.id, at)
    if found is None:
        raise errors.time_travel_unavailable(str(table.name))
    return found.version


def at_timestamp(state: StateReader, at: datetime) -> Choose:
    return lambda table: version_at(state, table, at)


def at_frontier(frontier: Mapping[str, int]) -> Choose:
    """Exactly the versions that a refresh read."""

    def choose(table: CatalogObject) -> int:
        if table.id not in frontier:
            raise errors.compilation(
                "002740", "22000", f"'{table.name}' was replaced since the last refresh of the dynamic table.",
                hint="Refresh the dynamic table.",
            )  # fmt: skip
        return frontier[table.id]

    return choose


def unchanged(state: StateReader, dynamic: DynamicState, at: datetime) -> bool:
    """Whether the table would be the same at that data timestamp. Looks up versions and nothing else."""
    if dynamic.data_timestamp is None or dynamic.time_dependent or dynamic.reinit_reason is not None:
        return False
    return all(_unchanged(state, item, dynamic.frontier, at) for item in dynamic.dependencies)


def _unchanged(state: StateReader, item: Dependency, frontier: Mapping[str, int], at: datetime) -> bool:
    if item.kind == "FUNCTION":
        found = state.catalog.routines(item.name, ObjectKind.FUNCTION)
        return bool(found) and fingerprint(found) == item.fingerprint
    relation = state.catalog.find(item.name, RELATIONS)
    if relation is None or relation.id != item.object_id:
        return False
    if item.kind == "VIEW":
        return fingerprint([relation]) == item.fingerprint
    read = boundaries.as_base(relation) if item.bounded else relation
    return version_at(state, read, at) == frontier.get(relation.id)


def reinit_reason(before: DynamicState, now: tuple[Dependency, ...]) -> str | None:
    """Why what the table holds can't be carried on: what it was computed from is something else now."""
    if before.reinit_reason is not None:
        return before.reinit_reason
    earlier = {item.object_id: item for item in before.dependencies}
    for item in now:
        known = earlier.get(item.object_id)
        word = item.kind.replace("_", " ").capitalize()
        if known is None:
            return f"{word} {item.name} was replaced."
        if known.fingerprint != item.fingerprint:
            return f"{word} {item.name} was changed."
    return None


def adopt_foreign(account: Account, sources: Mapping[str, CatalogObject]) -> bool:
    """Makes visible what other tools wrote to these tables; whether there was anything."""
    adopted = False
    for table in sources.values():
        definition = table.definition
        assert isinstance(definition, TableDefinition)
        if definition.dynamic is not None:
            continue
        with account.state.read() as state:
            visible = state.versions.visible(table.id)
        if visible is not None and account.store.has_version(definition.location, visible.version + 1):
            account.transactions.adopt(table, visible)
            adopted = True
    return adopted
