"""Stands between a client and an S3 server, and does what networks and busy stores do.

It passes requests on as they are, names of hosts included, so that their signatures stay valid. It is a process of its
own: delta-rs keeps Python's lock while it waits for a store.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.ports import free_port
from tests.support.waiting import wait_until

_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_NOT_PASSED_ON = {"connection", "transfer-encoding", "keep-alive"}
_CONTROL = "/__proxy__"


class Fault(StrEnum):
    SLOW_DOWN = "the store answers 503 SlowDown"
    RESET = "the connection is reset before the request arrives"
    LOST_ANSWER = "the request is carried out, and its answer lost"
    CUT_UPLOAD = "the connection is reset in the middle of the request's body"
    CUT_DOWNLOAD = "the connection is reset in the middle of the answer's body"


@dataclass(slots=True)
class Plan:
    latency: float = 0.0
    """Seconds that every request takes longer."""
    faults: tuple[str, ...] = ()
    share: float = 0.0
    """Of requests that meet one of the faults."""
    most: int = 2
    """So many times the same request does; then it gets through."""
    seed: int = 0
    refuse: str = ""
    """The code of an error that every request gets."""
    conditions: bool = True
    """Whether the store heeds If-None-Match."""


class FaultProxy:
    def __init__(self, target: int) -> None:
        self._port = free_port()
        self._target = target
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.support.fault_proxy", str(self._port), str(self._target)]
        self._process = subprocess.Popen(command)

        def is_up() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self._port)) == 0

        wait_until(is_up, "the proxy listens")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def follow(self, plan: Plan) -> None:
        """From now on, and forgets what was before."""
        httpx.put(self.endpoint + _CONTROL, json=asdict(plan), trust_env=False).raise_for_status()

    def seen(self) -> tuple[list[dict[str, str]], Counter[str]]:
        """The requests since then, their headers with `method` and `path`; and how many met which fault."""
        found = httpx.get(self.endpoint + _CONTROL, trust_env=False).json()
        return found["requests"], Counter(found["met"])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, target: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.target = target
        self.follow(Plan())

    def follow(self, plan: Plan) -> None:
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.requests: list[dict[str, str]] = []
        self.met: Counter[str] = Counter()
        self.times: Counter[tuple[str, str]] = Counter()

    def choose(self, method: str, path: str) -> str | None:
        plan = self.plan
        if not plan.faults or self.times[method, path] >= plan.most or self.chance.random() >= plan.share:
            return None
        self.times[method, path] += 1
        fault = self.chance.choice(plan.faults)
        self.met[fault] += 1
        return fault

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _pass_on(self) -> None:
        if self.path == _CONTROL:
            self._control()
            return
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() != "authorization"}
        self.server.requests.append({**headers, "method": self.command, "path": self.path})
        fault = self.server.choose(self.command, self.path)
        time.sleep(self.server.plan.latency)
        length = int(self.headers.get("Content-Length") or 0)
        if fault in (Fault.RESET, Fault.CUT_UPLOAD):
            self.rfile.read(length // 2 if fault == Fault.CUT_UPLOAD else 0)
            self._reset()
            return
        body = self.rfile.read(length)
        if refused := self.server.plan.refuse:
            self._answer(403, {}, f"<Error><Code>{refused}</Code><Message>no</Message></Error>".encode())
            return
        if fault == Fault.SLOW_DOWN:
            self._answer(503, {"Content-Type": "application/xml"}, _SLOW_DOWN)
            return
        status, answered, content = self._asked(body)
        if status == 412 and not self.server.plan.conditions:
            status, answered, content = 200, {"ETag": '"another"'}, b""
        if fault == Fault.LOST_ANSWER:
            self._reset()
        else:
            self._answer(status, answered, content, cut=fault == Fault.CUT_DOWNLOAD)

    def _control(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "PUT":
            self.server.follow(Plan(**json.loads(body)))
        found = {"requests": self.server.requests, "met": self.server.met} if self.command == "GET" else {}
        self._answer(200, {}, json.dumps(found).encode())

    def _asked(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in {"connection", "expect"}:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], content: bytes, *, cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {*_NOT_PASSED_ON, "content-length"}:
                self.send_header(name, value)
        stated = next((value for name, value in headers.items() if name.lower() == "content-length"), None)
        length = stated if self.command == "HEAD" and stated is not None else str(len(content))
        if status != 204:
            self.send_header("Content-Length", length)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self._reset()

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on  # noqa: N815


if __name__ == "__main__":
    _Server(int(sys.argv[1]), int(sys.argv[2])).serve_forever()
