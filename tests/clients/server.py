"""A server for clients, on the tests' own account, so that there is one Spark for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snowmelt.runtime.account import Account
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.protocol.door import HELD
from snowmelt.serve.protocol.sessions import Lifetimes
from snowmelt.serve.run import serving_beside

PASSWORD = "correct horse"
"""For servers that tests start and stop; nothing else has it."""


@contextmanager
def serving(
    account: Account, lifetimes: Lifetimes | None = None, held: float = HELD, *, tls: tuple[Path, Path] | None = None
) -> Iterator[int]:
    """The port on loopback. `tls` is the certificate and its key."""
    server = HttpServer(account, load_credentials(account.data_dir, PASSWORD)[0], lifetimes=lifetimes, held=held)
    certificate, key = tls or (None, None)
    with serving_beside(server, Address(port=0, certificate=certificate, key=key)) as port:
        yield port
