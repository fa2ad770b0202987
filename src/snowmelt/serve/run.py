"""Running the server in the foreground."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from snowmelt.accounts import open_owned
from snowmelt.core import errors
from snowmelt.engine.application import EngineState
from snowmelt.engine.archive import ArchiveMaker
from snowmelt.features.connectors.service import Connectors
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.features.observing.service import Observing
from snowmelt.features.pipes.service import Pipes
from snowmelt.features.tasks.service import Tasks
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.rights import founding
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.beginning import Begun
from snowmelt.serve.connections import HEAD_BYTES, HttpConnection
from snowmelt.serve.credentials import ADMIN, PASSWORD_VARIABLE, load_credentials

_STOPPING_SECONDS = 20
_ANSWERING = 0.2
"""Which part of stop_seconds is for the last answers."""
_INTERRUPTED = 130
_BACKLOG = 1024
"""Connections that may wait to be taken: a hundred clients at once are no attack."""


def serve(
    begun: Begun,
    address: Address,
    *,
    announce: Callable[[str], None],
    mounts: Callable[[HttpServer], None] | None = None,
    at_terminal: bool = False,
) -> None:
    """Answers until stopped. `mounts` adds what applications above the server answer. `at_terminal`: whoever began it
    reads what is announced, and nobody else does; so an address that logs in once may be in it."""
    with _stopped_by_signal(), open_owned(begun.ownership, begun.settings) as account:
        credentials, made = load_credentials(account.data_dir)
        if os.environ.get(PASSWORD_VARIABLE):
            founding.forget_admin_password(account.state)
        listener = listen(address.host, address.port)
        url = f"{address.scheme}://{_named(address.host)}:{listener.getsockname()[1]}"
        if made is not None:
            announce(f"User {ADMIN}, password {made}  (shown once; set SNOWMELT_ADMIN_PASSWORD to choose your own)")
        # Spark takes seconds to start. Log-ins and metadata statements do not wait; /healthz tells when it is up.
        account.engine.start()
        begun.account_opened()
        archive = ArchiveMaker(lambda: account.engine.health().state is EngineState.READY)
        archive.start()
        # First, so that what the others do is counted from the beginning.
        account.services[Observing].start()
        account.services[DynamicTables].start()
        account.services[Tasks].start()
        account.services[Connectors].start()
        account.services[Pipes].start()
        account.services[Upkeep].start()
        account.ownership.announce(url)
        announce(f"Snowmelt serves {account.data_dir} at {url}")
        server = HttpServer(account, credentials, hosts=address.hosts(account.settings.allowed_hosts))
        if mounts is not None:
            mounts(server)
        if at_terminal:
            announce(f"In a browser: {url}/#link={server.console.visitors.links.issue()}  (logs you in, once)")
        try:
            _answering(server, address).run(sockets=[listener])
        finally:
            archive.stop()
            server.stop()


@contextmanager
def serving_beside(server: HttpServer, address: Address) -> Iterator[int]:
    """Answers in a thread while the block runs, which gets the port."""
    listener = listen(address.host, address.port)
    running = _answering(server, address)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.console.hang_up()
        running.should_exit = True
        thread.join(_STOPPING_SECONDS)
        server.stop()
        listener.close()


class _Answering(uvicorn.Server):
    """Tells clients that wait for an answer when a signal ends the server: uvicorn waits until they have theirs."""

    def __init__(self, config: uvicorn.Config, server: HttpServer) -> None:
        super().__init__(config)
        self._served = server

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            threading.Thread(target=self._served.hang_up, daemon=True).start()
        super().handle_exit(sig, frame)


def _answering(server: HttpServer, address: Address) -> uvicorn.Server:
    seconds = max(int(server.account.settings.stop_seconds * _ANSWERING), 1)
    return _Answering(server=server, config=uvicorn.Config(
        server.app, log_level="warning", timeout_graceful_shutdown=seconds, timeout_keep_alive=75,
        server_header=False, http=HttpConnection, h11_max_incomplete_event_size=HEAD_BYTES,
        ssl_certfile=address.certificate, ssl_keyfile=address.key,
        # uvicorn's own configuration of logging would switch loggers back on that are off for a reason.
        log_config=None,
    ))  # fmt: skip


@contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """SIGTERM or Ctrl-C ends the block like a statement that raises, so that everything is closed.

    uvicorn stops at the same signal and then sends it once more, to whoever was there before it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        # Once is enough: a second signal must not interrupt the closing.
        for known in before:
            signal.signal(known, signal.SIG_IGN)
        raise SystemExit(0 if number == signal.SIGTERM else _INTERRUPTED)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _named(host: str) -> str:
    """The host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on; the server answers them once it runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named. With it each answer waits 40 ms for the
    # client's delayed acknowledgement, as it is written in two pieces.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise errors.configuration(f"Port {port} can't be used: {error.strerror}.") from None
    return listener
