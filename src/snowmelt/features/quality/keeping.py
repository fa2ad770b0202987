"""Quality checks stay with the name: what takes the place of a table is held to the checks that the table had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import ObjectKind, TableDefinition
from snowmelt.state.quality_model import CheckKind, FailureAction, QualityCheck

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_OTHER_ROWS = frozenset({CheckKind.UNIQUE, CheckKind.REFERENCES})


def with_kept_checks(run: Run, name: ObjectName, definition: TableDefinition) -> TableDefinition:
    """The definition with the checks of the permanent table of that name, if there is one.

    Raises when a check needs a column that the new table does not have.
    """
    with run.state.read() as state:
        found = state.whole_catalog.find(name, [ObjectKind.TABLE])
    if found is None or not isinstance(found.definition, TableDefinition) or not found.definition.quality:
        return definition
    kept = found.definition.quality
    _check_columns(name, found.definition, definition, kept)
    names = {check.name for check in kept}
    return definition.model_copy(update={"quality": (*kept, *(c for c in definition.quality if c.name not in names))})


def _check_columns(
    name: ObjectName, old: TableDefinition, new: TableDefinition, checks: Sequence[QualityCheck]
) -> None:
    gone = {column.name for column in old.columns} - {column.name for column in new.columns}
    for check in checks:
        needed = sorted(gone & _needed(check))
        if needed:
            raise errors.compilation(
                "002226", "42601",
                f"cannot replace table {name}: quality check {check.name} needs column '{', '.join(needed)}'",
                hint=f"Keep the column, or drop the check first: ALTER TABLE {name} DROP QUALITY CHECK {check.name}.",
            )  # fmt: skip
        if new.dynamic is not None and check.kind in _OTHER_ROWS and check.action is FailureAction.QUARANTINE:
            raise errors.unsupported(
                f"ON_FAILURE = QUARANTINE of {check.kind} on a dynamic table",
                hint=f"Drop the check first: ALTER TABLE {name} DROP QUALITY CHECK {check.name}.",
            )


def _needed(check: QualityCheck) -> set[str]:
    """Columns of the table that a check names. A query of its own may name those of others: it is not looked at."""
    if check.expression is None or check.kind is CheckKind.SQL:
        return set(check.columns)
    tree = parse_snowflake(check.expression)
    return {*check.columns, *(fold_identifier(node.this) for node in tree.find_all(exp.Column))}
