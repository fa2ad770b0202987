"""What facts are: each has one name, one meaning, and says where its value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from snowmelt.design.requirements.amounts import about_seconds, show_bytes, show_seconds
from snowmelt.design.requirements.model import Requirements, Source, SourceKind, Table

DATABASES = frozenset({SourceKind.POSTGRES, SourceKind.MYSQL})
FILES = frozenset({SourceKind.S3, SourceKind.GCS, SourceKind.SFTP, SourceKind.FILES})
MEANINGS: Mapping[str, str] = {
    "latency_seconds": "how old the data may be in the sinks",
    "events_per_second": "rows that come or change in a second, all sources together",
    "bytes_per_day": "data that comes in a day",
    "api_seconds": "how long an API's rate limit lets the rows of one day take",
    "api_first_seconds": "how long an API's rate limit lets all rows that are there take",
    "dump_bytes": "what one reading brings, of tables that are read as a whole",
    "real_time_outputs": "something reacts to an output at once",
    "full_history": "the outputs need all of the past",
    "heavy_transforms": "large joins, windows or aggregates over history",
    "batch_outputs": "an output that may wait",
    "scheduled": "people read the outputs at set times",
    "event_sources": "a source sends events (Kafka)",
    "received_sources": "a source sends webhooks",
    "unreceived_sources": "a source is no webhook",
    "database_sources": "a source is a database",
    "postgres_sources": "a source is a PostgreSQL database",
    "file_sources": "a source gives files",
    "source_constrained": "a source must not be burdened",
    "warehouse_computes": "the destination computes well",
    "pii_present": "personal data is in it",
    "pii_strategy": "what happens to personal data",
    "pii_columns_known": "it is said which columns hold personal data",
    "pii_doubted": "it is said that there is no personal data, and the name of a column says otherwise",
    "pii_never_landed": "personal data under HIPAA or PCI DSS, which must not be landed as it is",
    "card_columns_open": "the name of a column says that it holds a card number, and no strategy covers it",
    "gdpr": "it is under the GDPR",
    "hipaa": "it is under HIPAA",
    "pci": "it is under PCI DSS",
    "soc2": "it is under SOC 2",
    "alerts_reach_nobody": "alerts go to the log alone",
    "retention_seconds": "how long data may be kept",
    "retention_too_short": "replay reaches further back than data may be kept",
    "lateness_seconds": "how much later than its change column says a row may be committed",
    "crosses_regions": "data goes from one region to another",
    "leaves_residency": "a sink is outside the region that the data may not leave",
    "keys_known": "every table has a key",
    "key_needed": "a table has no key, and something needs one",
    "retries_matter": "webhooks of which none may be lost: exactly once, or critical",
    "deletes_unseen": "rows are deleted in a source of files or events, which do not tell",
    "read_by_query": "every source is a database or an API, which can be asked again",
    "references_known": "every table has columns and a key, and one refers to another",
    "previous_unseen": "SCD type 3 is asked of a table without a key, or of one that is computed",
    "tenant_count": "schemas that hold the same table, one for each tenant",
    "final_days": "rows have a day, and come later than that",
    "access_known": "it is said by which columns readers ask",
    "shape_given": "the shape of the published tables, if somebody said",
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
    if name.startswith("api_"):
        return about_seconds(value)
    if name.endswith("_seconds"):
        return show_seconds(value)
    if name.endswith("_bytes") or name == "bytes_per_day":
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
