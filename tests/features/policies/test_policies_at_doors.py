"""Policies hold for whoever asks a server, whatever the format of the answer; and every address was looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import anyio
import pytest

from snowmelt.assistants.at_server import mount_assistants
from snowmelt.assistants.server import server_of
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.serve.app import HttpServer
from snowmelt.serve.console.values import MEDIA_TYPES
from snowmelt.serve.credentials import load_credentials
from tests.features.policies.conftest import hidden_in
from tests.features.policies.doors import DOORS, PASSWORD, READER, schema_of
from tests.features.policies.ways import WAYS, Way
from tests.serve.callers import ADMIN_PASSWORD, Serving, served

FEW = (
    "everything", "open values", "array", "view", "function", "table of a query", "unload", "result", "explain",
    "history", "cast of what is masked", "cast of hidden rows", "check of a dynamic table",
)  # fmt: skip
"""One of each: rows, values inside of values, what is kept, plans, errors. All others go through the slow test."""


@pytest.fixture(scope="module")
def serving(account: Account, admin: Session) -> Iterator[tuple[Serving, str]]:
    """The server, and a token of the reader's."""
    admin.execute_script(
        f"ALTER USER {READER} SET PASSWORD = '{PASSWORD}' DEFAULT_ROLE = {READER} DEFAULT_WAREHOUSE = compute_wh "
        f"DEFAULT_NAMESPACE = pm.{schema_of('assistants')};"
    )
    for name in DOORS:
        schema = schema_of(name)
        admin.execute_script(f"CREATE SCHEMA pm.{schema}; GRANT OWNERSHIP ON SCHEMA pm.{schema} TO ROLE {READER};")
    token = str(admin.execute(f"ALTER USER {READER} ADD PAT doors ROLE_RESTRICTION = '{READER}'").rows()[0][1])
    server = HttpServer(account, load_credentials(account.data_dir, ADMIN_PASSWORD)[0])
    mount_assistants(server)
    with served(server) as answering:
        yield answering, token


def _try(serving: tuple[Serving, str], door: str, ways: Sequence[Way]) -> None:
    found = DOORS[door](*serving, schema_of(door), [way.statements for way in ways])
    assert len(found) == len(ways)
    for way, text in zip(ways, found, strict=True):
        # What a statement says itself is no secret.
        assert hidden_in(text) <= hidden_in(way.sql), (way.sql, text[:20000])
        if way.shows is not None and way.fails is None and len(way.statements) == 1:
            assert way.shows in text, (way.sql, text[:20000])
        if way.fails is not None:
            assert way.fails in text or way.fails.lstrip("0") in text, (way.sql, text[:20000])


@pytest.mark.parametrize("door", DOORS)
def test_what_leaves_by_a_door(serving: tuple[Serving, str], door: str) -> None:
    _try(serving, door, [WAYS[name] for name in FEW])


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_everything_by_every_door(serving: tuple[Serving, str], door: str) -> None:
    _try(serving, door, [way for name, way in WAYS.items() if name not in FEW])


# -- what else answers ------------------------------------------------------------------------------------------------

