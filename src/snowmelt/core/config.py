"""Settings: `snowmelt.toml`, overridden by SNOWMELT_* variables."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from snowmelt.core import errors

FILE_NAME = "snowmelt.toml"
_PREFIX = "SNOWMELT_"
_NOT_SETTINGS = {
    "SNOWMELT_ADMIN_PASSWORD", "SNOWMELT_JARS", "SNOWMELT_METRICS_TOKEN", "SNOWMELT_PASSWORD",
    "SNOWMELT_PRIVATE_KEY_PASSPHRASE", "SNOWMELT_TOKEN", "SNOWMELT_TOKEN_KEY", "SNOWMELT_URL", "SNOWMELT_USER",
}  # fmt: skip
"""Variables with the prefix that other parts read: secrets never become settings, so they can't be printed."""


_STORAGE_PREFIXES = ("AWS_", "AZURE_", "GOOGLE_")
"""Environment variables with these prefixes hold the credentials of object stores."""
_TABLES = frozenset({
    "spark", "storage_options", "openlineage", "tracing", "notifications", "alert_rules", "upkeep", "language_model",
})  # fmt: skip
"""Settings that no single variable can hold."""


class OpenLineageSettings(BaseModel):
    """Where OpenLineage events go: to a file, to an HTTP endpoint or to a topic of Kafka."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str | None = None
    """Gets one event a line; relative to the data directory."""
    url: str | None = None
    """Takes one event a POST, such as `http://localhost:5000/api/v1/lineage`."""
    token_env: str | None = None
    """The environment variable that holds the endpoint's bearer token."""
    kafka: str | None = None
    """Brokers, as `host:port`, separated by commas."""
    topic: str = "openlineage"
    """The topic of Kafka that gets one event a record."""
    kafka_properties_file: str | None = None
    """Settings of Kafka's client, one a line: `security.protocol = SASL_SSL`, …"""
    namespace: str = "snowmelt"
    """The namespace of jobs and datasets in lineage events."""
    running_seconds: float = Field(default=60.0, gt=0)
    """How often a run that goes on says so."""
    timeout_seconds: float = Field(default=5.0, gt=0)
    queue: int = Field(default=1000, ge=1)
    """How many events may wait. Those that find no room are dropped, counted and logged."""

    @model_validator(mode="after")
    def _one_target(self) -> OpenLineageSettings:
        if sum(target is not None for target in (self.file, self.url, self.kafka)) != 1:
            raise ValueError("give exactly one of them: `file`, `url` or `kafka`")
        return self


class LanguageModelSettings(BaseModel):
    """A language model that reads descriptions beside the designer's own grammar. Never needed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    """An OpenAI-compatible address, such as `http://localhost:11434/v1`."""
    model: str
    key_env: str | None = None
    """The environment variable that holds its key."""
    timeout_seconds: float = Field(default=60.0, gt=0)


class TracingSettings(BaseModel):
    """Where OpenTelemetry traces go: to a file or to a collector."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str | None = None
    """Gets one span a line, as JSON; relative to the data directory."""
    url: str | None = None
    """Takes OTLP over HTTP, such as `http://localhost:4318/v1/traces`."""
    service_name: str = "snowmelt"

    @model_validator(mode="after")
    def _one_target(self) -> TracingSettings:
        if (self.file is None) == (self.url is None):
            raise ValueError("give exactly one of them: `file` or `url`")
        return self


class QuickMode(StrEnum):
    ON = "on"
    """Queries over few rows are computed in this process, where that gives what Spark gives."""
    OFF = "off"
    """Spark computes everything."""
    ALL = "all"
    """As `on`, however large the inputs are. For tests."""


class QuickSettings(BaseModel):
    """The lane for queries over few rows, which does without Spark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: QuickMode = QuickMode.ON
    compared: float = Field(default=0.0, ge=0.0, le=1.0)
    """The share of its queries that Spark computes as well, to be compared. A difference is logged and ends its use."""
    strict: bool = False
    """Whether a difference fails the statement instead. For tests."""
    memory: str = "1GB"
    """What all queries in it may use together. One that needs more goes to Spark."""
    seconds: float = Field(default=2.0, gt=0)
    """A query that takes longer goes to Spark."""


class NotificationSettings(BaseModel):
    """A way to reach somebody: what Snowflake calls a notification integration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url_env: str
    """The environment variable that holds the address, as Apprise writes it: `slack://…`, `mailtos://…`, `json://…`."""
    allowed_recipients: tuple[str, ...] = ()
    """The e-mail addresses that statements may send to. Empty: only those in the address itself."""
    enabled: bool = True


