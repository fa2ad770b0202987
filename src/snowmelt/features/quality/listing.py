"""Checks and their results as SHOW QUALITY CHECKS and the history function print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core.names import split_name
from snowmelt.govern.quality.ddl import definition_of
from snowmelt.govern.quality.kinds import rule_of
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.metadata.scopes import relation_scope, schema_scope
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.quality_model import QualityResult
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

HISTORY_ARGUMENTS = ("TABLE_NAME", "CHECK_NAME", "STATUS", "START_TIME", "END_TIME", "RESULT_LIMIT")
HISTORY_COLUMNS = columns(
    "MEASURED_ON:ts, DATABASE_NAME, SCHEMA_NAME, TABLE_NAME, CHECK_NAME, KIND, FAMILY, SEVERITY, ON_FAILURE, STATUS, "
    "VALUE:FLOAT, ROWS_CHECKED:n, ROWS_FAILED:n, ROWS_QUARANTINED:n, MESSAGE, OPERATION, QUERY_ID"
)
COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, table_name, kind, family, columns, severity, on_failure, "
    "threshold, definition, comment, last_status, last_measured_on:ts, last_message"
)


def checks(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    in_table = statement.scope is not None and statement.scope.kind in ("TABLE", "DYNAMIC TABLE")
    scope = (relation_scope if in_table else schema_scope)(run, state, statement)
    tables = [scope.relation] if scope.relation is not None else _tables(run, state, scope.database, scope.schema)
    for table in tables:
        definition = table.definition
        if not isinstance(definition, TableDefinition):
            # A view has none.
            continue
        for check in definition.quality:
            last = next(iter(state.quality.last(table.id, check.name, 1)), None)
            yield {
                "created_on": table.altered_on,
                "name": check.name,
                "database_name": table.name.database,
                "schema_name": table.name.schema,
                "table_name": table.name.name,
                "kind": check.kind,
                "family": rule_of(check).family,
                "columns": ", ".join(check.columns),
                "severity": check.severity,
                "on_failure": check.action,
                "threshold": str(check.threshold) if check.threshold is not None else None,
                "definition": definition_of(check),
                "comment": check.comment,
                "last_status": last.status if last is not None else None,
                "last_measured_on": last.measured_at if last is not None else None,
                "last_message": last.message if last is not None else None,
            }


def history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """What checks said, the latest first."""
    tables = {table.id: table for table in _tables(run, state, None, None)}
    asked, check, status = arguments.text("TABLE_NAME"), arguments.identifier("CHECK_NAME"), arguments.text("STATUS")
    parts = split_name(asked) if asked is not None else None
    table = run.object_name(parts) if parts is not None else None
    found = state.quality.history(list(tables), arguments.instant("START_TIME"), arguments.instant("END_TIME"))
    rows = [
        history_row(item, tables[item.table_id])
        for item in found
        if table in (None, tables[item.table_id].name) and check in (None, item.check)
        and status in (None, item.status)
    ]  # fmt: skip
    return rows[: arguments.limit(100)]


def _tables(run: Run, state: StateReader, database: str | None, schema: str | None) -> list[CatalogObject]:
    return objects(run, state, [ObjectKind.TABLE], database, schema)


def history_row(item: QualityResult, table: CatalogObject) -> Row:
    return {
        "MEASURED_ON": item.measured_at,
        "DATABASE_NAME": table.name.database,
        "SCHEMA_NAME": table.name.schema,
        "TABLE_NAME": table.name.name,
        "CHECK_NAME": item.check,
        "KIND": item.kind,
        "FAMILY": item.family,
        "SEVERITY": item.severity,
        "ON_FAILURE": item.action,
        "STATUS": item.status,
        "VALUE": item.value,
        "ROWS_CHECKED": item.rows_checked,
        "ROWS_FAILED": item.rows_failed,
        "ROWS_QUARANTINED": item.rows_quarantined,
        "MESSAGE": item.message,
        "OPERATION": item.operation,
        "QUERY_ID": item.query_id,
    }
