"""CREATE and ALTER DATA PRODUCT: what a statement says, checked."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.lag import parse_lag
from snowmelt.core.names import ObjectName
from snowmelt.features.contracts import attaching
from snowmelt.features.contracts.definitions import CONTRACT, ContractDefinition
from snowmelt.features.contracts.promises import Promise, majors, of_major, promise
from snowmelt.features.data_products import lags, pii
from snowmelt.features.data_products.definitions import DataProductDefinition
from snowmelt.features.data_products.statements import ProductOptions
from snowmelt.govern.contracts.reading import read
from snowmelt.govern.data_catalog.model import AVAILABILITY
from snowmelt.runtime import schema_objects
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_PUBLISHED = frozenset({"objects", "contract", "pii"})
"""Parts of the definition that say what is offered."""
_FIELDS = {"OWNER": "product_owner"}
"""Options that the definition calls otherwise."""


def changes_of(run: Run, options: ProductOptions) -> dict[str, Any]:
    """The parts of the definition that the options set."""
    given = options.given()
    given.pop("COMMENT", None)
    found: dict[str, Any] = {_FIELDS.get(name, name.lower()): value for name, value in given.items()}
    with run.state.read() as state:
        if options.objects is not None:
            found["objects"] = tuple(dict.fromkeys(_relation(run, state, name) for name in options.objects))
        if options.contract is not None:
            found["contract"] = schema_objects.require(run, state, CONTRACT, options.contract).name
    if options.freshness is not None:
        found["freshness"] = _seconds(options.freshness)
    if options.availability_tier is not None and options.availability_tier not in AVAILABILITY:
        raise errors.invalid_value(str(options.availability_tier), "AVAILABILITY_TIER")
    if options.tags is not None:
        found["tags"] = dict(options.tags)
    return found


def unset(names: tuple[str, ...]) -> dict[str, Any]:
    """The parts of the definition as if they had never been set."""
    fields = [_FIELDS.get(name, name.lower()) for name in names if name != "COMMENT"]
    plain = DataProductDefinition()
    return {field: getattr(plain, field) for field in fields}


def check(run: Run, definition: DataProductDefinition, changed: Collection[str]) -> None:
    """Nothing personal may be in it that nobody classified, what its contract describes must be so, and no dynamic
    table may be staler than the product. `changed`: the parts of the definition that are new."""
    with run.state.read() as state:
        if not _PUBLISHED.isdisjoint(changed):
            _check_contract(run, state, definition)
            pii.check_published(run, state, definition)
        lags.check_product(state, definition)


def _check_contract(run: Run, state: StateReader, product: DataProductDefinition) -> None:
    found = state.catalog.find(product.contract, [CONTRACT]) if product.contract is not None else None
    if found is None:
        return
    contract = found.definition
    assert isinstance(contract, ContractDefinition)
    for name in product.objects:
        item = state.catalog.find(name, RELATIONS)
        promises = _promises(run, found, contract, item, alone=len(product.objects) == 1) if item is not None else []
        if item is None or not promises:
            continue
        columns = attaching.shown_columns(run, item)
        if not any(promise.satisfied(columns) for promise in promises):
            newest = promises[-1].versions[-1]
            breaches = "; ".join(map(str, promises[-1].breaches(newest, columns)))
            raise errors.SnowmeltError(
                "370012", "23514",
                f"'{name}' breaks contract '{found.name}' {newest.version} of the product: {breaches}.",
                hint="Nothing was changed. Alter the object, or name another contract.",
            )  # fmt: skip


def _promises(
    run: Run, contract: CatalogObject, definition: ContractDefinition, item: CatalogObject, *, alone: bool
) -> list[Promise]:
    """What each major version says of an object that it describes: by its name, or because there is no other."""
    found: list[Promise] = []
    for major in majors(definition):
        newest = read(of_major(definition, major)[-1].text)
        described = newest.table(item.name.name)
        if described is None or (described.name != item.name.name and not alone):
            continue
        link = ContractLink(object_id=item.id, contract_id=contract.id, major=major, described=described.name)
        is_table = isinstance(item.definition, TableDefinition)
        promised = promise(contract.name, definition, link, run.now.date(), nullability=is_table)
        found += [promised] if promised is not None else []
    return found


def _relation(run: Run, state: StateReader, written: NameRef) -> ObjectName:
    name = run.object_name(written)
    if state.catalog.find(name, RELATIONS) is None:
        raise errors.not_found("Object", str(name))
    return name


def _seconds(written: str) -> int:
    seconds = parse_lag(written)
    if not seconds:
        raise errors.invalid_value(written, "FRESHNESS")
    return seconds
