"""The machine-readable design: what `snowmelt build` takes. Written as design.yaml.

It holds decisions and their results, no requirement that is not met by one of them. Every stage has its SQL in full, so
that whoever reads the file needs nothing else.
"""

from __future__ import annotations

import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from snowmelt.design.requirements.model import (
    DescribedColumn,
    Evolution,
    FieldMapping,
    GateSeverity,
    Load,
    Options,
    PiiStrategy,
    QualityRule,
    Recipe,
    SinkKind,
    SourceKind,
    WorkedExample,
    check_sink_options,
    check_source_options,
)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StageKind(StrEnum):
    TABLE = "table"
    """Filled by an extractor, a channel or a connector."""
    DYNAMIC_TABLE = "dynamic_table"
    SCD_TABLE = "scd_table"


class CitedFact(_Part):
    name: str
    value: str
    origin: str


class MadeDecision(_Part):
    phase: str
    topic: str
    outcome: str
    rule: str
    reason: str
    facts: tuple[CitedFact, ...] = ()


class Answer(_Part):
    rule: str
    question: str
    answer: str


class Capture(_Part):
    """How the changes of a source come in."""

    way: Literal["offsets", "events", "log", "files", "watermark", "snapshot"]
    snapshot_mode: str | None = None
    publication: str | None = None
    slot: str | None = None
    replica_identity: dict[str, str] = Field(default_factory=dict)
    """By table: what it is now. The steps say what to change."""
    channels: dict[str, str] = Field(default_factory=dict)
    """By table or topic: the channel through which its events come."""
    hand_over: tuple[str, ...] = ()
    """From the snapshot to the stream, or from a client that died to the next one, so that nothing is lost."""


class SourceTable(_Part):
    name: str
    stage: str
    """The raw table that it fills; itself where it is here already."""
    clean: str | None = None
    """The typed table that is made of it."""
    key: tuple[str, ...] = ()
    change_column: str | None = None
    columns: tuple[DescribedColumn, ...] = ()
    options: Options = Field(default_factory=dict)
    """How it is read."""
    tenants: tuple[str, ...] = ()
    """`{tenant}` in its name is one of them; all fill the same raw table."""


class DesignSource(_Part):
    name: str
    kind: SourceKind
    connection: str
    """The environment variable with the address, or the path."""
    capture: Capture
    tables: tuple[SourceTable, ...]
    setup_sql: str | None = None
    """CREATE CONNECTOR and what goes with it."""
    options: Options = Field(default_factory=dict)
    """Of the connection. Secrets are names in the environment: `${NAME}`."""

    @model_validator(mode="after")
    def _known_options(self) -> DesignSource:
        check_source_options(self.kind, self.options, ((table.name, table.options) for table in self.tables))
        return self


class DesignStage(_Part):
    name: str
    layer: Literal["bronze", "silver", "gold"]
    kind: StageKind
    sql: str
    """The whole CREATE statement."""
    reads: tuple[str, ...] = ()
    load: Load
    key: tuple[str, ...] = ()
    target_lag: str | None = None
    contract: str | None = None
    description: str = ""
    examples: tuple[WorkedExample, ...] = ()
    """What its query must give of given rows."""


class DesignContract(_Part):
    name: str
    stage: str
    version: str = "1.0.0"
    compatibility: str = "BACKWARD"
    freshness: str = ""
    columns: tuple[DescribedColumn, ...] = ()
    """Empty: taken from the table when it is first made (CREATE CONTRACT … FROM TABLE)."""


class DesignSink(_Part):
    name: str
    kind: SinkKind
    reads: tuple[str, ...]
    load: Load
    key: tuple[str, ...] = ()
    connection: str | None = None
    delivery: str
    fields: tuple[FieldMapping, ...] = ()
    on_reject: Literal["reject_row", "halt"] = "reject_row"
    requests_per_second: float | None = None
    options: Options = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known_options(self) -> DesignSink:
        check_sink_options(self.kind, self.options)
        return self


class GateCheck(_Part):
    """A quality check of the engine: every refresh passes it before anybody sees its rows."""

    name: str
    table: str
    quarantines: bool
    """Bad rows go to `<table>_quarantine`, and the others through."""
    sql: str
    """ALTER DYNAMIC TABLE … ADD OR REPLACE QUALITY CHECK."""


