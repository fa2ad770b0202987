"""CREATE STREAM: what it may be on, where it begins, and change tracking for what it is on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.streams import errors as stream_errors
from snowmelt.features.streams import tracking, views
from snowmelt.features.streams.definitions import STREAM, StreamDefinition, StreamMode
from snowmelt.features.streams.offsets import definition_of
from snowmelt.features.streams.statements import CreateStream, StreamOptions
from snowmelt.runtime import cloning, schema_objects
from snowmelt.runtime.reshaping import start_change_feed
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.results import Result, kept, status
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.dynamic_model import RefreshMode
from snowmelt.state.ids import new_id
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition, TableVersion, ViewDefinition
from snowmelt.state.store import StateReader, StateTransaction
from snowmelt.state.stream_model import StreamState

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_QUERY_TYPE = "CREATE_STREAM"


def create(run: Run, statement: CreateStream) -> Result:
    full = run.object_name(statement.name, "CREATE STREAM")
    with run.state.read() as state:
        present = state.catalog.find(full, [STREAM], run.session.id)
    if present is not None and statement.or_alter:
        schema_objects.alter(run, present, {}, comment=statement.options.comment, uncomment=True)
        return status(f"Stream {quote(full.name)} successfully altered.", _QUERY_TYPE)
    if present is not None and statement.if_not_exists:
        return kept(full.name, _QUERY_TYPE)
    if statement.clone is not None:
        _clone(run, full, statement)
    else:
        assert statement.source is not None
        _create(run, full, statement, statement.source)
    return status(f"Stream {quote(full.name)} successfully created.", _QUERY_TYPE)


def _clone(run: Run, full: ObjectName, statement: CreateStream) -> None:
    assert statement.clone is not None
    if statement.clone.point is not None:
        raise errors.unsupported("CREATE STREAM … CLONE … AT", hint="A clone begins where its source stands.")
    with run.state.begin() as state:
        source = schema_objects.require(run, state, STREAM, statement.clone.name)
        standing = state.streams.require(source.id)
        item = _object(run, state, full, definition_of(source), source.comment)
        _publish(run, state, statement, item, standing.model_copy(update={"stream_id": item.id}))


def _create(run: Run, full: ObjectName, statement: CreateStream, named: NameRef) -> None:
    source = _source(run, statement, named)
    definition = StreamDefinition(
        source_id=source.id,
        source_name=source.name,
        source_type=_source_type(statement, source),
        mode=_mode(statement),
        show_initial_rows=bool(statement.options.show_initial_rows),
    )
    start = _start(run, statement, source)

    def publish(state: StateTransaction) -> None:
        if isinstance(source.definition, ViewDefinition):
            tracking.track_view(run, state, source.id)
        versions: list[TableVersion] = []
        for id, version in start.offsets.items():
            tracking.track(run, state, id)
            found = state.versions.visible(id) if version is None else state.versions.upto(id, version)
            assert found is not None
            versions.append(found)
        item = _object(run, state, full, definition, statement.options.comment)
        standing = StreamState(
            stream_id=item.id,
            offsets={found.table_id: found.version for found in versions},
            offset_at=max((found.committed_at for found in versions), default=state.now),
            initial=definition.show_initial_rows,
            renewed_at=state.now,
            fingerprint=start.fingerprint,
        )
        _publish(run, state, statement, item, standing)

    _with_change_feed(run, source, publish)


def _source_type(
    statement: CreateStream, source: CatalogObject
) -> Literal["Table", "View", "Dynamic Table", "External Table"]:
    if statement.source_word == "EXTERNAL TABLE":
        return "External Table"
    if source.kind is ObjectKind.VIEW:
        return "View"
    return "Dynamic Table" if schema_objects.is_dynamic(source) else "Table"


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a stream begins."""

    offsets: dict[str, int | None]
    """A version for every base table; None for the newest one."""
    fingerprint: str = ""


def _with_change_feed(run: Run, source: CatalogObject, publish: Callable[[StateTransaction], None]) -> None:
    """Publishes at once, or together with the commit that switches the change feed on where it was off."""
    if not isinstance(source.definition, TableDefinition) or source.definition.change_feed:
        with run.state.begin() as state:
            publish(state)
        return
    start_change_feed(run, source, run.open_for_write(source))
    run.transaction.at_commit.append(publish)


