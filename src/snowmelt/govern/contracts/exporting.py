"""A contract in the words of others: Avro, JSON Schema, dbt, SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import yaml

from snowmelt.core import types
from snowmelt.core.names import literal, quote
from snowmelt.core.types import DataType, Kind
from snowmelt.govern.contracts.model import Contract, DescribedTable, Property
from snowmelt.sql.statements.spelling import spelled

_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AVRO = {
    Kind.FLOAT: "double", Kind.VARCHAR: "string", Kind.BINARY: "bytes", Kind.BOOLEAN: "boolean", Kind.VARIANT: "string",
    Kind.DATE: {"type": "int", "logicalType": "date"},
    Kind.TIME: {"type": "long", "logicalType": "time-micros"},
    Kind.TIMESTAMP_NTZ: {"type": "long", "logicalType": "local-timestamp-micros"},
    Kind.TIMESTAMP_LTZ: {"type": "long", "logicalType": "timestamp-micros"},
    Kind.TIMESTAMP_TZ: {"type": "long", "logicalType": "timestamp-micros"},
}  # fmt: skip
_JSON: dict[Kind, dict[str, Any]] = {
    Kind.FLOAT: {"type": "number"}, Kind.BOOLEAN: {"type": "boolean"}, Kind.VARIANT: {},
    Kind.BINARY: {"type": "string", "contentEncoding": "base16"},
    Kind.DATE: {"type": "string", "format": "date"}, Kind.TIME: {"type": "string", "format": "time"},
    # Without a zone it is no date-time of RFC 3339.
    Kind.TIMESTAMP_NTZ: {"type": "string"},
    Kind.TIMESTAMP_LTZ: {"type": "string", "format": "date-time"},
    Kind.TIMESTAMP_TZ: {"type": "string", "format": "date-time"},
}  # fmt: skip
_INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32")
"""Formats whose values a signed 64-bit integer holds."""
_JSON_LIMITS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip


class ExportTarget(StrEnum):
    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    DBT = "dbt"
    SQL = "sql"


def export(contract: Contract, target: ExportTarget) -> str:
    return _TARGETS[target](contract)


# -- Avro --------------------------------------------------------------------------------------------------------------


def avro_schema(table: DescribedTable) -> dict[str, Any]:
    """The record of one row. Names that Avro can't have are spelled with underscores."""
    return _avro_record(table.name, table.columns, table.description)


def _avro_record(name: str, properties: tuple[Property, ...], doc: str | None) -> dict[str, Any]:
    record: dict[str, Any] = {"type": "record", "name": _avro_name(name)}
    if doc:
        record["doc"] = doc
    record["fields"] = [_avro_field(name, item) for item in properties]
    return record


def _avro_field(record: str, item: Property) -> dict[str, Any]:
    type_ = _avro_type(f"{record}_{item.name}", item)
    field: dict[str, Any] = {"name": _avro_name(item.name), "type": type_ if item.required else ["null", type_]}
    if not item.required:
        field["default"] = None
    return field | ({"doc": item.description} if item.description else {})


def _avro_type(name: str, item: Property) -> Any:
    type_ = item.type.concrete
    if item.values is not None and all(isinstance(v, str) and _AVRO_NAME.fullmatch(v) for v in item.values):
        return {"type": "enum", "name": _avro_name(name), "symbols": list(item.values)}
    match type_.kind:
        case Kind.NUMBER:
            return _avro_number(type_, item.limit.get("format"))
        case Kind.OBJECT if item.children:
            return _avro_record(name, item.children, None)
        case Kind.OBJECT:
            return {"type": "map", "values": "string"}
        case Kind.ARRAY:
            element = item.element
            inner = _avro_type(f"{name}_item", element) if element is not None else "string"
            return {"type": "array", "items": inner if element is not None and element.required else ["null", inner]}
    return _AVRO[type_.kind]


def _avro_number(type_: DataType, bits: str | None) -> Any:
    if bits in _INTEGERS and bits not in ("i64", "u32"):
        return "int"
    if bits in _INTEGERS or (type_.scale == 0 and (type_.precision or 0) <= 18):
        return "long"
    return {"type": "bytes", "logicalType": "decimal", "precision": type_.precision, "scale": type_.scale}


def _avro_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if _AVRO_NAME.fullmatch(plain) else f"_{plain}"


def _avro(contract: Contract) -> str:
    records = [avro_schema(table) for table in contract.tables]
    return json.dumps(records[0] if len(records) == 1 else records, indent=2) + "\n"


# -- JSON Schema -------------------------------------------------------------------------------------------------------


