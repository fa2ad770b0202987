"""OpenLineage events (version 2-0-2) as JSON. Tests hold them to the models of the standard's own client."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from snowmelt.core.version import VERSION
from snowmelt.govern.lineage.flows import Influence
from snowmelt.govern.lineage.graph import Dataset, Edge

Json = dict[str, Any]

_SPEC = "https://openlineage.io/spec"
_EVENT_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_VERSIONS = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "DataQualityAssertionsDatasetFacet": "1-1-0",
    "DataQualityMetricsDatasetFacet": "1-0-1",
    "ErrorMessageRunFacet": "1-0-1",
    "JobTypeJobFacet": "2-0-4",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
}
_PRODUCER = f"urn:snowmelt:{VERSION}"


class EventType(StrEnum):
    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    """What it wrote was rolled back."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job: a refresh, a task's run, a load, a commit of a channel or connector, or another statement."""

    id: str
    """A UUID: the query id."""
    job: str
    kind: str
    """REFRESH, TASK, LOAD, QUERY."""
    sql: str | None = None
    parent: tuple[str, str] | None = None
    """Id and job of the run that this one is a part of."""
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a dataset beside its name."""

    columns: Sequence[tuple[str, str]] = ()
    """Names and types."""
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a quality check said."""

    name: str
    kind: str
    success: bool
    column: str | None = None
    """The column, if the check is about one column."""
    severity: str | None = None
    actual: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """What a run wrote to one dataset."""

    rows: int
    bytes: int | None = None
    files: int | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    edges: Sequence[Edge] = ()
    targets: Sequence[Dataset] = ()
    """What was written beside the targets of edges: from constants, or by a condition alone."""
    inputs: Sequence[Dataset] = ()
    """What was read beside the sources of edges."""
    written: Mapping[str, WrittenDataset] = field(default_factory=dict)
    """How much, by id of dataset."""
    error: str | None = None
    known: Mapping[str, Known] = field(default_factory=dict)
    """By id of dataset."""
    assertions: Sequence[Assertion] = ()
    """What checks said of the inputs."""


def event(namespace: str, type_: EventType, at: datetime, run: JobRun, outcome: RunFacts | None = None) -> Json:
    found = outcome or RunFacts()
    return {
        "eventType": type_.value,
        "eventTime": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "producer": _PRODUCER,
        "schemaURL": _EVENT_SCHEMA,
        "run": {"runId": run.id, "facets": _run_facets(namespace, run, found)},
        "job": {"namespace": namespace, "name": run.job, "facets": _job_facets(run)},
        "inputs": [_input(namespace, dataset, found) for dataset in _read(found)],
        "outputs": [_output(namespace, dataset, found) for dataset in _written(found)],
    }


def _facet(facet: str, /, **values: Any) -> Json:
    url = f"{_SPEC}/facets/{_VERSIONS[facet]}/{facet}.json#/$defs/{facet}"
    given = {key: value for key, value in values.items() if value is not None}
    return {"_producer": _PRODUCER, "_schemaURL": url, **given}


def _run_facets(namespace: str, run: JobRun, outcome: RunFacts) -> Json:
    facets = {"processing_engine": _facet("ProcessingEngineRunFacet", version=VERSION, name="snowmelt")}
    if run.parent is not None:
        parent, job = run.parent
        facets["parent"] = _facet("ParentRunFacet", run={"runId": parent}, job={"namespace": namespace, "name": job})
    if outcome.error is not None:
        facets["errorMessage"] = _facet("ErrorMessageRunFacet", message=outcome.error, programmingLanguage="SQL")
    return facets


def _job_facets(run: JobRun) -> Json:
    processing = "STREAMING" if run.streaming else "BATCH"
    facets = {"jobType": _facet("JobTypeJobFacet", processingType=processing, integration="SNOWMELT", jobType=run.kind)}
    if run.sql is not None:
        facets["sql"] = _facet("SQLJobFacet", query=run.sql, dialect="snowflake")
    return facets


def _read(outcome: RunFacts) -> list[Dataset]:
    return _distinct([*(edge.source for edge in outcome.edges), *outcome.inputs])


def _written(outcome: RunFacts) -> list[Dataset]:
    return _distinct([*(edge.target for edge in outcome.edges), *outcome.targets])


def _distinct(datasets: Iterable[Dataset]) -> list[Dataset]:
    return list({dataset.id: dataset for dataset in datasets}.values())


def _dataset(namespace: str, dataset: Dataset, outcome: RunFacts) -> Json:
    facets: Json = {}
    known = outcome.known.get(dataset.id, Known())
    if known.columns:
        fields = [{"name": name, "type": type_} for name, type_ in known.columns]
        facets["schema"] = _facet("SchemaDatasetFacet", fields=fields)
    if known.rows is not None:
        facets["dataQualityMetrics"] = _facet(
            "DataQualityMetricsDatasetFacet", rowCount=known.rows, bytes=known.bytes, columnMetrics={}
        )
    return {"namespace": namespace, "name": str(dataset), "facets": facets}


def _input(namespace: str, dataset: Dataset, outcome: RunFacts) -> Json:
    found = _dataset(namespace, dataset, outcome)
    if outcome.assertions:
        said = [
            {key: value for key, value in (
                ("assertion", item.kind.lower()), ("success", item.success), ("name", item.name),
                ("column", item.column), ("severity", item.severity), ("actual", item.actual),
            ) if value is not None}
            for item in outcome.assertions
        ]  # fmt: skip
        found["inputFacets"] = {
            "dataQualityAssertions": _facet("DataQualityAssertionsDatasetFacet", assertions=said)
        }  # fmt: skip
    return found


def _output(namespace: str, dataset: Dataset, outcome: RunFacts) -> Json:
    found = _dataset(namespace, dataset, outcome)
    lineage = _column_lineage(namespace, [edge for edge in outcome.edges if edge.target.id == dataset.id])
    if lineage is not None:
        found["facets"]["columnLineage"] = lineage
    written = outcome.written.get(dataset.id)
    if written is not None:
        found["outputFacets"] = {
            "outputStatistics": _facet(
                "OutputStatisticsOutputDatasetFacet", rowCount=written.rows, size=written.bytes, fileCount=written.files
            )
        }
    return found


def _column_lineage(namespace: str, edges: Sequence[Edge]) -> Json | None:
    """By output column what it is made of; what decides the rows is said once, for the whole dataset."""
    fields: defaultdict[str, list[Json]] = defaultdict(list)
    whole: list[Json] = []
    for edge in edges:
        for link in edge.links:
            if link.source_column is None:
                continue
            origin = {
                "namespace": namespace,
                "name": str(edge.source),
                "field": link.source_column,
                "transformations": [_transformation(influence) for influence in sorted(link.influences)],
            }
            (whole if link.target_column is None else fields[link.target_column]).append(origin)
    if not fields and not whole:
        return None
    described = {column: {"inputFields": origins} for column, origins in fields.items()}
    return _facet("ColumnLineageDatasetFacet", fields=described, dataset=whole)


def _transformation(influence: Influence) -> Json:
    return {"type": "DIRECT" if influence.direct else "INDIRECT", "subtype": influence.value, "masking": False}
