"""ALTER TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.runtime import kinds, past_shapes, references, retention
from snowmelt.runtime.altering import Alteration
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.reshaping import Reshaped, reshape, start_change_feed
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.runtime.row_checks import check_rows
from snowmelt.sql.statements.alter_table import AlterTable
from snowmelt.sql.statements.base import Action, Annotation, NameRef
from snowmelt.sql.statements.changes import RenameTo, SetColumnComment, SetOptions, SwapWith, UnsetOptions
from snowmelt.sql.statements.tables import TableOptions
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    ObjectKind,
    PastColumn,
    TableDefinition,
    TableShape,
)
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


_OF_ANY_TABLE = (SetColumnComment, Annotation)
_OPTIONS = ("retention_days", "change_tracking", "change_feed", "schema_evolution", "dynamic")


def alter_table(run: Run, statement: AlterTable) -> Result:
    # All that this statement may change of a dynamic table, whose columns are its query's.
    allowed = all(isinstance(action, _OF_ANY_TABLE) or _only_contract(action) for action in statement.actions)
    table = find_table(run, statement.name, dynamic=allowed)
    if table is None:
        if statement.if_exists:
            return status(DONE, "ALTER_TABLE")
        raise errors.not_found("Table", str(run.object_name(statement.name)))
    message = kinds.annotate_relation(run, table, statement.actions)
    if message is not None:
        return status(message, "ALTER_TABLE")
    action = statement.actions[0]
    match action:
        case RenameTo(new_name=new_name):
            rename(run, table, new_name)
        case SwapWith(other=other):
            found = find_table(run, other)
            if found is None:
                raise errors.not_found("Table", str(run.object_name(other)))
            swap(run, table, found)
        case SetOptions(options=options):
            assert isinstance(options, TableOptions)
            _set_options(run, table, options, ())
        case UnsetOptions(names=names):
            _set_options(run, table, TableOptions(), names)
        case _:
            alter_columns(run, table, statement.actions)
    return status(DONE, "ALTER_TABLE")


def _only_contract(action: Action) -> bool:
    match action:
        case SetOptions(options=options):
            return set(options.given()) <= {"CONTRACT", "CONTRACT_VERSION"}
        case UnsetOptions(names=names):
            return set(names) <= {"CONTRACT"}
    return False


def find_table(run: Run, name: NameRef, *, dynamic: bool = False) -> CatalogObject | None:
    """The table of that name, which is a dynamic one only if the caller can take one."""
    full = run.object_name(name, "ALTER TABLE")
    with run.state.read() as state:
        found = state.catalog.find(full, RELATIONS, run.session.id)
    if found is not None and found.kind is not ObjectKind.TABLE:
        raise errors.wrong_kind(found.kind, "TABLE")
    definition = found.definition if found is not None else None
    if isinstance(definition, TableDefinition) and definition.dynamic is not None and not dynamic:
        raise errors.wrong_kind("DYNAMIC_TABLE", "TABLE")
    return found


def alter_columns(run: Run, table: CatalogObject, actions: Sequence[Action]) -> TableDefinition:
    """Columns, constraints and the clustering key: all actions together, with one change of the catalog.

    What the table will be once the transaction commits.
    """
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    pending = run.open_for_write(table)
    alteration = Alteration(run, table, definition, pending.rows)
    for action in actions:
        alteration.apply(action)
    if alteration.definition == definition:
        return definition
    run.account.lifecycle.columns_changing(run, table, alteration.definition.columns)
    check_rows(run, alteration, pending)
    before = pending.version
    done = reshape(run, table, pending, alteration.change)
    run.transaction.at_commit.append(lambda state: _record(run, state, alteration, definition, pending, before, done))
    run.account.lifecycle.columns_altered(run, table, actions)
    return alteration.definition.model_copy(update={"spark_only": done.spark_only})


def _record(
    run: Run,
    state: StateTransaction,
    alteration: Alteration,
    old: TableDefinition,
    pending: PendingTable,
    before: int,
    done: Reshaped,
) -> None:
    """The catalog's side, in the transaction that makes the new version visible."""
    table = alteration.table
    current = state.catalog.by_id(table.id)
    if current is None or not isinstance(current.definition, TableDefinition):
        raise errors.not_found("Table", str(table.name))
    if current.definition.quality != old.quality:
        raise errors.TableChangedError(str(table.name))
    # Options need no hold on the table: another session may have set some meanwhile.
    kept = {name: getattr(current.definition, name) for name in _OPTIONS}
    definition = alteration.definition.model_copy(update={**kept, "spark_only": done.spark_only})
    state.catalog.update(current.model_copy(update={"definition": definition, "altered_on": state.now}))
    if done.moved is not None:
        state.versions.mark_undone(table.id, *done.moved)
    for name in alteration.dropped:
        state.counters.drop(table.id, name)
    for present, new in alteration.renamed.items():
        if present != new:
            _rename_counter(state, table.id, present, new)
            references.column_renamed(state, table, present, new)
            run.account.lifecycle.column_renamed(state, table.id, present, new)
    if pending.version == before:
        return
    fills = {
        column.name: alteration.literals.get(column.name)
        for column in definition.columns
        if column.name not in alteration.sources
    }
    stays = alteration.renamed
    earlier = past_shapes.carried_on(state.shapes.all(table.id), stays, fills)
    columns = [PastColumn(name=new, stored=present) for present, new in stays.items()]
    columns += [PastColumn(name=name, stored=None, fill=fill) for name, fill in fills.items()]
    shape = TableShape(table_id=table.id, last_version=before, definition=old, columns=tuple(columns))
    state.shapes.record([*earlier, shape])


