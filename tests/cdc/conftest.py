from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.state.ids import new_id
from tests.cdc.capture import connect


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """One PostgreSQL that can be captured; tests make databases of their own in it, which go with it."""
    room = {"max_replication_slots": "50", "max_wal_senders": "50"}
    with EmbeddedPostgres({**LOGICAL_REPLICATION, **room}) as running:
        yield running


@pytest.fixture
def database(server: EmbeddedPostgres) -> str:
    name = f"shop_{new_id()}".lower()
    with connect(server) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return name


@pytest.fixture
def source(server: EmbeddedPostgres, database: str) -> Iterator[psycopg.Connection[object]]:
    with connect(server, database) as connection:
        yield connection
