"""The kinds of databases that can be captured: one module each, which knows what is particular about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from snowmelt.ingest.cdc import postgres
from snowmelt.ingest.cdc.binlog import source as binlog
from snowmelt.ingest.cdc.findings import LogStatus, SourceFinding
from snowmelt.ingest.cdc.sources import CapturedSource, SourceType


class CaptureKind(Protocol):
    JARS: str
    """The package with the lock of the jars that its engine needs."""
    KEEPS_HISTORY: bool
    """Whether the engine needs the history of the tables' columns beside its offset."""

    def properties(self, source: CapturedSource) -> dict[str, str]:
        """What Debezium has to be told beside what it is told of every source."""
        ...

    def check(self, source: CapturedSource) -> list[SourceFinding]:
        """What the source lacks. Never raises for a source that is not as it should be."""
        ...

    def log_status(self, source: CapturedSource, offset: Mapping[str, Any] | None) -> LogStatus:
        """How that part of its log stands which is behind the offset. Raises `SourceError`."""
        ...

    def forget_log(self, source: CapturedSource) -> None:
        """Lets the source forget what it kept for the connector, if it keeps anything for it."""
        ...

    def send_signal(self, source: CapturedSource, identifier: str, data: str) -> None:
        """Orders an incremental snapshot through the source's signal table."""
        ...


_KINDS: Mapping[SourceType, CaptureKind] = {
    SourceType.POSTGRES: postgres,
    SourceType.MARIADB: binlog,
    SourceType.MYSQL: binlog,
}


def kind_of(source: CapturedSource) -> CaptureKind:
    return _KINDS[source.type]
