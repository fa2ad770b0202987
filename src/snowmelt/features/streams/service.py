"""What others ask of an account's streams: binding, statements that consume, and SYSTEM$ functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.features.streams import errors as stream_errors
from snowmelt.features.streams import offsets, tracking
from snowmelt.features.streams.changes import METADATA_COLUMNS, TableChanges
from snowmelt.features.streams.definitions import STREAM, StreamMode
from snowmelt.features.streams.views import ViewChanges, changes_of_view
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.rights.enforcement import is_hidden
from snowmelt.runtime.stream_windows import StreamWindow
from snowmelt.sql.relations import ChangeSpan, Relation, RelationColumn, TimeTravel
from snowmelt.state.model import CatalogObject, TableDefinition, TableVersion, ViewDefinition
from snowmelt.state.store import StateReader, StateTransaction
from snowmelt.state.stream_model import StreamState

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_RENEWED_EVERY = timedelta(hours=1)
"""How old a stream's last sign of life may be before an empty one gets another: asking often must not write often."""


class Streams:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._oldest: dict[str, tuple[tuple[StreamState, dict[str, int]], datetime | None]] = {}
        """By stream, when its oldest change was committed, with the offset and the versions that this was found for."""

    # -- reading --------------------------------------------------------------------------------------------------

    def relation(self, catalog: StatementCatalog, stream: CatalogObject) -> Relation:
        """The stream as the statement sees it."""
        definition = offsets.definition_of(stream)
        source = catalog.state.catalog.by_id(definition.source_id)
        assert source is not None
        _require_source(catalog, stream, source)
        window = offsets.window_of(catalog, stream)
        inserts = definition.mode is not StreamMode.DEFAULT
        standing = window.state
        changes: TableChanges | ViewChanges
        if definition.source_type == "View":
            changes = ViewChanges(
                catalog, source, standing.offsets, standing.offset_at, window.upto, window.upto_at,
                standing.fingerprint, inserts,
            )  # fmt: skip
        else:
            offset = standing.offsets[source.id]
            upto = offset if standing.initial else window.upto[source.id]
            changes = TableChanges(catalog, source, offset, upto, inserts)
        relation = _relation(stream, *changes.read(initial=standing.initial))
        # A view's query was bound with its policies, and with those of what it reads.
        return relation if definition.source_type == "View" else catalog.guarded(source, relation)

    def changes(self, catalog: StatementCatalog, source: CatalogObject, span: ChangeSpan) -> Relation:
        """FROM t CHANGES (…)."""
        definition = source.definition
        if not isinstance(definition, TableDefinition | ViewDefinition):
            raise errors.unsupported("CHANGES on a stream", hint="Ask for the changes of its table.")
        if not definition.change_tracking:
            raise errors.change_tracking_missing(str(source.name))
        if isinstance(definition, ViewDefinition):
            return _relation(source, *changes_of_view(catalog, source, span).read())
        after = catalog.version_at(source, span.start).version
        upto = catalog.version(source, definition, span.end)
        changes = TableChanges(catalog, source, after, max(after, upto), span.append_only)
        return catalog.guarded(source, _relation(source, *changes.read()))

    def version_at(self, catalog: StatementCatalog, table: CatalogObject, when: TimeTravel) -> TableVersion | None:
        """AT (STREAM => …): up to where the stream has consumed the table; BEFORE is the same."""
        value = catalog.run.evaluate(when.expression).value
        if value is None:
            raise errors.compilation("001007", "22023", "Time travel AT(STREAM => _) expected a stream name, got NULL.")
        parts = split_name(str(value))
        stream = None
        if parts is not None and len(parts) <= 3:
            stream = catalog.state.catalog.find(catalog.full_name(parts), [STREAM], catalog.run.session.id)
        if stream is None:
            raise errors.compilation("002003", "02000", f"Stream '{value}' not found.")
        standing = catalog.state.streams.require(stream.id)
        if table.id in standing.offsets:
            return catalog.state.versions.upto(table.id, standing.offsets[table.id])
        return catalog.state.versions.as_of(table.id, standing.offset_at)

    def advance(self, state: StateTransaction, windows: Sequence[StreamWindow]) -> None:
        offsets.advance(state, windows)

    def tables_behind(self, run: Run, name: ObjectName, view: ViewDefinition) -> list[str]:
        return tracking.tables_behind(run, name, view)

    def track_all(self, run: Run, table_ids: list[str]) -> None:
        tracking.track_all(run, table_ids)

    # -- SYSTEM$ functions ----------------------------------------------------------------------------------------

    def has_data(self, run: Run, state: StateReader, name: str) -> bool:
        """SYSTEM$STREAM_HAS_DATA: true when a commit since the offset touched rows, even if they are the same again.

        Looks at the state store and the log, and starts nothing.
        """
        stream = find(run, state, name)
        standing = state.streams.require(stream.id)
        offsets.check_readable(run, state, stream, standing)
        found = any(self._has_changes(run, state, id, standing) for id in standing.offsets)
        if not found and run.now - standing.renewed_at >= _RENEWED_EVERY:
            self._renew(stream.id)
        return found

    def _has_changes(self, run: Run, state: StateReader, id: str, standing: StreamState) -> bool:
        table = state.catalog.by_id(id)
        if table is None or not isinstance(table.definition, TableDefinition):
            raise stream_errors.stream_base_dropped("TABLE", id)
        offset = standing.offsets[id]
        if standing.initial:
            known = state.versions.upto(id, offset)
            return known is None or known.rows > 0
        catalog = StatementCatalog(run, state, None, None)
        version = catalog.version(table, table.definition, None)
        return any(self._changing_versions(state, table.id, table.definition, offset, version))

    def _changing_versions(
        self, state: StateReader, id: str, definition: TableDefinition, after: int, upto: int
    ) -> Iterator[int]:
        """The versions behind `after` whose commits touched rows, ascending. Never 0, which nothing comes before."""
        for first, last in state.versions.change_ranges(id, after, upto):
            for each in range(first, last + 1):
                if any(
                    commit.data_change for commit in self._account.store.commits(definition.location, each - 1, each)
                ):
                    yield each

    def oldest_change(self, state: StateReader, standing: StreamState) -> datetime | None:
        """When the oldest change was committed that the stream holds; None when it holds none that is visible.

        Monitors ask often: the log is read only when something has changed since the last time.
        """
        seen = {id: version.version for id, version in state.versions.snapshot(list(standing.offsets)).items()}
        kept = self._oldest.get(standing.stream_id)
        if kept is None or kept[0] != (standing, seen):
            kept = self._oldest[standing.stream_id] = ((standing, seen), self._oldest_change(state, standing))
        return kept[1]

    def _oldest_change(self, state: StateReader, standing: StreamState) -> datetime | None:
        found: list[datetime] = []
        for id, offset in standing.offsets.items():
            table, visible = state.catalog.by_id(id), state.versions.visible(id)
            if table is None or visible is None or not isinstance(table.definition, TableDefinition):
                continue
            if standing.initial and visible.rows:
                found.append(standing.offset_at)
            first = next(self._changing_versions(state, id, table.definition, offset, visible.version), None)
            made = state.versions.upto(id, first) if first is not None else None
            if made is not None:
                found.append(made.committed_at)
        return min(found, default=None)

    def _renew(self, stream_id: str) -> None:
        """An empty stream can lose no change: it stays readable for another such period."""
        with self._account.state.begin() as state:
            state.streams.put(state.streams.require(stream_id).model_copy(update={"renewed_at": state.now}))

    def table_timestamp(self, run: Run, state: StateReader, name: str) -> datetime:
        """SYSTEM$STREAM_GET_TABLE_TIMESTAMP: when the version was made at which the stream stands."""
        stream = find(run, state, name)
        if offsets.definition_of(stream).source_type == "View":
            raise errors.unsupported("SYSTEM$STREAM_GET_TABLE_TIMESTAMP for a stream on a view")
        ((id, offset),) = state.streams.require(stream.id).offsets.items()
        known = state.versions.upto(id, offset)
        return known.committed_at if known is not None else stream.created_on


def find(run: Run, state: StateReader, name: str) -> CatalogObject:
    """The stream that a function's argument names."""
    parts = split_name(name)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "stream_name")
    full = run.object_name(parts, "this function")
    found = state.catalog.find(full, [STREAM], run.session.id)
    if found is None:
        raise errors.not_found("Stream", str(full))
    return found


def _require_source(catalog: StatementCatalog, stream: CatalogObject, source: CatalogObject) -> None:
    """A stream asks for SELECT on what it is on; who may not know of that is not told its name."""
    if is_hidden(catalog.state, source, catalog.run.session.id):
        raise errors.not_found("Object", str(stream.name))
    catalog.require("SELECT", source)


def _relation(named: CatalogObject, columns: tuple[RelationColumn, ...], query: exp.Query) -> Relation:
    return Relation(name=str(named.name), columns=(*columns, *METADATA_COLUMNS), query=query)
