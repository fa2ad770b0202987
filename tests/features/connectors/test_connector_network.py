"""A network between Debezium and its source that stops, and one that breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.session import Session
from tests.features.connectors.capture import (
    caught_up,
    connect,
    create_statement,
    in_state,
    mirrored,
    present,
    standing,
)
from tests.features.connectors.proxy import Proxy
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]


@pytest.fixture
def behind_proxy(captures: Session, server: EmbeddedPostgres, database: str, source: Source) -> Callable[[Proxy], None]:
    """Makes a connector that reaches its source through the proxy."""

    def create(proxy: Proxy) -> None:
        source.execute("CREATE TABLE items (id int PRIMARY KEY, body text)")
        source.execute("INSERT INTO items SELECT g, 'b' FROM generate_series(1, 100) g")
        statement = create_statement("shop", server, ["items"], "TARGET = MIRROR", database)
        captures.execute(statement.replace(f"PORT = {server.port}", f"PORT = {proxy.port}"))
        in_state(captures, "shop", "STREAMING")

    return create


def test_a_network_that_stops_and_goes_on(
    captures: Session, server: EmbeddedPostgres, source: Source, behind_proxy: Callable[[Proxy], None]
) -> None:
    with Proxy(server.port) as proxy:
        behind_proxy(proxy)
        proxy.pause()
        for id_ in range(1, 50):
            source.execute("UPDATE items SET body = 'while it was away' WHERE id = %s", [id_])
        source.execute("DELETE FROM items WHERE id > 90")
        assert ("b",) in [row[:1] for row in mirrored(captures, "items")]
        proxy.resume()
        caught_up(captures, "shop", source)
        assert mirrored(captures, "items") == present(source, "items")


def test_a_network_that_breaks(
    captures: Session, server: EmbeddedPostgres, database: str, source: Source, behind_proxy: Callable[[Proxy], None]
) -> None:
    """Again and again, in the middle of changes; the connector says that it retries, and comes back."""
    with Proxy(server.port) as proxy:
        behind_proxy(proxy)
        for first in (10_000, 20_000, 30_000):
            source.execute("INSERT INTO items SELECT %s + g, 'new' FROM generate_series(1, 2000) g", [first])
            proxy.cut()
            wait_until(lambda: standing(captures, "shop")["state"] == "RETRYING", lambda: standing(captures, "shop"))
            source.execute("UPDATE items SET body = body || 'x' WHERE id % 7 = 0")
            in_state(captures, "shop", "STREAMING")
        with connect(server, database) as now:
            caught_up(captures, "shop", now)
        assert mirrored(captures, "items") == present(source, "items")
