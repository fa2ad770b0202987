from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.state.ids import new_id
from tests.cdc.capture import connect


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """One PostgreSQL that can be captured; tests make databases of their own in it."""
    with EmbeddedPostgres(LOGICAL_REPLICATION) as running:
        yield running


@pytest.fixture
def database(server: EmbeddedPostgres) -> Iterator[str]:
    name = f"shop_{new_id()}".lower().replace("-", "_")
    with connect(server) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield name
        connection.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                           " WHERE database = %s AND NOT active", [name])  # fmt: skip
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def source(server: EmbeddedPostgres, database: str) -> Iterator[psycopg.Connection[object]]:
    with connect(server, database) as connection:
        yield connection
