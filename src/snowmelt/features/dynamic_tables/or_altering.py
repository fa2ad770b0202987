"""CREATE OR ALTER and CREATE OR REPLACE of a dynamic table that exists: its rows are kept where they can be.

OR ALTER leaves them as they are; where the definition says something else, the next refresh carries them over
(`redefining.py`) or computes them anew. OR REPLACE of a query that rows can be carried over to, or that only gives more
columns or wider types, does so at once, in the same transaction: the table stays the same one, with its past versions,
its history and those who read its changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.features.dynamic_tables import declarations, redefining, scheduling
from snowmelt.features.dynamic_tables.altering import bound_now, check, dynamic_part
from snowmelt.features.dynamic_tables.creating import refresh_sources
from snowmelt.features.dynamic_tables.refresh import refresh_altered
from snowmelt.features.relations.alter_tables import alter_columns
from snowmelt.runtime import declaring, retention
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.definitions import BoundDefinition
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.alter_table import AddColumn, ClusterBy, SetType
from snowmelt.sql.statements.base import Action
from snowmelt.sql.statements.changes import SetColumnComment
from snowmelt.sql.statements.columns import ColumnSpec
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.tokens import SqlText
from snowmelt.state.dynamic_model import DynamicDefinition, DynamicState, RefreshAction
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_DECLARED = (
    "query", "database", "schema_", "target_lag", "scheduler", "warehouse", "initialization_warehouse", "refresh_mode",
    "frozen_where", "explicit_columns", "require_user", "dimension",
)  # fmt: skip


_QUERY = "The query was changed."
_MUCH = "So much changed since its last refresh."


class CannotKeepError(Exception):
    """The rows of the table can't be kept under its new definition."""


def or_alter(run: Run, table: CatalogObject, statement: CreateDynamicTable) -> str:
    """Makes the table what the statement says and keeps its rows; what the next refresh does to them, for the user.

    Raises `CannotKeepError` when they can't be kept.
    """
    altered = _Alteration(run, table, statement).apply()
    if altered.reason is not None:
        return f" It is re-initialised at its next refresh: {altered.reason}"
    return f" Its rows are carried over at its next refresh: {altered.how}." if altered.how is not None else ""


def or_replace(run: Run, table: CatalogObject, statement: CreateDynamicTable) -> str:
    """Makes the table what the statement says, and equal to its query, without making another table of it; what became
    of its rows, for the user.

    Raises `CannotKeepError` when rows can't be carried over, and the query is not that of the table with more columns
    or wider types.
    """
    alteration = _Alteration(run, table, statement)
    alteration.check_extends()
    at = run.account.state.settle()
    now = alteration.declared.initialize == "ON_CREATE"
    if now:
        at = refresh_sources(run.account, run, alteration.bound, at)
    altered = alteration.apply(always=True)
    if not now:
        if altered.reason is None:
            return f" Its rows are carried over at its next refresh: {altered.how}."
        return f" It is re-initialised at its next refresh: {altered.reason}"
    outcome = refresh_altered(run, altered.table, altered.dynamic, at)
    if outcome.error is not None:
        raise outcome.error
    if outcome.action is RefreshAction.INCREMENTAL:
        return f" Its rows were carried over: {altered.how}."
    return f" It was re-initialised: {altered.reason or outcome.reason or _MUCH}"


@dataclass(frozen=True, slots=True)
class _Altered:
    """The table and where it stands, as they will be once the transaction commits."""

    table: CatalogObject
    dynamic: DynamicState
    reason: str | None
    """Why its rows are computed anew, if they are."""
    how: str | None = None
    """How they are carried over, if they are."""