class AlertRuleSettings(BaseModel):
    """A condition on a metric, or on the number of rows of a query, and the channels to notify when it holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    metric: str | None = None
    sql: str | None = None
    """A query, SHOW or CALL; the condition is on how many rows it has, more than none unless said otherwise."""
    role: str = "ACCOUNTADMIN"
    """The role whose rights the query has."""
    database: str | None = None
    schema_: str | None = Field(default=None, alias="schema")
    every_seconds: float = Field(default=60.0, gt=0)
    """How often the query runs, at most."""
    labels: dict[str, str] = Field(default_factory=dict)
    """What a series must have; all series of the metric when there are none."""
    above: float | None = None
    below: float | None = None
    for_seconds: float = Field(default=0.0, ge=0)
    """How long it must hold."""
    severity: Literal["info", "warning", "critical"] = "warning"
    channels: tuple[str, ...] = ()
    """Names from `notifications`."""
    repeat_seconds: float = Field(default=14_400.0, gt=0)
    """How long nothing more is said while it goes on."""
    escalate_seconds: float | None = Field(default=None, gt=0)
    """After how long of firing others are told, too."""
    escalate_to: tuple[str, ...] = ()
    summary: str | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> AlertRuleSettings:
        if (self.metric is None) == (self.sql is None):
            raise ValueError("give exactly one of them: `metric` or `sql`")
        if (self.above is None) == (self.below is None) and (self.sql is None or self.above is not None):
            raise ValueError("give exactly one of them: `above` or `below`")
        if (self.escalate_seconds is None) != (not self.escalate_to):
            raise ValueError("`escalate_seconds` and `escalate_to` belong together")
        return self

    @property
    def source(self) -> str:
        """What its series are called: the metric, or the query's rows."""
        return self.metric or f"rows of {self.name}"

    def holds(self, value: float) -> bool:
        if self.below is not None:
            return value < self.below
        return value > (self.above or 0.0)


class UpkeepSettings(BaseModel):
    """What the server does for its tables and its own records while it runs, and how much of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    every_seconds: float = Field(default=5.0, gt=0)
    """How often it looks whether there is something to do."""
    share: float = Field(default=0.1, gt=0, le=1)
    """The share of one thread's time that upkeep may take."""
    bytes_per_hour: int = Field(default=8 << 30, ge=1)
    """How many bytes of data files compaction may read in an hour."""
    small_files: int = Field(default=32, ge=2)
    """Compaction joins this many small files that follow each other."""
    vacuum_seconds: float = Field(default=600.0, ge=0)
    """How often, at most, files and versions of a table beyond its retention are removed."""
    grace_seconds: float = Field(default=600.0, ge=0)
    """Nothing that was replaced a shorter time ago goes, whatever the retention."""
    orphan_hours: float = Field(default=24.0, gt=0)
    """How long a file lies untouched that no table names before it goes."""
    history_seconds: float = Field(default=3600.0, ge=0)
    """How often histories are trimmed and leftovers looked for."""
    query_history_days: float = Field(default=31.0, gt=0)
    usage_days: float = Field(default=365.0, gt=0)
    """How long the costs of warehouses are kept."""
    audit_days: float = Field(default=365.0, gt=0)
    task_history_days: float = Field(default=14.0, gt=0)
    """So long a run that failed can be tried again."""
    refresh_history_days: float = Field(default=7.0, gt=0)
    channel_history_days: float = Field(default=14.0, gt=0)
    load_history_days: float = Field(default=64.0, gt=0)
    quality_days: float = Field(default=90.0, gt=0)
    observation_days: float = Field(default=400.0, gt=0)
    """Freshness, drifts of schemas, notifications: a year of availability by month, and a little more."""
    result_hours: float = Field(default=24.0, gt=0)
    """How long the files of large results stay while their session goes on."""


