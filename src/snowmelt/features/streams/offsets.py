"""Which changes a stream holds for a statement, whether it still can, and how consuming them moves its offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.streams import errors as stream_errors
from snowmelt.features.streams.definitions import StreamDefinition
from snowmelt.runtime import retention
from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.stream_windows import StreamWindow
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader, StateTransaction
from snowmelt.state.stream_model import StreamState

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def definition_of(stream: CatalogObject) -> StreamDefinition:
    assert isinstance(stream.definition, StreamDefinition)
    return stream.definition


# -- reading ----------------------------------------------------------------------------------------------------------


def window_of(catalog: StatementCatalog, stream: CatalogObject) -> StreamWindow:
    """What the statement sees of the stream. In a transaction that is the same each time: as of its beginning.

    A statement that consumes first waits for any other that does.
    """
    run = catalog.run
    # With AUTOCOMMIT off, a statement that consumes begins the session's transaction here.
    own = run.transaction if run.consumes else None
    transaction = run.session.transaction
    kept = transaction.windows.get(stream.id) if transaction is not None else None
    if own is not None:
        _take(run, own, catalog.state, stream, kept)
    if kept is None:
        kept = _window(catalog, stream, transaction)
        if transaction is not None:
            transaction.windows[stream.id] = kept
    run.streams[stream.id] = kept
    return kept


def _take(
    run: Run, own: Transaction, state: StateReader, stream: CatalogObject, kept: StreamWindow | None
) -> None:  # fmt: skip
    run.account.locks.acquire(
        stream.id, str(stream.name), own.id, run.lock_timeout, run.check_cancelled
    )  # fmt: skip
    with run.state.read() as fresh:
        current = fresh.streams.require(stream.id)
    if kept is not None:
        if not _same(current, kept.state):
            raise stream_errors.stream_consumed(str(stream.name))
    elif not _same(current, state.streams.require(stream.id)):
        # The statement's view of everything else is as old: it begins once more.
        raise stream_errors.StreamMovedError(str(stream.name))


def _window(catalog: StatementCatalog, stream: CatalogObject, transaction: Transaction | None) -> StreamWindow:
    state = catalog.state
    standing = state.streams.require(stream.id)
    check_readable(catalog.run, state, stream, standing)
    upto: dict[str, int] = {}
    instants = [standing.offset_at]
    for id, offset in standing.offsets.items():
        table = _live_table(state, stream, id)
        assert isinstance(table.definition, TableDefinition)
        if transaction is not None and transaction.snapshot_at is not None:
            seen = state.versions.as_of(id, transaction.snapshot_at)
            version = seen.version if seen is not None else offset
        else:
            version = catalog.version(table, table.definition, None)
        # Another transaction may have consumed beyond what this one sees: then there is nothing left for it.
        upto[id] = max(version, offset)
        known = state.versions.upto(id, upto[id])
        if known is not None:
            instants.append(known.committed_at)
    return StreamWindow(stream, standing, upto, max(instants))


def _live_table(state: StateReader, stream: CatalogObject, id: str) -> CatalogObject:
    table = state.catalog.by_id(id)
    if table is None or table.dropped_on is not None:
        name = table.name.name if table is not None else definition_of(stream).source_name.name
        raise stream_errors.stream_base_dropped("TABLE", name)
    return table


# -- consuming --------------------------------------------------------------------------------------------------------


def consume(run: Run) -> None:
    """What the statement read is consumed when its transaction commits, and not before."""
    if not run.consumes or not run.streams:
        return
    windows = tuple(run.streams.values())
    run.transaction.at_commit.append(lambda state: advance(state, windows))


def advance(state: StateTransaction, windows: Iterable[StreamWindow]) -> None:
    """Moves the offsets. Raises when somebody else did since they were read: no row is delivered twice."""
    for window in windows:
        stream = state.catalog.by_id(window.stream.id)
        if stream is None or stream.dropped_on is not None:
            raise errors.not_found("Stream", str(window.stream.name))
        current, after = state.streams.require(stream.id), window.consumed
        if _same(current, after):
            continue  # by an earlier statement of this transaction
        if not _same(current, window.state):
            raise stream_errors.StreamMovedError(str(stream.name))
        state.streams.put(after.model_copy(update={"renewed_at": state.now}))


def _same(one: StreamState, other: StreamState) -> bool:
    """Whether the same changes are consumed."""
    return (one.offsets, one.initial, one.fingerprint) == (other.offsets, other.initial, other.fingerprint)


# -- how long it can be read ------------------------------------------------------------------------------------------


def check_readable(run: Run, state: StateReader, stream: CatalogObject, standing: StreamState) -> None:
    reason = invalid_reason(state, stream)
    if reason is not None:
        raise stream_errors.stream_base_dropped(*reason)
    if run.now >= stale_after(run.account.parameters, state, standing):
        raise stream_errors.stream_stale(str(stream.name))


def invalid_reason(state: StateReader, stream: CatalogObject) -> tuple[str, str] | None:
    """Kind and name of a source that is gone. A source of the same name made later is another one."""
    definition = definition_of(stream)
    source = state.catalog.by_id(definition.source_id)
    if source is None or source.dropped_on is not None:
        kind = definition.source_type.upper()
        return kind, (source.name if source is not None else definition.source_name).name
    return None


def stale_after(account: Mapping[str, str | int | bool], state: StateReader, standing: StreamState) -> datetime:
    """Until when the changes after the offset are kept: for the retention of the tables, extended for streams.

    `account`: what ALTER ACCOUNT has set.
    """
    return standing.renewed_at + retention.extended(state, standing.offsets, account)
