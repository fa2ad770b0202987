"""Logging in at the server: who gets which session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from snowmelt.accounts import open_account
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import PASSWORD_VARIABLE, load_credentials
from snowmelt.serve.wire import result_from_json

PASSWORD = "correct horse battery"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    monkeypatch.setenv(PASSWORD_VARIABLE, "of the first start")
    with open_account(tmp_path / "data") as account:
        credentials, _ = load_credentials(account.data_dir)
        opened = HttpServer(account, credentials)
        admin = account.session()
        admin.execute(f"CREATE USER ann PASSWORD = '{PASSWORD}'")
        yield opened


def _run(client: TestClient, sql: str, **login: str) -> object:
    opened = client.post("/api/v1/sessions", json=login)
    if opened.status_code != 200:
        return opened.json()["error"]["code"]
    token = {"Authorization": f"Bearer {opened.json()['token']}"}
    answer = client.post("/api/v1/statements", json={"sql": sql}, headers=token).json()
    return (
        answer["error"]["code"]
        if "error" in answer
        else [list(row) for row in result_from_json(answer["result"]).rows()]
    )


def test_everybody_gets_a_session_of_their_own_rights(server: HttpServer) -> None:
    client = TestClient(server.app)
    who = "SELECT CURRENT_USER(), CURRENT_ROLE()"
    assert _run(client, who, user="ann", password=PASSWORD) == [["ANN", "PUBLIC"]]
    assert _run(client, who, user="admin", password="of the first start") == [["ADMIN", "ACCOUNTADMIN"]]
    assert _run(client, who, local_token=server.credentials.local_token) == [["ADMIN", "ACCOUNTADMIN"]]
    assert _run(client, who, user="ann", password=PASSWORD, role="ACCOUNTADMIN") == "390189"
    assert _run(client, "CREATE DATABASE d", user="ann", password=PASSWORD) == "003001"


@pytest.mark.parametrize(
    "login",
    [
        {},
        {"user": "ann"},
        {"user": "ann", "password": "x"},
        {"user": "nobody", "password": PASSWORD},
        {"local_token": "x"},
    ],
)
def test_whoever_knows_no_secret_gets_none(server: HttpServer, login: dict[str, str]) -> None:
    assert _run(TestClient(server.app), "SELECT 1", **login) == "390100"


def _log_in(client: TestClient, **data: str) -> dict[str, Any]:
    answer = client.post("/session/v1/login-request", json={"data": {"LOGIN_NAME": "ann", **data}})
    return dict(answer.json())


def test_a_password_that_must_be_changed_is_changed_at_login(server: HttpServer) -> None:
    client = TestClient(server.app)
    server.account.session().execute("ALTER USER ann SET MUST_CHANGE_PASSWORD = TRUE")
    refused = _log_in(client, PASSWORD=PASSWORD)
    assert (refused["success"], refused["code"], refused["data"]["nextAction"]) == (False, "390106", "PWD_CHANGE")
    assert _log_in(client, PASSWORD=PASSWORD, CHOSEN_NEW_PASSWORD=PASSWORD)["code"] == "390106"
    assert _log_in(client, PASSWORD=PASSWORD, CHOSEN_NEW_PASSWORD="short")["code"] == "003002"
    assert _log_in(client, PASSWORD="wrong", CHOSEN_NEW_PASSWORD="another good one")["code"] == "390100"
    assert _log_in(client, PASSWORD=PASSWORD, CHOSEN_NEW_PASSWORD="another good one")["success"] is True
    assert _log_in(client, PASSWORD="another good one")["success"] is True
    assert _log_in(client, PASSWORD=PASSWORD)["code"] == "390100"


def test_users_who_set_their_own_password_have_changed_it(server: HttpServer) -> None:
    server.account.session().execute("ALTER USER ann SET MUST_CHANGE_PASSWORD = TRUE")
    server.account.session(user="ANN", role="PUBLIC").execute("ALTER USER ann SET PASSWORD = 'chosen by ann'")
    assert _log_in(TestClient(server.app), PASSWORD="chosen by ann")["success"] is True
