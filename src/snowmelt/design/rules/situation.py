"""Facts of the situation around the data: laws, retention, tenants, keys that are missing, and what readings cost."""

from __future__ import annotations

import re

from snowmelt.design.requirements.model import Alerts, GateSeverity, Load, Requirements, Source, SourceKind, Table
from snowmelt.design.rules.known import DATABASES, FILES, Facts, tables_of

_CARD = re.compile(r"(card_?(number|no|num)$|^pan$|cvv|cvc|security_code|credit_card)", re.IGNORECASE)
_KEYED = (Load.SCD_TYPE_1, Load.SCD_TYPE_2, Load.SCD_TYPE_3, Load.UPSERT, Load.MERGE)
_ASKED_AGAIN = DATABASES | {SourceKind.API}


def put_situation(facts: Facts, given: Requirements) -> None:
    _laws(facts, given)
    _tables(facts, given)
    _readings(facts, given)
    _readers(facts, given)


def _laws(facts: Facts, given: Requirements) -> None:
    for law in ("gdpr", "hipaa", "pci", "soc2"):
        facts.put(law, law in given.compliance, "compliance")
    unlanded = given.personal and bool({"hipaa", "pci"} & set(given.compliance))
    facts.put("pii_never_landed", unlanded, "compliance, pii.present")
    covered = given.pii is not None and given.pii.strategy not in (None, "none")
    open_ = [column for _, table in tables_of(given) for column in table.columns
             if _CARD.search(column.name) and not (column.pii and covered)]  # fmt: skip
    facts.put("card_columns_open", bool(open_), "sources.tables.columns.name, pii")
    said = given.monitoring if isinstance(given.monitoring, Alerts) else Alerts()
    reached = {said.severities.get(severity, said.channel) for severity in (GateSeverity.ERROR, GateSeverity.CRITICAL)}
    facts.put("alerts_reach_nobody", "log" in reached, "monitoring")
    facts.put("retention_seconds", given.retention, "retention")
    window = given.replay.window if given.replay is not None else None
    short = given.retention is not None and window is not None and window > given.retention
    facts.put("retention_too_short", short, "retention, replay.window")


def _tables(facts: Facts, given: Requirements) -> None:
    tables = [table for _, table in tables_of(given)]
    wants_key = given.consistency == "exactly_once" or any(sink.load in _KEYED for sink in given.sinks)
    keyless = [(source, table) for source, table in tables_of(given)
               if not table.key and source.kind is not SourceKind.SNOWMELT]  # fmt: skip
    needed = any(wants_key or table.deletes for _, table in keyless) and not given.transformations
    facts.put("key_needed", needed or any(table.deletes for _, table in keyless), "sources.tables.key, sinks.load")
    quiet = {SourceKind.KAFKA, SourceKind.WEBHOOK, *FILES}
    unseen = any(table.deletes and source.kind in quiet for source, table in tables_of(given))
    facts.put("deletes_unseen", unseen, "sources.tables.deletes, sources.kind")
    kinds = {source.kind for source in given.sources}
    facts.put("read_by_query", bool(kinds) and kinds <= _ASKED_AGAIN, "sources.kind")
    strict = given.consistency == "exactly_once" or given.availability == "critical"
    facts.put("retries_matter", strict and SourceKind.WEBHOOK in kinds, "sources.kind, consistency, availability")
    complete = bool(tables) and all(table.columns and table.key for table in tables)
    facts.put("references_known", complete and any(table.references for table in tables), "sources.tables.references")
    facts.put("tenant_count", sum(len(table.tenants) for table in tables) or None, "sources.tables.tenants")


def _readings(facts: Facts, given: Requirements) -> None:
    """Rows and bytes that a rate limit, or a reading of the whole, makes long or large."""
    firsts = [seconds for source, table in tables_of(given) if (seconds := _first_load(source, table)) is not None]
    facts.put("api_first_seconds", max(firsts, default=None), "sources.tables.rows, options.requests_per_second")
    wholes = [table.size for source, table in tables_of(given)
              if source.kind in _ASKED_AGAIN and not table.change_column and table.size is not None]  # fmt: skip
    facts.put("dump_bytes", sum(wholes) if wholes else None, "sources.tables.size")


def _first_load(source: Source, table: Table) -> float | None:
    rate = seconds_for(source, table, table.rows) if table.rows is not None else None
    return rate if rate is None else float(rate)


def seconds_for(source: Source, table: Table, rows: float) -> float | None:
    """How long so many rows take at the rate limit; a request gives one row unless a page size is said."""
    rate = table.options.get("requests_per_second") or source.options.get("requests_per_second")
    if source.kind is not SourceKind.API or not isinstance(rate, int | float):
        return None
    page = table.options.get("page_size")
    return float(round(rows / (rate * (float(page) if isinstance(page, int | float) else 1))))


def _readers(facts: Facts, given: Requirements) -> None:
    facts.put("batch_outputs", any(not sink.real_time for sink in given.sinks), "sinks.real_time")
    facts.put("shape_given", given.shape, "shape")
    facts.put("access_known", bool(given.access), "access")
    final = given.lateness is not None and any(item.day for item in given.transformations)
    facts.put("final_days", final, "lateness, transformations.day")
    wanting = any(sink.load is Load.SCD_TYPE_3 for sink in given.sinks)
    keyed = all(table.key for _, table in tables_of(given))
    unseen = wanting and (not keyed or bool(given.transformations))
    facts.put("previous_unseen", unseen, "sinks.load, sources.tables.key, transformations")
