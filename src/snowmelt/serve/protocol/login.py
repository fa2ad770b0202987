"""Logging in: what a client says of itself, and the session it gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request as HttpRequest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import SchemaName, split_name
from snowmelt.core.version import VERSION
from snowmelt.runtime import parameters
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights.authentication import LoginIdentity
from snowmelt.runtime.session import Session
from snowmelt.serve.protocol.authentication import LoginAttempt
from snowmelt.serve.protocol.bodies import Body, part, text
from snowmelt.serve.protocol.sessions import DoorSession, Lifetimes


@dataclass(frozen=True, slots=True)
class LoginNames:
    """Where the client wants to start, and what it sets."""

    database: str | None = None
    schema: str | None = None
    warehouse: str | None = None
    role: str | None = None
    client: str = ""
    settings: dict[str, parameters.Value] = field(default_factory=dict)
    all_there: bool = False
    """Whether a database, schema or warehouse that is not there is an error."""


def read_login(body: Body, request: HttpRequest) -> tuple[LoginAttempt, LoginNames]:
    data = part(body, "data")
    asked = request.query_params
    client = text(data, "CLIENT_APP_ID") or ""
    given = part(data, "SESSION_PARAMETERS")
    names = LoginNames(
        _folded(asked.get("databaseName")), _folded(asked.get("schemaName")), _folded(asked.get("warehouse")),
        _folded(asked.get("roleName")), client, _settings(given),
        str(given.get("CLIENT_VALIDATE_DEFAULT_PARAMETERS")).lower() == "true",
    )  # fmt: skip
    attempt = LoginAttempt(
        user=text(data, "LOGIN_NAME") or "",
        authenticator=(text(data, "AUTHENTICATOR") or "SNOWFLAKE").upper(),
        password=text(data, "PASSWORD"),
        new_password=text(data, "CHOSEN_NEW_PASSWORD"),
        token=text(data, "TOKEN"),
        role=names.role,
        client=client,
        address=request.client.host if request.client is not None else "",
    )
    return attempt, names


def _folded(name: str | None) -> str | None:
    """The name as an identifier; None where there is none, or no valid one."""
    if not name:
        return None
    parts = split_name(name)
    return parts[0] if parts is not None and len(parts) == 1 else name


def _settings(given: Body) -> dict[str, parameters.Value]:
    """The parameters that mean something here. Clients send many that are theirs alone."""
    known: dict[str, parameters.Value] = {}
    for name, value in given.items():
        try:
            known[name.upper()] = parameters.check(name.upper(), value)
        except SnowmeltError:
            continue
    return known


def open_session(account: Account, identity: LoginIdentity, names: LoginNames) -> Session:
    """A session where the client asked for. What is not there is no error yet, unless the client wants one."""
    database = names.database or identity.database
    schema = names.schema or identity.schema
    warehouse = names.warehouse or identity.warehouse
    session = account.session(
        user=identity.user, role=identity.role, secondary_roles=identity.secondary_roles,
        role_restriction=identity.role_restriction, database=database, schema=schema, warehouse=warehouse,
    )  # fmt: skip
    wanted = {"database": session.database, "schema": session.schema, "warehouse": session.warehouse}
    with account.state.read(session.authority.sight) as state:
        if session.database is not None and state.catalog.database(session.database) is None:
            session.database = session.schema = None
        if session.database is not None and session.schema is not None:
            there = state.catalog.schema(SchemaName(session.database, session.schema)) is not None
            session.schema = session.schema if there or session.schema == "INFORMATION_SCHEMA" else None
        if session.warehouse is not None and state.warehouses.get(session.warehouse) is None:
            session.warehouse = None
    found = {"database": session.database, "schema": session.schema, "warehouse": session.warehouse}
    missing = next((what for what, name in wanted.items() if name != found[what]), None)
    if names.all_there and missing is not None:
        session.close()
        raise SnowmeltError("390201", "08004", f"The requested {missing} does not exist or not authorized.")
    session.grounds = identity.grounds
    session.parameters.update(names.settings)
    session.spills = True
    return session


_SHOWN = (
    "AUTOCOMMIT", "BINARY_OUTPUT_FORMAT", "CLIENT_SESSION_KEEP_ALIVE", "CLIENT_TELEMETRY_ENABLED",
    "CLIENT_PREFETCH_THREADS", "CLIENT_STAGE_ARRAY_BINDING_THRESHOLD", "DATE_OUTPUT_FORMAT", "QUERY_TAG",
    "PYTHON_CONNECTOR_QUERY_RESULT_FORMAT", "TIMESTAMP_LTZ_OUTPUT_FORMAT", "TIMESTAMP_NTZ_OUTPUT_FORMAT",
    "TIMESTAMP_OUTPUT_FORMAT", "TIMESTAMP_TZ_OUTPUT_FORMAT", "TIMEZONE", "TIME_OUTPUT_FORMAT",
    "CLIENT_RESULT_COLUMN_CASE_INSENSITIVE", "CLIENT_METADATA_REQUEST_USE_CONNECTION_CTX",
    "CLIENT_SESSION_KEEP_ALIVE_HEARTBEAT_FREQUENCY", "GEOGRAPHY_OUTPUT_FORMAT", "CLIENT_MEMORY_LIMIT",
    "CLIENT_RESULT_CHUNK_SIZE", "CLIENT_TIMESTAMP_TYPE_MAPPING",
)  # fmt: skip


def session_parameters(session: Session) -> list[dict[str, Any]]:
    """The parameters by which clients convert values."""
    return [{"name": name, "value": session.parameter(name)} for name in _SHOWN]


def session_info(session: Session) -> dict[str, Any]:
    return {
        "databaseName": session.database, "schemaName": session.schema, "warehouseName": session.warehouse,
        "roleName": session.role,
    }  # fmt: skip


def logged_in(opened: DoorSession, token: str, master: str, lifetimes: Lifetimes) -> dict[str, Any]:
    session = opened.session
    return {
        "token": token,
        "masterToken": master,
        "validityInSeconds": int(lifetimes.session.total_seconds()),
        "masterValidityInSeconds": int(lifetimes.master.total_seconds()),
        "displayUserName": session.user,
        "serverVersion": VERSION,
        "firstLogin": False,
        "remMeToken": None,
        "remMeValidityInSeconds": 0,
        "healthCheckInterval": 45,
        "newClientForUpgrade": None,
        "sessionId": int(session.id),
        "parameters": session_parameters(session),
        "sessionInfo": session_info(session),
        "idToken": None,
        "idTokenValidityInSeconds": 0,
        "responseData": None,
        "mfaToken": None,
        "mfaTokenValidityInSeconds": 0,
    }
