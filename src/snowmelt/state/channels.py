"""Channels and their history."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, select

from snowmelt.state.channel_model import ChannelMinute, ChannelState
from snowmelt.state.repository import Repository, chunks
from snowmelt.state.tables import CHANNEL_MINUTES, CHANNELS

_C = CHANNELS.c
_M = CHANNEL_MINUTES.c
_BY_ID = select(_C.record).where(_C.id == bindparam("channel_id"))
_BY_NAME = select(_C.record).where(_C.table_id == bindparam("of_table"), _C.name == bindparam("called"))
_OF_TABLES = select(_C.record).where(_C.table_id.in_(bindparam("tables", expanding=True))).order_by(_C.name)
_MINUTE = select(_M.record).where(_M.channel_id == bindparam("channel_id"), _M.minute == bindparam("at"))


class ChannelRecords(Repository):
    def get(self, channel_id: str) -> ChannelState | None:
        record = self._execute(_BY_ID, {"channel_id": channel_id}).scalar()
        return None if record is None else ChannelState.model_validate_json(record)

    def named(self, table_id: str, name: str) -> ChannelState | None:
        record = self._execute(_BY_NAME, {"of_table": table_id, "called": name}).scalar()
        return None if record is None else ChannelState.model_validate_json(record)

    def of_tables(self, table_ids: Collection[str]) -> list[ChannelState]:
        return [
            ChannelState.model_validate_json(record)
            for part in chunks(list(table_ids))
            for record in self._execute(_OF_TABLES, {"tables": part}).scalars()
        ]

    def all(self) -> list[ChannelState]:
        return [ChannelState.model_validate_json(record) for record in self._execute(select(_C.record)).scalars()]

    def put(self, channel: ChannelState) -> None:
        self._writing()
        self._upsert(
            CHANNELS,
            [
                {
                    "id": channel.id,
                    "table_id": channel.table_id,
                    "name": channel.name,
                    "record": channel.model_dump_json(),
                }
            ],
        )

    def drop(self, channel_id: str) -> None:
        """Forget the channel; what it did stays in the history."""
        self._writing()
        self._execute(delete(CHANNELS).where(_C.id == channel_id))

    def delete_for(self, table_id: str) -> None:
        """Forget all channels of a table, and their history."""
        self._writing()
        self._execute(delete(CHANNELS).where(_C.table_id == table_id))
        self._execute(delete(CHANNEL_MINUTES).where(_M.table_id == table_id))

    # -- history --------------------------------------------------------------------------------------------------

    def add(self, done: ChannelMinute) -> None:
        """Add what a commit did to what the minute has already."""
        self._writing()
        record = self._execute(_MINUTE, {"channel_id": done.channel_id, "at": done.minute}).scalar()
        if record is not None:
            done = _sum(ChannelMinute.model_validate_json(record), done)
        self._upsert(
            CHANNEL_MINUTES,
            [
                {
                    "channel_id": done.channel_id,
                    "minute": done.minute,
                    "table_id": done.table_id,
                    "record": done.model_dump_json(),
                }
            ],
        )

    def since(self, minute: datetime) -> list[ChannelMinute]:
        """What all channels did in that minute and later, the oldest first."""
        query = select(_M.record).where(_M.minute >= minute).order_by(_M.minute, _M.channel_id)
        return [ChannelMinute.model_validate_json(record) for record in self._execute(query).scalars()]

    def history(self, table_ids: Sequence[str], since: datetime | None = None) -> list[ChannelMinute]:
        """What the channels of tables did, the oldest minute first."""
        query = select(_M.record).where(_M.table_id.in_(table_ids)).order_by(_M.minute, _M.channel_id)
        if since is not None:
            query = query.where(_M.minute >= since)
        return [ChannelMinute.model_validate_json(record) for record in self._execute(query).scalars()]


def _sum(former: ChannelMinute, done: ChannelMinute) -> ChannelMinute:
    return former.model_copy(
        update={
            "commits": former.commits + done.commits,
            "rows_inserted": former.rows_inserted + done.rows_inserted,
            "rows_rejected": former.rows_rejected + done.rows_rejected,
            "bytes": former.bytes + done.bytes,
            "waited_seconds": former.waited_seconds + done.waited_seconds,
            "batches": former.batches + done.batches,
            "end_offset": done.end_offset if done.end_offset is not None else former.end_offset,
            "last_error": done.last_error or former.last_error,
        }
    )
