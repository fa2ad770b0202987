"""Carrying a change out from here: Spark says what becomes of which rows, and the files that hold them are rewritten.

Right when the rows are few, which is what most statements are about. Spark's own MERGE, UPDATE and DELETE take ten to
twenty jobs for it; here it is one or two, and none for a DELETE of rows that can be found without Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.rewriting import queries
from snowmelt.runtime.rewriting.keyed import KeyedSource, is_keyed
from snowmelt.runtime.rewriting.members import members_of
from snowmelt.runtime.rewriting.narrowing import Narrowing, key_condition, key_values, narrowing
from snowmelt.runtime.rewriting.plan import (
    ACTION,
    ID,
    NUMBER,
    SOURCE,
    TARGET,
    Act,
    ChangePlan,
    RewriteClause,
    tables_in,
)
from snowmelt.runtime.rewriting.sides import scanned_target
from snowmelt.runtime.sequences import numbered
from snowmelt.storage.probe import Condition, find_rows
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.schema import arrow_type
from snowmelt.storage.snapshot import FileList

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_PROBED_BYTES = 4 * 1024 * 1024 * 1024
_PROBED_FILES = 2_000
"""Beyond, Spark's parallel reading is quicker than searching the files from here."""


@dataclass(frozen=True, slots=True)
class ChangedCounts:
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    multi_joined: int = 0
    """Target rows that several source rows would have changed."""


