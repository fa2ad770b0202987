"""What is found out about a source: what it lacks for its changes to be captured, and how its log stands.

Every finding is the answer to one question. Those that say MISSING keep the connector from working; a WARNING says what
will be different from what one may expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import URL, Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from snowmelt.core import errors
from snowmelt.ingest.cdc.sources import CapturedSource

CONNECTION = "connection"
LOG = "slot"
"""The finding about what the source keeps of its log: the slot of a PostgreSQL."""
CONNECT_SECONDS = 10
SourceError = DBAPIError
"""What asking a source may raise."""


class FindingStatus(StrEnum):
    OK = "OK"
    WARNING = "WARNING"
    MISSING = "MISSING"


@dataclass(frozen=True, slots=True)
class SourceFinding:
    check: str
    status: FindingStatus
    detail: str
    remedy: str = ""
    """SQL for an administrator of the source; empty when nothing is to be done, or nothing in SQL."""


@dataclass(frozen=True, slots=True)
class LogStatus:
    """How that part of a source's log stands which a connector has not read."""

    name: str
    """What keeps it, for people: the slot, or the log itself."""
    exists: bool
    lost: bool = False
    """The source has thrown away what the connector still needed."""
    kept_bytes: int | None = None

    @property
    def usable(self) -> bool:
        return self.exists and not self.lost


@contextmanager
def opened(url: URL, settings: Mapping[str, Any]) -> Iterator[Connection]:
    """A connection whose statements stand alone. Raises `SourceError` when there is none to be had."""
    try:
        engine = create_engine(url, connect_args=dict(settings), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    except ModuleNotFoundError as error:
        raise errors.configuration(
            f"The package {error.name} is not installed.", hint="Connectors need it: pip install 'snowmelt[cdc]'."
        ) from None
    with engine.connect() as connection:
        yield connection


def findings_of(source: CapturedSource, ask: Callable[[], list[SourceFinding]]) -> list[SourceFinding]:
    """What asking gives; of a source that does not answer, that it does not."""
    try:
        return ask()
    except SourceError as error:
        where = f"{source.user}@{source.host}:{source.port}/{source.database}"
        return [SourceFinding(CONNECTION, FindingStatus.MISSING, f"{where}: {first_line(error)}")]


def one_row(connection: Connection, query: str, **values: Any) -> Mapping[Any, Any] | None:
    return connection.execute(text(query), values).mappings().first()


def put_signal(connection: Connection, table: str, identifier: str, data: str) -> None:
    """Orders an incremental snapshot; `table` is the signal table, quoted as its database does it."""
    statement = f"INSERT INTO {table} (id, type, data) VALUES (:id, 'execute-snapshot', :data)"
    connection.execute(text(statement), {"id": identifier, "data": data})


def first_line(error: DBAPIError) -> str:
    lines = str(error.orig or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
