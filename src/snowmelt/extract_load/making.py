"""Extractors and loaders from configuration: an endpoint of connections.yaml and the options of a table."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core import errors
from snowmelt.extract_load.destinations.base import Loader, LoadStrategy, require_strategy
from snowmelt.extract_load.destinations.delta import DeltaLoader
from snowmelt.extract_load.destinations.files import FilesLoader
from snowmelt.extract_load.destinations.postgres import PostgresLoader
from snowmelt.extract_load.destinations.rest import Connects, RestLoader
from snowmelt.extract_load.destinations.snowmelt import DeadLetterLoader
from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.options import Options, option_problems
from snowmelt.extract_load.sources.base import Extractor, TableToRead
from snowmelt.extract_load.sources.registry import SOURCES
from snowmelt.extract_load.sources.requesting import auth_of


def make_extractor(
    endpoint: Endpoint, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
    options: Options | None = None,
) -> Extractor:  # fmt: skip
    """`table` is a table, a topic, a pattern of file names, or the path of an API."""
    source = SOURCES.get(endpoint.kind)
    if source is None or source.extractor is None:
        kinds = ", ".join(kind for kind, described in SOURCES.items() if described.extractor is not None)
        raise errors.configuration(
            f"There is no source of kind {endpoint.kind}.", hint=f"Choose one of {kinds}; extend Extractor for more."
        )
    given = dict(options or {})
    if problems := list(option_problems(given, source.table_options)):
        raise errors.configuration(f"{table}: {'; '.join(problems)}.", hint="docs/reference/pipelines.md lists them.")
    return source.extractor(TableToRead(endpoint, table, tuple(key), change_column, given))


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
        hint="Choose one of postgres, parquet, csv, delta and api; extend snowmelt.extract_load.Loader for more.",
    )


def _api_loader(
    endpoint: Endpoint, table: str, flow: str, run_id: str, key: Sequence[str], connection: Connects,
    dead_letters: DeadLetterLoader | None,
) -> RestLoader:  # fmt: skip
    rate = endpoint.option("requests_per_second")
    return RestLoader(
        connection, endpoint.where(), table, flow, run_id, key=key, path=endpoint.option("path"),
        method=endpoint.option("method") or "POST", auth=auth_of(endpoint), dead_letters=dead_letters,
        idempotency_header=endpoint.option("idempotency_header") or "Idempotency-Key",
        requests_per_second=float(rate) if rate else None,
    )  # fmt: skip
