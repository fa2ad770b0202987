"""Sources for the behaviour suite, one server of each kind for the whole session, and an account for the results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import snowmelt
from snowmelt.extract_load import DEAD_LETTERS_DDL, RAW_DDL
from tests.extract_load import servers
from tests.features.connectors.kafka_stack import KafkaStack
from tests.support.postgres import postgres_url

__all__ = ["postgres_url"]


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    with servers.mariadb() as address:
        yield address


@pytest.fixture(scope="session")
def sftp_server() -> Iterator[servers.SftpServer]:
    with servers.sftp() as server:
        yield server


@pytest.fixture(scope="session")
def s3_settings() -> Iterator[dict[str, str]]:
    with servers.s3() as settings:
        yield settings


@pytest.fixture(scope="session")
def gcs_settings() -> Iterator[dict[str, str]]:
    with servers.gcs() as settings:
        yield settings


@pytest.fixture(scope="session")
def kafka_servers() -> Iterator[str]:
    with KafkaStack(connects=False) as stack:
        yield stack.bootstrap_servers


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[snowmelt.Connection]:
    """An account with an empty raw table and an empty table of dead letters. Nothing here needs Spark."""
    opened = snowmelt.connect(tmp_path / "data")
    opened.execute(f"CREATE TABLE raw {RAW_DDL}")
    opened.execute(f"CREATE TABLE letters {DEAD_LETTERS_DDL}")
    yield opened
    opened.close()
