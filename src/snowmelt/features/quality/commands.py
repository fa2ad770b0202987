"""EXECUTE QUALITY CHECKS, and ALTER TABLE … REPLAY QUARANTINE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.quality import quarantine
from snowmelt.features.quality.asking import run_checks
from snowmelt.features.quality.listing import HISTORY_COLUMNS, history_row
from snowmelt.features.quality.statements import ExecuteQualityChecks, ReplayQuarantine
from snowmelt.features.relations.changes import delete
from snowmelt.features.relations.inserts import insert
from snowmelt.runtime.metadata.columns import result
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.runtime.results import Result
from snowmelt.sql.statements.dml import DeleteStatement, InsertStatement
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def execute_checks(run: Run, statement: ExecuteQualityChecks) -> Result:
    table = run.find_table(statement.name)
    rows = [history_row(item, table) for item in run_checks(run, table)]
    return result(HISTORY_COLUMNS, rows, "EXECUTE_QUALITY_CHECKS")


def replay_quarantine(run: Run, table: CatalogObject, action: ReplayQuarantine) -> str:
    """Moves quarantined rows into their table, in one transaction; its gate puts back what fails still."""
    assert isinstance(table.definition, TableDefinition)
    kept = quarantine.existing(run.session, table.name)
    _read_as_stored(run, kept, action)
    with run.atomic():
        # In the order in which a gate takes them; and nobody adds a row between reading and deleting.
        run.open_for_write(table)
        before = run.open_for_write(kept).rows
        moved = _move(run, table, kept, action)
    with run.state.read() as state:
        after = state.versions.visible(kept.id)
    # Only after the gate: what it put back was not replayed.
    back = after.rows - (before - moved) if after is not None else 0
    message = f"{moved - back} quarantined rows were replayed."
    return f"{message} {back} fail still, and are in quarantine again." if back else message


def _read_as_stored(run: Run, kept: CatalogObject, action: ReplayQuarantine) -> None:
    """Rows go back as they came: what policies make of them would stay in the table."""
    with run.state.read() as state:
        guarded = bool(run.account.policies.references(state, kept))
    if guarded and action.where is not None:
        # The condition would tell of values that whoever writes it does not see.
        raise errors.unsupported(
            "REPLAY QUARANTINE … WHERE for a table with policies", hint="Replay all rows: what fails still comes back."
        )
    run.exempt = frozenset({kept.id})


def _move(run: Run, table: CatalogObject, kept: CatalogObject, action: ReplayQuarantine) -> int:
    """How many rows left quarantine for the table, whose gate has not seen them yet."""
    assert isinstance(table.definition, TableDefinition) and isinstance(kept.definition, TableDefinition)
    known = {column.name for column in kept.definition.columns}
    names = ", ".join(spelled(column.name) for column in table.definition.columns if column.name in known)
    source = object_name(kept.name, qualified=True)
    chosen = f" WHERE {action.where.text}" if action.where is not None else ""
    target = object_name(table.name, qualified=True)
    moved = parse_statement(f"INSERT INTO {target} ({names}) SELECT {names} FROM {source}{chosen}")
    gone = parse_statement(f"DELETE FROM {source}{chosen}")
    assert isinstance(moved, InsertStatement) and isinstance(gone, DeleteStatement)
    count = insert(run, moved).rows()[0][0]
    delete(run, gone)
    return int(count)
