"""Documents that are made here: from a table that exists, and from an Avro schema."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import yaml
from fastavro.schema import SchemaParseException
from open_data_contract_standard.model import DataQuality, OpenDataContractStandard, SchemaObject, SchemaProperty

from snowmelt.core import errors, types
from snowmelt.core.names import quote
from snowmelt.core.types import DataType
from snowmelt.govern.contracts.model import TableColumn
from snowmelt.govern.contracts.reading import API_VERSION
from snowmelt.govern.contracts.types import logical_of

_AVRO = {
    "string": types.VARCHAR, "bytes": types.BINARY, "boolean": types.BOOLEAN, "int": types.number(),
    "long": types.number(), "float": types.FLOAT, "double": types.FLOAT, "enum": types.VARCHAR,
    "fixed": types.BINARY, "array": types.ARRAY, "map": types.OBJECT, "record": types.OBJECT,
}  # fmt: skip
_AVRO_LOGICAL = {
    "date": types.DATE, "time-millis": types.TIME, "time-micros": types.TIME, "uuid": types.VARCHAR,
    "timestamp-millis": types.TIMESTAMP_LTZ, "timestamp-micros": types.TIMESTAMP_LTZ,
    "timestamp-nanos": types.TIMESTAMP_LTZ, "local-timestamp-millis": types.TIMESTAMP_NTZ,
    "local-timestamp-micros": types.TIMESTAMP_NTZ, "local-timestamp-nanos": types.TIMESTAMP_NTZ,
}  # fmt: skip
_BITS = {"int": "i32", "long": "i64"}


def from_table(
    name: str, columns: Sequence[TableColumn], *, key: Sequence[str] = (), description: str | None = None
) -> OpenDataContractStandard:
    """A first version for a table, which satisfies it. `name` is the table's full name."""
    properties = [
        SchemaProperty(
            name=quote(column.name),
            logicalType=logical_of(column.type),
            physicalType=str(column.type),
            logicalTypeOptions={"format": "i64"} if column.type.int64 else None,
            required=not column.nullable or None,
            primaryKey=True if column.name in key else None,
            primaryKeyPosition=list(key).index(column.name) + 1 if column.name in key else None,
            description=column.comment,
        )
        for column in columns
    ]
    return _document(name, name.rpartition(".")[2], properties, description)


def from_avro(schema: Mapping[str, Any]) -> OpenDataContractStandard:
    """A first version for the rows of an Avro record. Raises when the schema is none."""
    if schema.get("type") != "record":
        raise errors.invalid_contract(["the Avro schema is not that of a record"])
    try:
        fastavro.parse_schema(dict(schema))
    except (SchemaParseException, KeyError, TypeError, ValueError) as error:
        raise errors.invalid_contract([f"this is no Avro schema: {error}"]) from None
    named: dict[str, Mapping[str, Any]] = {}
    properties = [_field(field, named) for field in schema["fields"]]
    full = f"{schema['namespace']}.{schema['name']}" if "namespace" in schema else str(schema["name"])
    return _document(full, str(schema["name"]), properties, schema.get("doc"))


def text_of(document: OpenDataContractStandard) -> str:
    """YAML in the order of the standard's fields."""
    data = document.model_dump(exclude_none=True, by_alias=True)
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


def _document(
    full_name: str, name: str, properties: list[SchemaProperty], description: str | None
) -> OpenDataContractStandard:
    table = SchemaObject(
        name=name, logicalType="object", physicalType="table", description=description, properties=properties
    )
    return OpenDataContractStandard(
        apiVersion=API_VERSION,
        kind="DataContract",
        # The same table gets the same id, whoever makes the document.
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"snowmelt:{full_name}")),
        name=name,
        version="1.0.0",
        status="draft",
        schema=[table],
    )


def _field(field: Mapping[str, Any], named: dict[str, Mapping[str, Any]]) -> SchemaProperty:
    made = _property(field["type"], named)
    return made.model_copy(update={"name": field["name"], "description": field.get("doc") or made.description})


def _property(declared: Any, named: dict[str, Mapping[str, Any]]) -> SchemaProperty:
    """What a type of Avro says of a value; one that may be null is not required."""
    if isinstance(declared, list):
        others = [item for item in declared if item != "null"]
        made = _property(others[0], named) if len(others) == 1 else _typed(types.VARIANT)
        return made.model_copy(update={"required": None if "null" in declared else True})
    if isinstance(declared, str):
        if declared in named:
            return _property(named[declared], named)
        bits = {"format": _BITS[declared]} if declared in _BITS else None
        return _typed(_AVRO[declared]).model_copy(update={"logicalTypeOptions": bits, "required": True})
    if isinstance(declared["type"], dict | list):
        return _property(declared["type"], named)
    if "name" in declared:
        named[declared["name"]] = declared
    return _complex(declared, named).model_copy(update={"required": True})


def _complex(declared: Mapping[str, Any], named: dict[str, Mapping[str, Any]]) -> SchemaProperty:
    kind, logical = declared["type"], declared.get("logicalType")
    if logical == "decimal":
        return _typed(types.number(declared["precision"], declared.get("scale", 0)))
    if logical in _AVRO_LOGICAL:
        return _typed(_AVRO_LOGICAL[logical])
    made = _typed(_AVRO[kind]) if kind in _AVRO else _property(kind, named)
    match kind:
        case "record":
            return made.model_copy(update={"properties": [_field(field, named) for field in declared["fields"]]})
        case "array":
            return made.model_copy(update={"items": _property(declared["items"], named)})
        case "enum":
            allowed = {"validValues": list(declared["symbols"])}
            check = DataQuality.model_validate(
                {"type": "library", "metric": "invalidValues", "arguments": allowed, "mustBe": 0}
            )
            return made.model_copy(update={"quality": [check]})
        case "int" | "long":
            return made.model_copy(update={"logicalTypeOptions": {"format": _BITS[kind]}})
    return made


def _typed(type_: DataType) -> SchemaProperty:
    return SchemaProperty(logicalType=logical_of(type_), physicalType=str(type_))
