"""Checks of rows: all of them in one query over the rows that a write brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from snowmelt.features.quality.looked_at import WrittenTable
from snowmelt.features.quality.new_keys import NewKeys, rows_with_keys, searchable
from snowmelt.features.quality.runs import derived, fetched
from snowmelt.govern.quality.expressions import violation
from snowmelt.runtime.incremental.applying import comparable_rows
from snowmelt.runtime.incremental.filling import condition_over
from snowmelt.runtime.writing import stored
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.quality_model import CheckKind, QualityCheck
from snowmelt.storage.rewrite import FILE, ROW
from snowmelt.storage.snapshot import DataFile

_FETCHED = 100_000
"""At most this many keys are fetched from Spark to be looked up."""
_ROWS, _KNOWN, _INNER = "__a", "__k", "__f"


@dataclass(frozen=True, slots=True)
class Counted:
    checked: int
    failed: tuple[int, ...]
    """By check, in their order."""
    measured: tuple[float | None, ...] = ()
    """The values of the other expressions that were asked for."""


@dataclass(frozen=True, slots=True)
class FailedRows:
    rows: pa.Table
    """The table's columns in stored form, `__file` and `__row`."""
    failed: tuple[tuple[int, ...], ...]
    """By row, the numbers of the checks that it failed."""


class RowChecks:
    """The row checks of one table over what one write brought."""

    def __init__(self, written: WrittenTable, checks: Sequence[QualityCheck]) -> None:
        self.written = written
        self.run = written.run
        self.checks = tuple(checks)

    def counted(self, also: Sequence[exp.Expr] = ()) -> Counted:
        """How many rows came, and how many fail each check; with rows that failed already unless `written.exact`.

        `also` are numbers to measure over the same rows, in the same pass.

        All that one row decides is counted in one query. Which row of a key is the bad one does not matter here, and
        so UNIQUE needs no order of the rows.
        """
        alone = [number for number, check in enumerate(self.checks) if check.kind is not CheckKind.UNIQUE]
        numbers, measured = self._passed_over(alone, also)
        failed = dict(zip(alone, numbers[1:], strict=True))
        keys = NewKeys(self.written)
        for number, check in enumerate(self.checks):
            if number not in failed:
                failed[number] = keys.repeated(check) if numbers[0] else 0
        by_check = tuple(failed[number] for number in range(len(self.checks)))
        return Counted(numbers[0], by_check, measured)

    def _passed_over(
        self, alone: Sequence[int], also: Sequence[exp.Expr]
    ) -> tuple[list[int], tuple[float | None, ...]]:
        """In one pass, or in none where files say how many rows there are: that, failures, and what else is asked."""
        known = self.written.count_came() if not alone and not also else None
        if known is not None:
            return [known], ()
        rows = self._flagged(self.written.came(), lambda check: check.kind is CheckKind.UNIQUE)
        counts = [spark("count(1)"), *(spark("count_if(_0)", _flag(number)) for number in alone)]
        named = [exp.alias_(tree, f"c{number}") for number, tree in enumerate([*counts, *also])]
        found = fetched(self.run, exp.select(*named).from_(derived(rows, _INNER)))
        values = [column[0].as_py() for column in found.columns]
        return [int(value or 0) for value in values[: len(counts)]], tuple(values[len(counts) :])

    def failing(self, limit: int) -> FailedRows | None:
        """The rows that fail a check, and did not before; None when they are more than `limit`."""
        found = self._failing(self._with_positions(self.written.added, "added"), limit)
        if found is None or not self.written.removed:
            return found
        former = self._failing(self._with_positions(self.written.removed, "removed"), limit)
        return None if former is None else self._without(found, former)

    def passing(self, checks: Sequence[int]) -> exp.Select:
        """The rows that came and pass these checks, in stored form."""
        bad = exp.or_(*(_flag(number) for number in checks))
        rows = self._with_positions(self.written.added, "added")
        return exp.select(*self._stored()).from_(derived(rows, _INNER)).where(exp.Not(this=exp.paren(bad)))

    def _failing(self, flagged: exp.Select, limit: int) -> FailedRows | None:
        flags = [_flag(number) for number in range(len(self.checks))]
        positions = [exp.column(identifier(name)) for name in (FILE, ROW)]
        query = exp.select(*self._stored(), *positions, *flags).from_(derived(flagged, _INNER))
        found = fetched(self.run, query.where(exp.or_(*(flag.copy() for flag in flags))).limit(limit + 1))
        if found.num_rows > limit:
            return None
        marks = [found.column(_flag_name(number)).to_pylist() for number in range(len(self.checks))]
        failed = tuple(tuple(number for number, mark in enumerate(row) if mark) for row in zip(*marks, strict=True))
        return FailedRows(found.drop_columns([_flag_name(number) for number in range(len(self.checks))]), failed)

    def _without(self, found: FailedRows, former: FailedRows) -> FailedRows:
        """Rows that were moved from one file to another were not brought by this write."""
        names = [column.name for column in self.written.definition.columns]
        seen = Counter(zip(comparable_rows(former.rows.select(names)), former.failed, strict=True))
        kept: list[int] = []
        for number, row in enumerate(zip(comparable_rows(found.rows.select(names)), found.failed, strict=True)):
            if seen[row] > 0:
                seen[row] -= 1
            else:
                kept.append(number)
        return FailedRows(found.rows.take(pa.array(kept, pa.int64())), tuple(found.failed[number] for number in kept))

    # -- the query ------------------------------------------------------------------------------------------------

    def _stored(self) -> list[exp.Expr]:
        columns = self.written.definition.columns
        return [exp.alias_(stored(exp.column(identifier(c.name)), c.type), identifier(c.name)) for c in columns]

    def _with_positions(self, files: Sequence[DataFile], label: str) -> exp.Select:
        """The rows of the files with their positions, and a flag for each check: whether they fail it."""
        source = exp.select("*").from_(exp.Table(this=identifier(self.written.view(files, label))))
        return self._flagged(source, lambda check: False, files)

    def _flagged(
        self, source: exp.Select, left_out: Callable[[QualityCheck], bool], files: Sequence[DataFile] = ()
    ) -> exp.Select:
        joined = exp.select(exp.Column(this=exp.Star(), table=identifier(_ROWS))).from_(derived(source, _ROWS))
        flags: dict[int, exp.Expr] = {}
        with self.run.environment() as environment:
            for number, check in enumerate(self.checks):
                if left_out(check):
                    continue
                if check.kind in (CheckKind.UNIQUE, CheckKind.REFERENCES):
                    known = self._known_keys(check, files, number)
                    joined = _joined(joined, check, known, number)
                    flags[number] = _key_flag(check, number)
                    continue
                condition = condition_over(
                    environment, self.written.definition, violation(check), stored_form=False
                )  # fmt: skip
                flags[number] = spark("coalesce(_0, false)", condition)
        named = [exp.alias_(flag, identifier(_flag_name(number))) for number, flag in flags.items()]
        return exp.select(exp.Star(), *named).from_(derived(joined, _KNOWN))

    def _known_keys(self, check: QualityCheck, files: Sequence[DataFile], number: int) -> exp.Select:
        """The keys that rows are compared to: of the rows that stayed, or of the table that is referred to."""
        if check.kind is CheckKind.REFERENCES:
            assert check.references is not None
            name = check.references
            with self.run.environment() as environment:
                relation = environment.relations.relation((name.database, name.schema, name.name), None)
            return _keys(relation.reference or "", check.referenced_columns or check.columns, number)
        stayed = self.written.stayed
        looked_up = self._looked_up(check, files, number)
        reference = looked_up or self.written.view(stayed.files, f"stayed{number}")
        return _keys(reference, check.columns, number)

    def _looked_up(self, check: QualityCheck, files: Sequence[DataFile], number: int) -> str | None:
        """The keys of the rows at hand, as far as the rest of the table has them: found without reading all of it."""
        counts = [file.rows for file in files]
        rows = None if None in counts else sum(count or 0 for count in counts)
        if not self.written.stayed.by_path or not searchable(self.written, check, rows, _FETCHED):
            return None
        keys = exp.select(*(exp.column(identifier(name)) for name in check.columns)).distinct()
        new = fetched(
            self.run, keys.from_(exp.Table(this=identifier(self.written.view(files, f"keys{number}"))))
        )  # fmt: skip
        found = rows_with_keys(self.run.account.key_filters, self.written.stayed, check.columns, new)
        if found is None:
            return None
        reference = f"quality_found{number}_{self.written.table.id}_{self.written.after.version}_{len(self.run.inputs)}"
        self.run.inputs[reference] = found.select(list(check.columns))
        return reference


