"""Requests that no client sends: every one gets an answer, none gets a 5xx, and nothing is given away."""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.clients.server import PASSWORD
from tests.support.waiting import DEADLINE

POSTS = (
    "/session/v1/login-request", "/session/token-request", "/session/heartbeat", "/session?delete=true",
    "/queries/v1/query-request", "/queries/v1/abort-request", "/queries/x/abort-request", "/telemetry/send",
)  # fmt: skip
GETS = (
    "/queries/x/result", "/monitoring/queries/x", "/results/x/0", "/results/../0", "/stage-files/x/y",
    "/queries/%00/result",
)  # fmt: skip


@pytest.fixture(scope="module")
def http(door: int) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{door}", timeout=DEADLINE) as client:
        yield client


def login(http: httpx.Client, password: str = PASSWORD) -> dict[str, Any]:
    data = {"LOGIN_NAME": "admin", "PASSWORD": password, "CLIENT_APP_ID": "test"}
    answer: dict[str, Any] = http.post("/session/v1/login-request", json={"data": data}).json()
    return answer


@pytest.fixture(scope="module")
def token(http: httpx.Client) -> str:
    return str(login(http)["data"]["token"])


def headers(token: str) -> dict[str, str]:
    return {"authorization": f'Snowflake Token="{token}"'}


def run(http: httpx.Client, token: str, sql: Any, **more: Any) -> dict[str, Any]:
    body = {"sqlText": sql, **more}
    request_id = str(uuid.uuid4())
    address = f"/queries/v1/query-request?requestId={request_id}"
    answer: dict[str, Any] = http.post(address, json=body, headers=headers(token)).json()
    return answer


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"\x1f\x8b broken", b"\xff\xfe", b'{"data": 1}', b"[" * 100_000]
)
def test_malformed_bodies(http: httpx.Client, token: str, path: str, body: bytes) -> None:
    sends = {} if "delete" in path or "login" in path else headers(token)
    answer = http.post(path, content=body, headers=sends)
    assert answer.status_code == 200
    assert "success" in answer.json()


def test_a_bomb_is_not_unpacked(http: httpx.Client, token: str) -> None:
    bomb = gzip.compress(b" " * 100_000_000, compresslevel=9)
    packed = {**headers(token), "content-encoding": "gzip"}
    answer = http.post("/queries/v1/query-request", content=bomb, headers=packed)
    assert (answer.status_code, answer.json()["code"]) == (413, "391920")


def test_a_body_that_is_too_large(http: httpx.Client, token: str) -> None:
    pieces = (b"x" * 1_000_000 for _ in range(80))
    answer = http.post("/queries/v1/query-request", content=pieces, headers=headers(token))
    assert (answer.status_code, answer.json()["code"]) == (413, "391920")


@pytest.mark.parametrize("path", [*POSTS[1:7], *GETS])
@pytest.mark.parametrize(
    "given", ["", "Snowflake Token=", 'Snowflake Token="x"', "Bearer x", f'Snowflake Token="{"x" * 5000}"']
)
def test_wrong_tokens(http: httpx.Client, path: str, given: str) -> None:
    method = "POST" if path in POSTS else "GET"
    answer = http.request(method, path, headers={"authorization": given})
    assert answer.status_code in (200, 404)
    assert answer.status_code == 404 or answer.json()["success"] is False


def test_a_replayed_token_is_refused(http: httpx.Client) -> None:
    first = login(http)["data"]
    renewal = {"oldSessionToken": first["token"], "requestType": "RENEW"}
    second = http.post("/session/token-request", json=renewal, headers=headers(first["masterToken"])).json()["data"]
    assert run(http, first["token"], "SELECT 1")["code"] == "390112"
    assert run(http, second["sessionToken"], "SELECT 1")["success"] is True
    http.post("/session?delete=true", headers=headers(second["sessionToken"]))
    assert run(http, second["sessionToken"], "SELECT 1")["code"] == "390111"
    again = http.post("/session/token-request", json=renewal, headers=headers(first["masterToken"])).json()
    assert again["code"] == "390114"


def test_a_repeated_request_runs_once(http: httpx.Client, token: str, database: str) -> None:
    assert run(http, token, f"CREATE TABLE {database}.PUBLIC.once (id INT)")["success"] is True
    body = {"sqlText": f"INSERT INTO {database}.PUBLIC.once VALUES (1)"}
    address = f"/queries/v1/query-request?requestId={uuid.uuid4()}"
    answers = [http.post(address, json=body, headers=headers(token)).json() for _ in range(3)]
    assert len({answer["data"]["queryId"] for answer in answers}) == 1
    assert run(http, token, f"SELECT COUNT(*) FROM {database}.PUBLIC.once")["data"]["rowset"] == [["1"]]


def test_a_password_is_in_no_answer(http: httpx.Client, token: str) -> None:
    refused = login(http, "not the password")
    assert (refused["success"], refused["code"]) == (False, "390100")
    assert "not the password" not in json.dumps(refused)
    assert PASSWORD not in json.dumps(run(http, token, "SHOW PARAMETERS"))


@pytest.mark.parametrize(
    "bindings",
    [
        [], "x", {"1": 1}, {"2": {"type": "TEXT", "value": "x"}}, {"1": {"type": "FIXED", "value": "1e999999"}},
        {"1": {"type": "DATE", "value": "9" * 40}}, {"1": {"type": "BINARY", "value": "zz"}},
        {"1": {"type": "TIMESTAMP_TZ", "value": "1 99999999"}}, {"1": {"type": "FIXED", "value": "NaN"}},
        {"1": {"type": "TEXT", "value": ["a"]}, "2": {"type": "TEXT", "value": ["a", "b"]}},
        {"1": {"type": "NOTHING", "value": {"a": []}}}, {"1": {"type": "REAL", "value": "1; DROP TABLE x"}},
    ],
)  # fmt: skip
def test_strange_binds(http: httpx.Client, token: str, bindings: Any) -> None:
    answer = run(http, token, "SELECT ?", bindings=bindings)
    assert answer["success"] is False or "rowset" in answer["data"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(max_size=200))
def test_no_bound_text_becomes_sql(http: httpx.Client, token: str, value: str) -> None:
    answer = run(http, token, "SELECT ?", bindings={"1": {"type": "TEXT", "value": value}})
    assert answer["data"]["rowset"] == [[value]]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
_FIELDS = ("sqlText", "asyncExec", "parameters", "bindings", "describeOnly", "sequenceId", "isInternal", "data")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from([*POSTS[:3], *POSTS[4:]]), body=st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=5)
)
def test_any_json(http: httpx.Client, token: str, path: str, body: dict[str, Any]) -> None:
    answer = http.post(path, json=body, headers=headers(token))
    assert answer.status_code == 200
    assert "success" in answer.json()
