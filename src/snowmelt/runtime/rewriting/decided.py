"""Carrying out a change of many rows so that each keeps its identity: Spark decides, the files are rewritten here.

Spark's own MERGE, UPDATE and DELETE forget where rows were born, which streams know them by. So for tables whose
changes are tracked Spark writes down what becomes of which row of which file, and nothing is held in memory: neither
what it wrote nor a file of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core.errors import internal
from snowmelt.core.faults import reached
from snowmelt.runtime import staged_rows
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.rewriting import queries
from snowmelt.runtime.rewriting.local import ChangedCounts, changes_of
from snowmelt.runtime.rewriting.plan import ChangePlan, has_subquery
from snowmelt.runtime.rewriting.sides import spark_sides
from snowmelt.runtime.sequences import numbered
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.storage.packing import RowNumbers
from snowmelt.storage.rewrite import FILE, ROW, RowChanges, RowEdit, by_file
from snowmelt.storage.rewrite_many import ManyChanges

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_ROW_GROUP_BYTES = 8 * 1024 * 1024
"""What Spark writes is read by file of the table: little more than the rows of a file then needs to be decoded."""
_BATCH_ROWS = 64 * 1024


@dataclass(frozen=True, slots=True)
class DecidedChange:
    run: Run
    plan: ChangePlan
    pending: PendingTable

    @property
    def possible(self) -> bool:
        """Whether somebody asks which rows are the same, and the files are ours to rewrite."""
        store, definition = self.run.account.store, self.plan.definition
        return (
            definition.change_tracking
            and not definition.spark_only
            and store.rewritable(definition.location, self.pending.version)
        )

    def apply(self) -> ChangedCounts:
        run, plan = self.run, self.plan
        _, folder = staged_rows.new_folder(run)
        run.account.engine.spill(
            to_spark_sql(self._query()), list(run.tables.values()), (folder / "touched").as_uri(), tag=run.tag,
            pool=run.pool, inputs=run.inputs, options={"parquet.block.size": str(_ROW_GROUP_BYTES)},
        )  # fmt: skip
        reached("changes-staged")
        touched = _Touched(run, plan, sorted((folder / "touched").glob("part-*")))
        if not touched.runs:
            return ChangedCounts()
        changes = ManyChanges(touched.by_file(), touched.inserted())
        reached("before-commit")
        result = run.account.store.rewrite_many(
            plan.definition.location, self.pending.version, changes, run.transaction.tag(run.query_id), plan.operation,
            touched.counts, origins=True,
        )  # fmt: skip
        reached("after-commit")
        run.account.transactions.wrote(self.pending, result, plan.operation, run.query_id)
        return touched.outcome

    def _query(self) -> exp.Select:
        plan = self.plan
        tree = queries.touched(plan, spark_sides(self.run, plan, self.pending), range(len(plan.clauses)))
        # What Spark filters as it scans is in the order of files and rows already.
        in_order = plan.source is None and not any(has_subquery(one) for one in plan.trees())
        return numbered(self.run, tree if in_order and not self.run.sequences else queries.by_position(tree))


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows of one file of the table, ascending, side by side in one of the files that Spark wrote."""

    path: Path
    start: int
    end: int
    first_row: int
    last_row: int


@dataclass(slots=True)
class _Touched:
    """What Spark wrote: the rows that `queries.touched` gives."""

    run: Run
    plan: ChangePlan
    paths: Sequence[Path]
    runs: dict[str | None, list[_Stretch]] = field(init=False)
    """By file of the table; None stands for rows that are inserted."""
    outcomes: list[ChangedCounts] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runs = defaultdict(list)
        for path in self.paths:
            for name, stretch in _stretches(path):
                self.runs[name].append(stretch)

    def by_file(self) -> dict[str, _FileChanges]:
        return {
            name: _FileChanges(self, name, sorted(found, key=_first_row)) for name, found in self.runs.items() if name
        }

    def inserted(self) -> Iterator[pa.Table]:
        for stretch in self.runs.get(None, ()):
            for rows in _read(stretch):
                inserted = self.decided(rows).inserted
                if inserted is not None:
                    yield inserted

    def decided(self, rows: pa.Table) -> RowChanges:
        self.run.check_cancelled()
        changes, outcome = changes_of(self.plan, rows)
        self.outcomes.append(outcome)
        return changes

    @property
    def outcome(self) -> ChangedCounts:
        return ChangedCounts(
            inserted=sum(one.inserted for one in self.outcomes),
            updated=sum(one.updated for one in self.outcomes),
            deleted=sum(one.deleted for one in self.outcomes),
            multi_joined=sum(one.multi_joined for one in self.outcomes),
        )

    def counts(self) -> dict[str, int]:
        outcome = self.outcome
        return {"inserted": outcome.inserted, "updated": outcome.updated, "deleted": outcome.deleted}


