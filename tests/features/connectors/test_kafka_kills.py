"""Through Kafka too: whatever is killed, no change is lost, none is there twice, and the mirror is as its source."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.connectors.service import Connectors
from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from tests.conftest import SPARK
from tests.features.connectors.capture import Executes, connect, create_statement, rows, standing, write_load
from tests.features.connectors.kafka_stack import KafkaStack
from tests.features.connectors.shop import Source, change, check_raw, running, shop_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
_DEADLINE = 900.0
_NAMES = ("raw", "mirror")


def test_snowmelt_connect_and_kafka_are_killed(tmp_path: Path) -> None:
    with shop_server() as shop, KafkaStack() as kafka:
        declare(tmp_path, shop, kafka)
        with write_load(shop, "postgres", calm_change):
            with running(tmp_path):
                time.sleep(20)
            kafka.connect.kill()
            with running(tmp_path):
                kafka.start_connect()
                wait_until(lambda: streams(shop), "Debezium reads both slots", _DEADLINE)
                # Long enough that offsets are flushed and much comes again.
                time.sleep(15)
                kafka.connect.kill()
                kafka.start_connect()
                wait_until(lambda: streams(shop), "Debezium reads both slots again", _DEADLINE)
                kafka.broker.kill()
                kafka.start_broker()
                wait_until(lambda: streams(shop), "Debezium reads both slots once more", _DEADLINE)
                time.sleep(10)
        check_everything(tmp_path, shop)


def declare(data: Path, shop: EmbeddedPostgres, kafka: KafkaStack) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        for name in _NAMES:
            target = "TARGET = MIRROR" if name == "mirror" else ""
            options = f"ROUTE = KAFKA BOOTSTRAP_SERVERS = '{kafka.bootstrap_servers}' {target}"
            session.execute(create_statement(name, shop, ["items"], options, "postgres"))
            kafka.register(session.execute(f"ALTER CONNECTOR {name} CONFIG").rows()[0][0])


def calm_change(source: Source, turn: int) -> None:
    """Two routes share the machine with Kafka, Connect and Spark."""
    change(source, turn)
    time.sleep(0.25)


def streams(shop: EmbeddedPostgres) -> bool:
    with connect(shop) as source:
        found = source.execute("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'").fetchone()
        return found is not None and found[0] == len(_NAMES)


def check_everything(data: Path, shop: EmbeddedPostgres) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as account, connect(shop) as source:
        account.services[Connectors].start()
        session = account.session()
        # The last change of all: behind it nothing is to come.
        end = source.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        assert end is not None
        source.execute("INSERT INTO items VALUES (-1, 0, 'the end')")
        expected = source.execute("SELECT id, version, body FROM items ORDER BY id").fetchall()
        for name in _NAMES:
            wait_until(partial(has_landed, session, name, end[0]), partial(standing, session, name), _DEADLINE)
        assert rows(session, "SELECT id, version, body FROM items ORDER BY id") == expected
        check_raw(session, {row[0]: row[1] for row in expected})
        assert [standing(session, name)["dead_letters"] for name in _NAMES] == [0, 0]


def has_landed(session: Executes, name: str, place: int) -> bool:
    """Whether the change at this place of the source's log has landed."""
    return int(standing(session, name)["position"] or 0) >= place