class Settings(BaseModel):
    """Everything that can be configured. Unknown keys are errors: a typo must not be silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    storage_root: str | None = None
    """Where table data lives: a folder or an object-store URI that every Spark executor can reach.
    Default: `tables` inside the data directory."""
    storage_options: dict[str, str] = Field(default_factory=dict)
    """Options for the object store, as delta-rs names them. Secrets belong in the environment."""
    store_cache_bytes: int = Field(default=10 << 30, ge=64 << 20)
    """How much of an object store's files may lie in the data directory as well, for quick reads."""
    state_url: str | None = None
    """SQLAlchemy URL of the state store. Default: SQLite inside the data directory."""
    spark: dict[str, str] = Field(default_factory=dict)
    """Spark settings, passed through; `spark.master` chooses the cluster."""
    trust_python: bool = False
    """Whether stored procedures and functions in Python may run. They run with the server's rights."""
    python_seconds: float = Field(default=60.0, gt=0)
    """How long one call of a function in Python may take."""
    python_memory_bytes: int = Field(default=2 * 1024**3, ge=128 * 1024**2)
    """How much memory a process may have that runs functions or procedures in Python."""
    procedure_seconds: float = Field(default=3600.0, gt=0)
    """How long a procedure's own code may take in a call, without the statements that it waits for."""
    procedure_python: str | None = None
    """The interpreter that runs procedures, whose packages they see. Default: the server's own."""
    default_database: str = "SNOWMELT"
    default_warehouse: str = "COMPUTE_WH"
    credit_price: float = 3.0
    """What one warehouse credit costs, for cost reports."""
    lock_timeout_seconds: float = 300.0
    """How long a statement waits for a table that another transaction is writing."""
    pipe_seconds: float = Field(default=10.0, gt=0)
    """How often pipes with AUTO_INGEST look for new files."""
    parallel_refreshes: int = 4
    """How many dynamic tables are refreshed at once."""
    parallel_tasks: int = 4
    """How many tasks run at once."""
    held_result_bytes: int = 64 * 1024 * 1024
    """Results of queries over large inputs are kept in files beyond this size, and in memory below it."""
    parallel_statements: int = Field(default=16, ge=1)
    """How many statements of clients the server runs at once; and of large ones as many besides."""
    waiting_statements: int = Field(default=1000, ge=0)
    """How many more may wait for their turn; the rest is refused at once."""
    max_sessions: int = Field(default=1000, ge=1)
    """How many sessions clients may have open on the server."""
    max_sessions_per_user: int = Field(default=500, ge=1)
    """How many of them may be one user's."""
    session_idle_hours: float = Field(default=4.0, gt=0)
    """How long a session lasts without a request of its client."""
    session_hours: float = Field(default=168.0, gt=0)
    """How long a session lasts at most; then its client has to log in again."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which clients may call a server that listens on loopback, as behind a proxy; localhost always may."""
    stop_seconds: float = 10.0
    """How long closing the account takes at most. What runs gets a third of it to end, then is cancelled."""
    cancel_seconds: float = Field(default=5.0, gt=0)
    """How long tasks of a cancelled statement may go on. Then Spark's process is replaced, to end them."""
    silence_seconds: float = Field(default=60.0, gt=0)
    """How long Spark may not answer. Then its process is replaced."""
    small_query_bytes: int = 64 * 1024 * 1024
    """Below this input size a query runs without adaptive execution, and a small result is committed by delta-rs."""
    small_write_rows: int = 100_000
    """Above this many rows a write goes through Spark."""
    quick: QuickSettings = QuickSettings()
    """Queries over few rows, computed in this process instead of by Spark."""
    openlineage: OpenLineageSettings | None = None
    """Where events of refreshes, tasks, loads and writing statements go. Default: nowhere."""
    language_model: LanguageModelSettings | None = None
    """What reads descriptions of pipelines beside our own grammar (`snowmelt design`). Default: nothing."""
    tracing: TracingSettings | None = None
    """Where traces of refreshes and statements go. Default: nowhere."""
    notifications: dict[str, NotificationSettings] = Field(default_factory=dict)
    """Ways to reach people, by name."""
    alert_rules: tuple[AlertRuleSettings, ...] = ()
    """Conditions on metrics."""
    upkeep: UpkeepSettings = UpkeepSettings()
    """What happens to tables and histories in the background."""
    log_level: str = "WARNING"
    log_json: bool = False

    _file: Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path | None:
        """The file that the settings came from."""
        return self._file


def load_settings(
    data_dir: Path | None, *, file: Path | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from the named file, else `snowmelt.toml` here or in the data directory, then the environment."""
    values: dict[str, Any] = {}
    read: Path | None = None
    candidates = [file] if file else [Path(FILE_NAME), *([data_dir / FILE_NAME] if data_dir else [])]
    for candidate in candidates:
        if candidate.is_file():
            values, read = _read(candidate), candidate.absolute()
            break
        if file is not None:
            raise errors.configuration(f"The configuration file {file} does not exist.")
    values.update(_from_environment(os.environ if environ is None else environ))
    try:
        settings = Settings.model_validate(values)
        settings._file = read
        return settings
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise errors.configuration(f"Setting '{name}' is not valid: {first['msg']}.") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise errors.configuration(f"{path} is not valid TOML: {error}.") from None
    # What a project of definitions says of itself; `projects/` reads it.
    values.pop("project", None)
    spark = values.get("spark")
    if isinstance(spark, dict):
        values["spark"] = {key: _text(value) for key, value in _flat(spark).items()}
    return values


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """TOML reads `spark.master = …` under [spark] as nested tables; Spark wants dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return {key if key.startswith("spark.") or prefix else f"spark.{key}": value for key, value in flat.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_own_variable(settings: Settings, name: str) -> bool:
    """Whether a variable is for the account itself: its settings, its secrets, the credentials of its storage."""
    named = {channel.url_env for channel in settings.notifications.values()}
    if settings.openlineage is not None:
        named.add(settings.openlineage.token_env or "")
    key = name.upper()
    if key in _NOT_SETTINGS or name in named or key.startswith(_STORAGE_PREFIXES):
        return True
    return key.startswith(_PREFIX) and key.removeprefix(_PREFIX).lower() in Settings.model_fields


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    known = Settings.model_fields
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(_PREFIX) or name in _NOT_SETTINGS:
            continue
        key = name.removeprefix(_PREFIX).lower()
        if key in known and key not in _TABLES:
            values[key] = value
    return values
