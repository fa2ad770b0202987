"""Clients of a running server: by Snowflake's protocol, by Snowmelt's own API, and by bare bytes."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.run import serving_beside
from snowmelt.serve.wire import result_from_json
from tests.support.waiting import wait_until

PASSWORD = "correct horse battery"
ADMIN_PASSWORD = "of the first start"


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers, and its account."""

    server: HttpServer
    port: int

    @property
    def account(self) -> Account:
        return self.server.account

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def admin(self) -> Session:
        return self.account.session()


@contextmanager
def served(server: HttpServer) -> Iterator[Serving]:
    with serving_beside(server, Address(port=0)) as port:
        yield Serving(server, port)


class Caller(Protocol):
    """A client that has logged in."""

    def run(self, sql: str) -> Any:
        """The rows, or the code of the error."""


class SnowflakeCaller:
    """By the protocol of Snowflake's clients."""

    def __init__(self, serving: Serving, user: str = "ann", role: str | None = None, **secrets: str) -> None:
        self.http = httpx.Client(base_url=serving.url, timeout=120)
        data = {"LOGIN_NAME": user, "CLIENT_APP_ID": "test", **(secrets or {"PASSWORD": PASSWORD})}
        parameters = {} if role is None else {"roleName": role}
        self.answer = self.http.post("/session/v1/login-request", params=parameters, json={"data": data}).json()
        self.token = self.answer["data"]["token"] if self.answer["success"] else ""
        self.headers = {"authorization": f'Snowflake Token="{self.token}"'}

    def send(self, sql: str, **more: Any) -> dict[str, Any]:
        address = f"/queries/v1/query-request?requestId={uuid.uuid4()}"
        answer: dict[str, Any] = self.http.post(address, json={"sqlText": sql, **more}, headers=self.headers).json()
        return answer

    def run(self, sql: str) -> Any:
        answer = self.send(sql)
        return answer["data"].get("rowset") if answer["success"] else answer["code"]

    def get(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.http.get(path, headers=self.headers).json()
        return answer

    def post(self, path: str, **request: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.http.post(path, headers=self.headers, **request).json()
        return answer


class OwnCaller:
    """By Snowmelt's own API."""

    def __init__(self, serving: Serving, user: str = "ann", **more: str) -> None:
        self.http = httpx.Client(base_url=serving.url, timeout=120)
        login = {"user": user, "password": PASSWORD, **more}
        self.answer = self.http.post("/api/v1/sessions", json=login).json()
        self.headers = {"authorization": f"Bearer {self.answer.get('token', '')}"}

    def run(self, sql: str) -> Any:
        answer = self.http.post("/api/v1/statements", json={"sql": sql}, headers=self.headers).json()
        if "error" in answer:
            return answer["error"]["code"]
        return [[str(value) for value in row] for row in result_from_json(answer["result"]).rows()]


DOORS: dict[str, Callable[..., Any]] = {"snowflake": SnowflakeCaller, "own": OwnCaller}


def until(happened: Callable[[], bool]) -> None:
    """Waits for something that takes no defined time."""
    wait_until(happened, "it did not happen in time")


def sent(port: int, head: bytes, pieces: Iterator[bytes], seconds: float = 60.0) -> tuple[bytes, int]:
    """What the server answers to a request that is written piece by piece, and how many bytes it took of it."""
    taken = 0
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        try:
            connection.sendall(head)
            for piece in pieces:
                connection.sendall(piece)
                taken += len(piece)
        except OSError:
            pass
        answer = b""
        try:
            while received := connection.recv(65536):
                answer += received
        except OSError:
            pass
    return answer, taken


def chunked(most: int, size: int = 1 << 16) -> Iterator[bytes]:
    """A body without an announced length."""
    piece = b" " * size
    for _ in range(most // size):
        yield b"%x\r\n%s\r\n" % (size, piece)
    yield b"0\r\n\r\n"
