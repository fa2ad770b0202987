"""Folders of an SFTP server. Its host key must be known: whoever answers otherwise gets no password."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError, not_installed, shown
from snowmelt.extract_load.stores.base import FileStore, StoredFile
from snowmelt.extract_load.stores.patterns import matches

try:
    import paramiko
except ModuleNotFoundError:  # An extra: snowmelt[sftp].
    paramiko = None

_SECONDS = 20.0


class SftpStore(FileStore):
    """`sftp://user@host:port/folder`; the settings password, private_key (a file), passphrase and known_hosts."""

    def __init__(self, address: str, settings: Mapping[str, str] | None = None) -> None:
        if paramiko is None:
            raise not_installed("paramiko", "sftp")
        self._shown, self._settings = shown(address), dict(settings or {})
        self._parts = urlsplit(address)
        self._root = unquote(self._parts.path) or "."
        self._ssh: Any = None
        self._sftp: Any = None

    def files(self, pattern: str) -> list[StoredFile]:
        with self._session() as sftp:
            found = list(_walk(sftp, self._root, ""))
        return sorted((file for file in found if matches(file.name, pattern)), key=lambda file: file.name)

    def fetch(self, name: str, target: Path) -> None:
        with self._session() as sftp, target.open("wb") as written:
            sftp.getfo(posixpath.join(self._root, name), written)

    def put(self, source: Path, name: str) -> None:
        path = posixpath.join(self._root, name)
        folder, _, base = path.rpartition("/")
        draft = posixpath.join(folder, f".{base}.{os.getpid()}")
        with self._session() as sftp:
            _make_folders(sftp, folder)
            sftp.put(str(source), draft)
            sftp.posix_rename(draft, path)

    def put_new(self, text: str, name: str) -> bool:
        target = posixpath.join(self._root, name)
        with self._session() as sftp:
            _make_folders(sftp, posixpath.dirname(target))
            try:
                with sftp.open(target, "wx") as made:
                    made.write(text.encode())
            except OSError:
                # SFTP has no error of its own for a file that is there.
                if self._is_there(name):
                    return False
                raise
        return True

    def remove(self, name: str) -> None:
        with self._session() as sftp:
            try:
                sftp.remove(posixpath.join(self._root, name))
            except FileNotFoundError:
                return

    def close(self) -> None:
        if self._ssh is not None:
            self._ssh.close()
        self._ssh = self._sftp = None

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """One connection for all calls, made anew after it broke."""
        try:
            if self._sftp is None:
                self._connect()
            yield self._sftp
        except (FileNotFoundError, SnowmeltError):
            raise
        except (OSError, EOFError, paramiko.SSHException) as error:
            self.close()
            raise self._as_error(error) from None

    def _connect(self) -> None:
        self._ssh = paramiko.SSHClient()
        known = self._settings.get("known_hosts")
        if known is not None:
            self._ssh.load_host_keys(known)
        else:
            self._ssh.load_system_host_keys()
        self._ssh.set_missing_host_key_policy(paramiko.RejectPolicy())
        private = self._settings.get("private_key")
        password = self._settings.get("password") or self._parts.password
        self._ssh.connect(
            self._parts.hostname, port=self._parts.port or 22, username=self._parts.username,
            password=unquote(password) if password else None, key_filename=private,
            passphrase=self._settings.get("passphrase"), timeout=_SECONDS, banner_timeout=_SECONDS,
            auth_timeout=_SECONDS, allow_agent=False, look_for_keys=not password and not private,
        )  # fmt: skip
        self._sftp = self._ssh.open_sftp()

    def _as_error(self, error: Exception) -> SnowmeltError:
        if isinstance(error, PermissionError):
            return SourceRefusedError(self._shown, "permission denied", "Look at the rights of the user there.")
        if isinstance(error, paramiko.AuthenticationException):
            hint = "Look at the user, and at the variables of its password or private_key."
            return SourceRefusedError(self._shown, "the login is not accepted", hint)
        if isinstance(error, paramiko.BadHostKeyException) or "not found in known_hosts" in str(error):
            hint = "Ask whoever runs the server for its host key, and put it into the file known_hosts names."
            return SourceRefusedError(self._shown, "its host key is not the one that is known", hint)
        return SourceUnavailableError(self._shown, type(error).__name__)


def _walk(sftp: Any, root: str, folder: str) -> Iterator[StoredFile]:
    for entry in sftp.listdir_attr(posixpath.join(root, folder)):
        name = posixpath.join(folder, entry.filename)
        if stat.S_ISDIR(entry.st_mode):
            yield from _walk(sftp, root, name)
        elif stat.S_ISREG(entry.st_mode):
            yield StoredFile(name, entry.st_size, entry.st_mtime)


def _make_folders(sftp: Any, folder: str) -> None:
    if not folder or folder == "/":
        return
    try:
        sftp.stat(folder)
    except FileNotFoundError:
        _make_folders(sftp, folder.rpartition("/")[0])
        sftp.mkdir(folder)
