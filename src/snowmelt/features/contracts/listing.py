"""Contracts as SHOW and DESCRIBE print them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.features.contracts.definitions import CONTRACT, ContractDefinition
from snowmelt.features.contracts.promises import is_sunset, version_of
from snowmelt.features.contracts.versioning import latest
from snowmelt.runtime.metadata.columns import Columns, Row, columns
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import RELATIONS, CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, owner, comment, version, versions, compatibility, "
    "sunset, attached_to, consumers, owner_role_type"
)
DESCRIBE = columns("version, status, sunset, created_on:ts, document")


def contracts(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, CONTRACT):
        definition = item.definition
        assert isinstance(definition, ContractDefinition)
        yield {
            **named(item),
            "version": latest(definition),
            "versions": ", ".join(version.version for version in definition.versions),
            "compatibility": definition.compatibility,
            "sunset": ", ".join(f"{major}: {day}" for major, day in sorted(definition.sunsets.items())) or None,
            "attached_to": ", ".join(map(str, attached(state, item))),
            "consumers": ", ".join(consumer.name for consumer in definition.consumers),
        }


def attached(state: StateReader, contract: CatalogObject) -> list[ObjectName]:
    """The tables and views that the contract is attached to, as far as the role may see them."""
    return sorted(item.name for item in attached_objects(state, contract))


def attached_objects(state: StateReader, contract: CatalogObject) -> Iterator[CatalogObject]:
    for link in state.contracts.of_contract(contract.id):
        known = state.catalog.by_id(link.object_id)
        # Only names are looked up with the asker's eyes.
        found = state.catalog.find(known.name, RELATIONS) if known is not None and known.dropped_on is None else None
        if found is not None and found.id == link.object_id:
            yield found


def described(run: Run, state: StateReader, item: CatalogObject) -> tuple[Columns, Iterator[Row]]:
    return DESCRIBE, _versions(item, run.now.date())


def _versions(item: CatalogObject, today: date) -> Iterator[Row]:
    """One row for each version, with its document."""
    definition = item.definition
    assert isinstance(definition, ContractDefinition)
    for version in definition.versions:
        major = version_of(version).major
        last = definition.sunsets.get(major)
        yield {
            "version": version.version,
            "status": "SUNSET" if is_sunset(definition, major, today) else "ENDING" if last else "ACTIVE",
            "sunset": str(last) if last is not None else None,
            "created_on": version.created_on,
            "document": version.text,
        }
