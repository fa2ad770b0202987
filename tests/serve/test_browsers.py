"""What a page in a browser could send: none of it gets in."""

from __future__ import annotations

import httpx
import pytest

from snowmelt.core.version import VERSION
from snowmelt.serve.address import Address
from tests.serve.callers import ADMIN_PASSWORD, Serving, SnowflakeCaller

_LOGIN = {"user": "admin", "password": ADMIN_PASSWORD}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://localhost"},
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "same-site"},
        {"host": "evil.example"}, {"host": "localhost.evil.example"}, {"host": "127.0.0.1.evil.example"},
        {"host": "evil.example:8080"}, {"host": "10.0.0.1"}, {"host": "[::ffff:10.0.0.1]:80"}, {"host": ""},
    ],
)  # fmt: skip
def test_a_page_is_refused_even_with_the_right_password(serving: Serving, headers: dict[str, str]) -> None:
    for method, path in (("POST", "/api/v1/sessions"), ("GET", "/metrics"), ("OPTIONS", "/api/v1/sessions")):
        answer = httpx.request(method, serving.url + path, json=_LOGIN, headers=headers)
        assert answer.status_code == 403, answer.text
        assert answer.json()["code"] == answer.json()["error"]["code"] == "390422"
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:99", "account.localhost", "snowmelt.example"])
def test_names_of_this_machine_and_allowed_ones_are_served(serving: Serving, host: str) -> None:
    answer = httpx.post(f"{serving.url}/api/v1/sessions", json=_LOGIN, headers={"host": host})
    assert answer.status_code == 200


def test_a_server_for_other_machines_takes_any_name() -> None:
    assert Address(port=0, host="0.0.0.0", insecure=True).hosts(("a",)) is None
    assert Address(port=0, host="::1").hosts(("a",)) == ("a",)


def test_every_answer_has_safe_headers_and_no_version(serving: Serving) -> None:
    door = SnowflakeCaller(serving)
    answers = [
        httpx.get(f"{serving.url}/healthz"),
        httpx.get(f"{serving.url}/nothing"),
        httpx.get(f"{serving.url}/metrics", headers={"host": "evil.example"}),
        httpx.post(f"{serving.url}/session/v1/login-request", content=b"x" * 2_000_000),
        door.http.post("/queries/v1/query-request", json={"sqlText": "SELECT 1"}, headers=door.headers),
    ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
        assert VERSION not in f"{answer.headers}{answer.text}"
