"""What the state store keeps, as frozen records."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field, SerializeAsAny

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName
from snowmelt.core.types import DataType
from snowmelt.state.dynamic_model import DynamicDefinition
from snowmelt.state.quality_model import QualityCheck
from snowmelt.state.record import Definition, Record

ObjectKind = ObjectType
"""The kinds of objects that live in schemas."""
RELATIONS = frozenset({ObjectKind.TABLE, ObjectKind.VIEW})
"""Kinds that hold rows or a query for them."""
SELECTABLE = RELATIONS | {ObjectKind("STREAM")}
"""Kinds that share one namespace inside a schema: a view or stream can't have a table's name."""


class IdentityColumn(Record):
    """AUTOINCREMENT / IDENTITY of a column."""

    start: int = 1
    step: int = 1
    ordered: bool = False


class Column(Record):
    name: str
    type: DataType
    nullable: bool = True
    default: str | None = None
    """The DEFAULT expression, as Snowflake SQL."""
    identity: IdentityColumn | None = None
    comment: str | None = None


class ForeignKey(Record):
    name: str
    columns: tuple[str, ...]
    references: ObjectName
    referenced_columns: tuple[str, ...]


class Key(Record):
    """A declared PRIMARY KEY or UNIQUE constraint. Snowflake does not enforce them, nor do we."""

    name: str
    columns: tuple[str, ...]


class CheckConstraint(Record):
    """An enforced CHECK constraint; the expression is Snowflake SQL over the table's columns."""

    name: str
    expression: str


class TableDefinition(Definition):
    kind: Literal["TABLE"] = "TABLE"
    columns: tuple[Column, ...]
    location: str
    """The Delta table's folder, relative to the storage root (or a full URI for a table other tools own)."""
    transient: bool = False
    primary_key: Key | None = None
    unique_keys: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[CheckConstraint, ...] = ()
    cluster_by: tuple[str, ...] = ()
    """Clustering expressions, as written."""
    retention_days: int = 1
    change_tracking: bool = False
    """Whether the user switched it on. The Delta change feed itself is on unless CREATE TABLE says FALSE."""
    change_feed: bool = True
    schema_evolution: bool = False
    spark_only: bool = False
    """True once a Delta feature that delta-rs can't write (column mapping, type widening) was needed."""
    dynamic: DynamicDefinition | None = None
    """Set for a dynamic table, whose rows come from its query alone."""
    quality: tuple[QualityCheck, ...] = ()
    """What every write must pass before it becomes visible."""


class ViewDefinition(Definition):
    kind: Literal["VIEW"] = "VIEW"
    columns: tuple[Column, ...]
    """Names, types and comments of the view's output when it was created."""
    query: str
    """The SELECT, as written."""
    database: str
    schema_: str = Field(alias="schema")
    """Where the view was created: names in the query resolve there."""
    text: str
    """The whole CREATE VIEW statement, as SHOW VIEWS prints it."""
    secure: bool = False
    change_tracking: bool = False

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class StageDefinition(Definition):
    kind: Literal["STAGE"] = "STAGE"
    url: str | None = None
    """None for an internal stage, whose files live below the storage root."""
    location: str | None = None
    """An internal stage's folder, relative to the storage root."""
    file_format: dict[str, str | int | bool | tuple[str, ...] | None] = Field(default_factory=dict)
    directory: bool = False


class SequenceDefinition(Definition):
    kind: Literal["SEQUENCE"] = "SEQUENCE"
    start: int = 1
    step: int = 1
    ordered: bool = False


class Argument(Record):
    name: str
    type: DataType
    default: str | None = None


class RoutineDefinition(Definition):
    """A function, a table function, an aggregate function or a stored procedure."""

    kind: Literal["FUNCTION", "PROCEDURE"]
    arguments: tuple[Argument, ...]
    returns: DataType | None
    """None for a table function, whose `returns_table` says the columns."""
    returns_table: tuple[Column, ...] | None = None
    language: Literal["SQL", "PYTHON"] = "SQL"
    body: str
    handler: str | None = None
    volatile: bool = False
    immutable: bool = False
    """Declared so: equal arguments give equal values."""
    aggregate: bool = False
    strict: bool = False
    """A NULL argument gives NULL without a call."""
    secure: bool = False
    execute_as_caller: bool = False
    database: str
    schema_: str = Field(alias="schema")
    text: str = ""
    """The CREATE statement, for GET_DDL."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


OWN_DEFINITIONS: tuple[type[Definition], ...] = (TableDefinition, ViewDefinition, SequenceDefinition)
"""The kinds that no feature's folder brings."""


class Database(Record):
    id: str
    name: str
    owner: str
    comment: str | None = None
    transient: bool = False
    retention_days: int = 1
    created_on: datetime
    altered_on: datetime
    dropped_on: datetime | None = None


class Schema(Record):
    id: str
    database: str
    name: str
    owner: str
    comment: str | None = None
    transient: bool = False
    managed_access: bool = False
    retention_days: int = 1
    created_on: datetime
    altered_on: datetime
    dropped_on: datetime | None = None


class CatalogObject(Record):
    """Anything that lives in a schema."""

    id: str
    name: ObjectName
    owner: str
    comment: str | None = None
    session_id: str | None = None
    """Set for a TEMPORARY object: only that session sees it; it hides a permanent one of the same name."""
    created_on: datetime
    altered_on: datetime
    dropped_on: datetime | None = None
    definition: SerializeAsAny[Definition]

    @property
    def kind(self) -> ObjectKind:
        return ObjectKind(self.definition.kind)


