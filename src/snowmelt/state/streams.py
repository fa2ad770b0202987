"""Offsets of streams."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select

from snowmelt.core import errors
from snowmelt.state.repository import Repository
from snowmelt.state.stream_model import StreamState
from snowmelt.state.tables import STREAMS

_C = STREAMS.c
_STATE = select(_C.record).where(_C.stream_id == bindparam("stream_id"))


class StreamRecords(Repository):
    def get(self, stream_id: str) -> StreamState | None:
        record = self._execute(_STATE, {"stream_id": stream_id}).scalar()
        return None if record is None else StreamState.model_validate_json(record)

    def require(self, stream_id: str) -> StreamState:
        found = self.get(stream_id)
        if found is None:
            raise errors.internal(f"the stream {stream_id} has no offset.")
        return found

    def all(self) -> list[StreamState]:
        """The states of all streams, dropped ones included."""
        return [StreamState.model_validate_json(record) for record in self._execute(select(_C.record)).scalars()]

    def put(self, state: StreamState) -> None:
        self._writing()
        self._upsert(STREAMS, [{"stream_id": state.stream_id, "record": state.model_dump_json()}])

    def delete_for(self, stream_id: str) -> None:
        self._writing()
        self._execute(delete(STREAMS).where(_C.stream_id == stream_id))
