"""Tables of Snowmelt, through channels: the place is the offset token, which commits with the rows."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.columns import with_documents
from snowmelt.extract_load.destinations.base import Loader
from snowmelt.extract_load.records import Batch, Record, Rejected
from snowmelt.extract_load.sources.ordering import identity
from snowmelt.ingest.channels.channel import Channel
from snowmelt.ingest.channels.client import StreamingIngestClient
from snowmelt.ingest.channels.ports import HasChannelDoor

_COMMIT_SECONDS = 120
RAW_DDL = (
    "(record VARIANT NOT NULL, origin VARCHAR NOT NULL, run_id VARCHAR NOT NULL, loaded_at TIMESTAMP_LTZ NOT NULL)"
)
READINGS_DDL = (
    "(record VARIANT, origin VARCHAR NOT NULL, run_id VARCHAR NOT NULL, loaded_at TIMESTAMP_LTZ NOT NULL, "
    "reading NUMBER NOT NULL)"
)
DEAD_LETTERS_DDL = (
    "(flow VARCHAR NOT NULL, reason VARCHAR NOT NULL, record VARIANT NOT NULL, origin VARCHAR NOT NULL, "
    "source_position VARCHAR NOT NULL, run_id VARCHAR NOT NULL, loaded_at TIMESTAMP_LTZ NOT NULL)"
)


class Committing:
    """Rows and a token through a channel, until they are visible."""

    def __init__(self, connection: HasChannelDoor, table: str, channel: str, *, schema_evolution: bool = False) -> None:
        self.table, self._name, self._evolves = table, channel, schema_evolution
        self._client = StreamingIngestClient(f"pipeline-{table}", connection=connection)
        self._channel = self._open()

    def _open(self) -> Channel:
        """Whatever was sent before and is not committed is dropped."""
        return self._client.open_channel(self._name, self.table, on_error="ABORT", schema_evolution=self._evolves)

    def token(self) -> str | None:
        return self._channel.get_latest_committed_offset_token()

    def commit(self, rows: pa.Table | Sequence[dict[str, Any]], token: str) -> None:
        self._channel.append_rows(rows if len(rows) else (), offset_token=token)
        self._channel.initiate_flush()
        if not self._channel.wait_for_commit(token, timeout_seconds=_COMMIT_SECONDS):
            # The rows must not become visible later, when they may have been sent again.
            self._channel = self._open()
            raise SnowmeltError(
                "000629", "57014", f"A batch for {self.table} was not committed within {_COMMIT_SECONDS} s.",
                hint="The table is locked, or the disk is full. Run again: no row is loaded twice.", transient=True,
            )  # fmt: skip

    def close(self) -> None:
        self._client.close()


class ChannelLoader(Loader):
    """Appends rows through a channel, exactly once. Extend it with what a record is as a row, or a batch as a table."""

    def __init__(
        self, connection: HasChannelDoor, table: str, channel: str, run_id: str, *, schema_evolution: bool = False
    ) -> None:
        self.table, self.run_id = table, run_id
        self._target = Committing(connection, table, channel, schema_evolution=schema_evolution)

    @abstractmethod
    def row(self, record: Record, origin: str, loaded_at: str) -> dict[str, Any]:
        """A record as a row of the table."""

    def rows(self, batch: Batch, loaded_at: str) -> pa.Table | Sequence[dict[str, Any]]:
        """A batch as rows of the table."""
        return [self.row(record, batch.origin, loaded_at) for record in batch.records]

    def place(self) -> str | None:
        return self._target.token()

    def load(self, batch: Batch, loaded_at: str) -> int:
        if self.place() == batch.place:
            return 0
        self._target.commit(self.rows(batch, loaded_at), batch.place)
        return len(batch.rows)

    def close(self) -> None:
        self._target.close()


class RawLoader(ChannelLoader):
    """Loads a raw table (record, origin, run_id, loaded_at)."""

    def row(self, record: Record, origin: str, loaded_at: str) -> dict[str, Any]:
        return {"record": json.dumps(record), "origin": origin, "run_id": self.run_id, "loaded_at": loaded_at}

    def rows(self, batch: Batch, loaded_at: str) -> pa.Table | Sequence[dict[str, Any]]:
        """By columns, unless a subclass has rows of its own."""
        if type(self).row is not RawLoader.row:
            return super().rows(batch, loaded_at)
        return _said_of_all(pa.table({"record": batch.rows.objects()}), self.said(batch, loaded_at))

    def said(self, batch: Batch, loaded_at: str) -> dict[str, Any]:
        """Of all rows of a batch."""
        return {"origin": batch.origin, "run_id": self.run_id, "loaded_at": datetime.fromisoformat(loaded_at)}


class ReadingsLoader(RawLoader):
    """For a raw table of a source that is read as a whole (record, origin, run_id, loaded_at, reading).

    Every reading stays. A row without a record, behind the last one, says that its reading is complete: the newest such
    reading is what the source holds, and what is not in it is gone.
    """

    def load(self, batch: Batch, loaded_at: str) -> int:
        if batch.whole is None:
            raise errors.configuration(
                f"{self.table} compares complete readings, but its source gives only new rows.",
                hint="Leave change_column out, or use RawLoader.",
            )
        return super().load(batch, loaded_at)

    def rows(self, batch: Batch, loaded_at: str) -> pa.Table | Sequence[dict[str, Any]]:
        assert batch.whole is not None
        reading, said = {"reading": batch.whole.reading}, self.said(batch, loaded_at)
        rows = super().rows(batch, loaded_at)
        if not isinstance(rows, pa.Table):
            mark = [{"record": None, **said}] if batch.whole.last else []
            return [{**row, **reading} for row in (*rows, *mark)]
        if batch.whole.last:
            nothing = pa.table({"record": pa.nulls(1, rows.schema.field("record").type)})
            rows = pa.concat_tables([rows, _said_of_all(nothing, said).cast(rows.schema)])
        return _said_of_all(rows, reading)


def _said_of_all(rows: pa.Table, values: Mapping[str, Any]) -> pa.Table:
    """With columns that have one value in all rows."""
    for name, value in values.items():
        rows = rows.append_column(name, pa.repeat(pa.scalar(value), rows.num_rows))
    return rows


class TableLoader(ChannelLoader):
    """Loads a table with the records' own columns. With `schema_evolution` columns that it lacks are added."""

    def row(self, record: Record, origin: str, loaded_at: str) -> dict[str, Any]:
        return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in record.items()}

    def rows(self, batch: Batch, loaded_at: str) -> pa.Table | Sequence[dict[str, Any]]:
        """The columns as they are, unless a subclass has rows of its own."""
        if not batch.rows.columnar or type(self).row is not TableLoader.row:
            return super().rows(batch, loaded_at)
        return with_documents(batch.table)


