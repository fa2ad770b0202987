"""Extractors and loaders from configuration: an endpoint of connections.yaml and the options of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import httpx

from snowmelt.core import errors
from snowmelt.extract_load.destinations.base import Loader, LoadStrategy, require_strategy
from snowmelt.extract_load.destinations.delta import DeltaLoader
from snowmelt.extract_load.destinations.files import FilesLoader
from snowmelt.extract_load.destinations.postgres import PostgresLoader
from snowmelt.extract_load.destinations.rest import Connects, RestLoader
from snowmelt.extract_load.destinations.snowmelt import DeadLetterLoader
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.options import Options, check_table_options
from snowmelt.extract_load.schemas import Field
from snowmelt.extract_load.sources.base import BATCH_ROWS, Extractor
from snowmelt.extract_load.sources.databases import MysqlExtractor
from snowmelt.extract_load.sources.files import FilesExtractor
from snowmelt.extract_load.sources.kafka import KafkaExtractor
from snowmelt.extract_load.sources.paging import (
    CursorPaging,
    LinkPaging,
    NoPaging,
    OffsetPaging,
    PageNumberPaging,
    Paging,
)
from snowmelt.extract_load.sources.postgres import PostgresExtractor
from snowmelt.extract_load.sources.requesting import ApiKeyAuth, BearerAuth
from snowmelt.extract_load.sources.rest import RestExtractor


def make_extractor(
    endpoint: Endpoint, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
    options: Options | None = None,
) -> Extractor:  # fmt: skip
    """`table` is a table, a topic, a pattern of file names, or the path of an API."""
    given = dict(options or {})
    check_table_options(endpoint.kind, table, given)
    match endpoint.kind:
        case "postgres" | "mysql" | "mariadb":
            kind = PostgresExtractor if endpoint.kind == "postgres" else MysqlExtractor
            return kind(endpoint.where(), table, key=key, change_column=change_column, **_numbers(given))
        case "files" | "s3" | "gcs" | "sftp":
            return FilesExtractor(
                endpoint.where(), table, file_format=given.get("format"), delimiter=given.get("delimiter", ","),
                settings=endpoint.settings(), batch_rows=int(given.get("batch_rows", BATCH_ROWS)),
            )  # fmt: skip
        case "kafka":
            return KafkaExtractor(endpoint.where(), table, settings=endpoint.settings(), **_numbers(given))
        case "api":
            return _api(endpoint, table, key, change_column, given)
    raise errors.configuration(
        f"There is no source of kind {endpoint.kind}.",
        hint="Known are postgres, mysql, files, s3, gcs, sftp, kafka and api; extend Extractor for more.",
    )


def make_loader(
    endpoint: Endpoint, table: str, flow: str, run_id: str, *, strategy: LoadStrategy, key: Sequence[str] = (),
    fields: Sequence[Field] = (), connection: Connects | None = None, dead_letters: DeadLetterLoader | None = None,
) -> Loader:  # fmt: skip
    """For destinations beside Snowmelt's tables; for those there are `RawLoader`, `TableLoader` and `SqlLoader`.

    An API needs a connection to Snowmelt, which keeps what was sent; what it rejects goes to the dead letters.
    """
    match endpoint.kind:
        case "postgres":
            return PostgresLoader(endpoint.where(), table, flow, run_id, strategy=strategy, key=key, fields=fields)
        case "parquet" | "csv":
            return FilesLoader(
                endpoint.where(), table, flow, run_id, file_format=endpoint.kind, strategy=strategy, fields=fields,
                settings=endpoint.settings(),
            )  # fmt: skip
        case "delta":
            return DeltaLoader(
                endpoint.where(), table, flow, run_id, strategy=strategy, key=key, fields=fields,
                settings=endpoint.settings(),
            )  # fmt: skip
        case "api":
            require_strategy(strategy, (LoadStrategy.UPSERT,), "An API")
            assert connection is not None, "what was sent to an API is kept in a table"
            return _api_loader(endpoint, table, flow, run_id, key, connection, dead_letters)
    raise errors.configuration(
        f"There is no destination of kind {endpoint.kind}.",
        hint="Known are postgres, parquet, csv, delta and api; extend snowmelt.extract_load.Loader for more.",
    )


def _numbers(options: Options) -> dict[str, int]:
    return {name: int(value) for name, value in options.items()}


def _api(
    endpoint: Endpoint, path: str, key: Sequence[str], change_column: str | None, options: dict[str, Any]
) -> RestExtractor:
    rate = options.get("requests_per_second") or endpoint.option("requests_per_second")
    return RestExtractor(
        endpoint.where(), path, paging=_paging(options), auth=_auth(endpoint), records=options.get("records"), key=key,
        change_column=change_column, since_parameter=options.get("since_parameter"),
        parameters={str(name): str(value) for name, value in (options.get("parameters") or {}).items()},
        requests_per_second=float(rate) if rate else None, batch_rows=int(options.get("batch_rows", BATCH_ROWS)),
    )  # fmt: skip


def _api_loader(
    endpoint: Endpoint, table: str, flow: str, run_id: str, key: Sequence[str], connection: Connects,
    dead_letters: DeadLetterLoader | None,
) -> RestLoader:  # fmt: skip
    rate = endpoint.option("requests_per_second")
    return RestLoader(
        connection, endpoint.where(), table, flow, run_id, key=key, path=endpoint.option("path"),
        method=endpoint.option("method") or "POST", auth=_auth(endpoint), dead_letters=dead_letters,
        idempotency_header=endpoint.option("idempotency_header") or "Idempotency-Key",
        requests_per_second=float(rate) if rate else None,
    )  # fmt: skip


def _paging(options: Options) -> Paging:
    size = int(options.get("page_size", 100))
    ways: dict[str, Callable[[], Paging]] = {
        "none": NoPaging,
        "page": lambda: PageNumberPaging(
            options.get("page_parameter", "page"), options.get("size_parameter", "per_page"), size
        ),
        "offset": lambda: OffsetPaging(
            options.get("page_parameter", "offset"), options.get("size_parameter", "limit"), size
        ),
        "cursor": lambda: CursorPaging(
            options.get("cursor_path", "next_cursor"), options.get("cursor_parameter", "cursor")
        ),
        "link": LinkPaging,
        "next": lambda: LinkPaging(options.get("cursor_path", "next")),
    }
    return ways[str(options.get("paging", "none"))]()


def _auth(endpoint: Endpoint) -> httpx.Auth | None:
    way = endpoint.option("auth") or "none"
    match way:
        case "none":
            return None
        case "bearer":
            return BearerAuth(_needed(endpoint, way, "token"))
        case "basic":
            return httpx.BasicAuth(_needed(endpoint, way, "user"), _needed(endpoint, way, "password"))
        case "api_key":
            in_query = endpoint.option("in") == "query"
            return ApiKeyAuth(_needed(endpoint, way, "name"), _needed(endpoint, way, "value"), in_query)
    raise errors.configuration(
        f"There is no way to log in called {way}.", hint="Known are bearer, basic, api_key and none."
    )


def _needed(endpoint: Endpoint, way: str, name: str) -> str:
    value = endpoint.option(name)
    if value is None:
        raise errors.configuration(f"auth {way} needs {name}.", hint="Name it in connections.yaml: ${VARIABLE}.")
    return value