FOREIGN, FOREIGN_MOVED = "FOREIGN", "FOREIGN OPTIMIZE"
"""What other tools wrote; the second, when they only put rows into other files or changed properties of the table."""
NO_ROWS = ("OPTIMIZE", FOREIGN_MOVED, "ALTER TABLE", "UNDO")
"""Operations whose commits bring no rows."""


class TableVersion(Record):
    """One version of a table that became visible, and when."""

    table_id: str
    version: int
    """The Delta version."""
    committed_at: datetime
    """Strictly increasing over the whole account: one instant names one state of all tables."""
    transaction_id: str
    query_id: str | None
    operation: str
    rows: int
    """Rows in the table at this version."""
    bytes: int
    foreign: bool = False
    """Written by another tool and adopted."""

    @property
    def has_new_rows(self) -> bool:
        """False for what moved rows between files, changed columns, took something back, or made an empty table."""
        return self.operation not in NO_ROWS and (self.operation != "CREATE TABLE" or self.rows > 0)


class PastColumn(Record):
    """Where a column of today's table is found in versions of an earlier shape."""

    name: str
    """As it is called today."""
    stored: str | None
    """As it was called then; None when it was not there yet."""
    fill: str | None = None
    """What rows of that time have in a column added later: a Snowflake literal, or None for NULL."""


class TableShape(Record):
    """How to read the versions of a table up to `last_version`, whose columns have changed since."""

    table_id: str
    last_version: int
    definition: TableDefinition
    """As it was then."""
    columns: tuple[PastColumn, ...]
    """Today's columns, in no particular order."""


class WarehouseState(StrEnum):
    STARTED = "STARTED"
    SUSPENDED = "SUSPENDED"


class Warehouse(Record):
    id: str
    name: str
    owner: str
    size: str = "X-Small"
    auto_suspend: int | None = 600
    auto_resume: bool = True
    state: WarehouseState = WarehouseState.STARTED
    comment: str | None = None
    min_cluster_count: int = 1
    max_cluster_count: int = 1
    scaling_policy: str = "STANDARD"
    type: str = "STANDARD"
    query_acceleration: bool = False
    query_acceleration_max_scale_factor: int = 8
    created_on: datetime
    resumed_on: datetime
    altered_on: datetime


class WarehouseUsage(Record):
    """A span of time in which a warehouse was up at one size."""

    id: str
    warehouse_id: str
    warehouse_name: str
    size: str
    clusters: int = 1
    started_at: datetime
    last_used_at: datetime
    ended_at: datetime | None = None
    """None while it is up."""
    continued: bool = False
    """Follows another span without a pause, as after a resize: the minimum of a minute was paid already."""


class QueryRecord(Record):
    """One statement that ran, as QUERY_HISTORY shows it."""

    query_id: str
    session_id: str
    text: str
    query_type: str
    database: str | None
    schema_name: str | None
    user: str
    role: str
    warehouse: str | None
    query_tag: str = ""
    status: Literal["running", "success", "failed_with_error"]
    error_code: str | None = None
    error_message: str | None = None
    start_time: datetime
    end_time: datetime | None = None
    rows_produced: int | None = None
    """Rows of a query; rows that a DML statement changed."""
    rows_inserted: int | None = None
    rows_in_result: int | None = None
    transaction_id: str | None = None
    spark_jobs: tuple[int, ...] = ()
    lane: Literal["quick", "spark", "both"] | None = None
    """Where its queries were computed; None where nothing was."""
    lane_reason: str | None = None
    """Why a query of it was not for the quick lane."""
    correlation_id: str | None = None
    """The id of the newest change that it read from streams."""
    purpose: Literal["QUERY", "REFRESH", "TASK", "ALERT"] = "QUERY"
    target: str | None = None
    """The dynamic table, task or alert that it ran for."""
    target_id: str | None = None
    """The id of that object. A later object of the same name has another id."""
    spark_seconds: float = 0.0
    """How long it held its warehouse, without statements inside it."""
    credits: float = 0.0
    """That time at the warehouse's rate."""
    bytes_scanned: int = 0
    """The size of all tables and files that it read."""


class FileLoad(Record):
    """One file that COPY INTO considered for a table."""

    table_id: str
    file: str
    """The file's path inside its stage, with the stage."""
    etag: str
    """Changes when the file does: size, modification time or the store's own tag."""
    size: int
    loaded_at: datetime
    status: Literal["LOADED", "LOAD_FAILED", "PARTIALLY_LOADED"]
    rows_parsed: int
    rows_loaded: int
    error_count: int = 0
    first_error: str | None = None
    first_error_line: int | None = None
    first_error_column: str | None = None


class TransactionState(StrEnum):
    OPEN = "OPEN"
    COMMITTED = "COMMITTED"
    ROLLED_BACK = "ROLLED_BACK"


class ParameterLevel(StrEnum):
    """Where a parameter can be set."""

    ACCOUNT = "ACCOUNT"
    USER = "USER"
    SESSION = "SESSION"
    DATABASE = "DATABASE"
    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    WAREHOUSE = "WAREHOUSE"