class DesignGate(_Part):
    """A quality rule, what holds it, and the query that counts what breaks it."""

    rule: QualityRule
    sql: str
    """One row with one number: rows (or seconds, for freshness) that break it; 0 is good."""
    checks: tuple[GateCheck, ...] = ()
    """What holds it before rows are visible."""
    counted: str = ""
    """Why it is only counted, after each refresh; empty where checks hold it."""
    examples: str = ""
    """A query of a few rows that break it, one document each; empty where no row does by itself."""
    dimension: Literal["freshness", "completeness", "uniqueness", "validity", "distribution", "schema", "consistency"]
    on_failure: str


class BatchPath(_Part):
    """The batch path of a HYBRID design: tables that may wait, refreshed from the raw data of the streaming path."""

    every: str
    tables: tuple[str, ...]
    sinks: tuple[str, ...]


class DesignTask(_Part):
    """A task of the account, by which tables are refreshed on a schedule."""

    name: str
    sql: str


class DesignView(_Part):
    """What readers see of a table."""

    name: str
    sql: str
    description: str


class Alert(_Part):
    name: str
    severity: GateSeverity
    condition: str
    sql: str | None = None
    every: str
    channel: str


class Schedule(_Part):
    orchestrator: str
    cron: str | None = None
    target_lag: str | None = None


class ServiceLevel(_Part):
    tier: Literal[1, 2, 3]
    availability: str
    downtime_a_month: str
    freshness: str
    check_every: str
    alert_after: str
    percentile: int | None = None
    """Of tier 1: in how many of 100 moments of a day the data is as fresh as promised."""


class DesignPii(_Part):
    strategy: PiiStrategy
    columns: tuple[str, ...] = ()
    """`table.column`."""


class Estimate(_Part):
    """One line of the capacity and cost estimate."""

    what: str
    value: str
    how: str
    benchmark: str
    """The benchmark whose rate it uses; empty for arithmetic alone."""


class RunbookStep(_Part):
    text: str
    sql: str | None = None


class Packet(_Part):
    """What one reader gets."""

    reader: str
    contents: tuple[str, ...]


class DesignChange(_Part):
    """A line of the change log."""

    version: str
    date: datetime.date
    by: str
    """Who designed it so."""
    what: str
    """What is another than in the version before."""


class Design(_Part):
    format: Literal[1] = 1
    name: str
    description: str = ""
    owner: str = "nobody yet"
    recipe: Recipe
    mode: str
    pattern: str
    decisions: tuple[MadeDecision, ...]
    answers: tuple[Answer, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What nobody said, and what was taken instead."""
    sources: tuple[DesignSource, ...] = ()
    stages: tuple[DesignStage, ...] = ()
    sinks: tuple[DesignSink, ...] = ()
    views: tuple[DesignView, ...] = ()
    tasks: tuple[DesignTask, ...] = ()
    batch: BatchPath | None = None
    engine_settings: dict[str, str | int] = Field(default_factory=dict)
    """Of the engine, as snowmelt.toml has them."""
    compliance: tuple[str, ...] = ()
    retention: str | None = None
    """How long data may be kept."""
    contracts: tuple[DesignContract, ...] = ()
    quality: tuple[DesignGate, ...] = ()
    schema_evolution: Evolution = Evolution.EVOLVE
    pii: DesignPii | None = None
    schedule: Schedule
    service_level: ServiceLevel
    alerts: tuple[Alert, ...] = ()
    lineage_namespace: str = "snowmelt"
    idempotency: str = ""
    estimates: tuple[Estimate, ...] = ()
    backfill: tuple[RunbookStep, ...] = ()
    replay: tuple[RunbookStep, ...] = ()
    rollback: tuple[RunbookStep, ...] = ()
    packets: tuple[Packet, ...] = ()
    changes: tuple[DesignChange, ...] = ()
    """Its versions, the newest last. Written by `snowmelt design`, which compares with what it wrote before."""

    def stage(self, name: str) -> DesignStage | None:
        return next((item for item in self.stages if item.name.lower() == name.lower()), None)

    @property
    def models(self) -> dict[str, SourceTable]:
        """Tables that are here already and that the design reads, by their names in small letters."""
        own = [source for source in self.sources if source.kind is SourceKind.SNOWMELT]
        return {table.name.lower(): table for source in own for table in source.tables}

    def decision(self, topic: str) -> MadeDecision:
        return next(item for item in self.decisions if item.topic == topic)
