"""The statement that makes a data product again, for GET_DDL."""

from __future__ import annotations

from snowmelt.core.lag import show_lag
from snowmelt.core.names import literal
from snowmelt.features.data_products.definitions import DataProductDefinition
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.state.model import CatalogObject


def data_product_ddl(item: CatalogObject, qualified: bool) -> str:
    definition = item.definition
    assert isinstance(definition, DataProductDefinition)
    texts = {
        "OWNER": definition.product_owner,
        "DOMAIN": definition.domain,
        "FRESHNESS": show_lag(definition.freshness) if definition.freshness is not None else None,
        "DOCUMENTATION": definition.documentation,
        "COMMENT": item.comment,
    }
    lines = [f"{name}={literal(value)}" for name, value in texts.items() if value is not None]
    if definition.objects:
        names = ", ".join(object_name(name, qualified=True) for name in definition.objects)
        lines.append(f"OBJECTS=({names})")
    if definition.contract is not None:
        lines.append(f"CONTRACT={object_name(definition.contract, qualified=True)}")
    if definition.availability_tier is not None:
        lines.append(f"AVAILABILITY_TIER={definition.availability_tier}")
    for name, values in (("CONSUMERS", definition.consumers), ("PII", definition.pii)):
        lines += [f"{name}=({', '.join(map(literal, values))})"] if values else []
    if definition.tags:
        tags = ", ".join(f"{literal(tag)}={literal(value)}" for tag, value in definition.tags.items())
        lines.append(f"TAGS=({tags})")
    head = f"create or replace data product {object_name(item.name, qualified=qualified)}"
    return head + "".join(f"\n\t{line}" for line in lines) + ";"
