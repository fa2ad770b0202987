"""Envelopes as Debezium writes them, for tests without Debezium."""

from __future__ import annotations

import json
from typing import Any

from snowmelt.ingest.cdc.shapes import CapturedShape
from snowmelt.ingest.cdc.values import array_of

TABLE = "public.orders"


def envelope(
    op: str, *, before: Any = None, after: Any = None, lsn: int | None = 1, tx: int = 1, snapshot: str = "false",
    table: str = "orders", ts_ms: int = 1_700_000_000_000,
) -> dict[str, Any]:  # fmt: skip
    source = {
        "version": "3.6.3.Final", "connector": "postgresql", "name": "snowmelt", "ts_ms": ts_ms, "snapshot": snapshot,
        "db": "shop", "sequence": json.dumps([None, str(lsn)]), "schema": "public", "table": table, "txId": tx,
        "lsn": lsn, "xmin": None,
    }  # fmt: skip
    return {"before": before, "after": after, "source": source, "transaction": None, "op": op, "ts_ms": ts_ms + 5}


def with_schema(payload: Any) -> str:
    return json.dumps({"schema": {"type": "struct", "fields": []}, "payload": payload})


def column(field: str, connect: str, source_type: str, **more: Any) -> dict[str, Any]:
    """A field of a Connect schema, with the source's type as Debezium propagates it."""
    parameters = {
        "__debezium.source.column.type": source_type,
        **{f"__debezium.source.column.{key}": str(more.pop(key)) for key in ("length", "scale") if key in more},
        **more.pop("parameters", {}),
    }
    return {"type": connect, "optional": True, "field": field, "parameters": parameters, **more}


def value_schema(*columns: dict[str, Any]) -> dict[str, Any]:
    row = {"type": "struct", "optional": True, "fields": list(columns)}
    return {"type": "struct", "fields": [{**row, "field": "before"}, {**row, "field": "after"}]}


def key_schema(*names: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"type": "int32", "optional": False, "field": name} for name in names]}


def assert_stored(shape: CapturedShape, sent: Any, type_: str, stored: Any) -> None:
    """Of a shape with one column, `c`: its type, and what it keeps of a value."""
    cleaned = shape.cleaned({"c": sent})
    assert cleaned is not None
    only = shape.columns[0]
    assert str(only.type) == type_
    assert array_of([cleaned["c"], None], only.type).to_pylist() == [stored, None]
