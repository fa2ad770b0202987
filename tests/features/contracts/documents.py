"""Contract documents for tests: few words for what a test is about, defaults for the rest."""

from __future__ import annotations

from typing import Any

import yaml

from snowmelt.govern.contracts.model import Contract
from snowmelt.govern.contracts.reading import read


def column(name: str, physical: str | None = "NUMBER(10,0)", **fields: Any) -> dict[str, Any]:
    return {"name": name, **({"physicalType": physical} if physical else {}), **fields}


def document(*columns: dict[str, Any], version: str = "1.0.0", table: str = "orders", **fields: Any) -> dict[str, Any]:
    """A document of one table; `custom` gives its custom properties."""
    custom = [{"property": name, "value": value} for name, value in fields.pop("custom", {}).items()]
    schema = fields.pop("schema", [{"name": table, "properties": list(columns)}])
    return {
        "apiVersion": "v3.1.0", "kind": "DataContract", "id": "c-1", "name": "orders", "status": "active",
        "version": version, "schema": schema, **({"customProperties": custom} if custom else {}), **fields,
    }  # fmt: skip


def text(*columns: dict[str, Any], **fields: Any) -> str:
    return str(yaml.safe_dump(document(*columns, **fields), sort_keys=False))


def contract(*columns: dict[str, Any], **fields: Any) -> Contract:
    return read(text(*columns, **fields))
