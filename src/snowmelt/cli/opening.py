"""Sessions for commands: in this process, or on the server that owns the directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import typer

from snowmelt.cli.guarding import settings_of
from snowmelt.cli.output import is_interactive
from snowmelt.core.config import Settings
from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.ownership import current_owner
from snowmelt.runtime.results import Result
from snowmelt.sql.tokens import SqlText

with lazy_imports():
    from snowmelt.accounts import open_account
    from snowmelt.serve import client


class AnySession(Protocol):
    def execute(self, text: str | SqlText) -> Result: ...

    def close(self) -> None: ...


class Opened:
    """A session in this process, or on the server that owns the directory."""

    def __init__(
        self, data: Path, url: str | None, settings: Settings, database: str | None, schema: str | None
    ) -> None:
        self._account: Account | None = None
        names = {"database": database, "schema": schema}
        if url is not None:
            password = os.environ.get("SNOWMELT_ADMIN_PASSWORD") or _ask_password(url)
            self.session: AnySession = client.RemoteSession.with_password(url, password, **names)
            return
        path = data.expanduser().resolve()
        owner = current_owner(path)
        if owner is not None and owner.url is not None:
            self.session = client.RemoteSession.of_directory(owner.url, path, **names)
            return
        self._account = open_account(path, settings=settings)
        self.session = self._account.session(database=database, schema=schema)

    def __enter__(self) -> AnySession:
        return self.session

    def __exit__(self, *_: object) -> None:
        self.session.close()
        if self._account is not None:
            self._account.close()


def _ask_password(url: str) -> str:
    if not is_interactive():
        return ""
    return str(typer.prompt(f"Password of admin at {url}", hide_input=True))


def open_session(data: Path, url: str | None) -> Opened:
    """With the settings of the directory, and in no database."""
    return Opened(data, url, settings_of(data, None), None, None)
