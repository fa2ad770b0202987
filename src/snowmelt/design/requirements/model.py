"""The requirements file. Unknown keys are errors: a typo must not be silence.

None means that nobody has said anything yet, which is not the same as "no": it is looked for, asked, or derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from snowmelt.core.cron import parse_cron
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.requirements.amounts import Bytes, Seconds
from snowmelt.extract_load.endpoints import is_secret
from snowmelt.extract_load.options import SINK_OPTIONS, SOURCE_OPTIONS, TABLE_OPTIONS, Known, option_problems
from snowmelt.sql.statements.base import Query
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
"""Becomes part of SQL names and file names."""


Options = dict[str, str | int | float | bool | dict[str, str]]
"""What a kind of source or sink takes beside its address (docs/reference/build.md). Secrets are `${NAME}`."""


def check_source_options(kind: str, options: Options, tables: Iterable[tuple[str, Options]]) -> None:
    """Raises for what a source of that kind does not take."""
    problems = list(_problems(options, SOURCE_OPTIONS[kind]))
    for name, own in tables:
        problems += [f"options of {name}: {problem}" for problem in option_problems(own, TABLE_OPTIONS[kind])]
    if problems:
        raise ValueError("; ".join(problems))


def check_sink_options(kind: str, options: Options) -> None:
    problems = list(_problems(options, SINK_OPTIONS[kind]))
    if problems:
        raise ValueError("; ".join(problems))


def _problems(options: Options, known: Known | None) -> Iterator[str]:
    """Of a connection, whose secrets must not stand in a file that many read."""
    yield from (f"options: {problem}" for problem in option_problems(options, known))
    for name, value in options.items():
        if is_secret(name, value):
            yield f"options: {name} is a secret; write the name of a variable, {name}: ${{NAME}}, and set that"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mode(StrEnum):
    BATCH = "BATCH"
    STREAMING = "STREAMING"
    HYBRID = "HYBRID"


class Recipe(StrEnum):
    ETL = "etl"
    ELT = "elt"
    STREAM = "stream"
    DBT = "dbt"
    CDC = "cdc"
    REVERSE = "reverse"
    QUALITY = "quality"


class SourceKind(StrEnum):
    POSTGRES = "postgres"
    MYSQL = "mysql"
    API = "api"
    S3 = "s3"
    GCS = "gcs"
    SFTP = "sftp"
    KAFKA = "kafka"
    FILES = "files"
    SNOWMELT = "snowmelt"


class SinkKind(StrEnum):
    SNOWMELT = "snowmelt"
    POSTGRES = "postgres"
    PARQUET = "parquet"
    DELTA = "delta"
    CSV = "csv"
    API = "api"


class Load(StrEnum):
    APPEND = "append"
    OVERWRITE = "overwrite"
    UPSERT = "upsert"
    MERGE = "merge"
    SCD_TYPE_2 = "scd_type_2"


class Evolution(StrEnum):
    EVOLVE = "evolve"
    FREEZE = "freeze"
    DISCARD_ROW = "discard_row"
    DISCARD_VALUE = "discard_value"
    NONE = "none"


class PiiStrategy(StrEnum):
    MASK = "mask"
    HASH = "hash"
    DROP = "drop"
    NONE = "none"


class Check(StrEnum):
    NOT_NULL = "not_null"
    UNIQUE = "unique"
    RANGE = "range"
    FRESHNESS = "freshness"
    ROW_COUNT = "row_count"
    REFERENTIAL_INTEGRITY = "referential_integrity"
    SCHEMA = "schema"
    ACCEPTED_VALUES = "accepted_values"
    DISTRIBUTION = "distribution"


class GateSeverity(StrEnum):
    WARN = "warn"
    ERROR = "error"
    CRITICAL = "critical"


class DescribedColumn(_Part):
    name: str
    type: str = "VARCHAR"
    """As SQL writes it here, whatever the source calls it."""
    nullable: bool = True
    pii: bool = False
    description: str | None = None


class Table(_Part):
    name: str
    """In the source: `public.orders`, a topic, a file pattern, an endpoint."""
    columns: tuple[DescribedColumn, ...] = ()
    key: tuple[str, ...] = ()
    change_column: str | None = None
    """Grows whenever a row changes: what an incremental extract asks for."""
    rows: int | None = Field(default=None, ge=0)
    size: Bytes | None = None
    changes_per_second: float | None = Field(default=None, ge=0)
    deletes: bool | None = None
    """Whether rows go; a change column does not tell."""
    replica_identity: Literal["default", "full", "index", "nothing"] | None = None
    options: Options = Field(default_factory=dict)
    """How it is read: `paging` of an API, `delimiter` of files, `parallel` of a database."""

    @model_validator(mode="after")
    def _has_what_it_names(self) -> Table:
        known = [column.name for column in self.columns]
        _once("column", known)
        for name in (*self.key, self.change_column):
            if known and name is not None and name not in known:
                raise ValueError(f"{name} is not one of its columns: {', '.join(known)}")
        return self


class Source(_Part):
    name: Name
    kind: SourceKind
    connection: str | None = None
    """The environment variable with the address, or the path of files. Never a password."""
    region: str | None = None
    constrained: bool = False
    """It must not be burdened, or gives only part of what it has: transform on the way."""
    arrives: Seconds | None = None
    """How often new data comes: the time between two files, say."""
    options: Options = Field(default_factory=dict)
    """Of the connection: `auth` and `token` of an API, properties of Kafka's client."""
    tables: tuple[Table, ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Source:
        _without_password(self.name, self.connection)
        _once("table", [table.name for table in self.tables])
        check_source_options(self.kind, self.options, ((table.name, table.options) for table in self.tables))
        return self


class EnumValue(_Part):
    source: str
    target: str


class FieldMapping(_Part):
    """One field of a reverse flow."""

    source: str
    target: str
    values: tuple[EnumValue, ...] = ()


class Sink(_Part):
    name: Name
    kind: SinkKind
    region: str | None = None
    real_time: bool = False
    """Somebody or something reacts to it at once."""
    load: Load | None = None
    key: tuple[str, ...] = ()
    connection: str | None = None
    fields: tuple[FieldMapping, ...] = ()
    on_reject: Literal["reject_row", "halt"] | None = None
    requests_per_second: float | None = Field(default=None, gt=0)
    reads: tuple[Name, ...] = ()
    """Stages; the last ones when nothing is said."""
    options: Options = Field(default_factory=dict)
    """Of the connection."""

    @model_validator(mode="after")
    def _in_order(self) -> Sink:
        _without_password(self.name, self.connection)
        check_sink_options(self.kind, self.options)
        return self


class Volume(_Part):
    events_per_second: float | None = Field(default=None, ge=0)
    per_day: Bytes | None = None


class Pii(_Part):
    present: bool
    strategy: PiiStrategy | None = None


class Replay(_Part):
    required: bool = True
    window: Seconds | None = None


class Transformation(_Part):
    name: Name
    layer: Literal["silver", "gold"] = "gold"
    sql: str
    heavy: bool = False
    """Large joins, windows or aggregates over history."""
    key: tuple[str, ...] = ()
    description: str | None = None

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


class QualityRule(_Part):
    check: Check
    table: Name
    columns: tuple[str, ...] = ()
    severity: GateSeverity = GateSeverity.ERROR
    threshold: float | None = Field(default=None, ge=0, le=1)
    """The share of rows that may break it: 0.01 is one in a hundred."""
    minimum: float | None = None
    maximum: float | None = None
    references: str | None = None
    """`table(column)`."""
    values: tuple[str, ...] = ()
    within: Seconds | None = None

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
        return self


class Alerts(_Part):
    channel: str = "log"
    """`log`, `email:<address>`, `webhook:<environment variable with the address>`."""


def _off(value: Any) -> Any:
    """YAML reads `off` and `no` as false, which here is the word none."""
    return "none" if value is False else value


Off = Annotated[Literal["none"], BeforeValidator(_off)]


class Requirements(_Part):
    version: Literal[1] = 1
    name: Name | None = None
    description: str | None = None
    owner: str | None = None
    recipe: Recipe | None = None
    mode: Mode | None = None
    """Decides where the rules find more than one right."""
    sources: tuple[Source, ...] = ()
    sinks: tuple[Sink, ...] = ()
    latency: Seconds | None = None
    """How old the data may be in the sinks: the freshness that is promised."""
    volume: Volume | None = None
    history: Literal["full", "window", "none"] | None = None
    """How much of the past the outputs need."""
    consistency: Literal["exactly_once", "at_least_once", "at_most_once"] | None = None
    pii: Pii | None = None
    replay: Replay | None = None
    availability: Literal["critical", "important", "standard"] | None = None
    scheduled: bool | None = None
    """People read it at set times: reports, closings."""
    schedule: str | None = None
    """Cron, with its time zone: `0 6 * * * UTC`."""
    warehouse_computes: bool = True
    """Whether the destination computes well."""
    orchestrator: Literal["snowmelt", "airflow", "dagster", "cron"] | None = None
    residency: str | None = None
    """The region that the data may not leave."""
    transformations: tuple[Transformation, ...] = ()
    quality: tuple[QualityRule, ...] | Off | None = None
    schema_evolution: Annotated[Evolution | None, BeforeValidator(_off)] = None
    idempotency: Literal["key", "watermark", "overwrite", "none"] | None = None
    monitoring: Alerts | Off | None = None
    keep_raw: bool = True
    approvals: dict[str, str] = Field(default_factory=dict)
    """Answers to what is asked first, by the rule's id: who said so, and why."""

    @property
    def personal(self) -> bool:
        """Whether there is personal data: somebody said so, or marked a column."""
        marked = any(column.pii for source in self.sources for table in source.tables for column in table.columns)
        return marked or (self.pii is not None and self.pii.present)

    @model_validator(mode="after")
    def _named_once(self) -> Requirements:
        _once("source", [item.name.lower() for item in self.sources])
        _once("sink", [item.name.lower() for item in self.sinks])
        _once("transformation", [item.name.lower() for item in self.transformations])
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


def _once(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"there are two {what}s named {', '.join(twice)}")


def _without_password(name: str, connection: str | None) -> None:
    if is_secret("address", connection):
        raise ValueError(f"connection of {name} is a secret: give the name of an environment variable that holds it")
