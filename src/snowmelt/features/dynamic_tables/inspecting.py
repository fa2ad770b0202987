"""What one refresh changed: the rows of its sources that changed, the rows of the table that did, and which of the
latter a change of a source made.

The last is found by asking the query itself: computed at the refresh's versions with the change and without it, it
gives rows that are there because of the change, and rows that would be there without it. That holds for every query,
whatever operators it is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.features.dynamic_tables import pins
from snowmelt.features.dynamic_tables.change_sets import ChangeSets
from snowmelt.features.dynamic_tables.checking import (
    ACTUAL,
    EXPECTED,
    computed_rows,
    fetch,
    row_of,
    subquery,
    text_names,
    texts_of,
    to_compare,
)
from snowmelt.ivm.algebra import WEIGHT
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog, bind
from snowmelt.runtime.incremental.runs import RefreshRun, refresh_run
from snowmelt.runtime.run import Run
from snowmelt.runtime.staged_rows import readable
from snowmelt.sql.dialect import identifier
from snowmelt.state.dynamic_model import DynamicRefresh
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

MOST_SHOWN = 200
"""Rows of each list that are given; all are counted."""
_MOST_READ = 50_000
_NUMBER, _COUNT, _NTH = "__number", "__count", "__nth"
Row = tuple[str | None, ...]
"""The texts of its values."""
Change = tuple[Row, int]
"""A row, and how often it came; less than 0: how often it went."""


def refresh_changes(
    account: Account, table: CatalogObject, query_id: str, caller: Run, source: str | None = None,
    numbers: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """What changed in one refresh; with a source and numbers of its changes, what these made.

    The caller has SELECT on the table and sees the sources that it has SELECT on.
    """
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    with account.state.read() as state:
        refresh, before = _found(state, table, query_id)
        with refresh_run(account, table.name, table.owner, definition.dynamic.warehouse, caller=caller) as run:
            try:
                inspection = _Inspection(run, state, table, refresh, before, caller)
                return inspection.overview() if source is None else inspection.effect(source, numbers)
            finally:
                run.remove_staged()
                run.release_warehouse()


def _found(state: StateReader, table: CatalogObject, query_id: str) -> tuple[DynamicRefresh, DynamicRefresh]:
    """The refresh, and the one before it that succeeded. Raises, saying why, when there is nothing to compare."""
    done = [item for item in state.dynamic.newest(table.id, 1000) if item.version is not None]
    index = next((at for at, item in enumerate(done) if item.query_id == query_id), None)
    if index is None:
        raise _refused(f"The table has no successful refresh '{query_id}', or its record was removed since.")
    refresh = done[index]
    if index + 1 == len(done):
        raise _refused("This refresh filled the table: there is no earlier version to compare with.")
    entry = state.dynamic.graph_entry(table.id)
    if entry is not None and refresh.graph_valid_from is not None and refresh.graph_valid_from < entry.valid_from:
        raise _refused("The definition was changed since this refresh.")
    before = done[index + 1]
    gone = pins.forgotten(state, before.frontier) or pins.forgotten(state, {table.id: before.version or 0})
    if gone is not None:
        raise _refused(gone)
    return refresh, before


def _refused(why: str) -> errors.SnowmeltError:
    return errors.compilation("002740", "22000", f"The changes of the refresh can't be shown. {why}")


class _Inspection:
    def __init__(
        self, run: RefreshRun, state: StateReader, table: CatalogObject, refresh: DynamicRefresh,
        before: DynamicRefresh, caller: Run,
    ) -> None:  # fmt: skip
        assert isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
        self.run, self.state, self.table, self.refresh, self.before = run, state, table, refresh, before
        self.caller = caller
        self.definition = table.definition
        self.dynamic = state.dynamic.require(table.id)
        self.bound: BoundDefinition = bind(
            run, state, table.name, table.definition.dynamic, refresh.data_timestamp,
            pins.at_frontier(refresh.frontier), self.dynamic.dependencies,
        )  # fmt: skip

    def overview(self) -> dict[str, Any]:
        readable_, hidden = self._sources()
        assert self.refresh.version is not None and self.before.version is not None
        rows = self._changes(self.table, (self.before.version, self.refresh.version))
        return {
            "table": str(self.table.name),
            "since": self.before.data_timestamp.isoformat(),
            "data_timestamp": self.refresh.data_timestamp.isoformat(),
            "sources": [
                {"name": str(item.name), **_shown(item, self._changes(item, self._span(item)))}
                for item in readable_ if self._span(item)[0] != self._span(item)[1]
            ],
            "hidden_sources": hidden,
            "rows": _shown(self.table, rows),
        }  # fmt: skip

    def effect(self, source: str, numbers: Sequence[int]) -> dict[str, Any]:
        """The rows that are there because of these changes of a source, and those that would be there without them."""
        sources, hidden = self._sources()
        if hidden:
            # What would be there without a change is computed from all sources, also from those that it may not read.
            raise errors.insufficient_privileges("Table", "a source of the dynamic table")
        chosen = next((item for item in sources if str(item.name) == source), None)
        if chosen is None:
            raise _refused(f"The dynamic table does not read '{source}'.")
        changes = self._changes(chosen, self._span(chosen))
        if changes is None or any(not 0 <= number < len(changes) for number in numbers):
            raise _refused(f"'{source}' has no change of that number in this refresh.")
        with_them = computed_rows(self.run, self.table, self.bound, self.dynamic.refresh_mode)
        columns = self.definition.columns
        without = with_them.transform(self._undoing(chosen, [changes[number] for number in numbers]))
        differing = (
            exp.select(*text_names(columns), EXPECTED, ACTUAL)
            .from_(subquery(to_compare(with_them, without, columns)))
            .where(exp.column(EXPECTED).neq(exp.column(ACTUAL)))
        )
        found = fetch(self.run, differing).to_pylist()
        rows = sorted(((row_of(one, columns), int(one[EXPECTED] - one[ACTUAL])) for one in found), key=_order)
        return {"source": source, "numbers": list(numbers), "rows": _shown(self.table, rows)}

    def _sources(self) -> tuple[list[CatalogObject], bool]:
        """The sources that the caller may read, and whether there are others."""
        all_ = [item for item in self.bound.sources.values() if item.id in self.before.frontier]
        authority = self.caller.authority
        mine = [
            item
            for item in all_
            if authority.holds("SELECT", Owned(item.id, item.owner))
            # Changes are shown as they are stored.
            and not self.run.account.policies.references(self.state, item)
        ]
        return sorted(mine, key=lambda item: str(item.name)), len(mine) < len(all_)

    def _span(self, source: CatalogObject) -> tuple[int, int]:
        return self.before.frontier[source.id], self.refresh.frontier[source.id]

    def _changes(self, table: CatalogObject, versions: tuple[int, int]) -> list[Change] | None:
        """The net changes between two versions, always in the same order; None when they are too many to show."""
        assert isinstance(table.definition, TableDefinition)
        columns = table.definition.columns
        if versions[0] == versions[1]:
            return []
        names = [column.name for column in columns]
        sets = self.run.account.services[ChangeSets]
        found = sets.read(self.run.account, self.state, table, names, versions, _MOST_READ)
        if found is None:
            return None
        if not found.rows.num_rows:
            return []
        weighted = (*columns, Column(name=WEIGHT, type=types.INTEGER))
        rows = exp.Table(this=identifier(readable(self.run, found.rows, weighted)))
        query = exp.select(*texts_of(columns), exp.alias_(exp.column(identifier(WEIGHT)), _COUNT)).from_(rows)
        net: Counter[Row] = Counter()
        for one in fetch(self.run, query).to_pylist():
            net[row_of(one, columns)] += int(one[_COUNT])
        return sorted(((row, count) for row, count in net.items() if count), key=_order)

    def _undoing(self, source: CatalogObject, changes: Sequence[Change]) -> Any:
        """Reads a source as it would be without these changes, wherever a query reads it."""
        assert isinstance(source.definition, TableDefinition)
        columns = source.definition.columns
        reference = f"t_{source.id}_{self.refresh.frontier[source.id]}"

        def replaced(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Table) or not f"{node.name}_".startswith(f"{reference}_"):
                return node
            kept = _without(
                exp.Table(this=identifier(node.name)),
                columns,
                self._listed("came", {row: count for row, count in changes if count > 0}, columns),
            )
            returned = self._went(source, columns, changes)
            rows = kept if returned is None else exp.union(kept, returned, distinct=False)
            return exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier(node.alias_or_name)))

        return replaced

    def _went(self, source: CatalogObject, columns: Sequence[Column], changes: Sequence[Change]) -> exp.Select | None:
        """The rows of an earlier version that these changes removed, as often as they did."""
        gone = {row: -count for row, count in changes if count < 0}
        if not gone:
            return None
        assert isinstance(source.definition, TableDefinition)
        catalog = self.bound.environment.relations
        assert isinstance(catalog, DefinitionCatalog)
        version = self.before.frontier[source.id]
        shape = self.state.shapes.at(source.id, version)
        earlier = catalog.pin(source, source.definition, version, shape).reference
        assert earlier is not None
        wanted = self._listed("went", gone, columns)
        rows = exp.select(exp.Star()).from_(exp.Table(this=identifier(earlier)))
        return _matching(rows, columns, wanted, keep=True)

    def _listed(self, what: str, counts: Mapping[Row, int], columns: Sequence[Column]) -> exp.Expr:
        """Rows as texts, each with a count, to be read by a query."""
        name = f"{what}_{self.run.query_id.replace('-', '')}"
        texts = {
            column.name: pa.array([row[index] for row in counts], pa.string())
            for index, column in enumerate(text_names(columns))
        }
        self.run.inputs[name] = pa.table({**texts, _COUNT: pa.array(list(counts.values()), pa.int64())})
        return exp.Table(this=identifier(name))


def _without(rows: exp.Table, columns: Sequence[Column], came: exp.Expr) -> exp.Select:
    return _matching(exp.select(exp.Star()).from_(rows), columns, came, keep=False)


def _matching(rows: exp.Select, columns: Sequence[Column], wanted: exp.Expr, *, keep: bool) -> exp.Select:
    """The wanted rows, or all others: of equal rows as many as `wanted` counts."""
    names = [exp.column(identifier(column.name)) for column in columns]
    texts = texts_of(columns)
    window = exp.Window(
        this=exp.Anonymous(this="row_number"), partition_by=[text.this.copy() for text in texts],
        order=exp.Order(expressions=[exp.Ordered(this=texts[0].this.copy())]),
    )  # fmt: skip
    numbered = exp.select(*names, *texts, exp.alias_(window, _NTH)).from_(subquery(rows))
    same = [
        exp.NullSafeEQ(this=own, expression=theirs)
        for own, theirs in zip(text_names(columns, "__q"), text_names(columns, "__w"), strict=True)
    ]
    enough = exp.LTE(this=exp.column(_NTH, "__q"), expression=exp.column(_COUNT, "__w"))
    condition = exp.and_(*same, enough)
    listed = exp.select(*text_names(columns), _COUNT).from_(wanted)
    other = exp.Subquery(this=listed, alias=exp.TableAlias(this=identifier("__w")))
    return (
        exp.select(*(exp.column(identifier(column.name), "__q") for column in columns))
        .from_(subquery(numbered))
        .join(other, on=condition, join_type="left semi" if keep else "left anti")
    )


def _order(change: Change) -> tuple[Any, ...]:
    """Orders rows: deleted before inserted, each by its texts, NULL first."""
    row, count = change
    return ([(text is not None, text or "") for text in row], count)


def _shown(table: CatalogObject, changes: list[Change] | None) -> dict[str, Any]:
    assert isinstance(table.definition, TableDefinition)
    found = changes or []
    return {
        "columns": [column.name for column in table.definition.columns],
        "changes": [{"number": at, "count": count, "row": list(row)} for at, (row, count) in enumerate(found)][
            :MOST_SHOWN
        ],
        "inserted": sum(count for _, count in found if count > 0) if changes is not None else None,
        "deleted": -sum(count for _, count in found if count < 0) if changes is not None else None,
    }
