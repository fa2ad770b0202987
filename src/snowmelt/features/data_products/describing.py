"""What is known of a data product beyond its declaration: from its contract, and from the checks of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from snowmelt.core.names import ObjectName
from snowmelt.features.contracts.definitions import CONTRACT, ContractDefinition
from snowmelt.features.data_products.definitions import DataProductDefinition
from snowmelt.govern.contracts.model import Contract
from snowmelt.govern.contracts.reading import read
from snowmelt.govern.contracts.service_levels import freshness
from snowmelt.runtime.pii_at_ingest import CLASS, NOT_PERSONAL
from snowmelt.state.model import RELATIONS, CatalogObject, ParameterLevel, TableDefinition
from snowmelt.state.quality_model import QualityCheck, QualityResult
from snowmelt.state.store import StateReader


def contract_of(state: StateReader, product: DataProductDefinition) -> ContractDefinition | None:
    """The product's contract, for whoever may know of it."""
    found = state.catalog.find(product.contract, [CONTRACT]) if product.contract is not None else None
    if found is None:
        return None
    assert isinstance(found.definition, ContractDefinition)
    return found.definition


def document_of(state: StateReader, product: DataProductDefinition) -> Contract | None:
    definition = contract_of(state, product)
    return read(definition.versions[-1].text) if definition is not None else None


def freshness_of(state: StateReader, product: DataProductDefinition) -> int | None:
    """Seconds: as declared, or as the contract's service levels say."""
    if product.freshness is not None:
        return product.freshness
    document = document_of(state, product)
    return freshness(document) if document is not None else None


def promised_at(state: StateReader, item: CatalogObject) -> datetime:
    """Since when the product has the freshness that it promises, at the latest."""
    assert isinstance(item.definition, DataProductDefinition)
    name = item.definition.contract
    if item.definition.freshness is not None or name is None:
        return item.altered_on
    contract = state.catalog.find(name, [CONTRACT])
    return max(item.altered_on, contract.altered_on) if contract is not None else item.altered_on


def all_consumers(state: StateReader, product: DataProductDefinition) -> list[str]:
    """The consumers that the product names, and those that registered with its contract."""
    definition = contract_of(state, product)
    registered = [consumer.name for consumer in definition.consumers] if definition is not None else []
    return list(dict.fromkeys([*product.consumers, *registered]))


def all_pii(state: StateReader, product: DataProductDefinition) -> list[str]:
    """The classes that are named, and those of columns that the contract tags as personal."""
    document = document_of(state, product)
    return list(dict.fromkeys([*product.pii, *(_classes(document) if document is not None else ())]))


def known_pii(state: StateReader, product: DataProductDefinition) -> list[str]:
    """`all_pii`, and the classes of the columns that it consists of."""
    found = [state.catalog.find(name, RELATIONS) for name in product.objects]
    kept = [state.parameters.all(ParameterLevel.TABLE, item.id) for item in found if item is not None]
    classes = {value for each in kept for key, value in each.items() if key.startswith(CLASS) and value != NOT_PERSONAL}
    return list(dict.fromkeys([*all_pii(state, product), *sorted(classes)]))


def tagged_columns(state: StateReader, product: DataProductDefinition) -> set[str]:
    """Names of columns that the contract tags as personal, in capitals."""
    document = document_of(state, product)
    return {name.upper() for name, _ in _personal(document)} if document is not None else set()


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """A quality check of a table, and what it said last."""

    table: ObjectName
    check: QualityCheck
    last: QualityResult | None


def checks_of(state: StateReader, table: CatalogObject) -> list[CheckOutcome]:
    definition = table.definition
    checks = definition.quality if isinstance(definition, TableDefinition) else ()
    return [
        CheckOutcome(table.name, check, next(iter(state.quality.last(table.id, check.name, 1)), None))
        for check in checks
    ]


def quality_of(state: StateReader, product: DataProductDefinition) -> list[CheckOutcome]:
    """All checks of what the product consists of."""
    found = [state.catalog.find(name, RELATIONS) for name in product.objects]
    return [checked for item in found if item is not None for checked in checks_of(state, item)]


def _classes(document: Contract) -> Iterator[str]:
    return (classification or "pii" for _, classification in _personal(document))


def _personal(document: Contract) -> Iterator[tuple[str, str | None]]:
    """Name and class of the columns that are tagged as personal."""
    for _, column in document.named_columns():
        if "pii" in {tag.lower() for tag in column.tags}:
            yield column.name, column.classification
