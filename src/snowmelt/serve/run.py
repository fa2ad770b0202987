"""Running the server in the foreground."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from snowmelt.core import errors
from snowmelt.core.config import Settings
from snowmelt.serve.app import Server
from snowmelt.serve.credentials import ADMIN, PASSWORD_VARIABLE, load_credentials
from snowmelt.service.account import Account
from snowmelt.service.security import founding

_STOPPING_SECONDS = 20
_BACKLOG = 1024
"""Connections that may wait to be taken: a hundred clients at once are no attack."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and how."""

    port: int
    """0 takes a free one."""
    host: str = "127.0.0.1"
    certificate: Path | None = None
    """PEM file with the server's certificate and those that vouch for it."""
    key: Path | None = None
    insecure: bool = False
    """Whether passwords may cross a network in clear text."""

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    def check(self) -> None:
        """Raises when the address would give passwords and data away, or a file is missing."""
        if (self.certificate is None) != (self.key is None):
            raise errors.configuration("TLS needs both files: --tls-certificate and --tls-key.")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise errors.configuration(f"The file {path} does not exist.")
        if self.certificate is None and not self.insecure and not _is_loopback(self.host):
            raise errors.configuration(
                f"{self.host} can be reached from other machines, and without TLS everybody on the way could read "
                "passwords and data. Give --tls-certificate and --tls-key, or --insecure if that is meant."
            )


def serve(data_dir: Path, address: Address, *, settings: Settings | None, announce: Callable[[str], None]) -> None:
    """Owns the data directory and answers until stopped."""
    address.check()
    with _stopped_by_signal(), Account.open(data_dir, settings=settings) as account:
        credentials, made = load_credentials(account.data_dir)
        if os.environ.get(PASSWORD_VARIABLE):
            founding.forget_admin_password(account.state)
        listener = listen(address.host, address.port)
        url = f"{address.scheme}://{_named(address.host)}:{listener.getsockname()[1]}"
        if made is not None:
            announce(f"User {ADMIN}, password {made}  (shown once; set SNOWMELT_ADMIN_PASSWORD to choose your own)")
        # Spark takes seconds to start: it must be up before the server says it is ready.
        account.engine.session()
        account.dynamic_tables.start()
        account.tasks.start()
        account.connectors.start()
        account.observing.start()
        account.ownership.announce(url)
        announce(f"Snowmelt serves {account.data_dir} at {url}")
        server = Server(account, credentials)
        try:
            _answering(server, address).run(sockets=[listener])
        finally:
            server.door.stop()


@contextmanager
def serving_beside(server: Server, address: Address) -> Iterator[int]:
    """Answers in a thread while the block runs, which gets the port."""
    listener = listen(address.host, address.port)
    running = _answering(server, address)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join(_STOPPING_SECONDS)
        server.door.stop()
        listener.close()


def _answering(server: Server, address: Address) -> uvicorn.Server:
    return uvicorn.Server(uvicorn.Config(
        server.app, log_level="warning", timeout_graceful_shutdown=_STOPPING_SECONDS, timeout_keep_alive=75,
        server_header=False, ssl_certfile=address.certificate, ssl_keyfile=address.key,
        # uvicorn's own configuration of logging would switch loggers back on that are off for a reason.
        log_config=None,
    ))  # fmt: skip


@contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """SIGTERM ends the block like a statement that raises, so that everything is closed; the exit code is 0.

    uvicorn stops at the same signal and then sends it once more, to whoever was there before it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        # Once is enough: a second signal must not interrupt the closing.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