def _source(run: Run, statement: CreateStream, named: NameRef) -> CatalogObject:
    full = run.object_name(named, "CREATE STREAM")
    with run.state.read() as state:
        found = state.catalog.find(full, RELATIONS, run.session.id)
        if found is None:
            raise errors.not_found(statement.source_word.capitalize(), str(full))
        wanted = statement.source_word.replace(" ", "_")
        if wanted in ("TABLE", "EXTERNAL_TABLE") and found.kind is not ObjectKind.TABLE:
            raise errors.wrong_kind(schema_objects.shown_kind(found), "TABLE")
        if wanted in ("VIEW", "DYNAMIC_TABLE") and schema_objects.shown_kind(found) != wanted:
            raise errors.wrong_kind(schema_objects.shown_kind(found), wanted)
        if schema_objects.is_dynamic(found):
            _check_dynamic(state, found, statement.options)
    return found


def _check_dynamic(state: StateReader, table: CatalogObject, options: StreamOptions) -> None:
    if options.append_only:
        raise errors.compilation(
            "002708", "0A000", "Change tracking of type APPEND_ONLY is not supported on dynamic tables."
        )
    if state.dynamic.require(table.id).refresh_mode is RefreshMode.FULL:
        raise stream_errors.no_change_tracking_on(f"the dynamic table '{table.name}', whose refreshes are all full")


def _mode(statement: CreateStream) -> StreamMode:
    """ON EXTERNAL TABLE is for a table that other tools write: of those only insertions are promised."""
    options = statement.options
    if statement.source_word == "EXTERNAL TABLE":
        if not options.insert_only:
            raise errors.compilation(
                "002709", "0A000", "Streams on external tables need INSERT_ONLY = TRUE.",
                hint="Write ON TABLE for all changes of the table.",
            )  # fmt: skip
        return StreamMode.INSERT_ONLY
    if options.insert_only:
        raise errors.compilation(
            "002709", "0A000",
            "Streams of type INSERT_ONLY can only be created on external tables or Iceberg tables with an external "
            "catalog integration.",
        )  # fmt: skip
    return StreamMode.APPEND_ONLY if options.append_only else StreamMode.DEFAULT


def _start(run: Run, statement: CreateStream, source: CatalogObject) -> _Start:
    """The version of each base table that AT or BEFORE means, or the newest one."""
    point = cloning.time_travel(statement.point) if statement.point is not None else None
    with run.state.read() as state:
        catalog = StatementCatalog(run, state, run.session.database, run.session.schema)
        fingerprint = ""
        tables = [source]
        if source.kind is ObjectKind.VIEW:
            bound = views.bind(catalog, source, run.now, None)
            tables, fingerprint = list(bound.bound.sources.values()), bound.fingerprint
        offsets: dict[str, int | None] = {}
        for table in tables:
            assert isinstance(table.definition, TableDefinition)
            if source is not table:
                tracking.require_feed(table)
            # What other tools wrote so far is no change for a stream that begins now.
            catalog.version(table, table.definition, None)
            offsets[table.id] = catalog.version_at(table, point).version if point is not None else None
    return _Start(offsets, fingerprint)


def _object(
    run: Run, state: StateTransaction, name: ObjectName, definition: StreamDefinition, comment: str | None
) -> CatalogObject:
    return CatalogObject(
        id=new_id(), name=name, owner=run.session.role, comment=comment, created_on=state.now, altered_on=state.now,
        definition=definition,
    )  # fmt: skip


def _publish(
    run: Run, state: StateTransaction, statement: CreateStream, item: CatalogObject, standing: StreamState
) -> None:
    full = item.name
    if state.catalog.database(full.database) is None:
        raise errors.not_found("Database", quote(full.database))
    if state.catalog.schema(full.parent) is None:
        raise errors.not_found("Schema", str(full.parent))
    existing = state.catalog.find(full, [STREAM], run.session.id)
    if existing is not None:
        if not statement.or_replace:
            raise errors.already_exists(run.written(statement.name))
        state.catalog.drop(existing.id, state.now)
    state.catalog.create(item)
    state.streams.put(standing)
