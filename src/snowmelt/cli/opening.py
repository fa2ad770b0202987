"""Sessions for commands: in this process, or on the server that owns the directory."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from snowmelt.cli.guarding import settings_of
from snowmelt.cli.imports import keep_pandas_out
from snowmelt.cli.logging_in import LogIn, tell_whose
from snowmelt.core import errors
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.names import quote, split_name
from snowmelt.core.watching import Progress, SessionNames
from snowmelt.runtime.account import Account
from snowmelt.runtime.ownership import current_owner
from snowmelt.runtime.results import Result
from snowmelt.sql.tokens import SqlText

with lazy_imports():
    from snowmelt.accounts import open_account
    from snowmelt.serve import client


class AnySession(Protocol):
    """A session here or at a server."""

    @property
    def names(self) -> SessionNames: ...

    def execute(self, text: str | SqlText) -> Result: ...

    def cancel(self) -> None: ...

    def progress(self) -> Progress | None: ...

    def close(self) -> object: ...


@dataclass(frozen=True, slots=True)
class StartNames:
    """What the session starts with, as somebody typed it: `sales` is SALES, and `"Sales"` is not."""

    role: str | None = None
    warehouse: str | None = None
    database: str | None = None
    schema: str | None = None

    def statements(self) -> list[str]:
        """In the order of the fields: the role decides what may be used."""
        said = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [f"USE {kind.upper()} {_spelled(name)}" for kind, name in said if name is not None]


def _spelled(name: str) -> str:
    parts = split_name(name)
    return quote(name) if parts is None else ".".join(map(quote, parts))


class OpenedSession:
    """A session in this process, or on the server that owns the directory."""

    def __init__(
        self, data: Path, url: str | None, settings: Settings, start: StartNames | None = None,
        log_in: LogIn | None = None,
    ) -> None:  # fmt: skip
        self._account: Account | None = None
        self.session = self._open(data.expanduser().resolve(), url, settings, log_in or LogIn())
        try:
            for statement in (start or StartNames()).statements():
                _begin_with(self.session, statement)
        except BaseException:
            self.close()
            raise

    def _open(self, data: Path, url: str | None, settings: Settings, log_in: LogIn) -> AnySession:
        keep_pandas_out()
        if url is not None:
            return _log_in(url, log_in)
        owner = current_owner(data)
        if owner is not None and owner.url is not None:
            return _log_in(owner.url, log_in) if log_in.is_said else client.RemoteSession.of_directory(owner.url, data)
        if log_in.is_said:
            raise errors.configuration(
                "A data directory has no log-in: everybody who can read its files is its administrator.",
                hint="Start `snowmelt serve`, and name its address with --url. --role works here, too.",
            )
        self._account = open_account(data, settings=settings)
        return self._account.session()

    def another(self) -> AnySession:
        """A session of the same user with the same role, for what must neither wait nor show in this one."""
        if self._account is None:
            assert isinstance(self.session, client.RemoteSession)
            return self.session.another()
        names = self.session.names
        return self._account.session(
            user=names.user, role=names.role, database=names.database, schema=names.schema, warehouse=names.warehouse
        )

    def __enter__(self) -> AnySession:
        return self.session

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.session.close()
        if self._account is not None:
            self._account.close()


def _begin_with(session: AnySession, statement: str) -> None:
    try:
        session.execute(statement)
    except SnowmeltError as error:
        hint = f"The session was to begin with {statement}."
        raise SnowmeltError(error.code, error.sqlstate, error.message, hint=hint) from None


def _log_in(url: str, log_in: LogIn) -> AnySession:
    sent = log_in.credentials(url)
    try:
        return client.RemoteSession(url, sent)
    except SnowmeltError as error:
        raise tell_whose(error, sent, url) from None


def open_session(data: Path, url: str | None) -> OpenedSession:
    """With the settings of the directory, and in no database."""
    return OpenedSession(data, url, settings_of(data, None))
