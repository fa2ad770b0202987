"""A server for clients, on the tests' own account, so that there is one Spark for all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from snowmelt.serve.app import Server
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.protocol.door import HELD
from snowmelt.serve.protocol.sessions import Lifetimes
from snowmelt.serve.run import listen
from snowmelt.service.account import Account

PASSWORD = "correct horse"
"""For servers that tests start and stop; nothing else has it."""


@contextmanager
def serving(
    account: Account, lifetimes: Lifetimes | None = None, held: float = HELD, *, tls: tuple[Path, Path] | None = None
) -> Iterator[int]:
    """The port on loopback. `tls` is the certificate and its key."""
    server = Server(account, load_credentials(account.data_dir, PASSWORD)[0], lifetimes=lifetimes, held=held)
    listener = listen("127.0.0.1", 0)
    certificate, key = tls or (None, None)
    config = uvicorn.Config(
        server.app, log_level="warning", timeout_graceful_shutdown=5, log_config=None, ssl_certfile=certificate,
        ssl_keyfile=key,
    )  # fmt: skip
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join(20)
        server.door.stop()
        listener.close()
