"""What a function needs of a statement or an account, where that is little: so its signature says it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Protocol

from snowmelt.core.config import Settings
from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.stream_windows import StreamWindow


class Identity(Protocol):
    """Whose rights count."""

    @property
    def user(self) -> str: ...
    @property
    def role(self) -> str: ...


class AuditedStatement(Protocol):
    """A statement, as the audit log names it."""

    @property
    def session(self) -> Identity: ...
    @property
    def query_id(self) -> str: ...


class ReadingStatement(Protocol):
    """A statement that may read, as long as it has not ended."""

    @property
    def ended(self) -> Event: ...
    @property
    def now(self) -> datetime: ...
    @property
    def streams(self) -> Mapping[str, StreamWindow]: ...


class DataDirectory(Protocol):
    """Where an account lies, and how it is set up."""

    @property
    def data_dir(self) -> Path: ...
    @property
    def settings(self) -> Settings: ...


class TransactionHolder(Protocol):
    """What has at most one open transaction, as a session does."""

    transaction: Transaction | None
