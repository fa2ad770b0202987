from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from snowmelt.features.connectors.service import Connectors
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.ids import new_id
from tests.features.connectors.capture import Capture, connect
from tests.features.connectors.kafka_stack import KafkaStack


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


@pytest.fixture
def captures(account: Account, session: Session) -> Iterator[Session]:
    """A session whose connectors run, and are gone at the end."""
    account.services[Connectors].start()
    yield session
    for name in [row[1] for row in session.execute("SHOW CONNECTORS").rows()]:
        session.execute(f"ALTER CONNECTOR {name} PAUSE")
        session.execute(f"DROP CONNECTOR {name}")


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaStack]:
    with KafkaStack() as running:
        yield running


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.slow)])
def capture(
    request: pytest.FixtureRequest, captures: Session, server: EmbeddedPostgres, database: str
) -> Iterator[Capture]:
    """Both routes: what a user sees is the same."""
    kafka = request.getfixturevalue("kafka") if request.param == "kafka" else None
    with Capture(captures, server, database, kafka) as made:
        yield made
