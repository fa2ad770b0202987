"""The receiver: HTTP in, and an answer of 2xx only for what is durable."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Full
from typing import Any
from urllib.parse import urlsplit

import anyio
import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.options import Options
from snowmelt.extract_load.receiving.landing import REMEMBERED, AccountConnection, ReceivedEvent, WebhookLanding
from snowmelt.extract_load.receiving.signing import SenderSecret
from snowmelt.extract_load.records import Rejected
from snowmelt.extract_load.running import FlowResult
from snowmelt.extract_load.sources.formats import as_record, json_item
from snowmelt.extract_load.sources.paging import at_path
from snowmelt.extract_load.transforming import TOKEN_KEY, Transformer, pseudonym

MAX_BYTES = 1_000_000
_BODY_SECONDS = 10.0
_CONNECTIONS = 500
_LONGEST_ID = 200
_log = structlog.get_logger("snowmelt.extract_load")


@dataclass(frozen=True, slots=True)
class ReceivedFlow:
    """A path that takes events, and the raw table that they land in."""

    name: str
    source: str
    endpoint: Endpoint
    path: str
    raw: str
    transformer: Callable[[], Transformer]
    protected: tuple[str, ...] = ()
    """Columns that are made unreadable on the way; an id that is one of them is kept as its pseudonym."""
    options: Options = field(default_factory=dict)

    def events(self, headers: Mapping[str, str], body: bytes) -> list[ReceivedEvent]:
        """Of a body: one, or one for each item of an array. What is no record has a digest as its id."""
        digest = hashlib.sha256(body).hexdigest()
        sent = headers.get(str(self.options.get("id_header", "")).lower())
        try:
            document = json.loads(body)
        except ValueError:
            name = self._name(sent, None) or digest
            made = json_item(body.decode("utf-8", "surrogateescape"), name)
            assert isinstance(made, Rejected), "it is no JSON"
            return [ReceivedEvent(name, None, made)]
        items = document if isinstance(document, list) else [document]
        return [
            self._event(item, sent, digest, number if len(items) > 1 else None) for number, item in enumerate(items)
        ]

    def _event(self, item: Any, sent: str | None, digest: str, number: int | None) -> ReceivedEvent:
        suffix = "" if number is None else f"#{number}"
        name = self._name(sent, item) or digest
        own = sent is None and "event_id" in self.options and name != digest
        made = as_record(item, name if own else f"{name}{suffix}")
        if isinstance(made, Rejected):
            return ReceivedEvent(made.position, None, made)
        return ReceivedEvent(*made)

    def _name(self, sent: str | None, item: Any) -> str | None:
        """The id of an event: the header, or the field of the body, that the options name."""
        path = self.options.get("event_id")
        found = at_path(item, str(path)) if sent is None and path is not None else sent
        if found is None or isinstance(found, dict | list) or found == "":
            return None
        text = str(found)
        if sent is None and str(path).partition(".")[0] in self.protected:
            # With a key, as who can list all values finds out what was hashed without one.
            return pseudonym(text, "hash", os.environ.get(TOKEN_KEY) or self.endpoint.option("secret"))
        if len(text) > _LONGEST_ID or not text.isprintable():
            return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return text


class Receiver:
    """Listens while it is open. Each event that it answered with 2xx is in the raw table, or a dead letter."""

    def __init__(
        self, connection: AccountConnection, flows: Sequence[ReceivedFlow], letters: str, run_id: str
    ) -> None:  # fmt: skip
        self._landings = {
            flow.name: WebhookLanding(
                connection, flow.name, flow.raw, letters, run_id, flow.transformer,
                remembered=int(flow.options.get("remember", REMEMBERED)),
            )
            for flow in flows
        }  # fmt: skip
        self._servers = [
            _Listening(address, [_Door(flow, self._landings[flow.name]) for flow in of_address])
            for address, of_address in _by_address(flows).items()
        ]

    @property
    def addresses(self) -> list[str]:
        """Where it listens, each as http://host:port."""
        return [server.address for server in self._servers]

    def result(self, flow: str) -> FlowResult:
        """What came of a flow since this was asked last."""
        return self._landings[flow].result()

    def close(self) -> None:
        """Requests that are under way are answered first."""
        for server in self._servers:
            server.close()
        for landing in self._landings.values():
            landing.close()