class DeadLetterLoader:
    """Keeps rejected records, each once, in a table of `DEAD_LETTERS_DDL`.

    They commit before their batch does. The token says who they are until the run is over: when their batch is
    repeated after a crash, even if it comes later or with more this time, only those that are new are added.
    """

    def __init__(
        self, connection: HasChannelDoor, table: str, flow: str, run_id: str, *, channel: str | None = None
    ) -> None:
        """`channel`: one of its own for whoever brings records of a flow beside its run."""
        self.table, self.flow, self.run_id = table, flow, run_id
        self._target = Committing(connection, table, channel or flow)
        token = self._target.token()
        self._cut_off: frozenset[str] = frozenset(json.loads(token)["letters"] if token is not None else ())
        """Of a run that did not come to its end."""
        self._ahead: set[str] = set()
        """Of batches that are not committed yet."""
        self._unsettled = bool(self._cut_off)

    def keep(self, letters: Sequence[Rejected], origin: str, loaded_at: str) -> int:
        """How many were added, ahead of their batch."""
        known = self._cut_off | self._ahead
        marks = {f"{identity(letter)} {origin}: {letter.position}": letter for letter in letters}
        fresh = {mark: letter for mark, letter in marks.items() if mark not in known}
        if fresh:
            self._unsettled = True
            rows = [self._row(letter, origin, loaded_at) for letter in fresh.values()]
            self._target.commit(rows, json.dumps({"letters": sorted(known | set(fresh))}))
            self._ahead |= set(fresh)
        return len(fresh)

    def batch_committed(self) -> None:
        """Theirs, that is: they do not come again."""
        self._ahead.clear()

    def settle(self) -> None:
        """The run is over, and nothing of it will be repeated."""
        if self._unsettled:
            self._target.commit([], json.dumps({"letters": []}))
            self._cut_off, self._unsettled = frozenset(), False

    def _row(self, letter: Rejected, origin: str, loaded_at: str) -> dict[str, Any]:
        return {
            "flow": self.flow, "reason": letter.reason, "record": json.dumps(letter.record), "origin": origin,
            "source_position": letter.position, "run_id": self.run_id, "loaded_at": loaded_at,
        }  # fmt: skip

    def close(self) -> None:
        self._target.close()
