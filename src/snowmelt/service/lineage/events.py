"""OpenLineage events of everything that writes: refreshes, runs of tasks, loads, and other statements."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
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
from snowmelt.govern.lineage.openlineage import EventType, JobRun, Known, Outcome, event
from snowmelt.service.lineage.catalog import dataset_of
from snowmelt.service.results import Result
from snowmelt.service.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import ObjectKind, QueryRecord, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.account import Account
    from snowmelt.service.session import Session

_REFRESH = "REFRESH_DYNAMIC_TABLE_AT_REFRESH_VERSION"
_KINDS = {
    "INSERT": "QUERY", "UPDATE": "QUERY", "DELETE": "QUERY", "MERGE": "QUERY", "CREATE_TABLE_AS_SELECT": "QUERY",
    "COPY": "LOAD", "UNLOAD": "UNLOAD", _REFRESH: "REFRESH",
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

    def started(self, run: Run, record: QueryRecord) -> None:
        self._emit(run, record, EventType.START, Outcome())

    def finished(self, run: Run, record: QueryRecord, result: Result) -> None:
        rows = result.rows_affected if record.query_type != _REFRESH else None
        self._emit(run, record, EventType.COMPLETE, Outcome(run.lineage, rows_written=rows))

    def failed(self, run: Run, record: QueryRecord, error: SnowmeltError) -> None:
        self._emit(run, record, EventType.FAIL, Outcome(run.lineage, error=error.text))

    def _emit(self, run: Run, record: QueryRecord, type_: EventType, outcome: Outcome) -> None:
        job = self._job(run, record) if self.emitter is not None else None
        if self.emitter is None or job is None:
            return
        if type_ is EventType.START:
            self._going_on[job.id] = job
        else:
            self._going_on.pop(job.id, None)
        at = self._account.clock.now() if type_ is not EventType.START else record.start_time
        # Not the run itself: it holds the rows that the statement read.
        session, refreshes = run.session, run.refreshes

        def build() -> dict[str, Any]:
            found = outcome if type_ is EventType.START else self._completed(session, refreshes, outcome)
            return event(self._namespace, type_, at, job, found)

        self.emitter.offer(build)

    def _running(self) -> Iterable[Build]:
        """An event for each run that is not done."""
        for job in list(self._going_on.values()):
            yield partial(event, self._namespace, EventType.RUNNING, self._account.clock.now(), job)

    def _job(self, run: Run, record: QueryRecord) -> JobRun | None:
        """What the statement is a run of; None for one that writes nothing."""
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
                    edges = tuple(self._account.lineage.definitions.edges(Run(session, _NO_TEXT), state, found))
            datasets = [dataset for edge in edges for dataset in (edge.source, edge.target)]
            known = dict(_known(state, [*datasets, *([target] if target is not None else [])]))
        return Outcome(edges, target, outcome.rows_written, outcome.error, known)


def _name_of(text: str) -> str:
    """The same for the same statement, whenever it runs."""
    return f"statement.{hashlib.sha256(' '.join(text.split()).encode()).hexdigest()[:16]}"


def _known(state: StateReader, datasets: Iterable[Dataset]) -> Iterable[tuple[str, Known]]:
    for dataset in datasets:
        found = state.catalog.by_id(dataset.object_id)
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
