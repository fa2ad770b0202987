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
from snowmelt.govern.lineage.emitting import Build, Emitter, FileSink, HttpSink, Pulse, Sink
from snowmelt.govern.lineage.graph import Dataset, Edge
from snowmelt.govern.lineage.openlineage import Assertion, EventType, JobRun, Known, Outcome, event
from snowmelt.service.lineage.catalog import dataset_of
from snowmelt.service.lineage.outside import from_channel, from_connector
from snowmelt.service.results import Result
from snowmelt.service.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.connector_model import ConnectorState
from snowmelt.state.model import CatalogObject, ObjectKind, QueryRecord, TableDefinition, ViewDefinition
from snowmelt.state.quality_model import QualityCheck, QualityResult, ResultStatus
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.account import Account
    from snowmelt.service.session import Session

_REFRESH = "REFRESH_DYNAMIC_TABLE_AT_REFRESH_VERSION"
_SELECT = "SELECT"
_KINDS = {
    "INSERT": "QUERY", "UPDATE": "QUERY", "DELETE": "QUERY", "MERGE": "QUERY", "CREATE_TABLE_AS_SELECT": "QUERY",
    "COPY": "LOAD", "UNLOAD": "UNLOAD", _REFRESH: "REFRESH", _SELECT: "QUERY",
}  # fmt: skip
_NO_TEXT = SqlText("")
_LAST_EVENTS = 5.0
"""Seconds that the last events have when the account is closed."""


class RunEvents:
    """Does nothing unless `[openlineage]` says where events go."""

    def __init__(self, account: Account) -> None:
        self._account = account
        settings = account.settings.openlineage
        self._going_on: dict[str, JobRun] = {}
        self._namespace = settings.namespace if settings is not None else ""
        self.emitter: Emitter | None = None
        if settings is not None:
            pulse = Pulse(settings.running_seconds, self._running)
            self.emitter = Emitter(_sink(settings, account.data_dir), settings.queue, pulse)

    def close(self) -> None:
        if self.emitter is not None:
            self.emitter.close(_LAST_EVENTS)

    # -- statements -----------------------------------------------------------------------------------------------

    def started(self, run: Run, record: QueryRecord) -> None:
        self._teller(run, record)(EventType.START, Outcome())

    def finished(self, run: Run, record: QueryRecord, result: Result) -> None:
        """A statement inside BEGIN … COMMIT has written nothing yet that anybody sees: it ends with its transaction."""
        if self.emitter is None:
            return
        rows = result.rows_affected if record.query_type not in (_REFRESH, _SELECT) else None
        inputs = [dataset_of(item) for item in run.named.values()] if record.query_type == _SELECT else ()
        outcome = Outcome(run.lineage, rows_written=rows, inputs=inputs)
        tell = self._teller(run, record)
        transaction = run.session.transaction
        if transaction is None or record.query_type == _SELECT:
            tell(EventType.COMPLETE, outcome)
            return

        def undone(cause: BaseException | None) -> None:
            if isinstance(cause, SnowmeltError):
                tell(EventType.FAIL, replace(outcome, rows_written=None, error=cause.text))
            else:
                tell(EventType.ABORT, replace(outcome, rows_written=None))

        transaction.after_commit.append(lambda: tell(EventType.COMPLETE, outcome))
        transaction.after_rollback.append(undone)

    def failed(self, run: Run, record: QueryRecord, error: SnowmeltError) -> None:
        self._teller(run, record)(EventType.FAIL, Outcome(run.lineage, error=error.text))

    def _teller(self, run: Run, record: QueryRecord) -> Callable[[EventType, Outcome], None]:
        """What says how a statement goes. It does not hold the run itself, which has the rows that were read."""
        job = self._job(run, record) if self.emitter is not None else None
        session, refreshes, started = run.session, run.refreshes, record.start_time

        def tell(type_: EventType, outcome: Outcome) -> None:
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

    def _job(self, run: Run, record: QueryRecord) -> JobRun | None:
        """What the statement is a run of; None for one that neither reads nor writes rows."""
        kind = _KINDS.get(record.query_type)
        task = run.session.task
        if task is not None and run.outer is None:
            return JobRun(run.query_id, str(task.run.name), "TASK", record.text)
        if kind is None:
            return None
        parent = None
        if run.outer is not None:
            above = str(task.run.name) if task is not None else _name_of(run.outer.sql.text)
            parent = (run.outer.query_id, above)
        if run.refreshes is not None:
            return JobRun(run.query_id, str(run.refreshes), kind, parent=parent)
        return JobRun(run.query_id, _name_of(record.text), kind, record.text, parent)

    def _completed(self, session: Session, refreshes: ObjectName | None, outcome: Outcome) -> Outcome:
        """With what the catalog says of the datasets: looked up when the event is sent, not by the statement."""
        with self._account.state.read() as state:
            edges: tuple[Edge, ...] = tuple(outcome.edges)
            target: Dataset | None = None
            if refreshes is not None:
                found = state.catalog.find(refreshes, [ObjectKind.TABLE])
                if found is not None:
                    target = dataset_of(found)
                    edges = tuple(self._account.lineage.of_definition(Run(session, _NO_TEXT), state, found))
            return _with_known(state, replace(outcome, edges=edges, target=target))

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
        outcome = Outcome(inputs=[dataset_of(table)], assertions=said)

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
                    written = rows if type_ is EventType.COMPLETE else None
                    found = _with_known(state, Outcome(edges(state), rows_written=written, error=error))
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


def _with_known(state: StateReader, outcome: Outcome) -> Outcome:
    """With what the catalog says of the datasets."""
    datasets = [dataset for edge in outcome.edges for dataset in (edge.source, edge.target)]
    datasets += [*outcome.inputs, *([outcome.target] if outcome.target is not None else [])]
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


def _sink(settings: OpenLineageSettings, data_dir: Path) -> Sink:
    if settings.url is not None:
        token = os.environ.get(settings.token_env) if settings.token_env is not None else None
        return HttpSink(settings.url, settings.timeout_seconds, token)
    if settings.kafka is not None:
        return _kafka_sink(settings, settings.kafka)
    assert settings.file is not None
    return FileSink(data_dir / settings.file)


def _kafka_sink(settings: OpenLineageSettings, servers: str) -> Sink:
    try:
        module = import_module("snowmelt.govern.lineage.kafka")
    except ModuleNotFoundError:
        raise errors.configuration(
            "Events to Kafka need the package confluent-kafka: install snowmelt[kafka]."
        ) from None
    file = settings.kafka_properties_file
    properties = read_properties(Path(file).expanduser()) if file is not None else {}
    sink: Sink = module.KafkaSink(servers, settings.topic, settings.timeout_seconds, properties)
    return sink