@dataclass(frozen=True, slots=True)
class LocalChange:
    run: Run
    plan: ChangePlan
    pending: PendingTable
    members: tuple[Condition, ...] = ()
    """What columns of the target must be among, as subqueries say."""

    @property
    def limit(self) -> int:
        return self.run.account.settings.small_write_rows

    def attempt(self) -> ChangedCounts | None:
        """Carries the plan out, or does nothing and returns None when it is Spark's to do."""
        store, definition = self.run.account.store, self.plan.definition
        if self.limit <= 0 or definition.spark_only:
            return None
        if not store.rewritable(definition.location, self.pending.version):
            return None
        if self.plan.source is None and not self.plan.conjuncts and self.pending.rows > self.limit:
            return None
        files = store.files(definition.location, self.pending.version)
        members = members_of(self.plan, self.limit, self._fetch_all, partial(self._input, "k"))
        touched = replace(self, plan=members.plan, members=members.conditions)._touched(files)
        if touched is None:
            return None
        changes, outcome = changes_of(self.plan, touched)
        if self.plan.numbered and changes.inserted is not None and not definition.checks:
            changes = replace(changes, inserted=self._with_numbers(changes.inserted))
        if not (outcome.inserted or outcome.updated or outcome.deleted):
            return outcome
        self._commit(changes)
        return outcome

    def _commit(self, changes: RowChanges) -> None:
        run = self.run
        run.check_cancelled()
        tag = run.transaction.tag(run.query_id)
        reached("before-commit")
        result = run.account.store.rewrite(
            self.plan.definition.location, self.pending.version, changes, tag, self.plan.operation,
            origins=self.plan.definition.change_tracking,
        )  # fmt: skip
        reached("after-commit")
        run.account.transactions.wrote(self.pending, result, self.plan.operation, run.query_id)

    # -- which rows -----------------------------------------------------------------------------------------------

    def _touched(self, files: FileList) -> pa.Table | None:
        """What `queries.touched` gives, or None when those are too many rows."""
        narrow = narrowing(self.plan)
        plan = self.plan
        if is_keyed(plan, narrow) and not self.run.sequences and _can_be_probed(files):
            try:
                return self._keyed(files, narrow)
            except _TakeTheLongWay:
                pass
            except SnowmeltError as error:
                # Perhaps a value that no row gets, as it falls under another clause: the long way tells.
                if error.code == errors.cancelled().code:
                    raise
        return self._general(files, narrow)

    def _keyed(self, files: FileList, narrow: Narrowing) -> pa.Table | None:
        plan = self.plan
        keyed = KeyedSource(plan, narrow)
        source = self._fetch(numbered(self.run, keyed.query()))
        if source.num_rows > self.limit:
            return None
        if not source.num_rows:
            return _nothing()
        conditions = [*narrow.conditions, *self.members]
        keys: list[pa.Array] = []
        for index, key in enumerate(narrow.keys):
            values = key_values(key, source.column(queries.key_column(index)), plan)
            if values is None:
                raise _TakeTheLongWay
            keys.append(values)
            conditions.append(key_condition(key, values))
        columns = list(dict.fromkeys(key.column for key in narrow.keys))
        found = find_rows(files, conditions, columns, self.limit)
        return keyed.touched(source, found, keys) if found is not None else None

    def _general(self, files: FileList, narrow: Narrowing) -> pa.Table | None:
        plan = self.plan
        source: pa.Table | None = None
        small = plan.source is not None and (plan.source.items == 1 or plan.operation == "MERGE")
        if small:
            source = self._source_rows(narrow)
            if source is None:
                return None
        elif plan.source is not None:
            # Its relations may only be joined through the target: Spark had better see the whole.
            narrow = replace(narrow, keys=())
        found = self._candidates(files, narrow, source)
        if found is not None and plan.source is None and narrow.exact and _needs_no_engine(plan.clauses[0]):
            return self._constant(found)
        if found is not None and not found.num_rows and not plan.inserts:
            return _nothing()
        sides = queries.Sides(
            target=self._found_target(found) if found is not None else scanned_target(self.run, self.plan, files),
            source=self._source_side(source),
            small_source=source is not None,
        )
        tree = queries.touched(plan, sides, range(len(plan.clauses)))
        data = self._fetch(numbered(self.run, tree))
        return data if data.num_rows <= self.limit else None

    def _constant(self, found: pa.Table) -> pa.Table:
        """Rows found without Spark, under the one clause of a DELETE, or of an UPDATE to literals."""
        rows = found.select([FILE, ROW]).append_column(ID, pa.nulls(found.num_rows, pa.int64()))
        rows = rows.append_column(ACTION, pa.repeat(pa.scalar(0, pa.int32()), found.num_rows))
        constants = self.plan.clauses[0].constants or {}
        for column in self.plan.definition.columns:
            if column.name in constants:
                value = pa.scalar(constants[column.name], arrow_type(column.type))
                rows = rows.append_column(column.name, pa.repeat(value, found.num_rows))
        return rows

    def _source_rows(self, narrow: Narrowing) -> pa.Table | None:
        """The rows of the source, evaluated once; None when they are many."""
        plan = self.plan
        # Only MERGE has use for rows of the source that match nothing.
        own = [] if plan.inserts else [tree for tree in plan.conjuncts if tables_in(tree) == {SOURCE}]
        tree = queries.source_query(plan, [key.tree for key in narrow.keys], own)
        data = self._fetch(numbered(self.run, tree))
        if data.num_rows > self.limit:
            return None
        data = data.append_column(ID, pa.array(range(data.num_rows), pa.int64()))
        for name in plan.numbered:
            numbers = pa.nulls(data.num_rows, pa.int64())
            if plan.definition.checks and data.num_rows:
                # A CHECK may ask for the number, so every row has one, also the rows that won't be inserted.
                numbers = self._numbers(name, data.num_rows)
            data = data.append_column(NUMBER + name, numbers)
        return data

    def _candidates(self, files: FileList, narrow: Narrowing, source: pa.Table | None) -> pa.Table | None:
        """Target rows that may match, searched for in the files; None when only Spark can search."""
        plan = self.plan
        conditions = [*narrow.conditions, *self.members]
        if source is not None:
            for index, key in enumerate(narrow.keys):
                values = key_values(key, source.column(queries.key_column(index)), plan)
                if values is not None:
                    conditions.append(key_condition(key, values))
        if not conditions or not _can_be_probed(files):
            return None
        used = plan.referenced(TARGET)
        columns = [column.name for column in plan.definition.columns if column.name in used]
        return find_rows(files, conditions, columns, self.limit)

    # -- what Spark reads -----------------------------------------------------------------------------------------

    def _found_target(self, found: pa.Table) -> exp.Expr:
        used = [column for column in self.plan.definition.columns if column.name in found.column_names]
        return queries.arrow_target(used, self._input("t", found))

    def _source_side(self, source: pa.Table | None) -> exp.Expr | None:
        if source is not None:
            kept = [name for name in source.column_names if not name.startswith("__key")]
            return queries.arrow_source(self.plan, self._input("s", source.select(kept)))
        if self.plan.source is None:
            return None
        return queries.source_subquery(numbered(self.run, self.plan.source.tree), self.plan, {})

    def _input(self, kind: str, data: pa.Table) -> str:
        name = f"{kind}{len(self.run.inputs)}_{self.run.query_id.replace('-', '')}"
        self.run.inputs[name] = data
        return name

    def _fetch(self, tree: exp.Select) -> pa.Table:
        """The rows of a query, one more than the limit at most."""
        return self._fetch_all(tree.limit(self.limit + 1))

    def _fetch_all(self, tree: exp.Select) -> pa.Table:
        run = self.run
        return run.account.engine.to_arrow(
            tree, list(run.tables.values()), lane=run.lane, tag=run.tag,
            pool=run.pool, inputs=run.inputs,
        )  # fmt: skip

    # -- numbers --------------------------------------------------------------------------------------------------

    def _with_numbers(self, inserted: pa.Table) -> pa.Table:
        """AUTOINCREMENT: each inserted row gets the next number."""
        for name in self.plan.numbered:
            index = inserted.schema.get_field_index(name)
            # Another INSERT clause may have given the column a value.
            given = inserted.column(index).combine_chunks()
            missing = given.null_count
            numbers = self._numbers(name, missing).cast(given.type) if missing else given
            filled = pc.replace_with_mask(given, given.is_null(), numbers)
            inserted = inserted.set_column(index, inserted.schema.field(index), filled)
        return inserted

    def _numbers(self, name: str, count: int) -> pa.Array:
        identity = next(column.identity for column in self.plan.definition.columns if column.name == name)
        assert identity is not None
        with self.run.state.begin() as state:
            first = state.counters.take(self.plan.table.id, name, count, identity.start, identity.step)
        return pa.array(range(first, first + count * identity.step, identity.step), pa.int64())


