"""The CREATE statements of contracts and data products, for GET_DDL."""

from __future__ import annotations

from snowmelt.core.lag import show_lag
from snowmelt.core.names import literal
from snowmelt.service.metadata.ddl_words import object_name
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.contract_model import Consumer, ContractDefinition, DataProductDefinition
from snowmelt.state.model import CatalogObject


def contract_ddl(item: CatalogObject, definition: ContractDefinition, *, qualified: bool) -> str:
    """All versions, sunsets and consumers: a contract is more than its first document."""
    name = object_name(item.name, qualified=qualified)
    first, *others = definition.versions
    about = f"\n\tCOMMENT={literal(item.comment)}" if item.comment is not None else ""
    lines = [
        f"create or replace contract {name}\n\tCOMPATIBILITY={definition.compatibility}{about}\n"
        f"\tas {literal(first.text)};"
    ]
    lines += [f"alter contract {name} add version as {literal(version.text)};" for version in others]
    lines += [
        f"alter contract {name} modify version {major} set sunset = '{day}';"
        for major, day in definition.sunsets.items()
    ]
    lines += [f"alter contract {name} add consumer {_consumer(consumer)};" for consumer in definition.consumers]
    return "\n".join(lines)


def _consumer(consumer: Consumer) -> str:
    words = [spelled(consumer.name)]
    words += [f"CONTACT={literal(consumer.contact)}"] if consumer.contact is not None else []
    words += [f"VERSION={consumer.major}"] if consumer.major is not None else []
    words += [f"COLUMNS=({', '.join(map(literal, consumer.columns))})"] if consumer.columns else []
    words += [f"COMMENT={literal(consumer.comment)}"] if consumer.comment is not None else []
    return " ".join(words)


def data_product_ddl(item: CatalogObject, definition: DataProductDefinition, *, qualified: bool) -> str:
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
