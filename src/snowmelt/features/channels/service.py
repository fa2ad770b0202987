"""The channels of an account: who has which open."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.core.text import is_name, shown, storable
from snowmelt.features.channels import evolution, opened
from snowmelt.features.channels.checking import CheckedRows, check
from snowmelt.features.channels.compaction import Compactor
from snowmelt.features.channels.opened import Entry, OpenChannel
from snowmelt.features.channels.writer import TableWriter
from snowmelt.ingest.channels import errors as channel_errors
from snowmelt.ingest.channels.ports import (
    Appended,
    ChannelBatch,
    ChannelStatus,
    OpenedChannel,
    OpenRequest,
    RowError,
    Ticket,
)
from snowmelt.runtime.rights.enforcement import is_hidden, may_evolve, require_object
from snowmelt.runtime.run import Run
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.tokens import SqlText
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import CatalogObject
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session

_SHOWN_ERRORS = 100
_STOP_SECONDS = 1.0
_LONGEST_NAME = 255
_LONGEST_TOKEN = 8_192


class Channels:
    """One for an account. Doors give its sessions access."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._writers: dict[str, TableWriter] = {}
        """By table id."""
        self._open: dict[str, OpenChannel] = {}
        """By channel id."""
        self._doors: WeakKeyDictionary[Session, SessionDoor] = WeakKeyDictionary()
        self._opening = threading.Lock()
        self._compactor = Compactor(account)

    def added_file(self, table: CatalogObject) -> None:
        """Somebody else who commits often added a file: small ones are put together here. Cheap."""
        self._compactor.committed(table)

    def door(self, session: Session) -> SessionDoor:
        """What a streaming ingest client writes through, with the session's rights. A session has one."""
        session.check_open()
        with self._lock:
            return self._doors.setdefault(session, SessionDoor(self, session))

    def stop(self, timeout: float) -> None:
        """Commits what waits, as long as it takes no longer than that."""
        with self._lock:
            writers, self._writers = list(self._writers.values()), {}
            self._open = {}
        deadline = time.monotonic() + timeout
        for writer in writers:
            writer.stop(max(0.0, deadline - time.monotonic()))
        self._compactor.stop(max(0.0, deadline - time.monotonic()))

    # -- opening and closing --------------------------------------------------------------------------------------

    def open(self, session: Session, request: OpenRequest) -> OpenedChannel:
        _check_text(request.channel, request.offset_token)
        table = _target(session, request.table)
        with self._opening:
            with self._account.state.read() as state:
                known = state.channels.named(table.id, request.channel)
            if known is not None and known.owner is not None:
                _require_owner(session, table, known)
            former = self._open.get(known.id) if known is not None else None
            if former is not None:
                self._close(former, channel_errors.fenced(request.channel, former.sequencer))
            with self._account.state.begin() as state:
                current = _open_channel(state, table, request, session.role)
            own = self._account.session(
                user=session.user, role=session.role, database=session.database, schema=session.schema,
                warehouse=session.warehouse, secondary_roles=session.secondary_roles,
            )  # fmt: skip
            # Text is read in the opener's time zone and formats.
            own.parameters = dict(session.parameters)
            channel = OpenChannel(current, request.on_error, request.schema_evolution, own)
            self._writer(table).add(channel)
            with self._lock:
                self._open[channel.id] = channel
        return OpenedChannel(Ticket(channel.id, channel.sequencer), opened.status(table, current, channel, []))

    def close(self, ticket: Ticket) -> None:
        channel, writer = self.find(ticket)
        writer.flush()
        try:
            while not writer.wait(channel, channel.accepted, 1.0):
                writer.flush()
        finally:
            with self._opening:
                self._close(channel, channel_errors.not_open(channel.state.name))

    def _close(self, channel: OpenChannel, failure: errors.SnowmeltError) -> None:
        """Lets a channel go, and the table's writer with the last one. The caller holds `_opening`."""
        with self._lock:
            writer = self._writers.get(channel.state.table_id)
            if self._open.get(channel.id) is not channel or writer is None:
                return  # somebody else has it, or everything ends
        writer.fence(channel, failure)
        with self._lock:
            self._open.pop(channel.id, None)
            if writer.is_idle:
                self._writers.pop(channel.state.table_id, None)
        if writer.is_idle:
            writer.stop(_STOP_SECONDS)
        channel.session.close()

    def drop(self, session: Session, table_name: str, name: str) -> None:
        table = _target(session, table_name)
        with self._opening:
            with self._account.state.read() as state:
                known = state.channels.named(table.id, name)
            if known is None:
                raise channel_errors.no_channel(name, str(table.name))
            _require_owner(session, table, known)
            former = self._open.get(known.id)
            if former is not None:
                self._close(former, channel_errors.not_open(name))
            with self._account.state.begin() as state:
                state.channels.drop(known.id)

    # -- writing --------------------------------------------------------------------------------------------------

    def append(self, ticket: Ticket, batch: ChannelBatch) -> Appended:
        channel, writer = self.find(ticket)
        _check_text(channel.state.name, batch.end_token)
        with channel.appending:
            if batch.number == channel.accepted and batch.number > 0:
                return channel.answer
            if batch.number != channel.accepted + 1:
                raise channel_errors.out_of_order(channel.state.name, batch.number, channel.accepted + 1)
            if channel.failure is not None:
                raise channel.failure
            run = Run(channel.session, SqlText(""))
            table = self._writable(run, writer, channel)
            evolves = may_evolve(run, table)
            if channel.schema_evolution or evolves:
                batch = evolution.without_empty_columns(table, batch)
                table = self._evolved(run, writer, table, batch)
            if evolves and (missing := evolution.missing_values(table, batch)):
                evolution.drop_not_null(writer.session, table, missing)
                table = self._writable(run, writer, channel)
            checked = check(run, table, batch)
            channel.refuse(checked)
            channel.answer = _answer(checked)
            writer.put(Entry(channel, batch, table, checked, time.monotonic()))
            return channel.answer

    def _writable(self, run: Run, writer: TableWriter, channel: OpenChannel) -> CatalogObject:
        """The table as it is now. Rights may have been revoked, and it may be gone, since the channel was opened."""
        if not writer.refresh():
            failure = channel_errors.table_gone(channel.state.name, str(writer.table.name))
            writer.fence(channel, failure)
            raise failure
        with run.state.read() as state:
            if is_hidden(state, writer.table, run.session.id):
                raise errors.not_found("Table", str(writer.table.name))
        require_object(run, "INSERT", writer.table)
        return writer.table

    def _evolved(self, run: Run, writer: TableWriter, table: CatalogObject, batch: ChannelBatch) -> CatalogObject:
        missing = evolution.new_columns(table, batch)
        if not missing:
            return table
        evolution.add_columns(run, writer.session, table, missing)
        writer.refresh()
        return writer.table

    # -- asking ---------------------------------------------------------------------------------------------------

    def find(self, ticket: Ticket) -> tuple[OpenChannel, TableWriter]:
        """The channel that a ticket is for, if it is still good."""
        with self._lock:
            channel = self._open.get(ticket.channel_id)
            writer = self._writers.get(channel.state.table_id) if channel is not None else None
        if channel is None or writer is None:
            raise channel_errors.not_open(ticket.channel_id)
        if channel.sequencer != ticket.client_sequencer:
            raise channel_errors.fenced(channel.state.name, ticket.client_sequencer)
        return channel, writer

    def status(self, ticket: Ticket) -> ChannelStatus:
        channel, writer = self.find(ticket)
        with writer.condition:
            return opened.status(writer.table, channel.state, channel, writer.waiting(channel))

    def statuses(self, session: Session, table_name: str, names: Sequence[str]) -> dict[str, ChannelStatus]:
        table = _target(session, table_name)
        with self._account.state.read() as state:
            known = {channel.name: channel for channel in state.channels.of_tables([table.id])}
        return {name: self.status_of(table, known[name]) for name in names if name in known}

    def status_of(self, table: CatalogObject, state: ChannelState) -> ChannelStatus:
        """The status of a channel, open or closed."""
        with self._lock:
            channel, writer = self._open.get(state.id), self._writers.get(table.id)
        if channel is None or writer is None:
            return opened.status(table, state, None, [])
        with writer.condition:
            return opened.status(table, channel.state, channel, writer.waiting(channel))

    def _writer(self, table: CatalogObject) -> TableWriter:
        with self._lock:
            found = self._writers.get(table.id)
            if found is None:
                found = self._writers[table.id] = TableWriter(self._account, table, self._compactor.committed)
            return found


