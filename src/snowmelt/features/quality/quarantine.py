"""The quarantine table of a table: its columns, and why, when and by which statement a row came there.

A row is repaired there by UPDATE. Replaying inserts it into the table and deletes it from here in one transaction: the
gate looks at it again, and what still fails comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.loading.sink import RowSink
from snowmelt.features.quality.row_checks import FailedRows
from snowmelt.features.quality.runs import GateRun
from snowmelt.runtime.metadata.columns import columns
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.sql.statements.alter_table import RenameColumn, SetType
from snowmelt.sql.statements.base import Action
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.quality_model import QualityCheck
from snowmelt.state.store import StateReader
from snowmelt.storage.rewrite import FILE, ROW

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

_SUFFIX = "_QUARANTINE"
OPERATION = "QUARANTINE"
EXTRA = columns("QUARANTINED_AT:TIMESTAMP_LTZ(9), QUALITY_CHECKS, QUALITY_REASON, QUALITY_QUERY_ID")


def name_of(table: ObjectName) -> ObjectName:
    return ObjectName(table.database, table.schema, table.name + _SUFFIX)


def ensure(owner: Session, table: CatalogObject) -> CatalogObject:
    """The quarantine table, made on first use, with the columns that the table has got since.

    Raises when something else has its name, or a column has another type by now.
    """
    assert isinstance(table.definition, TableDefinition)
    name = name_of(table.name)
    found = _find(owner, name)
    wanted = {column.name: str(column.type) for column in table.definition.columns}
    wanted |= {column.name: str(column.type) for column in EXTRA}
    if len(wanted) != len(table.definition.columns) + len(EXTRA):
        raise errors.compilation(
            "002028", "42601", f"Table '{table.name}' has a column whose name its quarantine table uses itself.",
            hint=f"The quarantine table adds {', '.join(column.name for column in EXTRA)}. Rename the column.",
        )  # fmt: skip
    if found is None:
        declared = ", ".join(f"{spelled(column)} {type_}" for column, type_ in wanted.items())
        owner.execute(f"CREATE TABLE IF NOT EXISTS {object_name(name, qualified=True)} ({declared})")
        return _required(owner, name)
    definition = found.definition
    if not isinstance(definition, TableDefinition) or definition.dynamic is not None:
        raise errors.already_exists(str(name))
    present = {column.name: str(column.type) for column in definition.columns}
    if any(column not in present for column in (extra.name for extra in EXTRA)):
        raise errors.already_exists(str(name))
    for column, type_ in wanted.items():
        if present.get(column, type_) != type_:
            raise errors.compilation(
                "002023", "22000",
                f"Column '{column}' of '{table.name}' is {type_}, and {present[column]} in '{name}'.",
                hint="Rename the quarantine table away: a new one is made when a row needs it.",
            )  # fmt: skip
        if column not in present:
            owner.execute(f"ALTER TABLE {object_name(name, qualified=True)} ADD COLUMN {spelled(column)} {type_}")
    return _required(owner, name)


def _find(owner: Session, name: ObjectName) -> CatalogObject | None:
    with owner.account.state.read() as state:
        return state.catalog.find(name, [ObjectKind.TABLE, ObjectKind.VIEW])


def found_for(state: StateReader, table: CatalogObject) -> CatalogObject | None:
    """The quarantine table of a table, if it has one: something else may have its name."""
    if table.kind is not ObjectKind.TABLE:
        return None
    found = state.whole_catalog.find(name_of(table.name), [ObjectKind.TABLE])
    definition = found.definition if found is not None else None
    if not isinstance(definition, TableDefinition) or definition.dynamic is not None:
        return None
    names = {column.name for column in definition.columns}
    return found if all(extra.name in names for extra in EXTRA) else None


def base_of(state: StateReader, item: CatalogObject) -> CatalogObject | None:
    """The table whose quarantine this is."""
    if not item.name.name.endswith(_SUFFIX):
        return None
    name = replace(item.name, name=item.name.name.removesuffix(_SUFFIX))
    base = state.whole_catalog.find(name, [ObjectKind.TABLE])
    kept = found_for(state, base) if base is not None else None
    return base if kept is not None and kept.id == item.id else None


def following(kept: CatalogObject, actions: Sequence[Action]) -> list[Action]:
    """What a change of the table's columns asks of its quarantine: rows there must fit into the table again."""
    assert isinstance(kept.definition, TableDefinition)
    names = {column.name for column in kept.definition.columns}
    return [
        action
        for action in actions
        if (isinstance(action, RenameColumn) and action.column in names and action.new_name not in names)
        or (isinstance(action, SetType) and action.column in names)
    ]


def existing(owner: Session, table: ObjectName) -> CatalogObject:
    """The quarantine table of a table. Raises when it has none."""
    return _required(owner, name_of(table))


def _required(owner: Session, name: ObjectName) -> CatalogObject:
    found = _find(owner, name)
    if found is None:
        raise errors.not_found("Table", str(name))
    return found


def put(run: GateRun, quarantine: CatalogObject, failed: FailedRows, checks: Sequence[QualityCheck]) -> None:
    """Adds the rows, in the transaction that takes them out of what they were written to."""
    assert isinstance(quarantine.definition, TableDefinition)
    count = failed.rows.num_rows
    rows = failed.rows.drop_columns([FILE, ROW])
    named = [", ".join(checks[index].name for index in indexes) for indexes in failed.failed]
    reasons = ["; ".join(reason(checks[index]) for index in indexes) for indexes in failed.failed]
    rows = rows.append_column("QUARANTINED_AT", pa.array([run.now] * count, pa.timestamp("us", "UTC")))
    rows = rows.append_column("QUALITY_CHECKS", pa.array(named, pa.string()))
    rows = rows.append_column("QUALITY_REASON", pa.array(reasons, pa.string()))
    rows = rows.append_column("QUALITY_QUERY_ID", pa.array([run.query_id] * count, pa.string()))
    schema = run.account.store.files(
        quarantine.definition.location, run.open_for_write(quarantine).version
    ).metadata.arrow_schema  # fmt: skip
    present = set(rows.column_names)
    for column in quarantine.definition.columns:
        if column.name not in present:
            # A column that the table no longer has.
            rows = rows.append_column(column.name, pa.nulls(count, schema.field(column.name).type))
    sink = RowSink(run, quarantine, OPERATION)
    sink.add(0, rows)
    sink.settle(0, keep=True)
    sink.commit()


def reason(check: QualityCheck) -> str:
    """In words, what a row that fails the check is."""
    what = ", ".join(check.columns)
    if check.expression is not None:
        return f"{check.name}: not ({check.expression})"
    detail = {
        "NOT_NULL": f"NULL in {what}",
        "ACCEPTED_VALUES": f"{what} not in ({', '.join(check.values)})",
        "PATTERN": f"{what} does not match '{check.pattern}'",
        "UNIQUE": f"({what}) is there already",
        "REFERENCES": f"({what}) is not in {check.references}",
    }.get(check.kind)
    return f"{check.name}: {detail or f'{check.kind.lower()} of {what} not {_bounds(check)}'}"


def _bounds(check: QualityCheck) -> str:
    parts = [f"at least {check.minimum}" if check.minimum is not None else ""]
    parts.append(f"at most {check.maximum}" if check.maximum is not None else "")
    return " and ".join(part for part in parts if part)
