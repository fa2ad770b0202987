"""Channels over HTTP: what client and server send each other.

Rows travel as Arrow streams, one a part, behind each other in one body; or, from clients without Arrow, as JSON.
Whatever comes is checked before anything looks into it: the numbers inside an Arrow stream are the sender's.
"""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.channels.ports import (
    Appended,
    BatchPart,
    ChannelStatus,
    OnError,
    OpenedChannel,
    OpenRequest,
    RowError,
    Ticket,
)
from snowmelt.ingest.channels.rows import parts_of

ARROW = "application/vnd.apache.arrow.stream"
MOST_ROWS = 2_000_000
"""In one batch: rows without values take no bytes, so that the size of a request says nothing about them."""
_TOKENS = "\x00offset_token"
_POSITIONS = "\x00place"
_WITH_BUFFERS = ("record batch", "dictionary")
"""Columns of the rows' own tokens and positions; no column of a table can have such a name."""


def malformed(detail: str) -> SnowmeltError:
    return SnowmeltError("390189", "08P01", f"The request is malformed: {detail}.")


# -- rows ---------------------------------------------------------------------------------------------------------


def parts_to_arrow(parts: tuple[BatchPart, ...]) -> bytes:
    sink = pa.BufferOutputStream()
    for part in parts:
        rows = part.rows
        if part.tokens is not None:
            rows = rows.append_column(_TOKENS, pa.array(part.tokens, pa.string()))
        if part.positions is not None:
            rows = rows.append_column(_POSITIONS, pa.array(part.positions, pa.int64()))
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
    return bytes(sink.getvalue())


def parts_from_arrow(body: bytes) -> tuple[BatchPart, ...]:
    """Raises `malformed` for anything but whole, valid streams."""
    source = pa.BufferReader(body)
    parts: list[BatchPart] = []
    rows = 0
    try:
        _refuse_compressed(body)
        while source.tell() < len(body):
            batches: list[pa.RecordBatch] = []
            with pa.ipc.open_stream(source) as stream:
                schema = stream.schema
                for batch in stream:
                    rows += batch.num_rows
                    if rows > MOST_ROWS:
                        raise malformed(f"a batch has more than {MOST_ROWS} rows")
                    batch.validate(full=True)
                    batches.append(batch)
            parts.append(_part(pa.Table.from_batches(batches, schema)))
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, struct.error) as error:
        raise malformed(f"its body is not an Arrow stream ({str(error).splitlines()[0][:200]})") from None
    return tuple(parts)


def _refuse_compressed(body: bytes) -> None:
    """Arrow reserves what the sender says that a buffer unpacks to: a small request would take all memory."""
    source = pa.BufferReader(body)
    while source.tell() < len(body):
        messages = pa.ipc.MessageReader.open_stream(source)
        with contextlib.suppress(StopIteration):
            while True:
                message = messages.read_next_message()
                if message.type in _WITH_BUFFERS and _is_compressed(message.metadata.to_pybytes()):
                    raise malformed("its buffers are compressed; send them plain, and the request compressed by gzip")


def _is_compressed(metadata: bytes) -> bool:
    """Whether a message names a compression: a field of its flatbuffer, which Arrow shows by no function of its own."""

    def number(form: str, offset: int) -> int:
        found: int = struct.unpack_from(form, metadata, offset)[0]
        return found

    def field(table: int, index: int) -> int:
        """Where a field of the table is; 0 for one that is not there."""
        shape, entry = table - number("<i", table), 4 + 2 * index
        offset = number("<H", shape + entry) if entry < number("<H", shape) else 0
        return table + offset if offset else 0

    def inner(table: int, index: int) -> int:
        offset = field(table, index)
        return offset + number("<I", offset)

    message = number("<I", 0)
    header = inner(message, 2)
    is_dictionary = number("<B", field(message, 1)) == 2
    return field(inner(header, 1) if is_dictionary else header, 3) != 0


def _part(rows: pa.Table) -> BatchPart:
    tokens, positions = _beside(rows, _TOKENS, pa.string()), _beside(rows, _POSITIONS, pa.int64())
    own = [name for name in (_TOKENS, _POSITIONS) if name in rows.column_names]
    return BatchPart(rows.drop_columns(own) if own else rows, tokens, positions)


def _beside(rows: pa.Table, name: str, type_: pa.DataType) -> Any:
    """What is said about the rows, one by one; None when nothing is."""
    if name not in rows.column_names:
        return None
    found = rows.column(name)
    if found.type != type_ or (type_ == pa.int64() and found.null_count):
        raise malformed("tokens are text, and positions are numbers")
    return tuple(found.to_pylist())


def parts_from_json(body: bytes) -> tuple[BatchPart, ...]:
    """A JSON array of objects, or one object a line."""
    try:
        text = body.decode()
        is_array = text.lstrip().startswith("[")
        found = _json(text) if is_array else [_json(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise malformed("its body is not JSON") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise malformed("rows are JSON objects")
    if len(found) > MOST_ROWS:
        raise malformed(f"a batch has more than {MOST_ROWS} rows")
    return parts_of(found)


def _json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


# -- requests and answers -------------------------------------------------------------------------------------------


def open_request_to_json(request: OpenRequest) -> dict[str, Any]:
    return {
        "channel": request.channel, "table": request.table, "offset_token": request.offset_token,
        "on_error": request.on_error.value, "schema_evolution": request.schema_evolution,
    }  # fmt: skip


def open_request_from_json(body: Mapping[str, Any]) -> OpenRequest:
    try:
        on_error = OnError(str(body.get("on_error", OnError.CONTINUE.value)).upper())
    except ValueError:
        raise malformed("on_error is CONTINUE or ABORT") from None
    return OpenRequest(
        text_of(body, "channel"), text_of(body, "table"), optional_text(body, "offset_token"), on_error,
        body.get("schema_evolution") is True,
    )  # fmt: skip


def text_of(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise malformed(f"it lacks the text '{key}'")
    return value


def optional_text(body: Mapping[str, Any], key: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise malformed(f"'{key}' is text")
    return value


def opened_to_json(opened: OpenedChannel) -> dict[str, Any]:
    ticket = opened.ticket
    return {
        "channel_id": ticket.channel_id,
        "client_sequencer": ticket.client_sequencer,
        "status": status_to_json(opened.status),
    }


def opened_from_json(body: Mapping[str, Any]) -> OpenedChannel:
    ticket = Ticket(body["channel_id"], body["client_sequencer"])
    return OpenedChannel(ticket, status_from_json(body["status"]))


def status_to_json(status: ChannelStatus) -> dict[str, Any]:
    values = {entry.name: getattr(status, entry.name) for entry in fields(status)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


_INSTANTS = ("created_on", "last_committed_on", "last_error_on")


def status_from_json(body: Mapping[str, Any]) -> ChannelStatus:
    values = {entry.name: body[entry.name] for entry in fields(ChannelStatus) if entry.name in body}
    for name in _INSTANTS:
        if values.get(name) is not None:
            values[name] = datetime.fromisoformat(values[name])
    return ChannelStatus(**values)


def appended_to_json(appended: Appended) -> dict[str, Any]:
    return {
        "rows": appended.rows,
        "rejected": appended.rejected,
        "errors": [{entry.name: getattr(item, entry.name) for entry in fields(item)} for item in appended.errors],
    }


def appended_from_json(body: Mapping[str, Any]) -> Appended:
    return Appended(body["rows"], body["rejected"], tuple(RowError(**item) for item in body["errors"]))
