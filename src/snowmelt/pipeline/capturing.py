"""Change data capture in a pipeline: a connector reads the source's log; a run waits until it has what there is."""

from __future__ import annotations

import os
import time
from string import Template
from typing import Any, Protocol

from sqlalchemy import make_url, text
from sqlalchemy.exc import ArgumentError

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.pipeline.addresses import engine_of

_POLL_SECONDS = 0.5
_POSTGRES_PORT = 5432


class Captures(Protocol):
    """What a connection to Snowmelt has."""

    def execute(self, sql: str) -> Any: ...

    def start_connectors(self) -> None: ...


def start_capture(connection: Captures, name: str, statement: str, address: str) -> None:
    """Makes the connector if it is not there, and captures from now on.

    The statement has ${<NAME>_HOST}, _PORT, _DATABASE and _USER, which come from the address; its password goes into
    the environment of this process, where PASSWORD_ENV looks for it.
    """
    try:
        url = make_url(address)
    except ArgumentError:
        raise errors.configuration("The address is none that is understood: postgresql://user@host/name.") from None
    prefix = name.upper()
    if url.password is not None:
        os.environ[f"{prefix}_PASSWORD"] = str(url.password)
    parts = {"HOST": url.host or "localhost", "DATABASE": url.database or "", "USER": url.username or ""}
    variables = {f"{prefix}_{part}": literal(str(value))[1:-1] for part, value in parts.items()}
    variables[f"{prefix}_PORT"] = str(url.port or _POSTGRES_PORT)
    connection.execute(Template(statement).safe_substitute(variables))
    connection.start_connectors()


def catch_up(connection: Captures, name: str, slot: str, address: str, *, timeout_seconds: float = 300) -> None:
    """Returns when everything that the source has committed by now has landed. Raises when the connector failed."""
    with engine_of(address, "snowmelt pipeline").connect() as source:
        until = source.execute(text("SELECT pg_current_wal_lsn()::text")).scalar_one()
        source.rollback()
        query = text(
            "SELECT confirmed_flush_lsn >= CAST(:until AS pg_lsn) FROM pg_replication_slots WHERE slot_name = :slot"
        )
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            _refuse_failed(connection, name)
            landed = source.execute(query, {"until": until, "slot": slot}).scalar_one_or_none()
            source.rollback()
            if landed:
                return
            time.sleep(_POLL_SECONDS)
    raise SnowmeltError(
        "000629", "57014", f"The connector {name} did not catch up within {timeout_seconds:g} s.",
        hint="SHOW CONNECTORS says how far it is. Run again: it goes on there.", transient=True,
    )  # fmt: skip


def _refuse_failed(connection: Captures, name: str) -> None:
    cursor = connection.execute(f"SHOW CONNECTORS LIKE {literal(name)}")
    columns = [item[0].lower() for item in cursor.description]
    for row in cursor.fetchall():
        standing = dict(zip(columns, row, strict=True))
        if standing["state"] == "FAILED":
            raise errors.connector_stopped(str(standing["error"]))
