"""One commit: the rows of several batches, their tokens, and the rows that were rejected, all visible in one step."""

from __future__ import annotations

import time
from collections.abc import Sequence

import structlog

from snowmelt.core.errors import internal
from snowmelt.features.channels import error_tables, rejecting
from snowmelt.features.channels.events import ChannelEvents
from snowmelt.features.channels.opened import Entry, OpenChannel
from snowmelt.features.loading.sink import RowSink
from snowmelt.ingest.channels import errors
from snowmelt.runtime.run import Run
from snowmelt.state.channel_model import ChannelMinute, ChannelState
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateStore, StateTransaction
from snowmelt.storage.commits import AppTransaction

_log = structlog.get_logger(__name__)
OPERATION = "STREAMING INGEST"


def application(channel_id: str) -> str:
    """The channel's name in the `txn` actions of the Delta log."""
    return f"snowmelt-channel-{channel_id}"


def commit(run: Run, table: CatalogObject, entries: Sequence[Entry]) -> dict[str, ChannelState]:
    """Makes the batches visible; returns the channels as they are then. On failure nothing of it remains.

    `run` is of a session with the rights of the table's owner; cancelling it ends a wait for the table.
    """
    rejects = any(entry.checked.rejected for entry in entries)
    error_table = error_tables.ensure(run.session, table) if rejects else None
    after: dict[str, ChannelState] = {}
    batches = _by_channel(entries)
    marks = [
        AppTransaction(application(channel.id), channel.state.row_sequencer + len(mine))
        for channel, mine in batches.values()
    ]
    taken = sum(entry.checked.rows for entry in entries)
    events = run.account.services[ChannelEvents]
    with events.committing(run, table, [channel.state for channel, _ in batches.values()], taken), run.atomic():
        sink = RowSink(run, table, OPERATION, marks, _tokens(entries))
        for number, entry in enumerate(entries):
            for rows in entry.checked.tables:
                sink.add(number, rows)
            sink.settle(number, keep=True)
        sink.commit()
        if error_table is not None:
            rejecting.write(run, error_table, entries, OPERATION)

        def advance(state: StateTransaction) -> None:
            for channel, mine in batches.values():
                after[channel.id] = _advance(state, channel, mine)

        run.transaction.at_commit.append(advance)
    _log.info("channel rows committed", table=str(table.name), correlation_id=run.query_id, channels=len(batches))
    return after


def committed_all_the_same(store: StateStore, entries: Sequence[Entry]) -> dict[str, ChannelState] | None:
    """The channels after a commit that failed at its very end, when its flip had succeeded; None when it had not."""
    after: dict[str, ChannelState] = {}
    with store.read() as state:
        for channel, mine in _by_channel(entries).values():
            current = state.channels.get(channel.id)
            if current is None or current.row_sequencer != channel.state.row_sequencer + len(mine):
                return None
            after[channel.id] = current
    return after


def _by_channel(entries: Sequence[Entry]) -> dict[str, tuple[OpenChannel, list[Entry]]]:
    found: dict[str, tuple[OpenChannel, list[Entry]]] = {}
    for entry in entries:
        found.setdefault(entry.channel.id, (entry.channel, []))[1].append(entry)
    return found


def _tokens(entries: Sequence[Entry]) -> dict[str, str]:
    """The token that the commit brings each channel to."""
    return {entry.channel.state.name: entry.batch.end_token for entry in entries if entry.batch.end_token is not None}


def _advance(state: StateTransaction, channel: OpenChannel, entries: Sequence[Entry]) -> ChannelState:
    """Moves the channel on, unless it is somebody else's by now."""
    current = state.channels.get(channel.id)
    if current is None or current.client_sequencer != channel.sequencer:
        raise errors.fenced(channel.state.name, channel.sequencer)
    if current.row_sequencer != channel.state.row_sequencer:
        raise internal(
            f"channel {current.name} has {current.row_sequencer} batches instead of {channel.state.row_sequencer}"
        )
    rejected = [item for entry in entries for item in entry.checked.rejected]
    tokens = [entry.batch.end_token for entry in entries if entry.batch.end_token is not None]
    rows = sum(entry.checked.rows for entry in entries)
    size = sum(entry.bytes for entry in entries)
    changed: dict[str, object] = {
        "row_sequencer": current.row_sequencer + len(entries),
        "offset_token": tokens[-1] if tokens else current.offset_token,
        "rows_inserted": current.rows_inserted + rows,
        "rows_rejected": current.rows_rejected + len(rejected),
        "bytes": current.bytes + size,
        "last_committed_on": state.now,
    }
    if rejected:
        changed |= {
            "last_error": rejecting.reason(rejected[-1]),
            "last_error_on": state.now,
            "last_error_offset": rejected[-1].offset_token,
        }
    advanced = current.model_copy(update=changed)
    state.channels.put(advanced)
    now = time.monotonic()
    state.channels.add(
        ChannelMinute(
            channel_id=channel.id,
            name=current.name,
            table_id=current.table_id,
            minute=state.now.replace(second=0, microsecond=0),
            commits=1,
            rows_inserted=rows,
            rows_rejected=len(rejected),
            bytes=size,
            waited_seconds=sum(now - entry.accepted_at for entry in entries),
            batches=len(entries),
            end_offset=tokens[-1] if tokens else None,
            last_error=rejecting.reason(rejected[-1]) if rejected else None,
        )
    )
    return advanced
