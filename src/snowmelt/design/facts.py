"""Facts: what the rules look at. Each has one name, one meaning, and says where its value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from snowmelt.design.requirements.amounts import show_bytes, show_seconds
from snowmelt.design.requirements.model import (
    Load,
    Requirements,
    SinkKind,
    Source,
    SourceKind,
    Table,
)

DATABASES = frozenset({SourceKind.POSTGRES, SourceKind.MYSQL})
FILES = frozenset({SourceKind.S3, SourceKind.GCS, SourceKind.SFTP, SourceKind.FILES})
_OUTSIDE = frozenset(SinkKind) - {SinkKind.SNOWMELT}

MEANINGS: Mapping[str, str] = {
    "latency_seconds": "how old the data may be in the sinks",
    "events_per_second": "rows that come or change in a second, all sources together",
    "bytes_per_day": "data that comes in a day",
    "real_time_outputs": "something reacts to an output at once",
    "full_history": "the outputs need all of the past",
    "heavy_transforms": "large joins, windows or aggregates over history",
    "scheduled": "people read the outputs at set times",
    "event_sources": "a source sends events (Kafka)",
    "database_sources": "a source is a database",
    "postgres_sources": "a source is a PostgreSQL database",
    "file_sources": "a source gives files",
    "source_constrained": "a source must not be burdened",
    "warehouse_computes": "the destination computes well",
    "pii_present": "personal data is in it",
    "pii_strategy": "what happens to personal data",
    "pii_columns_known": "it is said which columns hold personal data",
    "crosses_regions": "data goes from one region to another",
    "leaves_residency": "a sink is outside the region that the data may not leave",
    "keys_known": "every table has a key",
    "change_columns_known": "every table has a column that grows with each change",
    "deletes": "rows are deleted in a source",
    "replica_identity_missing": "a captured table has nothing that identifies its rows",
    "largest_rows": "rows of the largest table",
    "source_slower_than_latency": "a source delivers less often than the sinks must be fresh",
    "schedule": "cron of the runs",
    "orchestrator_given": "the orchestrator that was asked for",
    "outside_sinks": "a sink is not a table of Snowmelt",
    "unkeyed_outside_sink": "a sink outside takes no key, so that a repeated row is a second row",
    "transformation_count": "transformations that were described",
    "consistency": "what was asked of delivery",
    "idempotency_given": "how a repeated step is made harmless, if somebody said",
    "quality_given": "gates: rules, none, or nothing said",
    "schema_evolution": "what happens when a source changes its columns",
    "monitoring_given": "alerts: a channel, none, or nothing said",
    "keep_raw": "raw data is kept",
    "replay_required": "everything can be computed again from what is kept",
    "replay_seconds": "how far back",
    "availability": "how important it is",
    "mode_given": "the mode that somebody decided",
    "recipe": "the recipe that was asked for",
    # Decisions, which later rules look at.
    "mode": "decided",
    "transform": "decided",
    "capture": "decided",
}


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: Any
    origin: str
    """The field it comes from, or the rule that decided it."""

    def shown(self) -> str:
        return f"{self.name} = {shown_value(self.name, self.value)} ({self.origin})"


def shown_value(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_seconds"):
        return show_seconds(value)
    if name == "bytes_per_day":
        return show_bytes(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(slots=True)
class Facts:
    known: dict[str, Fact] = field(default_factory=dict)

    def value(self, name: str) -> Any:
        assert name in MEANINGS, f"no fact is called {name}"
        found = self.known.get(name)
        return found.value if found is not None else None

    def put(self, name: str, value: Any, origin: str) -> None:
        assert name in MEANINGS, f"no fact is called {name}"
        self.known[name] = Fact(name, value, origin)

    def cited(self, names: tuple[str, ...]) -> tuple[Fact, ...]:
        return tuple(self.known.get(name) or Fact(name, None, "nobody said") for name in names)


def tables_of(requirements: Requirements) -> Iterator[tuple[Source, Table]]:
    for source in requirements.sources:
        for table in source.tables:
            yield source, table


def facts_of(requirements: Requirements) -> Facts:
    """All facts that the requirements hold. What nobody said has the value None, never a guess."""
    facts = Facts()
    _needs(facts, requirements)
    _sources(facts, requirements)
    _sinks(facts, requirements)
    _care(facts, requirements)
    return facts


def _needs(facts: Facts, given: Requirements) -> None:
    volume = given.volume
    facts.put("latency_seconds", given.latency, "latency")
    rates = [table.changes_per_second for _, table in tables_of(given) if table.changes_per_second is not None]
    if volume is not None and volume.events_per_second is not None:
        facts.put("events_per_second", volume.events_per_second, "volume.events_per_second")
    else:
        facts.put("events_per_second", sum(rates) if rates else None, "sources.tables.changes_per_second")
    facts.put("bytes_per_day", volume.per_day if volume is not None else None, "volume.per_day")
    facts.put("full_history", given.history == "full", "history")
    facts.put("heavy_transforms", any(item.heavy for item in given.transformations), "transformations.heavy")
    facts.put("scheduled", bool(given.scheduled) or given.schedule is not None, "scheduled, schedule")
    facts.put("schedule", given.schedule, "schedule")
    facts.put("transformation_count", len(given.transformations), "transformations")
    facts.put("consistency", given.consistency, "consistency")
    facts.put("availability", given.availability, "availability")
    facts.put("mode_given", given.mode, "mode")
    facts.put("recipe", given.recipe, "recipe")
    facts.put("orchestrator_given", given.orchestrator, "orchestrator")
    facts.put("warehouse_computes", given.warehouse_computes, "warehouse_computes")


def _sources(facts: Facts, given: Requirements) -> None:
    kinds = {source.kind for source in given.sources}
    tables = [table for _, table in tables_of(given)]
    facts.put("event_sources", SourceKind.KAFKA in kinds, "sources.kind")
    facts.put("database_sources", bool(kinds & DATABASES), "sources.kind")
    facts.put("postgres_sources", SourceKind.POSTGRES in kinds, "sources.kind")
    facts.put("file_sources", bool(kinds & FILES), "sources.kind")
    facts.put("source_constrained", any(source.constrained for source in given.sources), "sources.constrained")
    facts.put("keys_known", bool(tables) and all(table.key for table in tables), "sources.tables.key")
    facts.put(
        "change_columns_known", bool(tables) and all(table.change_column for table in tables),
        "sources.tables.change_column",
    )  # fmt: skip
    facts.put("deletes", any(table.deletes for table in tables), "sources.tables.deletes")
    unidentified = any(table.replica_identity == "nothing" for table in tables)
    facts.put("replica_identity_missing", unidentified, "sources.tables.replica_identity")
    rows = [table.rows for table in tables if table.rows is not None]
    facts.put("largest_rows", max(rows) if rows else None, "sources.tables.rows")
    waits = [source.arrives for source in given.sources if source.arrives is not None]
    slower = bool(waits) and given.latency is not None and max(waits) > given.latency
    facts.put("source_slower_than_latency", slower, "sources.arrives, latency")


def _sinks(facts: Facts, given: Requirements) -> None:
    outside = [sink for sink in given.sinks if sink.kind in _OUTSIDE]
    unkeyed = [sink for sink in outside if not sink.key and sink.load is not Load.OVERWRITE and sink.kind in _ROW_SINKS]
    regions = {*(source.region for source in given.sources), *(sink.region for sink in given.sinks)} - {None}
    facts.put("real_time_outputs", any(sink.real_time for sink in given.sinks), "sinks.real_time")
    facts.put("outside_sinks", bool(outside), "sinks.kind")
    facts.put("unkeyed_outside_sink", bool(unkeyed), "sinks.key")
    facts.put("crosses_regions", len(regions) > 1, "sources.region, sinks.region")
    leaves = given.residency is not None and any(sink.region not in (None, given.residency) for sink in given.sinks)
    facts.put("leaves_residency", leaves, "residency, sinks.region")


_ROW_SINKS = frozenset({SinkKind.API, SinkKind.POSTGRES})
"""Take rows one by one; files are written under a name of their run, which a repeated run replaces."""


def _care(facts: Facts, given: Requirements) -> None:
    columns = any(column.pii for _, table in tables_of(given) for column in table.columns)
    if given.pii is not None:
        facts.put("pii_present", given.personal, "pii.present" if given.pii.present else "sources.tables.columns.pii")
        facts.put("pii_strategy", given.pii.strategy, "pii.strategy")
    elif columns:
        facts.put("pii_present", True, "sources.tables.columns.pii")
    facts.put("pii_columns_known", columns, "sources.tables.columns.pii")
    facts.put("idempotency_given", given.idempotency, "idempotency")
    quality = given.quality
    facts.put("quality_given", "rules" if isinstance(quality, tuple) and quality else quality or None, "quality")
    facts.put("schema_evolution", given.schema_evolution, "schema_evolution")
    monitoring = given.monitoring
    said = monitoring if monitoring is None or isinstance(monitoring, str) else monitoring.channel
    facts.put("monitoring_given", said, "monitoring")
    facts.put("keep_raw", given.keep_raw, "keep_raw")
    facts.put("replay_required", given.replay is None or given.replay.required, "replay.required")
    facts.put("replay_seconds", given.replay.window if given.replay is not None else None, "replay.window")
