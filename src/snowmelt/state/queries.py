"""Query history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, select

from snowmelt.state.model import QueryRecord
from snowmelt.state.prepared import Prepared
from snowmelt.state.repository import Repository
from snowmelt.state.tables import QUERIES

_GET = Prepared(select(QUERIES.c.record).where(QUERIES.c.query_id == bindparam("id")))
_RUNNING = select(QUERIES.c.record).where(QUERIES.c.status == "running")

Records = list[QueryRecord]


class Queries(Repository):
    """The statements that ran. Servers write through a `QueryJournal`, off the statement's path."""

    def start(self, query: QueryRecord) -> None:
        self.record([query])

    def finish(self, query: QueryRecord) -> None:
        """Replace what `start` stored; a query that was never stored is stored now."""
        self.record([query])

    def record(self, queries: Sequence[QueryRecord]) -> None:
        """Store these records, each in place of an earlier one of the same query."""
        self._writing()
        self._upsert(
            QUERIES,
            [
                {
                    "query_id": query.query_id,
                    "session_id": query.session_id,
                    "user_name": query.user,
                    "status": query.status,
                    "start_time": query.start_time,
                    "record": query.model_dump_json(),
                }
                for query in queries
            ],
        )

    def get(self, query_id: str) -> QueryRecord | None:
        record = self._value(_GET, {"id": query_id})
        return None if record is None else QueryRecord.model_validate_json(record)

    def list(
        self,
        limit: int,
        session_id: str | None = None,
        *,
        user: str | None = None,
        status: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Records:
        """The queries that meet all conditions, the latest start first. `since` and `until` are inclusive."""
        query = select(QUERIES.c.record).order_by(QUERIES.c.start_time.desc(), QUERIES.c.query_id).limit(limit)
        if session_id is not None:
            query = query.where(QUERIES.c.session_id == session_id)
        if user is not None:
            query = query.where(QUERIES.c.user_name == user)
        if status is not None:
            query = query.where(QUERIES.c.status == status)
        if since is not None:
            query = query.where(QUERIES.c.start_time >= since)
        if until is not None:
            query = query.where(QUERIES.c.start_time <= until)
        return [QueryRecord.model_validate_json(record) for record in self._execute(query).scalars()]

    def abandon_running(self, code: str, message: str) -> Records:
        """Mark every running query as failed, and return them: for the start-up after a crash."""
        scope = self._writing()
        running = [QueryRecord.model_validate_json(record) for record in self._execute(_RUNNING).scalars()]
        if not running:
            return []
        failed = {
            "status": "failed_with_error", "error_code": code, "error_message": message, "end_time": scope.now,
        }  # fmt: skip
        abandoned = [query.model_copy(update=failed) for query in running]
        self.record(abandoned)
        return abandoned