TRIED = {
    "POST /queries/v1/query-request": "json", "GET /queries/{query_id}/result": "json",
    "GET /monitoring/queries/{query_id}": "json", "GET /results/{secret}/{number}": "json",
    "POST /api/v1/statements": "own", "GET /api/v1/statements/current": "own",
    "POST /api/v2/statements": "sql api", "GET /api/v2/statements/{handle}": "sql api",
    "POST /api/v1/console/statements": "console", "GET /api/v1/console/statements/{id}": "console",
    "GET /api/v1/console/statements/{id}/rows": "console", "GET /api/v1/console/statements/{id}/download": "console",
    "GET /api/v1/console/graph": "console", "GET /api/v1/console/home": "console",
    "GET /api/v1/console/spark": "console", "GET /api/v1/console/session": "console", "POST /mcp": "assistants",
}  # fmt: skip
"""The door through which each address is tried. Later parts of a result are rendered as its first one is."""
WITHOUT_ROWS = {
    "log-ins and sessions": (
        "POST /session/v1/login-request", "POST /session/token-request", "POST /session/heartbeat", "POST /session",
        "POST /api/v1/sessions", "DELETE /api/v1/sessions/current", "POST /api/v1/console/session",
        "PATCH /api/v1/console/session", "DELETE /api/v1/console/session", "DELETE /api/v1/console/worksheets/{name}",
        "POST /iceberg/v1/oauth/tokens",
    ),
    "ends a statement": (
        "POST /queries/v1/abort-request", "POST /queries/{query_id}/abort-request",
        "DELETE /api/v1/statements/current", "POST /api/v2/statements/{handle}/cancel",
        "POST /api/v1/console/statements/{id}/cancel",
    ),
    "files of stages: what COPY INTO wrote, which is tried": (
        "PUT /stage-files/{secret}/{name:path}", "GET /stage-files/{secret}/{name:path}",
    ),
    "takes what a client sends, and gives counts back": (
        "POST /telemetry/send", "POST /telemetry/send/sessionless", "POST /api/v1/channels",
        "POST /api/v1/channels/statuses", "POST /api/v1/channels/drop", "GET /api/v1/channels/{channel_id}",
        "DELETE /api/v1/channels/{channel_id}", "POST /api/v1/channels/{channel_id}/rows",
        "POST /api/v1/channels/{channel_id}/wait", "POST /api/v1/channels/{channel_id}/flush",
        "POST /api/v1/console/statements/split",
    ),
    "files, of what no policy holds for: 'files for other engines' is tried": (
        "GET /iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}",
    ),
    "names of databases, schemas and tables, and what is refused": (
        "GET /iceberg/v1/config", "GET /iceberg/v1/{prefix}/namespaces",
        "GET /iceberg/v1/{prefix}/namespaces/{namespace}", "GET /iceberg/v1/{prefix}/namespaces/{namespace}/tables",
        "POST /iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
        "GET /iceberg/v1/{rest:path}", "POST /iceberg/v1/{rest:path}", "PUT /iceberg/v1/{rest:path}",
        "DELETE /iceberg/v1/{rest:path}",
    ),
    "health and figures": ("GET /healthz", "GET /metrics", "GET /api/v1/console/events"),
    "the page itself": ("GET /", "GET /favicon.svg", "GET /assets/{name}", "GET /api/v1/console/openapi.json"),
    "projects from sentences": ("POST /api/v1/console/design", "POST /api/v1/console/design/archive"),
    "runs statements of the visitor's, in sessions beside theirs": (
        "GET /api/v1/console/playbooks", "GET /api/v1/console/playbooks/{name}", "POST /api/v1/console/runs",
        "GET /api/v1/console/runs/{name}", "POST /api/v1/console/runs/{name}", "GET /api/v1/console/backfills",
        "POST /api/v1/console/backfills", "POST /api/v1/console/backfills/plan",
        "POST /api/v1/console/backfills/{name}",
    ),
}  # fmt: skip
"""Addresses by which no row leaves, and why."""
TOOLS = {
    "sql", "check", "history", "lineage", "backfill_plan",
    # These read nothing of the account.
    "design_begin", "design_answer", "design_check", "playbooks", "playbook",
}  # fmt: skip


def test_every_address_of_a_server_was_looked_at(serving: tuple[Serving, str]) -> None:
    """A new one fails here until somebody has said by which door it is tried, or why no row leaves by it."""
    routes = serving[0].server.routes
    found = {f"{method} {one.path}" for one in routes for method in one.methods or {"POST"} if method != "HEAD"}
    known = [*TRIED, *(address for addresses in WITHOUT_ROWS.values() for address in addresses)]
    assert len(known) == len(set(known))
    assert set(known) == found
    assert set(TRIED.values()) <= DOORS.keys()


def test_every_tool_of_assistants_and_every_format_was_looked_at() -> None:
    async def names() -> set[str]:
        return {tool.name for tool in await server_of(lambda: pytest.fail("no session"), files=False).list_tools()}

    assert anyio.run(names) == TOOLS
    assert set(MEDIA_TYPES) == {"csv", "json", "parquet"}
