"""Contracts as SHOW and DESCRIBE print them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.service.contracts.promises import is_sunset, version_of
from snowmelt.service.contracts.versioning import latest
from snowmelt.service.metadata.columns import Row, columns
from snowmelt.service.metadata.listing import Listing
from snowmelt.service.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.contract_model import ContractDefinition
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run

DESCRIBE = columns("version, status, sunset, created_on:ts, document")


def contracts(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, ObjectKind.CONTRACT):
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
    """The tables and views that are held to it, as far as whoever asks may know of them."""
    return sorted(item.name for item in attached_objects(state, contract))


def attached_objects(state: StateReader, contract: CatalogObject) -> Iterator[CatalogObject]:
    for link in state.contracts.of_contract(contract.id):
        known = state.catalog.by_id(link.object_id)
        # Only names are looked up with the asker's eyes.
        found = state.catalog.find(known.name, RELATIONS) if known is not None and known.dropped_on is None else None
        if found is not None and found.id == link.object_id:
            yield found


def described(item: CatalogObject, today: date) -> Iterator[Row]:
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


LISTINGS = {"CONTRACTS": Listing(contracts)}
