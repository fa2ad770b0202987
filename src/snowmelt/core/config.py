"""Settings: `snowmelt.toml`, overridden by SNOWMELT_* variables."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from snowmelt.core import errors

FILE_NAME = "snowmelt.toml"
_PREFIX = "SNOWMELT_"
_NOT_SETTINGS = {"SNOWMELT_ADMIN_PASSWORD", "SNOWMELT_JARS"}
"""Variables with the prefix that other parts read: secrets never become settings, so they can't be printed."""


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
    """Of jobs and datasets."""
    running_seconds: float = Field(default=60.0, gt=0)
    """How often a run that goes on says so."""
    timeout_seconds: float = Field(default=5.0, gt=0)
    queue: int = Field(default=1000, ge=1)
    """How many events may wait. Those that find no room are dropped, counted and logged."""

    @model_validator(mode="after")
    def _one_place(self) -> OpenLineageSettings:
        if sum(place is not None for place in (self.file, self.url, self.kafka)) != 1:
            raise ValueError("give `file`, `url` or `kafka`, one of them")
        return self


class Settings(BaseModel):
    """Everything that can be configured. Unknown keys are errors: a typo must not be silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    storage_root: str | None = None
    """Where table data lives: a folder or an object-store URI that every Spark executor can reach.
    Default: `tables` inside the data directory."""
    storage_options: dict[str, str] = Field(default_factory=dict)
    """Options for the object store, as delta-rs names them. Secrets belong in the environment."""
    state_url: str | None = None
    """SQLAlchemy URL of the state store. Default: SQLite inside the data directory."""
    spark: dict[str, str] = Field(default_factory=dict)
    """Spark settings, passed through; `spark.master` chooses the cluster."""
    trust_python: bool = False
    """Whether stored procedures and functions in Python may run. They run with the server's rights."""
    default_database: str = "SNOWMELT"
    default_warehouse: str = "COMPUTE_WH"
    credit_price: float = 3.0
    """What one warehouse credit costs, for cost reports."""
    lock_timeout_seconds: float = 300.0
    """How long a statement waits for a table that another transaction is writing."""
    parallel_refreshes: int = 4
    """How many dynamic tables are refreshed at once."""
    parallel_tasks: int = 4
    """How many tasks run at once."""
    held_result_bytes: int = 64 * 1024 * 1024
    """Results of queries over large inputs are kept in files beyond this size, and in memory below it."""
    parallel_statements: int = Field(default=16, ge=1)
    """How many statements of clients the server runs at once."""
    waiting_statements: int = Field(default=1000, ge=0)
    """How many more may wait for their turn; the rest is refused at once."""
    max_sessions: int = Field(default=1000, ge=1)
    """How many sessions clients may have open on the server."""
    stop_seconds: float = 10.0
    """How long refreshes and tasks that run may go on when the account is closed. Then they are cancelled."""
    small_query_bytes: int = 64 * 1024 * 1024
    """Below this input size a query runs without adaptive execution, and a small result is committed by delta-rs."""
    small_write_rows: int = 100_000
    """Above this many rows a write goes through Spark."""
    openlineage: OpenLineageSettings | None = None
    """Where events of refreshes, tasks, loads and writing statements go. Default: nowhere."""
    log_level: str = "WARNING"
    log_json: bool = False


def load_settings(
    data_dir: Path | None, *, file: Path | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from the named file, else `snowmelt.toml` here or in the data directory, then the environment."""
    values: dict[str, Any] = {}
    candidates = [file] if file else [Path(FILE_NAME), *([data_dir / FILE_NAME] if data_dir else [])]
    for candidate in candidates:
        if candidate.is_file():
            values = _read(candidate)
            break
        if file is not None:
            raise errors.configuration(f"The configuration file {file} does not exist.")
    values.update(_from_environment(os.environ if environ is None else environ))
    try:
        return Settings.model_validate(values)
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


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    known = Settings.model_fields
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(_PREFIX) or name in _NOT_SETTINGS:
            continue
        key = name.removeprefix(_PREFIX).lower()
        if key in known and key not in ("spark", "storage_options", "openlineage"):
            values[key] = value
    return values
