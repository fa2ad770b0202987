"""The snapshot that search and the data catalog's pages are made of: all that a role may know of."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

from snowmelt.core.lag import show_lag
from snowmelt.core.names import ObjectName
from snowmelt.features.contracts import listing
from snowmelt.features.contracts.definitions import CONTRACT, ContractDefinition
from snowmelt.features.contracts.promises import columns_of, promise_of
from snowmelt.features.contracts.versioning import latest
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.data_products.describing import CheckOutcome, all_consumers, checks_of, freshness_of, known_pii
from snowmelt.govern.contracts.model import Property
from snowmelt.govern.contracts.reading import read
from snowmelt.govern.data_catalog.model import (
    CatalogSnapshot,
    CheckEntry,
    ColumnEntry,
    ConsumerEntry,
    ContractEntry,
    ProductEntry,
    RelationEntry,
)
from snowmelt.govern.data_catalog.searching import search
from snowmelt.govern.quality.ddl import definition_of
from snowmelt.runtime.metadata.columns import Columns, Row, columns
from snowmelt.runtime.metadata.ddl_scripts import view_reads
from snowmelt.runtime.rights.definitions import as_shown
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

SEARCHED: Columns = columns("OBJECT_TYPE, DATABASE_NAME, SCHEMA_NAME, OBJECT_NAME, COLUMN_NAME, FOUND_IN, SCORE:n")


def snapshot(run: Run, state: StateReader) -> CatalogSnapshot:
    stored = state.catalog.objects({*RELATIONS, CONTRACT, DATA_PRODUCT})
    found = [as_shown(run, item) for item in stored]
    today = run.now.date()
    relations = [_relation(state, item, today) for item in found if item.kind in RELATIONS]
    # What a query reads is told only to those who may know of it.
    known = {item.full_name for item in relations}
    relations = [item.model_copy(update={"reads": tuple(n for n in item.reads if n in known)}) for item in relations]
    return CatalogSnapshot(
        taken_at=run.now,
        products=tuple(_product(state, item) for item in found if item.kind is DATA_PRODUCT),
        contracts=tuple(_contract(state, item) for item in found if item.kind is CONTRACT),
        relations=tuple(relations),
    )


def search_rows(run: Run, state: StateReader, words: str) -> list[Row]:
    return [
        {
            "OBJECT_TYPE": hit.kind,
            "DATABASE_NAME": hit.item.database,
            "SCHEMA_NAME": hit.item.schema_name,
            "OBJECT_NAME": hit.item.name,
            "COLUMN_NAME": hit.column,
            "FOUND_IN": hit.text,
            "SCORE": hit.score,
        }
        for hit in search(snapshot(run, state), words)
    ]


def _product(state: StateReader, item: CatalogObject) -> ProductEntry:
    definition = item.definition
    assert isinstance(definition, DataProductDefinition)
    lag = freshness_of(state, definition)
    return ProductEntry(
        **_named(item),
        product_owner=definition.product_owner,
        domain=definition.domain,
        objects=tuple(_plain(name) for name in definition.objects),
        contract=_plain(definition.contract) if definition.contract is not None else None,
        freshness=show_lag(lag) if lag is not None else None,
        availability_tier=definition.availability_tier,
        consumers=tuple(all_consumers(state, definition)),
        tags=definition.tags,
        pii=tuple(known_pii(state, definition)),
        documentation=definition.documentation,
    )


def _contract(state: StateReader, item: CatalogObject) -> ContractEntry:
    definition = item.definition
    assert isinstance(definition, ContractDefinition)
    newest = definition.versions[-1]
    about = read(newest.text).document.description
    named = _named(item)
    named["description"] = item.comment or (about.purpose if about is not None else None)
    return ContractEntry(
        **named,
        version=latest(definition),
        versions=tuple(version.version for version in definition.versions),
        compatibility=definition.compatibility,
        sunsets=tuple(f"{major}: {day}" for major, day in sorted(definition.sunsets.items())),
        attached_to=tuple(_plain(name) for name in listing.attached(state, item)),
        consumers=tuple(
            ConsumerEntry(name=consumer.name, contact=consumer.contact, columns=consumer.columns)
            for consumer in definition.consumers
        ),
        document=newest.text,
    )


def _relation(state: StateReader, item: CatalogObject, today: date) -> RelationEntry:
    definition = item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    dynamic = definition.dynamic if isinstance(definition, TableDefinition) else None
    promise = promise_of(state, item, today)
    satisfied = promise.satisfied(columns_of(definition)) if promise is not None else None
    promised = {} if promise is None else {c.name: c for c in promise.table(satisfied or promise.versions[-1]).columns}
    return RelationEntry(
        **_named(item),
        kind="DYNAMIC TABLE" if dynamic is not None else item.kind.value,
        columns=tuple(
            _column(c.name, str(c.type), c.comment, promised.get(c.name), nullable=c.nullable)
            for c in definition.columns
        ),
        reads=tuple(sorted(_plain(name) for name in _reads(state, item))),
        target_lag=None if dynamic is None else _lag(dynamic.target_lag),
        contract=_plain(promise.contract) if promise is not None else None,
        contract_version=str(satisfied.version) if satisfied is not None else None,
        quality=tuple(_check(checked) for checked in checks_of(state, item)),
    )


def _check(checked: CheckOutcome) -> CheckEntry:
    last = checked.last
    return CheckEntry(
        name=checked.check.name,
        definition=definition_of(checked.check),
        severity=checked.check.severity,
        status=last.status if last is not None else None,
        measured_at=last.measured_at if last is not None else None,
        message=last.message if last is not None else None,
    )


def _column(name: str, type_: str, comment: str | None, said: Property | None, *, nullable: bool) -> ColumnEntry:
    """What the table says about a column, and what its contract says where the table says nothing."""
    return ColumnEntry(
        name=name,
        type=type_,
        nullable=nullable,
        description=comment or (said.description if said is not None else None),
        classification=said.classification if said is not None else None,
        tags=said.tags if said is not None else (),
    )


def _reads(state: StateReader, item: CatalogObject) -> Iterable[ObjectName]:
    if isinstance(item.definition, ViewDefinition):
        return view_reads(item)
    if isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None:
        return [dependency.name for dependency in state.dynamic.require(item.id).dependencies]
    return []


def _lag(seconds: int | None) -> str:
    return "DOWNSTREAM" if seconds is None else show_lag(seconds)


def _named(item: CatalogObject) -> dict[str, Any]:
    return {
        "database": item.name.database,
        "schema_name": item.name.schema,
        "name": item.name.name,
        "description": item.comment,
    }


def _plain(name: ObjectName) -> str:
    return f"{name.database}.{name.schema}.{name.name}"