class _Alteration:
    def __init__(self, run: Run, table: CatalogObject, statement: CreateDynamicTable) -> None:
        before = dynamic_part(table)
        assert before is not None and isinstance(table.definition, TableDefinition)
        self.run = run
        self.table = table
        self.statement = statement
        self.before = before
        self.declared = declarations.declared(run, table.name, statement)
        self.bound = bound_now(run, table.name, self.declared)
        wanted = declarations.definition_of(run, statement, self.declared, self.bound)
        self.contract = run.account.contracts.wanted(run, statement.options, table, wanted.columns)
        same_key = [key.columns for key in wanted.unique_keys] == [key.columns for key in table.definition.unique_keys]
        self.unique_keys = table.definition.unique_keys if same_key else wanted.unique_keys
        if wanted.transient != table.definition.transient:
            raise CannotKeepError("TRANSIENT can't be changed")
        self.actions = _reshaping(table.definition.columns, wanted.columns)
        if wanted.cluster_by != table.definition.cluster_by:
            self.actions.append(ClusterBy(tuple(statement.cluster_by)))

    def check_extends(self) -> None:
        if self.statement.backfill_from is not None:
            raise CannotKeepError("it begins with the rows of another table")
        if self.statement.annotations:
            raise CannotKeepError("the statement declares policies or tags")
        if _extends(parse_snowflake(self.before.query), parse_snowflake(self.declared.query)):
            return
        with self.run.state.read() as state:
            found = redefining.way_from_now(self.run, state, self.table, self.declared, self.bound)
        if isinstance(found, str):
            raise CannotKeepError(f"the query changed: {found}")

    def apply(self, *, always: bool = False) -> _Altered:
        """`always`: the rows are computed anew although nothing asks for it."""
        run, declared, before = self.run, self.declared, self.before
        mode, mode_reason = incremental.resolve_mode(declared.refresh_mode, self.bound)
        declarations.check_sources(self.bound, mode)
        check(run, self.table, declared)
        reason = _reason(before, declared) or ("The dynamic table was replaced." if always else None)
        with run.state.read() as state:
            dynamic = state.dynamic.require(self.table.id)
            changed_query = reason == _QUERY
            way = redefining.way_from_now(run, state, self.table, declared, self.bound) if changed_query else None
        if isinstance(way, str):
            reason = f"{_QUERY.rstrip('.')}: {way}."
        how = way.how if isinstance(way, redefining.Way) else None
        reason = reason if how is None else None
        definition = self.table.definition
        if self.actions:
            definition = alter_columns(run, self.table, self.actions)
        else:
            run.open_for_write(self.table)
        assert isinstance(definition, TableDefinition)
        changed = before.model_copy(update={name: getattr(declared, name) for name in _DECLARED})
        kept: dict[str, Any] = {
            "reinit_reason": reason or dynamic.reinit_reason,
            "rows_of": redefining.rows_of(before, dynamic) if how is not None else dynamic.rows_of,
            "refresh_mode": mode,
            "refresh_mode_reason": mode_reason,
        }
        if declared.query != before.query or always:
            kept["dependencies"] = self.bound.dependencies
        if declared.frozen_where != before.frozen_where:
            # Whether time alone can change the table is seen at the next refresh, which must not be passed over.
            kept["time_dependent"] = True
        if always:
            # A table just made is never suspended.
            kept |= {"suspended": False, "reason_code": None, "reason_message": None, "failures": 0}
        run.transaction.at_commit.append(lambda state: self._record(state, changed, kept))
        definition = definition.model_copy(update={"dynamic": changed, "unique_keys": self.unique_keys})
        altered = self.table.model_copy(update={"definition": definition})
        return _Altered(altered, dynamic.model_copy(update=kept), reason, how)

    def _record(self, state: StateTransaction, changed: DynamicDefinition, kept: dict[str, Any]) -> None:
        current = state.catalog.by_id(self.table.id)
        assert current is not None and isinstance(current.definition, TableDefinition)
        definition = current.definition.model_copy(update={"dynamic": changed, "unique_keys": self.unique_keys})
        options = self.statement.options
        values = {"definition": definition, "altered_on": state.now, "comment": options.comment}
        current = current.model_copy(update=values)
        state.catalog.update(retention.set_table(state, current, options.data_retention_time_in_days))
        retention.set_extension(state, current.id, options.max_data_extension_time_in_days)
        if self.contract is not None:
            state.contracts.put(self.contract)
        for source in declarations.track_changes(state, self.bound):
            state.catalog.update(source)
        dynamic = state.dynamic.require(self.table.id)
        scheduling.begin_entry(state, current, dynamic.model_copy(update=kept), ("CREATE_DYNAMIC_TABLE",))


def _reason(before: DynamicDefinition, after: DynamicDefinition) -> str | None:
    moved = (before.database, before.schema_) != (after.database, after.schema_)
    if moved or parse_snowflake(before.query) != parse_snowflake(after.query):
        return _QUERY
    if before.refresh_mode is not after.refresh_mode:
        return "The refresh mode was changed."
    if before.frozen_where is not None and before.frozen_where != after.frozen_where:
        return "The frozen region was changed."
    return None


def _extends(before: exp.Expr, after: exp.Expr) -> bool:
    """Whether the one query gives the rows of the other, with more columns behind or casts around some."""
    if before == after:
        return True
    if not isinstance(before, exp.Select) or not isinstance(after, exp.Select):
        return False
    old, new = before.expressions, after.expressions
    # With DISTINCT and GROUP BY ALL the rows depend on which columns there are.
    group = after.args.get("group")
    if after.args.get("distinct") is not None or (group is not None and group.args.get("all")):
        return False
    same = all(_uncast(first) == _uncast(second) for first, second in zip(old, new, strict=False))
    return same and len(new) >= len(old) and _without_columns(before) == _without_columns(after)


def _without_columns(query: exp.Select) -> exp.Select:
    rest = query.copy()
    rest.set("expressions", [])
    return rest


def _uncast(column: exp.Expr) -> tuple[exp.Expr, str]:
    value = column.this if isinstance(column, exp.Alias) else column
    while isinstance(value, exp.Cast) and not isinstance(value, exp.TryCast):
        value = value.this
    return value, column.alias_or_name


def way_to(run: Run, table: CatalogObject, declared: DynamicDefinition, bound: BoundDefinition) -> redefining.Way | str:
    """How the rows of a table would be carried over to another query, for EXPLAIN; or why they can't be."""
    assert isinstance(table.definition, TableDefinition)
    try:
        _reshaping(table.definition.columns, declaring.columns_of_query(run, (), bound.query))
    except CannotKeepError as why:
        return str(why)
    with run.state.read() as state:
        return redefining.way_from_now(run, state, table, declared, bound)


def _reshaping(before: Sequence[Column], after: Sequence[Column]) -> list[Action]:
    """What leads from the columns there are to those there should be: widened types, comments, new columns behind."""
    names = {column.name for column in after}
    for old in before:
        if old.name not in names:
            raise CannotKeepError(f"column '{old.name}' is gone")
    actions: list[Action] = []
    for old, new in zip(before, after, strict=False):
        if old.name != new.name:
            raise CannotKeepError(f"column '{old.name}' is in another position")
        if old.nullable != new.nullable or not declarations.fits(old.type, new.type):
            raise CannotKeepError(f"column '{old.name}' was {old.type} and is {new.type}")
        if old.type != new.type:
            actions.append(SetType(old.name, SqlText(str(new.type))))
        if old.comment != new.comment:
            actions.append(SetColumnComment(old.name, new.comment))
    for new in after[len(before) :]:
        if not new.nullable:
            raise CannotKeepError(f"column '{new.name}' is NOT NULL")
        actions.append(AddColumn(ColumnSpec(new.name, SqlText(str(new.type)), comment=new.comment)))
    return actions