class SessionDoor:
    """What a session's clients ask: `ChannelDoor` for one of its users."""

    def __init__(self, channels: Channels, session: Session) -> None:
        self._channels = channels
        self._session = session
        self._tickets: set[Ticket] = set()
        """The tickets of a session. No other session can use them."""

    def open(self, request: OpenRequest) -> OpenedChannel:
        found = self._channels.open(self._session, request)
        self._tickets.add(found.ticket)
        return found

    def _own(self, ticket: Ticket) -> Ticket:
        if ticket not in self._tickets:
            raise channel_errors.not_open(ticket.channel_id)
        return ticket

    def append(self, ticket: Ticket, batch: ChannelBatch) -> Appended:
        return self._channels.append(self._own(ticket), batch)

    def wait(self, ticket: Ticket, number: int, seconds: float) -> bool:
        channel, writer = self._channels.find(self._own(ticket))
        return writer.wait(channel, number, seconds)

    def flush(self, ticket: Ticket) -> None:
        self._channels.find(self._own(ticket))[1].flush()

    def status(self, ticket: Ticket) -> ChannelStatus:
        return self._channels.status(self._own(ticket))

    def statuses(self, table: str, channels: Sequence[str]) -> dict[str, ChannelStatus]:
        return self._channels.statuses(self._session, table, channels)

    def close(self, ticket: Ticket) -> None:
        self._channels.close(self._own(ticket))
        self._tickets.discard(ticket)

    def drop(self, table: str, channel: str) -> None:
        self._channels.drop(self._session, table, channel)


