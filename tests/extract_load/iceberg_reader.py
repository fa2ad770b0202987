"""Reads tables as Iceberg, in an environment of its own: asked by lines of JSON, and answers so.

A question has the reader, the table's folder, and where that is in S3 its settings. The answer is the rows, with values
as text, which is what all readers can agree on.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pyarrow as pa
from pyiceberg.table import StaticTable


def by_pyiceberg(address: str, settings: dict[str, str]) -> pa.Table:
    names = {"endpoint": "s3.endpoint", "region": "s3.region", "access_key": "s3.access-key-id",
             "secret_key": "s3.secret-access-key"}  # fmt: skip
    properties = {names[name]: value for name, value in settings.items()}
    return StaticTable.from_metadata(address, properties).scan().to_arrow()


def by_duckdb(address: str, _: dict[str, str]) -> pa.Table:
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        for package in (duckdb_extension_avro, duckdb_extension_iceberg):
            (extension,) = Path(package.__file__).parent.rglob("*.duckdb_extension")
            connection.execute(f"LOAD '{extension}'")
        return connection.execute("FROM iceberg_scan(?)", [address]).arrow().read_all()


def shown(table: pa.Table) -> list[dict[str, str | None]]:
    return [
        {name: None if value is None else shown_value(value) for name, value in row.items()}
        for row in table.to_pylist()
    ]


def shown_value(value: Any) -> str:
    """Instants in UTC, whatever the reader's own time zone is."""
    return f"{value.timestamp():.6f}" if getattr(value, "tzinfo", None) is not None else str(value)


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        read = by_pyiceberg if asked["reader"] == "pyiceberg" else by_duckdb
        try:
            answer: dict[str, Any] = {"rows": shown(read(asked["address"], asked["settings"]))}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