def _rename_counter(state: StateTransaction, table_id: str, old: str, new: str) -> None:
    following = state.counters.peek(table_id, old)
    if following is not None:
        state.counters.drop(table_id, old)
        state.counters.set(table_id, new, following)


def rename(run: Run, item: CatalogObject, new_name: NameRef) -> None:
    """RENAME TO for anything that lives in a schema; a name with a schema moves it there."""
    target = run.object_name(new_name, "ALTER")
    with run.state.begin() as state:
        if state.catalog.schema(target.parent) is None:
            raise errors.not_found("Schema", str(target.parent))
        run.account.lifecycle.leaving(run, state, item, "RENAME")
        try:
            state.catalog.rename(item.id, target)
        except errors.SnowmeltError as error:
            if error.code == "002002":
                raise errors.already_exists(run.written(new_name)) from None
            raise
        references.follow_rename(state, item, target)
        run.account.lifecycle.renamed(state, item, target)


def swap(run: Run, item: CatalogObject, other: CatalogObject) -> None:
    """SWAP WITH: two objects of one kind exchange their names."""
    if item.id == other.id:
        raise errors.compilation("002230", "42601", f"cannot swap '{other.name}' with itself")
    with run.state.begin() as state:
        run.account.lifecycle.swapping(run, state, item, other)
        state.catalog.swap(item.id, other.id)
        run.account.lifecycle.swapped(state, item, other)
        if item.kind is ObjectKind.VIEW:
            references.follow_rename(state, item, other.name)
            references.follow_rename(state, other, item.name)


def _set_options(run: Run, table: CatalogObject, options: TableOptions, unset: tuple[str, ...]) -> None:
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    days = options.data_retention_time_in_days
    retention.check(days, transient=definition.transient or table.session_id is not None)
    changed: dict[str, bool] = {}
    if options.change_tracking is not None or "CHANGE_TRACKING" in unset:
        changed["change_tracking"] = bool(options.change_tracking)
    if options.enable_schema_evolution is not None or "ENABLE_SCHEMA_EVOLUTION" in unset:
        changed["schema_evolution"] = bool(options.enable_schema_evolution)
    run.account.contracts.set_contract(run, table, options, unset)
    comment = None if "COMMENT" in unset else options.comment if options.comment is not None else table.comment

    def record(state: StateTransaction) -> None:
        current = state.catalog.by_id(table.id)
        if current is None or not isinstance(current.definition, TableDefinition):
            raise errors.not_found("Table", str(table.name))
        current = current.model_copy(
            update={
                "definition": current.definition.model_copy(update=changed),
                "comment": comment,
                "altered_on": state.now,
            }
        )
        if options.max_data_extension_time_in_days is not None or retention.EXTENSION_KEY in unset:
            retention.set_extension(state, table.id, options.max_data_extension_time_in_days)
        if days is not None or retention.KEY in unset:
            current = retention.set_table(state, current, days)
        state.catalog.update(current)

    # The feed itself is never switched off again: a gap in it would cost its readers a fresh start.
    if not options.change_tracking or definition.change_feed:
        with run.state.begin() as state:
            record(state)
        return
    changed["change_feed"] = True
    start_change_feed(run, table, run.open_for_write(table))
    run.transaction.at_commit.append(record)
