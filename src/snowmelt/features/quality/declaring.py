"""Adding and dropping the quality checks of a table."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.quality import quarantine
from snowmelt.features.quality.runs import gate_run
from snowmelt.features.quality.statements import AddQualityCheck, DropQualityCheck
from snowmelt.features.quality.table_checks import declared_column
from snowmelt.govern.quality.expressions import measure, violation
from snowmelt.govern.quality.kinds import build_check, is_row_check
from snowmelt.runtime.incremental.filling import condition_over
from snowmelt.runtime.rights import enforcement
from snowmelt.sql.bound import FromItem, Scope, SourceColumn
from snowmelt.sql.clauses import MEASURE
from snowmelt.sql.dialect import identifier
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.quality_model import CheckKind, FailureAction, QualityCheck
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_OTHER_ROWS = frozenset({CheckKind.UNIQUE, CheckKind.REFERENCES})


def add_check(run: Run, table: CatalogObject, action: AddQualityCheck) -> None:
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    if any(check.name == action.name for check in definition.quality) and not action.or_replace:
        if action.if_not_exists:
            return
        raise errors.already_exists(action.name)
    check = build_check(action.name, action.kind, action.columns, action.expression, _options(run, action))
    check = _with_key(run, check)
    _check_fits(run, table, definition, check)
    if check.action is FailureAction.QUARANTINE:
        _check_quarantines(definition, check)
        with gate_run(run.account, table, None) as owner:
            quarantine.ensure(owner.session, table)
    with run.state.begin() as state:
        others = tuple(item for item in _current(state, table).quality if item.name != check.name)
        _put(state, table, (*others, check))


def drop_check(run: Run, table: CatalogObject, action: DropQualityCheck) -> None:
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    dropped = next((check for check in definition.quality if check.name == action.name), None)
    if dropped is None:
        if action.if_exists:
            return
        raise errors.compilation("002003", "02000", f"Quality check '{action.name}' does not exist on {table.name}.")
    with run.state.begin() as state:
        kept = tuple(check for check in _current(state, table).quality if check.name != action.name)
        _put(state, table, kept)
        if definition.dynamic is not None and dropped.action is FailureAction.QUARANTINE:
            # The rows that it kept out belong to the table from now on.
            state.dynamic.change(table.id, reinit_reason="A quality check that quarantined rows was dropped.")


def _current(state: StateTransaction, table: CatalogObject) -> TableDefinition:
    current = state.catalog.by_id(table.id)
    if current is None or not isinstance(current.definition, TableDefinition):
        raise errors.not_found("Table", str(table.name))
    return current.definition


def _put(state: StateTransaction, table: CatalogObject, checks: tuple[QualityCheck, ...]) -> None:
    current = state.catalog.by_id(table.id)
    assert current is not None
    definition = _current(state, table).model_copy(update={"quality": checks})
    state.catalog.update(current.model_copy(update={"definition": definition, "altered_on": state.now}))


def _options(run: Run, action: AddQualityCheck) -> dict[str, Any]:
    written = action.options
    given = {item.name: getattr(written, item.name) for item in fields(written)}
    found = {name: value for name, value in given.items() if value is not None}
    if written.table is not None:
        found["table"] = run.object_name(written.table)
    return found


def _with_key(run: Run, check: QualityCheck) -> QualityCheck:
    """REFERENCES: the columns that are referred to, by default the other table's primary key."""
    if check.references is None:
        return check
    with run.state.read() as state:
        found = state.catalog.find(check.references, [ObjectKind.TABLE], run.session.id)
    if found is None or not isinstance(found.definition, TableDefinition):
        raise errors.not_found("Table", str(check.references))
    enforcement.require_object(run, "SELECT", found)
    primary = found.definition.primary_key
    columns = check.referenced_columns or (primary.columns if primary is not None else check.columns)
    _check_columns(found.definition, columns)
    if len(columns) != len(check.columns):
        raise errors.compilation(
            "002207", "42601", "number of columns in the check and in the key that it refers to do not match"
        )
    return check.model_copy(update={"referenced_columns": columns})


def _check_columns(definition: TableDefinition, columns: tuple[str, ...]) -> None:
    known = {column.name for column in definition.columns}
    for column in columns:
        if column not in known:
            raise errors.invalid_identifier(quote(column), 1, 0)


def _refuse_collated(definition: TableDefinition, check: QualityCheck) -> None:
    """Keys of other rows are looked up as they are stored, which knows no collation."""
    if any(column.name in check.columns and column.type.is_collated for column in definition.columns):
        raise errors.unsupported(
            f"{check.kind.value.upper()} over a text with a collation",
            hint="Use AS SQL (SELECT … GROUP BY …), which compares as the column does.",
        )


def _check_fits(run: Run, table: CatalogObject, definition: TableDefinition, check: QualityCheck) -> None:
    """Binds what the check asks, so that a mistake in it shows now and not at the next write."""
    _check_columns(definition, check.columns)
    if check.kind is CheckKind.SQL:
        run.bind_query(SqlText(check.expression or ""))
        return
    if check.kind is CheckKind.SCHEMA:
        for column in check.values:
            declared_column(column)
        return
    with run.environment() as environment:
        if is_row_check(check):
            if check.kind in _OTHER_ROWS:
                _refuse_collated(definition, check)
            else:
                condition = condition_over(environment, definition, violation(check), stored_form=False)
                # Also one that the body of a function brings: it could take a column of the row for one of its own.
                if condition.find(exp.Query) is not None:
                    raise errors.unsupported("a subquery in a quality check", hint="Use AS SQL (SELECT …).")
            return
        measured = measure(check)
        if measured is not None:
            columns = tuple(SourceColumn(c.name, c.type, exp.column(identifier(c.name))) for c in definition.columns)
            scope = Scope(sources=[FromItem(alias=None, columns=columns)])
            ExpressionBinder(environment, scope, QueryBinder(environment), MEASURE).bind(measured)


def _check_quarantines(definition: TableDefinition, check: QualityCheck) -> None:
    if definition.dynamic is not None and check.kind in _OTHER_ROWS:
        raise errors.unsupported(
            f"ON_FAILURE = QUARANTINE of {check.kind} on a dynamic table",
            hint="Which row fails depends on the other rows. Use ON_FAILURE = FAIL, or fix the query.",
        )
