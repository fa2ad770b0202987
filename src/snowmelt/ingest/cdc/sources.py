"""A source database as the connector knows it: where it is, who asks, and what of it is captured."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from snowmelt.core import errors
from snowmelt.core.protected import Protected


class SourceType(StrEnum):
    """What kind of database is captured."""

    POSTGRES = "POSTGRES"
    MARIADB = "MARIADB"
    MYSQL = "MYSQL"


@dataclass(frozen=True, slots=True)
class CapturedSource:
    """A database and what of it is captured. Knows where the password is, never shows it."""

    type: SourceType
    host: str
    port: int
    database: str
    user: str
    tables: tuple[str, ...]
    """`schema.table`, or `database.table` where there are no schemas."""
    snapshot_mode: str
    slot: str = ""
    publication: str = ""
    server_id: int | None = None
    ssl_mode: str = "prefer"
    password_env: str | None = None
    secret_file: str | None = None
    signal_table: str | None = None
    extra: dict[str, str] = field(default_factory=dict)
    protected: Protected = field(default=Protected(), repr=False, compare=False)
    """Files that are no secret of a connector's."""

    def password(self) -> str:
        """Read anew each time, so that it can be changed while the connector runs; empty when none is named."""
        if self.password_env is not None:
            value = os.environ.get(self.password_env)
            if value is None:
                raise errors.configuration(
                    f"The environment variable {self.password_env}, which should hold the password of {self.user} at "
                    f"{self.host}, is not set.",
                    hint="Set it for the process that runs Snowmelt, and resume the connector.",
                )
            return value
        if self.secret_file is not None:
            return _secret(Path(self.secret_file).expanduser(), self.protected)
        return ""


def _secret(path: Path, protected: Protected) -> str:
    try:
        with os.fdopen(protected.read(path), encoding="utf-8") as handle:
            mode = os.fstat(handle.fileno()).st_mode
            text = handle.read()
    except OSError as error:
        raise errors.configuration(f"The secret file {path} can't be read: {error.strerror}.") from None
    if stat.S_IMODE(mode) & stat.S_IWOTH:
        raise errors.configuration(
            f"The secret file {path} can be written by everybody.", hint=f"Run: chmod 600 {path}"
        )
    return text.rstrip("\r\n")
