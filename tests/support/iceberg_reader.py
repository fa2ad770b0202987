"""Reads tables as Iceberg, in an environment of its own: asked by lines of JSON, and answers so.

A question has the reader and the table's folder, with settings where that is in S3; or a catalog, with the table's
name in it. The answer is the rows, with values as text, which is what all readers can agree on.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import StaticTable

EXTENSIONS = (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg)
catalogs: dict[str, RestCatalog] = {}
attached: dict[str, duckdb.DuckDBPyConnection] = {}


def by_pyiceberg(asked: dict[str, Any]) -> pa.Table:
    names = {"endpoint": "s3.endpoint", "region": "s3.region", "access_key": "s3.access-key-id",
             "secret_key": "s3.secret-access-key"}  # fmt: skip
    properties = {names[name]: value for name, value in asked["settings"].items()}
    return StaticTable.from_metadata(asked["address"], properties).scan().to_arrow()


def by_duckdb(asked: dict[str, Any]) -> pa.Table:
    with with_extensions() as connection:
        return connection.execute("FROM iceberg_scan(?)", [asked["address"]]).arrow().read_all()


def with_extensions() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for package in EXTENSIONS:
        (extension,) = Path(package.__file__).parent.rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    return connection


def by_pyiceberg_catalog(asked: dict[str, Any]) -> pa.Table:
    key = json.dumps(asked["catalog"])
    if key not in catalogs:
        catalogs[key] = RestCatalog("c", **asked["catalog"])
    return catalogs[key].load_table((asked["schema"], asked["table"])).scan().to_arrow()


def by_duckdb_catalog(asked: dict[str, Any]) -> pa.Table:
    """A connection for each question: DuckDB keeps what a catalog said."""
    about = asked["catalog"]
    user, _, secret = about["credential"].partition(":")
    key = json.dumps(about)
    if "@" not in about["warehouse"] or key not in attached:
        connection = attached[key] = with_extensions()
        connection.execute("SET http_timeout = 600")
        connection.execute(
            f"CREATE SECRET s (TYPE iceberg, CLIENT_ID '{user}', CLIENT_SECRET '{secret}', "
            f"OAUTH2_SCOPE '{about['scope']}', OAUTH2_SERVER_URI '{about['uri']}/v1/oauth/tokens')"
        )
        connection.execute(f"ATTACH '{about['warehouse']}' AS c (TYPE iceberg, ENDPOINT '{about['uri']}', SECRET s)")
    return attached[key].execute(f'FROM c."{asked["schema"]}"."{asked["table"]}"').arrow().read_all()


def shown(table: pa.Table) -> list[dict[str, str | None]]:
    return [{name: shown_value(value) for name, value in row.items()} for row in table.to_pylist()]


def shown_value(value: Any) -> str | None:
    """Instants in UTC, whatever the reader's own time zone is."""
    if isinstance(value, dict):
        return json.dumps({name: shown_value(inner) for name, inner in value.items()})
    if value is None:
        return None
    return f"{value.timestamp():.6f}" if getattr(value, "tzinfo", None) is not None else str(value)


READERS = {
    "pyiceberg": by_pyiceberg, "duckdb": by_duckdb, "pyiceberg catalog": by_pyiceberg_catalog,
    "duckdb catalog": by_duckdb_catalog,
}  # fmt: skip


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer: dict[str, Any] = {"rows": shown(READERS[asked["reader"]](asked))}
        except Exception as error:
            answer = {"error": traceback.format_exc(), "kind": type(error).__name__, "message": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
