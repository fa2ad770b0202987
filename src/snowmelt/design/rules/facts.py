"""Facts: what the rules look at. Each has one name, one meaning, and says where its value comes from."""

from __future__ import annotations

from snowmelt.design.requirements.model import (
    Load,
    Requirements,
    SinkKind,
    SourceKind,
)
from snowmelt.design.rules.known import DATABASES, FILES, Facts, tables_of
from snowmelt.design.rules.situation import put_situation, seconds_for
from snowmelt.govern.pii.classes import by_name

_OUTSIDE = frozenset(SinkKind) - {SinkKind.SNOWMELT}


def facts_of(requirements: Requirements) -> Facts:
    """All facts that the requirements hold. A fact that was not given is None, never a guess."""
    facts = Facts()
    _needs(facts, requirements)
    _sources(facts, requirements)
    _sinks(facts, requirements)
    _care(facts, requirements)
    put_situation(facts, requirements)
    return facts


def _needs(facts: Facts, given: Requirements) -> None:
    volume = given.volume
    facts.put("latency_seconds", given.latency, "latency")
    rates = [table.changes_per_second for _, table in tables_of(given) if table.changes_per_second is not None]
    if volume is not None and volume.events_per_second is not None:
        facts.put("events_per_second", volume.events_per_second, "volume.events_per_second")
    else:
        facts.put("events_per_second", sum(rates) if rates else None, "sources.tables.changes_per_second")
    _volume(facts, given)
    facts.put("lateness_seconds", given.lateness, "lateness")
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


ROW_BYTES = 1_000
"""Of a row or event whose size nobody said."""
_DAY = 86_400


def _volume(facts: Facts, given: Requirements) -> None:
    """What is said, or else what follows from the rows a second."""
    said = given.volume.per_day if given.volume is not None else None
    events = facts.value("events_per_second")
    if said is not None or events is None:
        facts.put("bytes_per_day", said, "volume.per_day")
    else:
        facts.put("bytes_per_day", events * _DAY * ROW_BYTES, f"events_per_second, {ROW_BYTES} bytes each assumed")
    days = [seconds_for(source, table, events * _DAY) for source, table in tables_of(given) if events is not None]
    slowest = max((seconds for seconds in days if seconds is not None), default=None)
    facts.put("api_seconds", slowest, "volume.events_per_second, options.requests_per_second, page_size")


def _sources(facts: Facts, given: Requirements) -> None:
    kinds = {source.kind for source in given.sources}
    tables = [table for _, table in tables_of(given)]
    facts.put("event_sources", SourceKind.KAFKA in kinds, "sources.kind")
    facts.put("received_sources", SourceKind.WEBHOOK in kinds, "sources.kind")
    facts.put("unreceived_sources", bool(kinds - {SourceKind.WEBHOOK}), "sources.kind")
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
    denied = given.pii is not None and not given.personal
    doubted = denied and any(
        by_name(column.name) is not None for _, table in tables_of(given) for column in table.columns
    )
    facts.put("pii_doubted", doubted, "pii.present, sources.tables.columns.name")
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