class _FileChanges:
    """The changes of one file of the table, read as they are asked for."""

    def __init__(self, touched: _Touched, name: str, stretches: Sequence[_Stretch]) -> None:
        self._touched = touched
        self._name = name
        self._batches = chain.from_iterable(_read(stretch) for stretch in stretches)
        self._left: pa.Table | None = None

    def between(self, first: int, end: int) -> RowEdit:
        parts: list[pa.Table] = []
        while self._left is None or self._left.num_rows == 0 or _row_numbers(self._left)[-1] < end:
            if self._left is not None:
                parts.append(self._left)
            self._left = next(self._batches, None)
            if self._left is None:
                break
        if self._left is not None:
            offset = int(np.searchsorted(_row_numbers(self._left), end))
            parts.append(self._left.slice(0, offset))
            self._left = self._left.slice(offset)
        rows = pa.concat_tables(parts) if parts else None
        if rows is None or not rows.num_rows:
            return RowEdit()
        if _row_numbers(rows).min() < first:
            raise internal("changes of a file did not come in the order of its rows")
        return by_file(self._touched.decided(rows)).get(self._name, RowEdit())


def _read(stretch: _Stretch) -> Iterator[pa.Table]:
    with pq.ParquetFile(stretch.path) as opened:
        start = 0
        groups: list[int] = []
        before = 0
        for number in range(opened.metadata.num_row_groups):
            end = start + opened.metadata.row_group(number).num_rows
            if end <= stretch.start:
                before = end
            elif start < stretch.end:
                groups.append(number)
            start = end
        offset = before
        for batch in opened.iter_batches(_BATCH_ROWS, row_groups=groups):
            begin, end = max(stretch.start - offset, 0), min(stretch.end - offset, batch.num_rows)
            if begin < end:
                yield pa.Table.from_batches([batch.slice(begin, end - begin)])
            offset += batch.num_rows


def _stretches(path: Path) -> Iterator[tuple[str | None, _Stretch]]:
    """What is where in a file that Spark wrote."""
    pending: tuple[str | None, _Stretch] | None = None
    for name, part in _pieces(path):
        if pending is not None and pending[0] == name and pending[1].last_row <= part.first_row:
            pending = name, replace(pending[1], end=part.end, last_row=part.last_row)
            continue
        if pending is not None:
            yield pending
        pending = name, part
    if pending is not None:
        yield pending


def _pieces(path: Path) -> Iterator[tuple[str | None, _Stretch]]:
    """The same, cut where batches end."""
    with pq.ParquetFile(path, read_dictionary=[FILE]) as opened:
        offset = 0
        for batch in opened.iter_batches(_BATCH_ROWS, columns=[FILE, ROW]):
            files, rows = batch.column(FILE), batch.column(ROW).fill_null(0).to_numpy()
            codes = files.indices.fill_null(-1).to_numpy()
            cuts = np.flatnonzero((codes[1:] != codes[:-1]) | (rows[1:] < rows[:-1])) + 1
            for start, end in pairwise([0, *cuts.tolist(), batch.num_rows]):
                part = _Stretch(path, offset + start, offset + end, int(rows[start]), int(rows[end - 1]))
                yield files[start].as_py(), part
            offset += batch.num_rows


def _row_numbers(rows: pa.Table) -> RowNumbers:
    numbers: RowNumbers = rows.column(ROW).to_numpy()
    return numbers


def _first_row(stretch: _Stretch) -> int:
    return stretch.first_row
