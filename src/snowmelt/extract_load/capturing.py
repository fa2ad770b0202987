"""Change data capture in a pipeline: a connector reads the source's log; a run waits until it has what there is."""

from __future__ import annotations

import os
import time
from string import Template
from typing import Any, Protocol

from sqlalchemy import URL, make_url, text
from sqlalchemy.exc import ArgumentError

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.extract_load.addresses import database_errors, engine_of
from snowmelt.extract_load.running import FlowResult
from snowmelt.features.connectors.statements import CreateConnector
from snowmelt.sql.statements.parse import parse_statement

_POLL_SECONDS = 0.5
_POSTGRES_PORT = 5432
_NOT_FOUND = "002003"


class Captures(Protocol):
    """What a connection to Snowmelt has."""

    def execute(self, sql: str) -> Any: ...

    def start_connectors(self) -> None: ...


def start_capture(connection: Captures, name: str, statement: str, address: str) -> None:
    """Makes the connector if it is not there, else brings it to what the statement says, and captures from now on.

    The statement has ${<NAME>_HOST}, _PORT, _DATABASE, _USER and _SSL_MODE, which come from the address; its password
    goes into the environment of this process, where PASSWORD_ENV looks for it. One that had failed tries again.
    """
    filled = _filled(name.upper(), statement, _url(address))
    known = _standing(connection, name)
    connection.execute(filled)
    if known is not None:
        _follow(connection, name, known, filled)
    connection.start_connectors()


def catch_up(connection: Captures, name: str, address: str, *, timeout_seconds: float = 300) -> None:
    """Returns when everything that the source has committed by now has landed. Raises when it can't."""
    until = _end_of_log(address)
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        standing = check_capture(connection, name)
        # The rows of a snapshot all have the place at which it was taken.
        if standing["state"] != "SNAPSHOT" and int(standing["position"] or 0) >= until:
            return
        time.sleep(_POLL_SECONDS)
    raise SnowmeltError(
        "000629", "57014", f"The connector {name} did not catch up within {timeout_seconds:g} s.",
        hint="SHOW CONNECTORS says how far it is. Run again: it goes on there.", transient=True,
    )  # fmt: skip


def check_capture(connection: Captures, name: str) -> dict[str, Any]:
    """The connector's row of SHOW CONNECTORS. Raises if it does not capture, and will not start by itself."""
    standing = _standing(connection, name)
    if standing is None:
        raise errors.connector_stopped(
            f"There is no connector {name}.", hint="Run again: it is made when it is missing."
        )
    if standing["state"] == "FAILED":
        raise errors.connector_stopped(
            f"The connector {name} has failed: {standing['error']}", hint="Fix what it reports, then run again."
        )
    if standing["state"] == "PAUSED":
        raise errors.connector_stopped(
            f"The connector {name} is paused.", hint=f"Let it go on: ALTER CONNECTOR {name} RESUME."
        )
    return standing


def captured(name: str, before: dict[str, Any], after: dict[str, Any]) -> FlowResult:
    """What a connector landed between two looks at it, as a flow would tell it."""
    rows, rejected = (int(after[key]) - int(before[key]) for key in ("changes", "dead_letters"))
    return FlowResult(name, rows=rows, rejected=rejected, place=after["position"])


def _url(address: str) -> URL:
    try:
        return make_url(address)
    except ArgumentError:
        raise errors.configuration(
            "The address is not understood. It looks like postgresql://user@host/name."
        ) from None


def _filled(prefix: str, statement: str, url: URL) -> str:
    if url.password is not None:
        os.environ[f"{prefix}_PASSWORD"] = str(url.password)
    # A source may ask for none.
    os.environ.setdefault(f"{prefix}_PASSWORD", "")
    parts = {
        "HOST": url.host or "localhost", "DATABASE": url.database or "", "USER": url.username or "",
        "SSL_MODE": str(url.query.get("sslmode", "prefer")).upper(),
    }  # fmt: skip
    variables = {f"{prefix}_{part}": literal(str(value))[1:-1] for part, value in parts.items()}
    variables[f"{prefix}_PORT"] = str(url.port or _POSTGRES_PORT)
    return Template(statement).safe_substitute(variables)


def _follow(connection: Captures, name: str, known: dict[str, Any], statement: str) -> None:
    """The source has moved, has another user, or more of its tables are wanted."""
    wanted = parse_statement(statement.strip().rstrip(";"))
    assert isinstance(wanted, CreateConnector)
    options = wanted.options
    if options.database != known["database"]:
        raise errors.configuration(
            f"The connector {name} captures database {known['database']}, and the address names {options.database}.",
            hint="A raw table holds the changes of one database. Fix the address; or DROP CONNECTOR "
            f"{name}, and give its raw table another name.",
        )
    tables = ", ".join(literal(table) for table in options.tables or ())
    parts = {"HOST": options.host, "USER": options.user, "SSL_MODE": options.ssl_mode}
    texts = " ".join(f"{part} = {literal(value)}" for part, value in parts.items() if value is not None)
    connection.execute(
        f"ALTER CONNECTOR {name} SET {texts} PORT = {options.port or _POSTGRES_PORT} TABLES = ({tables})"
    )
    new = set(_tables(_look(connection, name))) - set(_tables(known))
    if new:
        listed = ", ".join(literal(table) for table in sorted(new))
        connection.execute(f"ALTER CONNECTOR {name} SNAPSHOT TABLES ({listed})")
    if known["state"] in ("FAILED", "RETRYING"):
        connection.execute(f"ALTER CONNECTOR {name} RESUME")


def _tables(standing: dict[str, Any]) -> list[str]:
    return str(standing["tables"]).split(", ")


def _end_of_log(address: str) -> int:
    """A place behind all that is committed now."""
    engine = engine_of(address, "snowmelt pipeline")
    with database_errors(engine), engine.connect() as source:
        until = source.execute(text("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint")).scalar_one()
        # A commit of its own, which is sent at once: without one, the end of a quiet log is told with a heartbeat.
        source.execute(text("SELECT pg_logical_emit_message(true, 'snowmelt', 'here')"))
        source.commit()
    return int(until)


def _look(connection: Captures, name: str) -> dict[str, Any]:
    cursor = connection.execute(f"DESCRIBE CONNECTOR {name}")
    columns = [item[0].lower() for item in cursor.description]
    return dict(zip(columns, cursor.fetchone(), strict=True))


def _standing(connection: Captures, name: str) -> dict[str, Any] | None:
    try:
        return _look(connection, name)
    except SnowmeltError as error:
        if error.code == _NOT_FOUND:
            return None
        raise
