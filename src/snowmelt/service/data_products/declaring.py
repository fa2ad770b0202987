"""CREATE and ALTER DATA PRODUCT: what a statement says, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.lag import parse_lag, show_lag
from snowmelt.core.names import ObjectName
from snowmelt.govern.catalogue.model import AVAILABILITY
from snowmelt.service import schema_objects
from snowmelt.service.data_products import pii
from snowmelt.service.data_products.describing import freshness_of
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.data_products import ProductOptions
from snowmelt.state.contract_model import DataProductDefinition
from snowmelt.state.model import RELATIONS, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run

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
            found["contract"] = schema_objects.require(run, state, ObjectType.CONTRACT, options.contract).name
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


def check(run: Run, definition: DataProductDefinition) -> None:
    """Nothing personal may be in it that nobody classified, and no dynamic table may be staler than the product."""
    with run.state.read() as state:
        pii.check_published(run, state, definition)
        promised = freshness_of(state, definition)
        if promised is None:
            return
        for name in definition.objects:
            found = state.catalog.find(name, RELATIONS)
            table = found.definition if found is not None else None
            dynamic = table.dynamic if isinstance(table, TableDefinition) else None
            if dynamic is not None and dynamic.target_lag is not None and dynamic.target_lag > promised:
                raise errors.SnowmeltError(
                    "370016", "22023",
                    f"The target lag of '{name}' is {show_lag(dynamic.target_lag)}, and the product promises "
                    f"{show_lag(promised)}.",
                    hint=f"ALTER DYNAMIC TABLE {name} SET TARGET_LAG = '{show_lag(promised)}', or promise less.",
                )  # fmt: skip


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