def _flag_name(number: int) -> str:
    return f"__v{number}"


def _flag(number: int) -> exp.Expr:
    return exp.column(identifier(_flag_name(number)))


def _known_name(number: int, column: int | None = None) -> str:
    return f"__e{number}" if column is None else f"__e{number}_{column}"


def _keys(reference: str, columns: Sequence[str], number: int) -> exp.Select:
    named = [
        exp.alias_(exp.column(identifier(name)), identifier(_known_name(number, index)))
        for index, name in enumerate(columns)
    ]
    distinct = exp.select(*named).distinct().from_(exp.Table(this=identifier(reference)))
    there = exp.alias_(exp.true(), identifier(_known_name(number)))
    return exp.select(exp.Star(), there).from_(derived(distinct, _INNER))


def _joined(rows: exp.Select, check: QualityCheck, known: exp.Select, number: int) -> exp.Select:
    alias = f"__j{number}"
    equal = [
        exp.EQ(
            this=exp.column(identifier(name), table=identifier(_ROWS)),
            expression=exp.column(identifier(_known_name(number, index)), table=identifier(alias)),
        )
        for index, name in enumerate(check.columns)
    ]
    found = exp.column(identifier(_known_name(number)), table=identifier(alias))
    return rows.select(found).join(derived(known, alias), on=exp.and_(*equal), join_type="left")


def _key_flag(check: QualityCheck, number: int) -> exp.Expr:
    """A key with a NULL refers to nothing and equals nothing."""
    columns = [exp.column(identifier(name)) for name in check.columns]
    complete = exp.and_(*(spark("_0 is not null", column) for column in columns))
    known = spark("coalesce(_0, false)", exp.column(identifier(_known_name(number))))
    if check.kind is CheckKind.REFERENCES:
        return exp.and_(complete, exp.Not(this=known))
    order = exp.Order(expressions=[exp.Ordered(this=exp.column(identifier(name))) for name in (FILE, ROW)])
    rank = exp.Window(this=exp.RowNumber(), partition_by=columns, order=order)
    again = exp.GT(this=rank, expression=integer(1))
    return exp.and_(complete, exp.paren(exp.or_(known, again)))
