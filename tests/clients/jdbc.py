"""A Java process with Snowflake's JDBC driver, driven from Python: it needs no compiler, only Spark's `java`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from snowmelt.engine.jars import default_cache, ensure_jars, parse_lock, require_java
from tests.clients.environments import LOCKS


@contextmanager
def java_with_driver(options: tuple[str, ...] = ()) -> Iterator[Any]:
    """The classes of the process, by name: `jvm.java.sql.DriverManager`."""
    locked = parse_lock((LOCKS / "jdbc.lock").read_text(encoding="utf-8"))
    [driver] = ensure_jars(default_cache().parent / "clients", locked)
    [bridge] = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    port, secret = launch_gateway(
        classpath=str(driver), jarpath=str(bridge), javaopts=["-Xmx512m", *options], die_on_exit=True,
        java_path=str(require_java()), enable_auth=True,
    )  # fmt: skip
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(port=port, auth_token=secret, auto_convert=True, auto_close=True)
    )
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()


def url(port: int, database: str) -> str:
    return f"jdbc:snowflake://127.0.0.1:{port}/?account=snowmelt&ssl=off&db={database}&schema=PUBLIC"


def connect(jvm: Any, url: str, **settings: str) -> Any:
    properties = jvm.java.util.Properties()
    for name, value in settings.items():
        properties.setProperty(name, value)
    return jvm.java.sql.DriverManager.getConnection(url, properties)


def rows(result: Any) -> list[tuple[str | None, ...]]:
    """All that is left of a result, as the driver writes it."""
    width = result.getMetaData().getColumnCount()
    found = []
    while result.next():
        found.append(tuple(result.getString(index + 1) for index in range(width)))
    return found
