"""Requests with anything in them, to every route: each gets an answer, none a 500, and nobody sees a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from tests.serve.callers import ADMIN_PASSWORD, OwnCaller, Serving, SnowflakeCaller

LOGIN = {"LOGIN_NAME", "PASSWORD", "TOKEN", "AUTHENTICATOR", "CHOSEN_NEW_PASSWORD", "CLIENT_APP_ID",
         "SESSION_PARAMETERS"}  # fmt: skip
FIELDS: dict[str, set[str]] = {
    "/session/v1/login-request": {"data"},
    "/session/token-request": {"oldSessionToken", "requestType"},
    "/session/heartbeat": set(),
    "/session": set(),
    "/queries/v1/query-request": {"sqlText", "asyncExec", "describeOnly", "bindings", "parameters", "sequenceId"},
    "/queries/v1/abort-request": {"requestId", "sqlText"},
    "/queries/{query_id}/abort-request": {"requestId"},
    "/telemetry/send": {"logs"},
    "/telemetry/send/sessionless": {"logs"},
    "/api/v1/channels": {"channel", "table", "offset_token", "on_error", "schema_evolution"},
    "/api/v1/channels/statuses": {"table", "channels"},
    "/api/v1/channels/drop": {"table", "channel"},
    "/api/v1/channels/{channel_id}/rows": set(),
    "/api/v1/channels/{channel_id}/wait": set(),
    "/api/v1/channels/{channel_id}/flush": set(),
    "/api/v1/sessions": {"user", "password", "role", "local_token", "database", "schema", "warehouse"},
    "/api/v1/statements": {"sql", "binds"},
    "/api/v2/statements": {"statement", "timeout", "database", "role", "bindings", "parameters"},
    "/api/v2/statements/{handle}/cancel": set(),
    "/iceberg/v1/oauth/tokens": {"grant_type", "client_id", "client_secret", "scope", "subject_token"},
    "/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics": set(),
    "/iceberg/v1/{rest:path}": set(),
    "/api/v1/console/session": {"user", "password", "token", "jwt", "role", "link"},
    "/api/v1/console/statements": {"sql", "worksheet", "wait", "rows"},
    "/api/v1/console/statements/split": {"sql"},
    "/api/v1/console/statements/{id}/cancel": set(),
    "/api/v1/console/design": {"description", "answer", "state"},
    "/api/v1/console/design/archive": {"state"},
    "/api/v1/console/runs": {"playbook", "text", "inputs"},
    "/api/v1/console/runs/{name}": {"action", "decision", "inputs"},
    "/api/v1/console/backfills": {
        "table",
        "column",
        "source",
        "query",
        "start",
        "end",
        "keys",
        "chunk",
        "follow_streams",
    },
    "/api/v1/console/backfills/plan": {"table", "column", "source", "query", "start", "end", "keys", "chunk"},
    "/api/v1/console/backfills/{name}": {"action"},
}
"""By route, what its body may say. A new route has to be here."""
QUERY = ("requestId", "databaseName", "schemaName", "warehouse", "roleName", "sequencer", "number", "seconds", "start",
         "end", "seen", "wait", "async", "nullable", "partition")  # fmt: skip
STATEMENTS = ("", ";", "SHOW PARAMETERS", "USE ROLE \x00", "SHOW TABLES LIKE '\ud800'", "ALTER SESSION SET X = 1")
"""None of them computes anything: this is about the doors."""

_ODD = st.text(alphabet=st.characters(codec=None, categories=["Cc", "Cs", "Co", "So", "Zl"]), max_size=5)
_TEXT = st.sampled_from(STATEMENTS) | _ODD | st.sampled_from(["admin", "1", "true", "9" * 400, "..", "a/../../b", "é"])
_SCALAR = (
    st.none()
    | st.booleans()
    | _TEXT
    | st.sampled_from([10**400, -(2**63) - 1, float("inf"), float("nan"), 1e308, -0.0])
)
_DEEP = st.integers(1, 4).map(lambda depth: json.loads("[" * depth * 200 + "]" * depth * 200))
_VALUE = st.recursive(
    _SCALAR | _DEEP,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*sorted(LOGIN), "1", "2", "type", "value"]) | _TEXT, inner, max_size=4)
    ),
    max_leaves=8,
)
_RAW = st.sampled_from([b"", b"{", b"[" * 100_000, b"\xff\xfe{}", b"\x1f\x8b broken", b"1" * 5000, b'{"a":"\\ud800"}',
                        b'{"a": ' + b"9" * 5000 + b"}", b"\x00", b"null"]) | st.binary(max_size=40)  # fmt: skip
_HEADERS = st.dictionaries(
    st.sampled_from(["content-encoding", "content-type", "x-goog-if-generation-match", "accept-encoding", "range"]),
    st.sampled_from(
        ["gzip", "zstd", "application/vnd.apache.arrow.stream", "text/plain", "0", "bytes=9-1", "\x7f", ""]
    ),
    max_size=2,
)


@dataclass(frozen=True, slots=True)
class Tools:
    http: httpx.Client
    routes: list[tuple[str, str]]
    tokens: dict[str, str]
    page: dict[str, str]
    """Headers of a browser that has logged in to the console."""


@pytest.fixture(scope="module")
def tools(serving: Serving) -> Iterator[Tools]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("snowmelt.runtime.rights.attempts._LONGEST_PAUSE", 0.0)
        routes = [
            (method, route.path)
            for route in serving.server.routes
            if isinstance(route, Route)
            for method in sorted((route.methods or {"GET"}) - {"HEAD"})
        ]
        tokens = {
            "none": "",
            "odd": "Bearer \xff",
            "snowflake": SnowflakeCaller(serving).headers["authorization"],
            "own": OwnCaller(serving).headers["authorization"],
            "access": f"Bearer {serving.admin().execute('ALTER USER ann ADD PAT fuzzed').rows()[0][1]}",
        }
        with httpx.Client(base_url=serving.url, timeout=120) as client:
            yield Tools(client, routes, tokens, _page(serving))


def _page(serving: Serving) -> dict[str, str]:
    page = {"origin": serving.url, "sec-fetch-site": "same-origin"}
    log_in = {"user": "admin", "password": ADMIN_PASSWORD}
    answer = httpx.post(f"{serving.url}/api/v1/console/session", json=log_in, headers=page)
    cookie = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
    return {**page, "cookie": cookie, "x-csrf-token": answer.json()["csrf"]}


def test_every_route_that_takes_a_body_says_what_may_be_in_it(tools: Tools) -> None:
    assert {path for method, path in tools.routes if method == "POST"} == set(FIELDS)


def _encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


@st.composite
def _requests(draw: st.DrawFn) -> dict[str, Any]:
    route = draw(st.integers(0, 10_000))
    fields = draw(st.dictionaries(st.integers(0, 20), _VALUE, max_size=6))
    return {
        "route": route,
        "fields": fields,
        "raw": draw(st.none() | st.none() | _RAW),
        "query": draw(st.dictionaries(st.sampled_from(QUERY), _TEXT, max_size=3)),
        "part": draw(_TEXT),
        "token": draw(st.sampled_from(["snowflake", "snowflake", "own", "own", "access", "none", "odd"])),
        "headers": draw(_HEADERS),
    }


def _send(tools: Tools, request: dict[str, Any]) -> None:
    method, route = tools.routes[request["route"] % len(tools.routes)]
    # DELETE and a session's end would log the test out, and events never end: they get no valid token.
    ends = (method == "DELETE" and route.endswith(("current", "session"))) or route.endswith("/events")
    token = tools.tokens["none" if ends else request["token"]]
    part = quote(request["part"].encode("utf-8", "surrogatepass")) or "x"
    path = route.replace("{name:path}", part)
    for name in ("query_id", "secret", "number", "channel_id", "id", "name", "handle"):
        path = path.replace(f"{{{name}}}", part)
    query = "&".join(
        f"{name}={quote(value.encode('utf-8', 'surrogatepass'))}" for name, value in request["query"].items()
    )
    content = request["raw"]
    if content is None:
        names = sorted(FIELDS.get(route, set())) or ["data"]
        body = {names[place % len(names)]: value for place, value in request["fields"].items()}
        content = _encoded(body)
    visits = token == tools.tokens["own"] and route.startswith("/api/v1/console/")
    headers = {
        **({name: value.encode() for name, value in tools.page.items()} if visits else {}),
        "authorization": token.encode("latin-1"),
        **{k: v.encode("latin-1") for k, v in request["headers"].items()},
    }
    answer = tools.http.request(method, f"{path}?{query}", content=content, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code < 500 or answer.status_code == 503, (method, path, content, answer.text)
    assert "Traceback" not in answer.text and "site-packages" not in answer.text
    assert b"000603" not in answer.content, (method, path, content, answer.text)
    if answer.headers.get("content-type", "").startswith("application/json"):
        assert isinstance(answer.json(), dict)


_TOGETHER = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=250, deadline=None, suppress_health_check=_TOGETHER)
@given(request=_requests())
@example(
    request={"route": 0, "fields": {0: {"LOGIN_NAME": "admin", "PASSWORD": "\ud800"}}, "raw": None, "query": {},
             "part": "", "token": "none", "headers": {}}
)  # fmt: skip
def test_no_request_breaks_the_server(tools: Tools, request: dict[str, Any]) -> None:
    _send(tools, request)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=_TOGETHER)
@given(request=_requests())
def test_no_request_breaks_the_server_in_many_tries(tools: Tools, request: dict[str, Any]) -> None:
    _send(tools, request)


def test_every_route_with_every_field_of_every_kind(tools: Tools) -> None:
    """Not by chance: each field of each route with each kind of wrong value, with a valid session."""
    wrong: list[Any] = [None, True, 10**400, float("nan"), "", "\x00", "x" * 10_000, [], [None], {}, {"1": 1}, "\ud800"]
    for index, (_, route) in enumerate(tools.routes):
        for place, name in enumerate(sorted(FIELDS.get(route, set()))):
            for value in (
                wrong if name != "data" else [{key: item} for item in wrong for key in ("LOGIN_NAME", "TOKEN")]
            ):
                token = {"/api/v1": "own", "/api/v2": "access"}.get(route[:7], "snowflake")
                _send(tools, {"route": index, "fields": {place: value}, "raw": None, "query": {}, "part": "",
                              "token": token, "headers": {}})  # fmt: skip