@contextmanager
def receiving(
    connection: AccountConnection, flows: Sequence[ReceivedFlow], letters: str, run_id: str
) -> Iterator[Receiver]:
    receiver = Receiver(connection, flows, letters, run_id)
    try:
        yield receiver
    finally:
        receiver.close()


def _by_address(flows: Sequence[ReceivedFlow]) -> dict[str, list[ReceivedFlow]]:
    found: dict[str, list[ReceivedFlow]] = {}
    for flow in flows:
        found.setdefault(flow.endpoint.where(), []).append(flow)
    for address, of_address in found.items():
        paths = [_path(flow) for flow in of_address]
        for path in paths:
            if paths.count(path) > 1:
                raise errors.configuration(f"Two flows receive at {path} of {address}: give each a path of its own.")
    return found


def _path(flow: ReceivedFlow) -> str:
    return f"/{flow.path.strip('/')}"


class _Door:
    """What one path does with a request."""

    def __init__(self, flow: ReceivedFlow, landing: WebhookLanding) -> None:
        self.flow, self._landing = flow, landing
        self._secret = SenderSecret.of(flow.endpoint, flow.source)
        self._most = int(flow.endpoint.option("max_bytes") or MAX_BYTES)

    async def answer(self, request: Request) -> Response:
        try:
            with anyio.fail_after(_BODY_SECONDS):
                body = await self._body(request)
        except TimeoutError:
            return _refused(408, "the body did not come in time")
        except ClientDisconnect:
            return _refused(400, "the body ended early")
        if body is None:
            return _refused(413, f"a body has at most {self._most} bytes")
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not self._secret.proves(headers, body, time.time()):
            _log.warning("refused", flow=self.flow.name, reason="not signed with the secret")
            return _refused(401, "not signed with the secret")
        events = self.flow.events(headers, body)
        try:
            fresh = await asyncio.shield(asyncio.wrap_future(self._landing.submit(events)))
        except Full:
            return _later()
        except Exception as error:
            _log.error("not landed", flow=self.flow.name, error=str(error))
            return _later()
        return JSONResponse({"received": len(events), "new": fresh})

    async def _body(self, request: Request) -> bytes | None:
        """The body; None if it is too large, and then no more is read than shows that."""
        said = request.headers.get("content-length", "0")
        if not said.isdigit() or int(said) > self._most:
            return None
        found = bytearray()
        async for part in request.stream():
            found += part
            if len(found) > self._most:
                return None
        return bytes(found)


def _refused(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=status)


def _later() -> Response:
    """The sender tries again: nothing of this request counts as received."""
    return JSONResponse({"error": "not received"}, status_code=503, headers={"Retry-After": "5"})


async def _health(_: Request) -> Response:
    return JSONResponse({"receives": True})


class _Listening:
    def __init__(self, address: str, doors: Sequence[_Door]) -> None:
        host, port = _host_and_port(address)
        try:
            self._socket = socket.create_server((host, port), backlog=256)
        except OSError as error:
            raise errors.configuration(
                f"A receiver can't listen at {host}:{port}: {error.strerror}.", hint="Choose another port."
            ) from None
        self.address = f"http://{host}:{self._socket.getsockname()[1]}"
        routes = [Route(_path(door.flow), door.answer, methods=["POST"]) for door in doors]
        app = Starlette(routes=[*routes, Route("/-/health", _health)])
        self._server = uvicorn.Server(uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="off",
            limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=30, timeout_keep_alive=30,
        ))  # fmt: skip
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="receiver", daemon=True)
        self._thread.start()
        _log.info("receives", address=self.address, paths=[_path(door.flow) for door in doors])

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()


def _host_and_port(address: str) -> tuple[str, int]:
    """Host and port of an address `host:port`, with or without http://."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise errors.configuration(
            f"'{address}' is not where a receiver can listen.", hint="Write host:port: 127.0.0.1:8088, say."
        )
    return parts.hostname, port
