"""Data products as SHOW and DESCRIBE print them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from snowmelt.core.lag import show_lag
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.data_products.describing import (
    CheckOutcome,
    all_consumers,
    contract_of,
    freshness_of,
    known_pii,
    quality_of,
)
from snowmelt.govern.data_catalog.model import AVAILABILITY
from snowmelt.runtime.metadata.columns import Columns, Row, columns
from snowmelt.runtime.metadata.layouts import DESCRIBE_PROPERTIES
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, owner, comment, product_owner, domain, objects, "
    "contract, freshness, availability_tier:n, availability, consumers, tags, pii, documentation, "
    "quality, owner_role_type"
)


def data_products(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, DATA_PRODUCT):
        yield shown(state, item)


def shown(state: StateReader, item: CatalogObject) -> Row:
    definition = item.definition
    assert isinstance(definition, DataProductDefinition)
    lag = freshness_of(state, definition)
    return {
        **named(item),
        "product_owner": definition.product_owner,
        "domain": definition.domain,
        "objects": ", ".join(map(str, definition.objects)),
        "contract": str(definition.contract) if definition.contract is not None else None,
        "freshness": show_lag(lag) if lag is not None else None,
        "availability_tier": definition.availability_tier,
        "availability": AVAILABILITY.get(definition.availability_tier or 0),
        "consumers": ", ".join(all_consumers(state, definition)),
        "tags": json.dumps(definition.tags, sort_keys=True) if definition.tags else None,
        "pii": ", ".join(known_pii(state, definition)),
        "documentation": definition.documentation,
        "quality": _quality(quality_of(state, definition)),
    }


def _quality(checks: Sequence[CheckOutcome]) -> str | None:
    """How many checks there are, and what they said last."""
    if not checks:
        return None
    said = Counter(item.last.status.lower() if item.last is not None else "not run yet" for item in checks)
    return f"{len(checks)} checks: " + ", ".join(f"{count} {status}" for status, count in sorted(said.items()))


def described(run: Run, state: StateReader, item: CatalogObject) -> tuple[Columns, Iterator[Row]]:
    return DESCRIBE_PROPERTIES, _properties(state, item)


def _properties(state: StateReader, item: CatalogObject) -> Iterator[Row]:
    """A property a row; the columns of what it consists of come last."""
    definition = item.definition
    assert isinstance(definition, DataProductDefinition)
    row = shown(state, item)
    for column in COLUMNS:
        if row[column.name] is not None:
            yield {"property": column.name, "value": str(row[column.name])}
    contract = contract_of(state, definition)
    if contract is not None:
        yield {"property": "contract_versions", "value": ", ".join(version.version for version in contract.versions)}
    for checked in quality_of(state, definition):
        status = checked.last.status.value if checked.last is not None else "not run yet"
        message = f": {checked.last.message}" if checked.last is not None and checked.last.message else ""
        yield {"property": f"check {checked.check.name} of {checked.table}", "value": f"{status}{message}"}
    for name in definition.objects:
        found = state.catalog.find(name, RELATIONS)
        if found is None:
            yield {"property": f"columns of {name}", "value": None}
            continue
        assert isinstance(found.definition, TableDefinition | ViewDefinition)
        shown_columns = ", ".join(f"{column.name} {column.type}" for column in found.definition.columns)
        yield {"property": f"columns of {name}", "value": shown_columns}
