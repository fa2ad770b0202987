"""OpenLineage events: of refreshes, runs of tasks, loads, queries, and of what channels and connectors bring."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.config import OpenLineageSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.core.properties import read_properties
from snowmelt.features.channels.events import ChannelEvents
from snowmelt.features.connectors.definitions import ConnectorState
from snowmelt.features.connectors.events import ConnectorEvents
from snowmelt.features.lineage.catalog import dataset_of
from snowmelt.features.lineage.outside import from_channel, from_connector
from snowmelt.features.lineage.service import Lineage
from snowmelt.features.lineage.written import WrittenTables
from snowmelt.govern.lineage.emitting import Build, Emitter, EventSink, FileSink, HttpSink, LineagePulse
from snowmelt.govern.lineage.graph import Dataset, Edge
from snowmelt.govern.lineage.openlineage import Assertion, EventType, JobRun, Known, RunFacts, WrittenDataset, event
from snowmelt.runtime.results import Result
from snowmelt.runtime.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import CatalogObject, ObjectKind, QueryRecord, TableDefinition, ViewDefinition
from snowmelt.state.quality_model import QualityCheck, QualityResult, ResultStatus
from snowmelt.state.store import StateReader
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session

_REFRESH = "REFRESH_DYNAMIC_TABLE_AT_REFRESH_VERSION"
_SELECT = "SELECT"
_KINDS = {
    "INSERT": "QUERY", "UPDATE": "QUERY", "DELETE": "QUERY", "MERGE": "QUERY", "CREATE_TABLE_AS_SELECT": "QUERY",
    "TRUNCATE_TABLE": "QUERY", "COPY": "LOAD", "UNLOAD": "UNLOAD", _REFRESH: "REFRESH", _SELECT: "QUERY",
}  # fmt: skip
_ONLY_IF_ROWS = frozenset({"CREATE_TABLE", "CREATE_DYNAMIC_TABLE", "ALTER_TABLE"})
"""Definitions that may write rows: a clone, a first refresh, a replay of quarantine. Told when they did."""
_NO_TEXT = SqlText("")
_LAST_EVENTS = 5.0
"""Seconds that the last events have when the account is closed."""


class RunEvents:
    """Does nothing unless `[openlineage]` says where events go."""

    def __init__(self, account: Account) -> None:
        self._account = account
        settings = account.settings.openlineage
        self._going_on: dict[str, JobRun] = {}
        self.written = WrittenTables(account.store)
        self._namespace = settings.namespace if settings is not None else ""
        self.emitter: Emitter | None = None
        if settings is not None:
            pulse = LineagePulse(settings.running_seconds, self._running)
            self.emitter = Emitter(_sink(settings, account.data_dir), settings.queue, pulse)
        self._subscribe()

    def _subscribe(self) -> None:
        events, services = self._account.events, self._account.services
        events.statement_started.subscribe(self.started)
        events.statement_finished.subscribe(self.finished)
        events.statement_failed.subscribe(self.failed)
        events.table_written.subscribe(self.wrote)
        events.table_reverted.subscribe(self.took_back)
        events.checks_ended.subscribe(self.checked)
        services[ChannelEvents].committing.subscribe(self.of_channels)
        services[ConnectorEvents].landing.subscribe(self.of_connector)

    def close(self) -> None:
        if self.emitter is not None:
            self.emitter.close(_LAST_EVENTS)

    # -- statements -----------------------------------------------------------------------------------------------

    def started(self, run: Run, record: QueryRecord) -> None:
        self._teller(run, record)(EventType.START, RunFacts())

    def finished(self, run: Run, record: QueryRecord, result: Result) -> None:
        """A statement inside BEGIN … COMMIT has written nothing yet that anybody sees: it ends with its transaction."""
        if self.emitter is None:
            return
        if record.query_type in _ONLY_IF_ROWS and (run.session.task is None or run.outer is not None):
            self._tell_afterwards(run, record)
            return
        tell, query_id = self._teller(run, record), run.query_id
        rows = result.rows_affected if record.query_type not in (_REFRESH, _SELECT) else None
        unloaded = _unloaded(result) if record.query_type == "UNLOAD" else None
        read = [dataset_of(item) for item in run.named.values()]
        outcome = RunFacts(run.lineage, inputs=read)

        def complete() -> None:
            tell(EventType.COMPLETE, self._with_written(query_id, outcome, rows, unloaded))

        transaction = run.session.transaction
        if transaction is None or record.query_type == _SELECT:
            complete()
            return

        def undone(cause: BaseException | None) -> None:
            self.written.taken(query_id)
            if isinstance(cause, SnowmeltError):
                tell(EventType.FAIL, replace(outcome, error=cause.text))
            else:
                tell(EventType.ABORT, outcome)

        transaction.after_commit.append(complete)
        transaction.after_rollback.append(undone)

    def _tell_afterwards(self, run: Run, record: QueryRecord) -> None:
        """A definition that wrote rows: both its events. One that did not has none."""
        outcome = RunFacts(run.lineage, inputs=[dataset_of(item) for item in run.named.values()])
        found = self._with_written(run.query_id, outcome)
        if any(written.rows for written in found.written.values()):
            tell = self._teller(run, record, kind="QUERY")
            tell(EventType.START, RunFacts())
            tell(EventType.COMPLETE, found)

    def failed(self, run: Run, record: QueryRecord, error: SnowmeltError) -> None:
        self.written.taken(run.query_id)
        self._teller(run, record)(EventType.FAIL, RunFacts(run.lineage, error=error.text))

    # -- what was written -----------------------------------------------------------------------------------------

    def wrote(self, query_id: str | None, table: CatalogObject, before: int, result: CommitResult) -> None:
        """A statement made a commit to a table; nobody may see it yet."""
        if self.emitter is not None and query_id is not None:
            self.written.wrote(query_id, table, before, result)

    def took_back(self, query_id: str | None, table: CatalogObject) -> None:
        if self.emitter is not None and query_id is not None:
            self.written.took_back(query_id, table.id)

    def _with_written(
        self, query_id: str, outcome: RunFacts, affected: int | None = None, unloaded: WrittenDataset | None = None
    ) -> RunFacts:
        """With how much went where. What a statement read of its own target to change it is no input by itself."""
        found = self.written.taken(query_id)
        targets = [dataset_of(table) for table, _ in found]
        written = {table.id: size for table, size in found}
        if unloaded is not None:
            written |= {edge.target.id: unloaded for edge in outcome.edges}
        if affected is not None and found:
            first = found[0][0].id
            written[first] = replace(written[first], rows=affected)
        read = [item for item in outcome.inputs if item.id not in written]
        return replace(outcome, targets=targets, written=written, inputs=read)

    def _teller(self, run: Run, record: QueryRecord, kind: str | None = None) -> Callable[[EventType, RunFacts], None]:
        """What says how a statement goes. It does not hold the run itself, which has the rows that were read."""
        job = self._job(run, record, kind) if self.emitter is not None else None
        session, refreshes, started = run.session, run.refreshes, record.start_time

        def tell(type_: EventType, outcome: RunFacts) -> None:
            if job is None:
                return
            at = self._account.clock.now() if type_ is not EventType.START else started

            def build() -> dict[str, Any]:
                found = outcome if type_ is EventType.START else self._completed(session, refreshes, outcome)
                return event(self._namespace, type_, at, job, found)

            self._offer(job, type_, build)

        return tell

    def _offer(self, job: JobRun, type_: EventType, build: Build) -> None:
        if type_ is EventType.START:
            self._going_on[job.id] = job
        else:
            self._going_on.pop(job.id, None)
        if self.emitter is not None:
            self.emitter.offer(build)

    def _running(self) -> Iterable[Build]:
        """An event for each run that is not done."""
        for job in list(self._going_on.values()):
            yield partial(event, self._namespace, EventType.RUNNING, self._account.clock.now(), job)

    def _job(self, run: Run, record: QueryRecord, known: str | None) -> JobRun | None:
        """What the statement is a run of; None for one that neither reads nor writes rows."""
        kind = known or _KINDS.get(record.query_type)
        task = run.session.task
        if task is not None and run.outer is None:
            return JobRun(run.query_id, str(task.name), "TASK", record.text)
        if kind is None:
            return None
        parent = None
        if run.outer is not None:
            above = str(task.name) if task is not None else _name_of(run.outer.sql.text)
            parent = (run.outer.query_id, above)
        if run.refreshes is not None:
            return JobRun(run.query_id, str(run.refreshes), kind, parent=parent)
        return JobRun(run.query_id, _name_of(record.text), kind, record.text, parent)

    def _completed(self, session: Session, refreshes: ObjectName | None, outcome: RunFacts) -> RunFacts:
        """With what the catalog says of the datasets: looked up when the event is sent, not by the statement."""
        with self._account.state.read() as state:
            edges: tuple[Edge, ...] = tuple(outcome.edges)
            targets = tuple(outcome.targets)
            if refreshes is not None:
                found = state.catalog.find(refreshes, [ObjectKind.TABLE])
                if found is not None:
                    targets = (dataset_of(found), *targets)
                    edges = tuple(self._account.services[Lineage].of_definition(Run(session, _NO_TEXT), state, found))
            return _with_known(state, replace(outcome, edges=edges, targets=targets))

    # -- what comes by itself -------------------------------------------------------------------------------------

    def of_channels(
        self, run: Run, table: CatalogObject, channels: Sequence[ChannelState], rows: int
    ) -> AbstractContextManager[None]:
        """Around one commit of rows that channels took."""
        job = JobRun(run.query_id, f"channels.{table.name}", "LOAD", streaming=True)
        return self._arrival(job, lambda _: [from_channel(table, channel) for channel in channels], rows)

    def of_connector(
        self, id: str, connector: CatalogObject, standing: ConnectorState, tables: Set[str]
    ) -> AbstractContextManager[None]:
        """Around the landing of changes to some of the source's tables, if there are any. `id` is the run's: a UUID."""

        def edges(state: StateReader) -> list[Edge]:
            objects = {item.id: item for item in state.catalog.objects([ObjectKind.TABLE])}
            return list(from_connector(connector, standing, objects, sorted(tables)))

        if not tables:
            return nullcontext()
        return self._arrival(JobRun(id, str(connector.name), "LOAD", streaming=True), edges)

    # -- quality --------------------------------------------------------------------------------------------------

    def checked(self, table: CatalogObject, results: Sequence[QualityResult]) -> None:
        """What the checks of a table said: a run of its own, inside the one whose rows they looked at."""
        if self.emitter is None or not results:
            return
        around = self._going_on.get(results[0].query_id or "")
        parent = (around.id, around.job) if around is not None else None
        job = JobRun(str(uuid.uuid4()), f"quality.{table.name}", "QUALITY", parent=parent)
        columns = {check.name: check.columns for check in _checks(table)}
        said = [_assertion(result, columns.get(result.check, ())) for result in results]
        at = self._account.clock.now()
        outcome = RunFacts(inputs=[dataset_of(table)], assertions=said)

        def build() -> dict[str, Any]:
            with self._account.state.read() as state:
                return event(self._namespace, EventType.COMPLETE, at, job, _with_known(state, outcome))

        self._offer(job, EventType.START, partial(event, self._namespace, EventType.START, at, job))
        self._offer(job, EventType.COMPLETE, build)

    @contextmanager
    def _arrival(
        self, job: JobRun, edges: Callable[[StateReader], list[Edge]], rows: int | None = None
    ) -> Iterator[None]:
        if self.emitter is None:
            yield
            return

        def tell(type_: EventType, error: str | None = None) -> None:
            at = self._account.clock.now()

            def build() -> dict[str, Any]:
                if type_ is EventType.START:
                    return event(self._namespace, type_, at, job)
                with self._account.state.read() as state:
                    made, written = edges(state), {}
                    if rows is not None and type_ is EventType.COMPLETE:
                        sizes = {table.id: size for table, size in self.written.taken(job.id)}
                        written = {edge.target.id: WrittenDataset(rows) for edge in made} | sizes
                    found = _with_known(state, RunFacts(made, written=written, error=error))
                return event(self._namespace, type_, at, job, found)

            self._offer(job, type_, build)

        tell(EventType.START)
        try:
            yield
        except errors.StatementConflictError:
            # Nothing of it remains, and it is tried again: as another run.
            tell(EventType.ABORT)
            raise
        except SnowmeltError as error:
            tell(EventType.FAIL, error.text)
            raise
        except BaseException:
            tell(EventType.ABORT)
            raise
        tell(EventType.COMPLETE)


def _unloaded(result: Result) -> WrittenDataset:
    """What COPY INTO a stage says of itself: rows, bytes read, and bytes written."""
    found = result.rows()
    return WrittenDataset(sum(int(row[0]) for row in found), sum(int(row[2]) for row in found))


def _checks(table: CatalogObject) -> Sequence[QualityCheck]:
    return table.definition.quality if isinstance(table.definition, TableDefinition) else ()


def _assertion(result: QualityResult, columns: Sequence[str]) -> Assertion:
    return Assertion(
        result.check,
        result.kind,
        result.status is ResultStatus.PASSED,
        columns[0] if len(columns) == 1 else None,
        result.severity.lower(),
        f"{result.value:g}" if result.value is not None else None,
    )


def _with_known(state: StateReader, outcome: RunFacts) -> RunFacts:
    """With what the catalog says of the datasets."""
    datasets = [dataset for edge in outcome.edges for dataset in (edge.source, edge.target)]
    datasets += [*outcome.inputs, *outcome.targets]
    return replace(outcome, known=dict(_known(state, datasets)))


def _name_of(text: str) -> str:
    """The same for the same statement, whenever it runs."""
    return f"statement.{hashlib.sha256(' '.join(text.split()).encode()).hexdigest()[:16]}"


def _known(state: StateReader, datasets: Iterable[Dataset]) -> Iterable[tuple[str, Known]]:
    for dataset in datasets:
        found = state.catalog.by_id(dataset.id)
        if found is None or not isinstance(found.definition, TableDefinition | ViewDefinition):
            continue
        columns = [(column.name, str(column.type)) for column in found.definition.columns]
        version = state.versions.visible(found.id)
        rows, size = (version.rows, version.bytes) if version is not None else (None, None)
        yield dataset.id, Known(columns, rows, size)


def _sink(settings: OpenLineageSettings, data_dir: Path) -> EventSink:
    if settings.url is not None:
        token = os.environ.get(settings.token_env) if settings.token_env is not None else None
        return HttpSink(settings.url, settings.timeout_seconds, token)
    if settings.kafka is not None:
        return _kafka_sink(settings, settings.kafka)
    assert settings.file is not None
    return FileSink(data_dir / settings.file)


def _kafka_sink(settings: OpenLineageSettings, servers: str) -> EventSink:
    try:
        module = import_module("snowmelt.govern.lineage.kafka")
    except ModuleNotFoundError:
        raise errors.configuration(
            "Events to Kafka need the package confluent-kafka: install snowmelt[kafka]."
        ) from None
    file = settings.kafka_properties_file
    properties = read_properties(Path(file).expanduser()) if file is not None else {}
    sink: EventSink = module.KafkaSink(servers, settings.topic, settings.timeout_seconds, properties)
    return sink
