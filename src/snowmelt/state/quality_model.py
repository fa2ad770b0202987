"""What the state store keeps of quality checks: the checks, as part of a table's definition, and their results."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from snowmelt.core.names import ObjectName
from snowmelt.state.record import Record


class CheckKind(StrEnum):
    NOT_NULL = "NOT_NULL"
    ACCEPTED_VALUES = "ACCEPTED_VALUES"
    RANGE = "RANGE"
    PATTERN = "PATTERN"
    LENGTH = "LENGTH"
    EXPRESSION = "EXPRESSION"
    UNIQUE = "UNIQUE"
    REFERENCES = "REFERENCES"
    ROW_COUNT = "ROW_COUNT"
    FRESHNESS = "FRESHNESS"
    COMPLETENESS = "COMPLETENESS"
    DUPLICATES = "DUPLICATES"
    SCHEMA = "SCHEMA"
    MEAN = "MEAN"
    STDDEV = "STDDEV"
    QUANTILE = "QUANTILE"
    DRIFT = "DRIFT"
    VOLUME = "VOLUME"
    SQL = "SQL"


class Family(StrEnum):
    """What a check is about."""

    FRESHNESS = "FRESHNESS"
    COMPLETENESS = "COMPLETENESS"
    UNIQUENESS = "UNIQUENESS"
    VALIDITY = "VALIDITY"
    DISTRIBUTION = "DISTRIBUTION"


class CheckSeverity(StrEnum):
    WARN = "WARN"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


class FailureAction(StrEnum):
    WARN = "WARN"
    """The write goes through, and the result says what was wrong."""
    QUARANTINE = "QUARANTINE"
    """The rows that fail go to the quarantine table, all others through."""
    FAIL = "FAIL"
    """The write fails, and the last good version stays visible."""
    SUSPEND = "SUSPEND"
    """As FAIL, and the dynamic table or task that wrote is suspended."""


class Threshold(Record):
    """How much may fail."""

    amount: float
    percent: bool = False

    def exceeded(self, failed: int, of: int) -> bool:
        return failed > (self.amount * of / 100 if self.percent else self.amount)

    def __str__(self) -> str:
        return f"{self.amount:g} %" if self.percent else f"{self.amount:g}"


class QualityCheck(Record):
    name: str
    kind: CheckKind
    columns: tuple[str, ...] = ()
    expression: str | None = None
    """EXPRESSION: a condition over a row. SQL: a query for one number. Snowflake SQL, as written."""
    values: tuple[str, ...] = ()
    """ACCEPTED_VALUES: SQL literals. SCHEMA: columns and types."""
    minimum: str | None = None
    """An SQL expression; for what is measured, a number."""
    maximum: str | None = None
    pattern: str | None = None
    quantile: float | None = None
    method: str | None = None
    """DRIFT: PSI or KS."""
    window: int | None = None
    """How many earlier results VOLUME, and ROW_COUNT with `within`, look back at."""
    within: float | None = None
    """ROW_COUNT: percent by which it may differ from the average of the earlier results."""
    of_before: float | None = None
    """ROW_COUNT: percent of the rows that the table had before the write, which must be left at least."""
    references: ObjectName | None = None
    referenced_columns: tuple[str, ...] = ()
    severity: CheckSeverity = CheckSeverity.ERROR
    action: FailureAction = FailureAction.FAIL
    threshold: Threshold | None = None
    comment: str | None = None


class ResultStatus(StrEnum):
    PASSED = "PASSED"
    FAILED = "FAILED"
    ERROR = "ERROR"
    """The check itself could not be carried out."""


class QualityResult(Record):
    """What one check said of one write, or when it was asked."""

    id: str
    table_id: str
    table: ObjectName
    check: str
    kind: CheckKind
    family: Family
    severity: CheckSeverity
    action: FailureAction
    status: ResultStatus
    measured_at: datetime
    operation: str
    """What wrote the rows: INSERT, COPY, STREAMING INGEST, REFRESH, …; RUN when somebody asked."""
    query_id: str | None = None
    version: int | None = None
    """The Delta version that was looked at."""
    value: float | None = None
    """What was measured: rows that failed, or the number that the check is about."""
    rows_checked: int | None = None
    rows_failed: int | None = None
    rows_quarantined: int = 0
    message: str | None = None
    """What was wrong; None when nothing was."""
    profile: tuple[float, ...] = ()
    """DRIFT: the bounds between the bins and the share of rows in each, which later results are compared to."""
