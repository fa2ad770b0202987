"""The requirements file. Unknown keys are errors: a typo must not be silence.

None means that nobody has said anything yet, which is not the same as "no": it is looked for, asked, or derived.
"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from snowmelt.core.cron import parse_cron
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.requirements.amounts import Bytes, Seconds
from snowmelt.design.requirements.ends import (
    DescribedColumn,
    EnumValue,
    FieldMapping,
    Sink,
    Source,
    Table,
    check_once,
    check_sink_options,
    check_source_options,
)
from snowmelt.design.requirements.kinds import (
    ORCHESTRATORS,
    Check,
    Compliance,
    Evolution,
    GateSeverity,
    Load,
    Mode,
    Name,
    Options,
    Orchestrator,
    Part,
    PiiStrategy,
    Recipe,
    Shape,
    SinkKind,
    SourceKind,
)
from snowmelt.sql.statements.base import Query
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements

__all__ = [
    "ORCHESTRATORS", "Access", "Alerts", "Check", "DescribedColumn", "EnumValue", "Evolution", "FieldMapping",
    "GateSeverity", "Load", "Mode", "Options", "Pii", "PiiStrategy", "QualityRule", "Recipe", "Replay", "Requirements",
    "Sink", "SinkKind", "Source", "SourceKind", "Table", "Transformation", "Volume", "WorkedExample",
    "check_sink_options", "check_source_options",
]  # fmt: skip


class Volume(Part):
    """How much comes."""

    events_per_second: float | None = Field(default=None, ge=0)
    """Rows or events in a second, all sources together."""
    per_day: Bytes | None = None
    """In a day: `200 MB`, `2 TB`."""


class Pii(Part):
    """Personal data. Which columns hold it is said at the columns."""

    present: bool
    """Whether there is any."""
    strategy: PiiStrategy | None = None
    """What happens to it."""


class Replay(Part):
    """Computing again from what is kept."""

    required: bool = True
    """Whether everything can be computed again."""
    window: Seconds | None = None
    """How far back: `90 days`."""


class Access(Part):
    """How readers ask for a table: it is clustered for them."""

    table: Name
    """A table of the design: `revenue`, `stg_orders`."""
    columns: tuple[str, ...] = Field(min_length=1)
    """Columns that readers filter by, the most used first."""


def _as_text(value: Any) -> Any:
    """YAML reads days and times that have no quotes as such."""
    return value.isoformat() if isinstance(value, datetime.date) else value


ExampleValue = Annotated[str | int | float | bool | None, BeforeValidator(_as_text)]


class WorkedExample(Part):
    """Rows that go into a transformation, and what must come out: a test of the built project."""

    about: str
    """What it shows."""
    given: dict[Name, tuple[dict[str, ExampleValue], ...]] = Field(default_factory=dict)
    """Rows by table; tables and columns that are left out are empty."""
    expect: tuple[dict[str, ExampleValue], ...]
    """All rows that come out, in any order, with the columns that are of interest."""

    @model_validator(mode="after")
    def _same_columns(self) -> WorkedExample:
        if any(set(row) != set(self.expect[0]) for row in self.expect):
            raise ValueError("all rows of `expect` have the same columns")
        return self


class Transformation(Part):
    """A table that is made of others."""

    name: Name
    """Of the table."""
    layer: Literal["silver", "gold"] = "gold"
    """Silver is clean data, gold what the business asks."""
    sql: str
    """One query over `stg_<table>` and other transformations."""
    heavy: bool = False
    """Large joins, windows or aggregates over history."""
    key: tuple[str, ...] = ()
    """Columns by which a row is known."""
    examples: tuple[WorkedExample, ...] = ()
    """What it must give; each becomes a test."""
    day: str | None = None
    """The column with the day of a row. With `lateness`, `<name>_final` has only the days that are final."""
    description: str | None = None
    """What a row is."""

    @field_validator("sql")
    @classmethod
    def _one_query(cls, text: str) -> str:
        try:
            statements = [parse_statement(statement) for statement in split_statements(text)]
        except SnowmeltError as error:
            raise ValueError(f"this is not a query: {' '.join(error.message.split()).rstrip('.')}") from None
        if len(statements) != 1 or not isinstance(statements[0], Query):
            raise ValueError("this is not one query")
        return text


class QualityRule(Part):
    """What must hold of a table."""

    check: Check
    """What is looked at."""
    table: Name
    """A table of the design: `stg_orders`, a transformation."""
    columns: tuple[str, ...] = ()
    """Columns that it is about."""
    severity: GateSeverity = GateSeverity.ERROR
    """What becomes of a run that breaks it."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """The share of rows that may break it: 0.01 is one in a hundred."""
    minimum: float | None = None
    """Of `range` the least value, of `row_count` the least number of rows."""
    maximum: float | None = None
    """Of `range` the greatest value, of `row_count` the greatest number of rows."""
    references: str | None = None
    """`table(column)`."""
    values: tuple[str, ...] = ()
    """Of `accepted_values`: those that may occur."""
    within: Seconds | None = None
    """Of `freshness`: how old the newest row may be."""
    share: float | None = Field(default=None, gt=0, le=1)
    """Of `row_count`: the share of the rows of before that a refresh must leave: 0.9 is nine of ten."""

    @model_validator(mode="after")
    def _complete(self) -> QualityRule:
        if self.check in (Check.NOT_NULL, Check.UNIQUE, Check.RANGE, Check.DISTRIBUTION) and not self.columns:
            raise ValueError(f"{self.check} needs columns")
        if self.check is Check.RANGE and self.minimum is None and self.maximum is None:
            raise ValueError("range needs minimum or maximum")
        if self.check is Check.REFERENTIAL_INTEGRITY and self.references is None:
            raise ValueError("referential_integrity needs references")
        if self.check is Check.ACCEPTED_VALUES and not (self.columns and self.values):
            raise ValueError("accepted_values needs columns and values")
        if self.check is Check.REFERENTIAL_INTEGRITY and len(self.columns) != 1:
            raise ValueError("referential_integrity takes one column")
        if self.check in (Check.DISTRIBUTION, Check.FRESHNESS) and len(self.columns) > 1:
            raise ValueError(f"{self.check} takes one column; write a rule for each")
        if self.share is not None and (self.check is not Check.ROW_COUNT or self.columns):
            raise ValueError("share belongs to row_count, which takes no columns")
        if self.share is not None and (self.minimum is not None or self.maximum is not None):
            raise ValueError("share stands alone: write another row_count with minimum and maximum")
        if self.share is not None and self.severity is GateSeverity.WARN:
            raise ValueError("share refuses a refresh: its severity is error or critical")
        return self


_CHANNEL = re.compile(r"log|email:[^@\s]+@[^@\s]+\.[^@\s]+|(webhook|slack):[A-Z_][A-Z0-9_]*")


def _channel(text: str) -> str:
    """Raises for what no built project could send to: an alert that is never sent is worse than none."""
    if _CHANNEL.fullmatch(text) is None:
        raise ValueError(
            f"'{text}' is not an alert channel: write log, email:<address>, webhook:<VARIABLE> or slack:<VARIABLE>, "
            "where the environment variable holds the address"
        )
    return text


class Alerts(Part):
    """Who is told."""

    channel: Annotated[str, AfterValidator(_channel)] = "log"
    """`log`, `email:<address>`, `webhook:<environment variable with the address>`, `slack:<variable>`."""
    severities: dict[GateSeverity, Annotated[str, AfterValidator(_channel)]] = Field(default_factory=dict)
    """Where warn, error or critical go, if not to `channel`."""


def _off(value: Any) -> Any:
    """YAML reads `off` and `no` as false, which here is the word none."""
    return "none" if value is False else value


Off = Annotated[Literal["none"], BeforeValidator(_off)]


class Requirements(Part):
    """What is needed of a pipeline."""

    version: Literal[1] = 1
    """Of this format."""
    name: Name | None = None
    """Of the pipeline; becomes that of a Python package."""
    description: str | None = None
    """What it is for."""
    owner: str | None = None
    """The person or team who answers for it."""
    recipe: Recipe | None = None
    """The kind of work; the rules decide when nothing is said."""
    mode: Mode | None = None
    """Decides where the rules find more than one right."""
    sources: tuple[Source, ...] = ()
    """Where data comes from."""
    sinks: tuple[Sink, ...] = ()
    """Where it goes."""
    latency: Seconds | None = None
    """How old the data may be in the sinks: the freshness that is promised."""
    volume: Volume | None = None
    """How much comes in a day, or in a second."""
    history: Literal["full", "window", "none"] | None = None
    """How much of the past the outputs need."""
    lateness: Seconds | None = None
    """How much later a row may be committed than its change column or its event time says."""
    consistency: Literal["exactly_once", "at_least_once", "at_most_once"] | None = None
    """Whether a row may arrive twice in a sink, or not at all."""
    pii: Pii | None = None
    """Whether there is personal data, and what happens to it."""
    compliance: tuple[Compliance, ...] = ()
    """Laws and standards that it is under. Each asks for facts, and changes the design."""
    retention: Seconds | None = None
    """How long data may be kept. What is older is deleted from the raw tables, and so from all behind them."""
    replay: Replay | None = None
    """How far back everything must be computable again."""
    availability: Literal["critical", "important", "standard"] | None = None
    """How important it is."""
    scheduled: bool | None = None
    """People read it at set times: reports, closings."""
    schedule: str | None = None
    """Cron, with its time zone: `0 6 * * * UTC`."""
    warehouse_computes: bool = True
    """Whether the destination computes well."""
    orchestrator: Orchestrator | None = None
    """What starts the runs."""
    shape: Shape | None = None
    """The shape of the tables that are published, made from keys and `references` of the sources' tables."""
    access: tuple[Access, ...] = ()
    """How readers ask for tables."""
    residency: str | None = None
    """The region that the data may not leave."""
    transformations: tuple[Transformation, ...] = ()
    """Tables that are made of the clean ones."""
    quality: tuple[QualityRule, ...] | Off | None = None
    """Gates beside those that follow from keys and promises."""
    contracts: dict[str, Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]] = Field(default_factory=dict)
    """Versions of contracts, by table, where it is no longer 1.0.0: other columns need another version."""
    schema_evolution: Annotated[Evolution | None, BeforeValidator(_off)] = None
    """What happens when a source changes its columns."""
    idempotency: Literal["key", "watermark", "overwrite", "none"] | None = None
    """How a repeated step is made harmless."""
    monitoring: Alerts | Off | None = None
    """Where alerts go."""
    keep_raw: bool = True
    """Whether raw data is kept."""
    approvals: dict[str, str] = Field(default_factory=dict)
    """Answers to what is asked first, by the rule's id: who said so, and why."""

    @property
    def personal(self) -> bool:
        """Whether there is personal data: somebody said so, or marked a column."""
        marked = any(column.pii for source in self.sources for table in source.tables for column in table.columns)
        return marked or (self.pii is not None and self.pii.present)

    @model_validator(mode="after")
    def _named_once(self) -> Requirements:
        check_once("source", [item.name.lower() for item in self.sources])
        check_once("sink", [item.name.lower() for item in self.sinks])
        check_once("transformation", [item.name.lower() for item in self.transformations])
        return self

    @field_validator("schedule")
    @classmethod
    def _is_cron(cls, text: str | None) -> str | None:
        fields = (text or "").split()
        zone = fields[5] if len(fields) == 6 else "UTC"
        if text is not None and (parse_cron(" ".join(fields[:5]), zone) is None or zone not in available_timezones()):
            raise ValueError(
                f"'{text}' is not a schedule: write cron's five fields and a time zone, such as 0 6 * * * UTC"
            )
        return text
