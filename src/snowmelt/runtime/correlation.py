"""One id for a change, from its arrival to everything that is made of it.

It is the id of the statement, or of the commit of a channel or connector, that brought the change. What is computed
from several changes has the id of the newest. Logs, refresh history and traces carry it.
"""

from __future__ import annotations

from collections.abc import Mapping

from snowmelt.state.journal import QueryJournal
from snowmelt.state.model import TableVersion
from snowmelt.state.store import StateReader

DETAIL = "correlation_id"
"""Where a refresh's history has it."""


def of_versions(
    journal: QueryJournal, state: StateReader, read: Mapping[str, int], before: Mapping[str, int] | None = None
) -> str | None:
    """The id of the newest change in these versions of tables. With `before`, only later changes count."""
    versions = [
        version
        for id, number in read.items()
        if (before is None or before.get(id) != number) and (version := state.versions.upto(id, number)) is not None
    ]
    newest = max(versions, key=lambda version: version.committed_at, default=None)
    return None if newest is None else _of(journal, state, newest)


def _of(journal: QueryJournal, state: StateReader, version: TableVersion) -> str:
    refresh = state.dynamic.refresh_of_version(version.table_id, version.version)
    if refresh is not None and DETAIL in refresh.details:
        return str(refresh.details[DETAIL])
    record = journal.get(version.query_id) if version.query_id is not None else None
    if record is not None and record.correlation_id is not None:
        return record.correlation_id
    return version.query_id or version.transaction_id or f"{version.table_id}@{version.version}"
