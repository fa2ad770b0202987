"""What Iceberg calls the columns of a Delta table.

Our Parquet files have no ids of fields, so that metadata say by which name each is found in a file: its own, or
the one that a renamed column has on disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pyarrow as pa

_TYPES = {
    "boolean": "boolean", "byte": "int", "short": "int", "integer": "int", "long": "long", "float": "float",
    "double": "double", "string": "string", "binary": "binary", "date": "date", "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_NAME_ON_DISK = "delta.columnMapping.physicalName"
Field = dict[str, Any]


def iceberg_type(name: str) -> str | None:
    """Iceberg's word for one of Delta's simple types; None where it has none."""
    decimal = _DECIMAL.fullmatch(name)
    return f"decimal({decimal[1]}, {decimal[2]})" if decimal is not None else _TYPES.get(name)


def continues(before: str, now: str | None) -> bool:
    """Whether files of the one type can be read as the other: Iceberg's own promotions."""
    if before == now or (before, now) in {("int", "long"), ("float", "double")}:
        return True
    narrow, wide = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(now or "")
    if narrow is None or wide is None:
        return False
    return narrow[2] == wide[2] and int(narrow[1]) <= int(wide[1])


@dataclass(frozen=True, slots=True)
class IcebergColumns:
    fields: Sequence[Field]
    names: Sequence[Field]
    """Iceberg's name mapping."""
    last_id: int
    left_out: Mapping[str, str]
    """The types of the columns that Iceberg has no word for, by their names."""


def iceberg_columns(schema_json: str, in_files: Iterable[pa.Field]) -> IcebergColumns:
    """The columns of a version. Ids go by position: each version's metadata are read by themselves.

    `in_files`: what its files may have beside them. PyIceberg reads no file with a column that has no name.
    """
    ids = _Ids()
    fields, names, left_out = [], [], {}
    for column in json.loads(schema_json)["fields"]:
        field, name = ids.field(column)
        names.append(name)
        if _sayable(column["type"]):
            fields.append(field)
        else:
            left_out[column["name"]] = _word(column["type"])
    named = {known for name in names for known in name["names"]}
    for unseen in in_files:
        if unseen.name not in named:
            named.add(unseen.name)
            names.append(ids.name(unseen))
    return IcebergColumns(fields, names, ids.last, left_out)


def _word(kind: Any) -> str:
    return str(kind if isinstance(kind, str) else kind["type"])


def _sayable(kind: Any) -> bool:
    if isinstance(kind, str):
        return iceberg_type(kind) is not None
    parts = {
        "struct": lambda: [part["type"] for part in kind["fields"]],
        "array": lambda: [kind["elementType"]],
        "map": lambda: [kind["keyType"], kind["valueType"]],
    }
    return kind["type"] in parts and all(_sayable(part) for part in parts[kind["type"]]())


class _Ids:
    """Gives ids out, to a field before those inside it."""

    def __init__(self) -> None:
        self._ids = count(1)
        self.last = 0

    def _next(self) -> int:
        self.last = next(self._ids)
        return self.last

    def field(self, column: Mapping[str, Any]) -> tuple[Field, Field]:
        """A field and its entry in the name mapping. All may be NULL: what may not is for writers."""
        number = self._next()
        kind, inside = self._type(column["type"])
        on_disk = column.get("metadata", {}).get(_NAME_ON_DISK, column["name"])
        field = {"id": number, "name": column["name"], "required": False, "type": kind}
        return field, {"field-id": number, "names": [on_disk], **({"fields": inside} if inside else {})}

    def name(self, inside: pa.Field) -> Field:
        """The entry of a column that nobody reads."""
        number = self._next()
        parts = [self.name(inside.type.field(index)) for index in range(inside.type.num_fields)]
        return {"field-id": number, "names": [inside.name], **({"fields": parts} if parts else {})}

    def _type(self, kind: Any) -> tuple[Any, list[Field]]:
        if kind == "variant":
            return None, [self.field({"name": part, "type": "binary"})[1] for part in ("metadata", "value")]
        if isinstance(kind, str):
            return iceberg_type(kind), []
        if kind["type"] == "struct":
            made = [self.field(part) for part in kind["fields"]]
            return {"type": "struct", "fields": [field for field, _ in made]}, [name for _, name in made]
        if kind["type"] == "array":
            element, name = self.field({"name": "element", "type": kind["elementType"]})
            made_of = {"element-id": element["id"], "element": element["type"], "element-required": False}
            return {"type": "list", **made_of}, [name]
        key, key_name = self.field({"name": "key", "type": kind["keyType"]})
        value, value_name = self.field({"name": "value", "type": kind["valueType"]})
        made_of = {"key-id": key["id"], "key": key["type"], "value-id": value["id"], "value": value["type"]}
        return {"type": "map", **made_of, "value-required": False}, [key_name, value_name]
