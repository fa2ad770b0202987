"""The statements that make a contract again, for GET_DDL."""

from __future__ import annotations

from snowmelt.core.names import literal
from snowmelt.features.contracts.definitions import Consumer, ContractDefinition
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject


def contract_ddl(item: CatalogObject, qualified: bool) -> str:
    """All versions, sunsets and consumers: a contract is more than its first document."""
    definition = item.definition
    assert isinstance(definition, ContractDefinition)
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
