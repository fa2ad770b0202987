"""Which version of every source belongs to a data timestamp, and whether any of them differs from the frontier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.runtime.incremental import boundaries
from snowmelt.runtime.incremental.definitions import Choose, fingerprint
from snowmelt.runtime.retention import EXTENSION_KEY
from snowmelt.state.dynamic_model import Dependency, DynamicState
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


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


def at_timestamp(state: StateReader, at: datetime, known: Iterable[Dependency] = ()) -> Choose:
    """`known`: what will be asked for, to look it up at once."""
    ids = {item.object_id for item in known if item.kind == "TABLE"}
    # What is visible now and was then is what was visible then.
    present = {id: found.version for id, found in state.versions.snapshot(ids).items() if found.committed_at <= at}

    def choose(table: CatalogObject) -> int:
        assert isinstance(table.definition, TableDefinition)
        plain = table.definition.dynamic is None
        return present[table.id] if plain and table.id in present else version_at(state, table, at)

    return choose


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


def unchanged(account: Account, state: StateReader, dynamic: DynamicState, at: datetime) -> bool:
    """Whether the table would be the same at that data timestamp. Looks up versions and policies, and nothing else."""
    if dynamic.data_timestamp is None or dynamic.time_dependent or dynamic.reinit_reason is not None:
        return False
    if dynamic.rows_of is not None:
        return False
    return all(
        _unchanged(state, item, dynamic.frontier, at) and _same_policies(account, state, item)
        for item in dynamic.dependencies
    )


def _same_policies(account: Account, state: StateReader, item: Dependency) -> bool:
    relation = state.catalog.find(item.name, RELATIONS) if item.kind != "FUNCTION" else None
    return relation is None or account.policies.mark(state, relation) == item.policies.partition(":")[0]


def _unchanged(state: StateReader, item: Dependency, frontier: Mapping[str, int], at: datetime) -> bool:
    if item.kind == "FUNCTION":
        found = state.catalog.routines(item.name, ObjectKind.FUNCTION)
        return bool(found) and fingerprint(found) == item.fingerprint
    relation = state.catalog.find(item.name, RELATIONS)
    if relation is None or relation.id != item.object_id:
        return False
    if item.kind == "VIEW":
        return fingerprint([relation]) == item.fingerprint
    known = frontier.get(relation.id)
    return known is not None and _same_rows(state, relation.id, known, _version_of(state, relation, item, at))


def _version_of(state: StateReader, relation: CatalogObject, item: Dependency, at: datetime) -> int:
    return version_at(state, boundaries.as_base(relation) if item.bounded else relation, at)


def _same_rows(state: StateReader, table_id: str, before: int, now: int) -> bool:
    """Rows that were put into other files are the same rows."""
    return before == now or (before < now and state.versions.only_moved(table_id, before, now))


def moved_frontier(state: StateReader, dynamic: DynamicState, at: datetime) -> dict[str, int]:
    """The frontier of a table for which nothing changed, on the newest versions: files of older ones can go."""
    frontier = dict(dynamic.frontier)
    for item in dynamic.dependencies:
        relation = state.catalog.find(item.name, RELATIONS)
        if relation is not None and relation.id in frontier and item.kind in ("TABLE", "DYNAMIC_TABLE"):
            frontier[relation.id] = _version_of(state, relation, item, at)
    return frontier


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
        if known.policies != item.policies:
            return f"The policies on {word.lower()} {item.name} were changed."
    return None


def forgotten(state: StateReader, frontier: Mapping[str, int]) -> str | None:
    """Why a table can't be carried on from its frontier: what a source was then is gone. None when all is there.

    A refresh asks this within its own run, which whoever removes files waits for: what is there now stays until then.
    """
    oldest = state.versions.oldest_of(frontier.keys())
    for table_id, version in frontier.items():
        if oldest.get(table_id, version) > version:
            table = state.catalog.by_id(table_id)
            name = str(table.name) if table is not None else table_id
            return (
                f"The changes of {name} since the last refresh are older than its retention and "
                f"{EXTENSION_KEY}: they are gone."
            )
    return None


def adopt_foreign(account: Account, sources: Mapping[str, CatalogObject]) -> bool:
    """Makes visible what other tools wrote to these tables; whether there was anything."""
    adopted = False
    with account.state.read() as state:
        versions = state.versions.snapshot(sources.keys())
    for table in sources.values():
        definition = table.definition
        assert isinstance(definition, TableDefinition)
        if definition.dynamic is not None:
            continue
        visible = versions.get(table.id)
        if visible is not None and account.store.has_version(definition.location, visible.version + 1):
            account.transactions.adopt(table, visible)
            adopted = True
    return adopted
