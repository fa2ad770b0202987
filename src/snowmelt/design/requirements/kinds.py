"""The words of the requirements file: kinds, modes, strategies, and the base of its parts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
"""Becomes part of SQL names and file names."""

Options = dict[str, str | int | float | bool | dict[str, str]]
"""What a kind of source or sink takes beside its address (docs/reference/build.md). Secrets are `${NAME}`."""


class Part(BaseModel):
    """Unknown fields are errors; the text below a field is its description in the schema."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


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
    WEBHOOK = "webhook"
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
    SCD_TYPE_1 = "scd_type_1"
    """The newest values, by key."""
    SCD_TYPE_2 = "scd_type_2"
    """Every version, from when to when."""
    SCD_TYPE_3 = "scd_type_3"
    """The newest values, and the one before of some columns."""


class Evolution(StrEnum):
    EVOLVE = "evolve"
    FREEZE = "freeze"
    DISCARD_ROW = "discard_row"
    DISCARD_VALUE = "discard_value"
    NONE = "none"


class PiiStrategy(StrEnum):
    MASK = "mask"
    HASH = "hash"
    """With a key from the environment: equal values stay equal, and no list of values finds them out."""
    TOKENISE = "tokenise"
    """As PII_TOKEN does: joined with the tokens of all other tables of the account."""
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
    RECONCILIATION = "reconciliation"


class GateSeverity(StrEnum):
    WARN = "warn"
    ERROR = "error"
    CRITICAL = "critical"


Shape = Literal["star", "snowflake", "one_big_table", "vault"]
Compliance = Literal["gdpr", "hipaa", "soc2", "pci"]

Orchestrator = Literal["snowmelt", "airflow", "dagster", "prefect", "cron"]
ORCHESTRATORS: tuple[str, ...] = get_args(Orchestrator)
