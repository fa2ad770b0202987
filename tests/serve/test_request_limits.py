"""Every route: who may call it, how much it takes, and how long it waits."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator

import httpx
import pytest
from starlette.routing import Route

from snowmelt.serve.limits import PUBLIC
from tests.serve.callers import OwnCaller, Serving, SnowflakeCaller, chunked, sent
from tests.serve.conftest import LIMITS

_PARAMETERS = {"query_id": "01a2", "secret": "x", "number": "0", "name": "f.csv", "channel_id": "c", "id": "s",
               "handle": "h", "prefix": "DB", "namespace": "S", "table": "T", "rest": "x"}  # fmt: skip
_SECRETS = ("/results/", "/stage-files/")
"""Addresses that hold their own secret."""
_PAGE = {"/", "/favicon.svg", "/api/v1/console/openapi.json"}
"""What a browser loads before anybody has logged in. It is the same for everybody."""
_REFUSED = {"390111", "390112", "390114", "390100", "390189"}


def _routes(serving: Serving) -> list[tuple[str, str]]:
    found = []
    for route in serving.server.routes:
        assert isinstance(route, Route)
        path = route.path.replace(":path", "").format(**_PARAMETERS)
        found += [(method, path) for method in sorted((route.methods or {"GET"}) - {"HEAD"})]
    assert len(found) > 20
    return found


@pytest.fixture
def http(serving: Serving) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=serving.url, timeout=60) as client:
        yield client


def test_every_route_without_a_session_is_refused(serving: Serving, http: httpx.Client) -> None:
    open_to_all = {"/healthz", "/metrics", "/telemetry/send/sessionless", *_PAGE}
    for method, path in _routes(serving):
        answers = [http.request(method, path), http.request(method, path, headers={"authorization": "Bearer x"})]
        for answer in answers:
            if path in open_to_all:
                assert answer.status_code == 200, path
            elif path.startswith((*_SECRETS, "/assets/")):
                assert answer.status_code == 404, path
            elif (method, path) == ("POST", "/api/v1/console/session"):
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, "390189")
            elif path == "/iceberg/v1/oauth/tokens":
                assert (answer.status_code, answer.json()["error"]["type"]) == (400, "BadRequestException")
            elif answer.status_code == 200:
                assert answer.json()["success"] is False, path
                assert answer.json()["code"] in _REFUSED, path
            else:
                assert answer.status_code == 401, (path, answer.text)


def test_a_token_of_one_door_is_of_no_use_at_the_other(serving: Serving) -> None:
    one, other = SnowflakeCaller(serving), OwnCaller(serving)
    one.headers, other.headers = (
        {"authorization": other.headers["authorization"].replace("Bearer ", 'Snowflake Token="') + '"'},
        {"authorization": f"Bearer {one.token}"},
    )
    assert (one.run("SELECT 1"), other.run("SELECT 1")) == ("390111", "390111")


def test_every_route_refuses_a_body_without_end(serving: Serving) -> None:
    """The server takes no more than the limit, and what it reads on so that the client hears why."""
    token = SnowflakeCaller(serving).token
    own = OwnCaller(serving).headers["authorization"]
    for method, path in _routes(serving):
        for authorization in ("", f'Snowflake Token="{token}"', own):
            if path.endswith("current") and authorization == own:
                continue  # it ends the session
            head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: {authorization}\r\n"
            head += "transfer-encoding: chunked\r\n\r\n"
            most = LIMITS.bytes_of(path) if not path.startswith(_SECRETS) else LIMITS.body_bytes
            answer, taken = sent(serving.port, head.encode(), chunked(64 << 20), 20)
            assert taken < most + LIMITS.body_bytes + (12 << 20), (path, taken)
            assert b" 413 " in answer.split(b"\r\n")[0] or not answer, (path, answer[:200])


def test_a_length_that_is_too_large_is_refused_before_anything_is_read(serving: Serving) -> None:
    for method, path in _routes(serving):
        if path.startswith("/stage-files/"):
            continue
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999\r\n\r\n"
        answer, _ = sent(serving.port, head.encode(), iter(()), 20)
        assert answer.startswith(b"HTTP/1.1 413 "), (path, answer[:200])
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "391920"


def test_what_is_unpacked_is_held_to_the_same_limit(serving: Serving) -> None:
    bomb = gzip.compress(b" " * (70 << 20), compresslevel=9)
    own, door = OwnCaller(serving), SnowflakeCaller(serving)
    packed = {"content-encoding": "gzip"}
    answer = own.http.post("/api/v1/statements", content=bomb, headers=own.headers | packed)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "391920")
    answer = door.http.post("/queries/v1/query-request", content=bomb, headers=door.headers | packed)
    assert (answer.status_code, answer.json()["code"]) == (413, "391920")
    answer = own.http.post("/api/v1/statements", content=b"x", headers=own.headers | {"content-encoding": "zstd"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "390189")


def test_a_body_that_does_not_come_is_not_waited_for(serving: Serving) -> None:
    head = b"POST /session/v1/login-request HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"
    started = time.monotonic()
    answer, _ = sent(serving.port, head, iter(()))
    assert answer.startswith(b"HTTP/1.1 408 "), answer[:200]
    assert time.monotonic() - started < 40


def test_a_body_that_drips_is_not_waited_for(serving: Serving) -> None:
    """Each piece comes in time, all of them together do not."""

    def drips() -> Iterator[bytes]:
        for _ in range(200):
            time.sleep(0.2)
            yield b" "

    head = b"POST /session/v1/login-request HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n"
    started = time.monotonic()
    answer, _ = sent(serving.port, head, drips())
    assert answer.startswith(b"HTTP/1.1 408 ") or not answer
    assert time.monotonic() - started < 39


def test_heads_are_limited(serving: Serving, http: httpx.Client) -> None:
    assert http.get("/healthz", headers={"x": "y" * 100_000}).status_code == 431
    answer, _ = sent(
        serving.port, b"GET /nowhere?%s HTTP/1.1\r\nhost: localhost\r\n\r\n" % (b"y" * 60_000), iter(()), 5
    )
    assert answer.startswith(b"HTTP/1.1 404 ")
    answer, _ = sent(serving.port, b"GET /?%s HTTP/1.1\r\nhost: localhost\r\n\r\n" % (b"y" * 66_000), iter(()))
    assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    endless = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: "
    answer, taken = sent(serving.port, endless, (b"y" * 1000 for _ in range(20_000)))
    assert taken < 12 << 20 and (answer.startswith(b"HTTP/1.1 400 ") or not answer)
    assert http.get("/healthz", headers={f"x{number}": "y" for number in range(300)}).status_code == 431


def test_a_head_that_does_not_come_is_not_waited_for(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snowmelt.serve.connections.HttpConnection.head_seconds", 0.5)
    for start in (b"", b"GET /healthz HTTP/1.1\r\nhost: lo"):
        with socket.create_connection(("127.0.0.1", serving.port), timeout=60) as connection:
            connection.sendall(start)
            assert connection.recv(100) == b""


@pytest.mark.parametrize("piece", [b"x: y\r\n", b"x" * 1000], ids=["trailers", "an extension of a chunk"])
def test_what_stands_around_a_body_is_limited(serving: Serving, piece: bytes) -> None:
    head = b"POST /telemetry/send/sessionless HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    start = b"0\r\n" if piece.endswith(b"\n") else b"1;"
    endless = (piece * (65_536 // len(piece)) for _ in range(400))
    answer, taken = sent(serving.port, head + start, endless, 20)
    assert taken < 12 << 20 and (answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 ")) or not answer), answer[:100]


def test_trailers_are_no_headers(serving: Serving) -> None:
    token = SnowflakeCaller(serving).token
    head = b"POST /session/heartbeat HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n"
    trailer = f'0\r\nauthorization: Snowflake Token="{token}"\r\nconnection: close\r\n\r\n'.encode()
    answer, _ = sent(serving.port, head + b"connection: close\r\n\r\n" + trailer, iter(()), 20)
    assert answer.startswith(b"HTTP/1.1 200 ") and b'"code":"390111"' in answer


_ONE = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n%s\r\n"


def test_requests_may_follow_before_the_answer_but_not_many(serving: Serving) -> None:
    last = _ONE % b"connection: close\r\n"
    answer, _ = sent(serving.port, _ONE % b"" * 4 + last, iter(()), 20)
    assert answer.count(b"HTTP/1.1 200 OK") == 5
    answer, _ = sent(serving.port, _ONE % b"" * 10_000, iter(()), 20)
    assert answer.count(b"HTTP/1.1 200 OK") < 10_000
    assert httpx.get(f"{serving.url}/healthz").status_code == 200


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: example.org\r\n\r\n",
        b"POST /telemetry/send/sessionless HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n{}  ",
        b"POST /telemetry/send/sessionless HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n"
        b"\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx : y\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\x00b\r\n\r\n",
        b"GET /h\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_a_head_that_two_readers_could_take_differently_is_refused(serving: Serving, head: bytes) -> None:
    answer, _ = sent(serving.port, head, iter(()), 20)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1, answer[:200]


def test_clients_may_offer_another_protocol(serving: Serving) -> None:
    """Java's own client does, with each request: it gets its answers by HTTP/1.1, one after the other."""
    offer = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
    request = f"POST /telemetry/send/sessionless HTTP/1.1\r\nhost: localhost\r\n{offer}content-length: 2\r\n\r\n{{}}"
    with socket.create_connection(("127.0.0.1", serving.port), timeout=20) as connection:
        for _ in range(3):
            connection.sendall(request.encode())
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 ") and b"Log Received" in answer


def test_public_routes_are_the_ones_that_are_listed(serving: Serving) -> None:
    assert {path for _, path in _routes(serving)} >= PUBLIC
