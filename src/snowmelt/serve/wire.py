"""Results on the wire between Snowmelt's own client and server: JSON for what they are, Arrow for the rows."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from snowmelt.core.types import DataType, Kind
from snowmelt.core.watching import SessionNames
from snowmelt.runtime.results import Result, ResultColumn


def names_to_json(names: SessionNames) -> dict[str, Any]:
    return asdict(names)


def names_from_json(body: dict[str, Any]) -> SessionNames:
    return SessionNames(**body)


def result_to_json(result: Result) -> dict[str, Any]:
    sink = pa.BufferOutputStream()
    data = result.data.rename_columns([str(index) for index in range(result.data.num_columns)])
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return {
        "columns": [
            {
                "name": column.name,
                "nullable": column.nullable,
                "type": {
                    "kind": column.type.kind.value,
                    "precision": column.type.precision,
                    "scale": column.type.scale,
                    "length": column.type.length,
                    "int64": column.type.int64,
                },
            }
            for column in result.columns
        ],
        "query_id": result.query_id,
        "statement_type": result.statement_type,
        "rows_affected": result.rows_affected,
        "time_zone": result.time_zone,
        "json_indent": result.json_indent,
        "arrow": base64.b64encode(sink.getvalue()).decode("ascii"),
    }


def result_from_json(body: dict[str, Any]) -> Result:
    columns = tuple(
        ResultColumn(item["name"], DataType(**{**item["type"], "kind": Kind(item["type"]["kind"])}), item["nullable"])
        for item in body["columns"]
    )
    data = pa.ipc.open_stream(base64.b64decode(body["arrow"])).read_all()
    return Result(
        columns, data, query_id=body["query_id"], statement_type=body["statement_type"],
        rows_affected=body["rows_affected"], time_zone=body["time_zone"],
        json_indent=body.get("json_indent", 2),
    )  # fmt: skip