class _TakeTheLongWay(Exception):  # noqa: N818 - it is no error
    pass


def _can_be_probed(files: FileList) -> bool:
    return len(files.files) <= _PROBED_FILES and files.total_bytes <= _PROBED_BYTES


def changes_of(plan: ChangePlan, touched: pa.Table) -> tuple[RowChanges, ChangedCounts]:
    """What the touched rows amount to, once no target row is changed twice."""
    is_new = touched.column(FILE).is_null()
    kept, several = _one_each(plan, touched.filter(pc.invert(is_new)))
    inserted = touched.filter(is_new)
    action = kept.column(ACTION)
    updated: list[pa.Table] = []
    deleted: list[pa.Table] = []
    for index, clause in enumerate(plan.clauses):
        if clause.act is Act.INSERT:
            continue
        rows = kept.filter(pc.equal(action, index))
        if not rows.num_rows:
            continue
        if clause.act is Act.DELETE:
            deleted.append(rows.select([FILE, ROW]))
        else:
            updated.append(rows.select([FILE, ROW, *(clause.values or ())]))
    names = [column.name for column in plan.definition.columns]
    changes = RowChanges(
        deleted=pa.concat_tables(deleted) if deleted else None,
        updated=updated,
        inserted=inserted.sort_by(ID).select(names) if inserted.num_rows else None,
    )
    outcome = ChangedCounts(changes.inserted_rows, changes.updated_rows, changes.deleted_rows, several)
    return changes, outcome


def _one_each(plan: ChangePlan, matched: pa.Table) -> tuple[pa.Table, int]:
    """One change for each target row, and how many had several. Several are fine if all of them delete the row."""
    ordered = matched.sort_by([(FILE, "ascending"), (ROW, "ascending"), (ID, "ascending")])
    if ordered.num_rows < 2:
        return ordered, 0
    again = pc.and_(*(pc.equal(column[1:], column[:-1]) for column in (ordered.column(FILE), ordered.column(ROW))))
    if not pc.any(again).as_py():
        return ordered, 0
    groups = ordered.group_by([FILE, ROW]).aggregate([(ACTION, "count"), (ACTION, "distinct")])
    several = groups.filter(pc.greater(groups.column(f"{ACTION}_count"), 1))
    deletes = {index for index, clause in enumerate(plan.clauses) if clause.act is Act.DELETE}
    tried = several.column(f"{ACTION}_distinct").to_pylist()
    if not plan.picks and any(not deletes.issuperset(actions) for actions in tried):
        raise errors.nondeterministic_merge()
    first = pa.chunked_array([pa.array([True]), *pc.invert(again).chunks])
    return ordered.filter(first), several.num_rows


def _needs_no_engine(clause: RewriteClause) -> bool:
    return clause.act is Act.DELETE or clause.constants is not None


def _nothing() -> pa.Table:
    fields = [(FILE, pa.string()), (ROW, pa.int64()), (ID, pa.int64()), (ACTION, pa.int32())]
    return pa.schema(fields).empty_table()
