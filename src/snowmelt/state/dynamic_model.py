"""Dynamic tables: what the user declared, and what changes with every refresh."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import ConfigDict, Field

from snowmelt.core.names import ObjectName
from snowmelt.ivm.cost import ComputeEngine
from snowmelt.sql.scd import Dimension
from snowmelt.state.record import Record


class RefreshMode(StrEnum):
    """As configured; what it resolves to is one of the last three."""

    AUTO = "AUTO"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"
    ADAPTIVE = "ADAPTIVE"


class DynamicDefinition(Record):
    """The part of a table's definition that makes it dynamic."""

    query: str
    """As written."""
    database: str
    schema_: str = Field(alias="schema")
    """Where the table was created from: names in the query resolve there."""
    target_lag: int | None = None
    """Seconds; None for DOWNSTREAM, and where the scheduler is disabled."""
    scheduler: Literal["ENABLE", "DISABLE"] | None = None
    """None where nothing was said, which means ENABLE."""
    warehouse: str
    initialization_warehouse: str | None = None
    refresh_mode: RefreshMode = RefreshMode.AUTO
    initialize: Literal["ON_CREATE", "ON_SCHEDULE"] = "ON_CREATE"
    frozen_where: str | None = None
    """Rows that satisfy it are never recomputed. FROZEN WHERE, or IMMUTABLE WHERE as it was called before."""
    backfill_from: str | None = None
    """The full name of the table whose rows it began with."""
    explicit_columns: bool = False
    """Whether the statement has a list of columns."""
    require_user: bool = False
    dimension: Dimension | None = None
    """What the query was made from, for a slowly changing dimension."""
    is_clone: bool = False
    head: str = ""
    """The statement up to its options, as SHOW prints it: what was typed through the name, columns, comment."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @property
    def scheduled(self) -> bool:
        return self.scheduler != "DISABLE"

    @property
    def downstream(self) -> bool:
        return self.scheduled and self.target_lag is None


class Dependency(Record):
    """Something the query reads, directly or through views and functions, as it was when last looked up."""

    name: ObjectName
    kind: Literal["TABLE", "DYNAMIC_TABLE", "VIEW", "FUNCTION"]
    object_id: str
    columns: tuple[str, ...] = ()
    """A relation's columns when the dynamic table was created: one added later is not part of `*`."""
    fingerprint: str = ""
    """A hash of a view's or function's definition. If it differs, the definition has changed."""
    policies: str = ""
    """A hash of the policies that hold for a relation, and behind a colon one of the roles that asked them."""
    bounded: bool = False
    """Read through DYNAMIC_TABLE_REFRESH_BOUNDARY: as anybody reads it, and no part of the graph."""
    direct: bool = True
    """Named in the query itself, not in a view."""


class RowsOf(Record):
    """The definition that the rows of a table are of, as long as a later one is not carried out."""

    query: str
    database: str
    schema_: str = Field(alias="schema")
    dependencies: tuple[Dependency, ...]

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class OperatorState(Record):
    """What an aggregate of the query keeps between refreshes."""

    files: tuple[str, ...]
    """In the table's folder of states; those in folders are the ones that everything else was added to."""
    schema_: dict[str, str] = Field(alias="schema")
    rows: int
    """Of the files in folders."""
    definition: str
    """Tells whether the rows are what the query of today needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class RefreshCosts(Record):
    """What refreshes took so far, smoothed; see `ivm.cost`."""

    full_ms: float | None = None
    full_rows: int = 0
    incremental_ms: float | None = None
    incremental_rows: int = 0
    full_engine: ComputeEngine = ComputeEngine.SPARK
    incremental_engine: ComputeEngine = ComputeEngine.SPARK
    chose_full: bool = False
    """The last refresh could have gone by changes, and was done in full because that was cheaper."""


class DynamicState(Record):
    """Where a dynamic table stands. One a table."""

    table_id: str
    suspended: bool = False
    reason_code: str | None = None
    reason_message: str | None = None
    suspended_on: datetime | None = None
    resumed_on: datetime | None = None
    data_timestamp: datetime | None = None
    """None until the first refresh: the table can't be read before."""
    version: int | None = None
    """The table's own version that holds the query's result as of the data timestamp."""
    frontier: dict[str, int] = Field(default_factory=dict)
    """The version of every source table that `version` was computed from, by table id."""
    dependencies: tuple[Dependency, ...] = ()
    time_dependent: bool = False
    """The query asks what time it is: its result changes although no source does."""
    failures: int = 0
    """Scheduled refreshes that failed in a row."""
    refresh_mode: RefreshMode = RefreshMode.FULL
    """What the configured mode resolved to; never AUTO."""
    refresh_mode_reason: str | None = None
    reinit_reason: str | None = None
    """Why the next refresh must start from nothing; None when it need not."""
    rows_of: RowsOf | None = None
    """Set when the next refresh carries the rows over from another definition."""
    operator_states: dict[str, OperatorState] = Field(default_factory=dict)
    """Belong to `version`, as the frontier does."""
    costs: RefreshCosts = RefreshCosts()
    graph_since: datetime | None = None
    """`valid_from` of the newest row of graph history."""


class RefreshState(StrEnum):
    SCHEDULED = "SCHEDULED"
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    UPSTREAM_FAILED = "UPSTREAM_FAILED"
    SKIPPED = "SKIPPED"


class RefreshAction(StrEnum):
    NO_DATA = "NO_DATA"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"
    REINITIALIZE = "REINITIALIZE"


class RefreshTrigger(StrEnum):
    CREATION = "CREATION"
    SCHEDULED = "SCHEDULED"
    MANUAL = "MANUAL"


class DynamicRefresh(Record):
    """One refresh, done or running, as DYNAMIC_TABLE_REFRESH_HISTORY shows it."""

    id: str
    table_id: str
    name: ObjectName
    """As the table was called then."""
    state: RefreshState
    state_code: str = ""
    state_message: str = ""
    query_id: str | None = None
    data_timestamp: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    completion_target: datetime | None = None
    last_completed_dependency: dict[str, Any] | None = None
    statistics: dict[str, int] = Field(default_factory=dict)
    action: RefreshAction | None = None
    reinit_reason: str | None = None
    trigger: RefreshTrigger
    target_lag: int | None = None
    graph_valid_from: datetime | None = None
    changed_inputs: tuple[dict[str, Any], ...] = ()
    warehouse: str | None = None
    version: int | None = None
    """The table's version that belongs to the data timestamp, once the refresh succeeded."""
    frontier: dict[str, int] = Field(default_factory=dict)
    """What that version was computed from."""
    details: dict[str, Any] = Field(default_factory=dict)
    """Which method was chosen, why, and what it was expected to cost."""


class DynamicGraphEntry(Record):
    """One definition that a dynamic table had, for as long as it had it: DYNAMIC_TABLE_GRAPH_HISTORY."""

    table_id: str
    valid_from: datetime
    valid_to: datetime | None = None
    """None for the present one."""
    name: ObjectName
    inputs: tuple[dict[str, Any], ...] = ()
    target_lag: int | None = None
    scheduled: bool = True
    query: str
    suspended: bool = False
    reason_code: str | None = None
    reason_message: str | None = None
    suspended_on: datetime | None = None
    resumed_on: datetime | None = None
    alter_trigger: tuple[str, ...] = ()