def _target(session: Session, name: str) -> CatalogObject:
    """The table that a client names, if the session may insert into it."""
    parts = split_name(name)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "TABLE")
    run = Run(session, SqlText(""))
    table = run.target_table(NameRef(parts))
    require_object(run, "INSERT", table)
    return table


def _check_text(name: str, token: str | None) -> None:
    if not is_name(name) or len(name) > _LONGEST_NAME:
        raise errors.invalid_value(shown(name[:_LONGEST_NAME]), "CHANNEL")
    if token is not None and (len(token) > _LONGEST_TOKEN or storable(token) != token):
        raise errors.invalid_value(shown(token[:_LONGEST_NAME]), "OFFSET_TOKEN")


def _require_owner(session: Session, table: CatalogObject, channel: ChannelState) -> None:
    """Opening a channel again takes it from whoever has it open, and dropping it forgets how far it came: that is for
    the role that made it, or for the table's owner. Nobody owns one that an older version made; whoever opens it does.
    """
    authority = session.authority
    if channel.owner in authority.roles or authority.holds("OWNERSHIP", Owned(table.id, table.owner)):
        return
    run = Run(session, SqlText(""))
    error = errors.insufficient_privileges("channel", channel.name)
    run.account.audit.denied(run, ("OWNERSHIP",), f"CHANNEL {channel.name}", error)
    run.account.audit.flush()
    raise error


def _open_channel(state: StateTransaction, table: CatalogObject, request: OpenRequest, role: str) -> ChannelState:
    """The channel with its next sequencer, made if it is new."""
    known = state.channels.named(table.id, request.channel) or ChannelState(
        id=str(uuid.uuid4()), table_id=table.id, name=request.channel, created_on=state.now, opened_on=state.now,
        owner=role,
    )  # fmt: skip
    token = (
        request.offset_token if known.row_sequencer == 0 and request.offset_token is not None else known.offset_token
    )
    current = known.model_copy(
        update={
            "client_sequencer": known.client_sequencer + 1,
            "opened_on": state.now,
            "offset_token": token,
            "owner": known.owner or role,
        }
    )  # fmt: skip
    state.channels.put(current)
    return current


def _answer(checked: CheckedRows) -> Appended:
    shown = tuple(
        RowError(item.row, item.column, item.code, item.message, item.offset_token)
        for item in checked.rejected[:_SHOWN_ERRORS]
    )
    return Appended(checked.rows, len(checked.rejected), shown)
