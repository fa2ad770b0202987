"""Running the server in the foreground."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from snowmelt.core import errors
from snowmelt.core.config import Settings
from snowmelt.serve.app import Server
from snowmelt.serve.credentials import ADMIN, PASSWORD_VARIABLE, load_credentials
from snowmelt.service.account import Account
from snowmelt.service.security import founding


def serve(data_dir: Path, port: int, *, settings: Settings | None, announce: Callable[[str], None]) -> None:
    """Owns the data directory and answers on loopback until stopped. Port 0 takes a free one."""
    with _stopped_by_signal(), Account.open(data_dir, settings=settings) as account:
        credentials, made = load_credentials(account.data_dir)
        if os.environ.get(PASSWORD_VARIABLE):
            founding.forget_admin_password(account.state)
        listener = _listen(port)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        if made is not None:
            announce(f"User {ADMIN}, password {made}  (shown once; set SNOWMELT_ADMIN_PASSWORD to choose your own)")
        # Spark takes seconds to start: it must be up before the server says it is ready.
        account.engine.session()
        account.dynamic_tables.start()
        account.tasks.start()
        account.ownership.announce(url)
        announce(f"Snowmelt serves {account.data_dir} at {url}")
        server = uvicorn.Server(
            uvicorn.Config(Server(account, credentials).app, log_level="warning", timeout_graceful_shutdown=20)
        )
        server.run(sockets=[listener])


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


def _listen(port: int) -> socket.socket:
    """A socket that takes connections from now on; the server answers them once it runs."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise errors.configuration(f"Port {port} can't be used: {error.strerror}.") from None
    return listener