def json_schema(contract: Contract, table: DescribedTable) -> dict[str, Any]:
    """The schema of one row as an object."""
    about = {"description": table.description} if table.description else {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": table.name,
        **about,
        **_json_object(table.columns, closed=not contract.open),
    }


def _json_object(properties: tuple[Property, ...], *, closed: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {item.name: _json_property(item) for item in properties},
        "required": [item.name for item in properties if item.required],
        "additionalProperties": not closed,
    }


def _json_property(item: Property) -> dict[str, Any]:
    type_ = item.type.concrete
    match type_.kind:
        case Kind.NUMBER:
            found: dict[str, Any] = {"type": "integer" if type_.scale == 0 else "number"}
        case Kind.VARCHAR:
            found = {"type": "string", "maxLength": type_.length}
        case Kind.OBJECT:
            found = _json_object(item.children, closed=True) if item.children else {"type": "object"}
        case Kind.ARRAY:
            found = {"type": "array"} | ({"items": _json_property(item.element)} if item.element is not None else {})
        case _:
            found = dict(_JSON[type_.kind])
    found |= {name: value for name, value in item.limits if name in _JSON_LIMITS}
    if item.values is not None:
        found["enum"] = [*item.values, *([] if item.required else [None])]
    if not item.required and "type" in found:
        found["type"] = [found["type"], "null"]
    return found | ({"description": item.description} if item.description else {})


def _json(contract: Contract) -> str:
    schemas = [json_schema(contract, table) for table in contract.tables]
    return json.dumps(schemas[0] if len(schemas) == 1 else schemas, indent=2, ensure_ascii=False) + "\n"


# -- dbt ---------------------------------------------------------------------------------------------------------------


def _dbt(contract: Contract) -> str:
    models = [_dbt_model(contract, table) for table in contract.tables]
    data = {"version": 2, "models": models}
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


def _dbt_model(contract: Contract, table: DescribedTable) -> dict[str, Any]:
    meta = {"contract": contract.name, "contract_version": str(contract.version)}
    if contract.document.domain:
        meta["domain"] = contract.document.domain
    model: dict[str, Any] = {"name": table.name.lower()}
    if table.description:
        model["description"] = table.description
    model["config"] = {"contract": {"enforced": True}, "meta": meta}
    if len(table.key) > 1:
        model["constraints"] = [{"type": "primary_key", "columns": list(map(quote, table.key))}]
    model["columns"] = [_dbt_column(table, column) for column in table.columns]
    return model


def _dbt_column(table: DescribedTable, column: Property) -> dict[str, Any]:
    # dbt writes names as they stand, and SQL folds them.
    plain = quote(column.name) == column.name
    found: dict[str, Any] = {"name": column.name.lower()} if plain else {"name": column.name, "quote": True}
    found["data_type"] = str(column.type.concrete).lower()
    if column.description:
        found["description"] = column.description
    keyed = table.key == (column.name,)
    constraints = (["primary_key"] if keyed else []) + (["not_null"] if column.required else [])
    if constraints:
        found["constraints"] = [{"type": kind} for kind in constraints]
    tests: list[Any] = ["unique"] if column.unique or keyed else []
    tests += ["not_null"] if column.required else []
    if column.values is not None:
        tests.append({"accepted_values": {"arguments": {"values": list(column.values)}}})
    return found | ({"data_tests": tests} if tests else {}) | ({"tags": list(column.tags)} if column.tags else {})


# -- SQL ---------------------------------------------------------------------------------------------------------------


def _sql(contract: Contract) -> str:
    return "\n".join(_create_table(table) for table in contract.tables)


def _create_table(table: DescribedTable) -> str:
    lines = [_sql_column(column) for column in table.columns]
    if table.key:
        lines.append(f"PRIMARY KEY ({', '.join(map(spelled, table.key))})")
    body = ",\n  ".join(lines)
    comment = f" COMMENT = {literal(table.description)}" if table.description else ""
    return f"CREATE TABLE {spelled(table.name)} (\n  {body}\n){comment};\n"


def _sql_column(column: Property) -> str:
    type_ = column.type.concrete
    # An INT is a NUMBER(38,0) to everybody, and a 64-bit integer on disk.
    whole = type_.int64 or (type_ == types.number() and column.limit.get("format") in _INTEGERS)
    words = [spelled(column.name), "INT" if whole else str(type_)]
    words += ["NOT NULL"] if column.required else []
    words += ["UNIQUE"] if column.unique else []
    words += ["COMMENT", literal(column.description)] if column.description else []
    return " ".join(words)


_TARGETS: dict[ExportTarget, Callable[[Contract], str]] = {
    ExportTarget.AVRO: _avro,
    ExportTarget.JSON_SCHEMA: _json,
    ExportTarget.DBT: _dbt,
    ExportTarget.SQL: _sql,
}
