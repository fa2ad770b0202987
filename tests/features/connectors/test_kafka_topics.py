"""Topics that are not as the generated configuration would have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import Capture, in_state, rows, standing
from tests.features.connectors.kafka_stack import KafkaStack
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]


@pytest.fixture
def topics(captures: Session, server: EmbeddedPostgres, database: str, kafka: KafkaStack) -> Iterator[Capture]:
    with Capture(captures, server, database, kafka) as made:
        yield made


def test_envelopes_without_schemas(captures: Session, topics: Capture, source: Source) -> None:
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, amount numeric(10, 2))")
    source.execute("INSERT INTO orders VALUES (1, 1.50)")
    converters = {f"{part}.converter.schemas.enable": "false" for part in ("key", "value")}
    topics.create("shop", ["orders"], **converters)
    topics.wait_for_stream("shop")
    source.execute("UPDATE orders SET amount = 2.25")
    source.execute("DELETE FROM orders")
    wait_until(lambda: standing(captures, "shop")["changes"] == 3, lambda: standing(captures, "shop"))
    query = "SELECT operation, record_key:id::int, after:amount::number(10, 2) FROM raw_changes ORDER BY change_number"
    found = [
        (operation, key, None if amount is None else str(amount)) for operation, key, amount in rows(captures, query)
    ]
    assert found == [("READ", 1, "1.50"), ("UPDATE", 1, "2.25"), ("DELETE", 1, None)]


def test_a_topic_of_several_partitions(captures: Session, topics: Capture, source: Source) -> None:
    """Nobody knows where among its rows a TRUNCATE would be."""
    source.execute("CREATE TABLE items (id int PRIMARY KEY)")
    source.execute("INSERT INTO items SELECT generate_series(1, 100)")
    topics.create("shop", ["items"], "TARGET = MIRROR", **{"topic.creation.default.partitions": "3"})
    in_state(captures, "shop", "FAILED")
    assert "partition" in standing(captures, "shop")["error"]
