"""The most frequent MERGE of all: rows of a source, found again by their keys, that bring all their new values along.

When a match is an equality of keys and no value asks for the target row, Spark need not see the target at all. One
query over the source gives keys, conditions and new values of every clause; looking the keys up is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.runtime.rewriting.narrowing import Narrowing
from snowmelt.runtime.rewriting.plan import (
    ACTION,
    ID,
    NUMBER,
    SOURCE,
    TARGET,
    Act,
    ChangePlan,
    all_of,
    has_subquery,
    named,
    tables_in,
)
from snowmelt.runtime.rewriting.queries import key_column
from snowmelt.sql.dialect import identifier
from snowmelt.storage.rewrite import FILE, ROW
from snowmelt.storage.schema import arrow_type, as_type

_JOINS = "__joins"
_WHEN = "__when"
_VALUE = "__value"


def is_keyed(plan: ChangePlan, narrow: Narrowing) -> bool:
    """Whether nothing in the plan but its keys relates the two sides."""
    if plan.source is None or plan.source.items != 1 or not narrow.keys or not narrow.separable:
        return False
    if plan.numbered and plan.definition.checks:
        return False
    if any(has_subquery(tree) for tree in plan.trees()):
        return False
    return all(TARGET not in tables_in(tree) for clause in plan.clauses for tree in clause.trees())


@dataclass(frozen=True, slots=True)
class KeyedSource:
    """The source of a keyed plan as one query, and what to make of its rows."""

    plan: ChangePlan
    narrow: Narrowing

    def query(self) -> exp.Select:
        """Keys, conditions and values. Values are worked out for all rows, whichever clause they fall under."""
        plan = self.plan
        assert plan.source is not None
        own = [tree for tree in plan.conjuncts if TARGET not in tables_in(tree)]
        projections = [named(key.tree.copy(), key_column(index)) for index, key in enumerate(self.narrow.keys)]
        if own and plan.inserts:
            projections.append(named(all_of(own), _JOINS))
        for index, clause in enumerate(plan.clauses):
            if clause.condition is not None:
                projections.append(named(clause.condition.copy(), f"{_WHEN}{index}"))
            if clause.check is not None:
                projections.append(named(clause.check.copy(), f"__checked{index}"))
        projections += [named(tree.copy(), f"{_VALUE}{index}") for index, tree in enumerate(self._distinct())]
        inner = exp.Subquery(this=plan.source.tree.copy(), alias=exp.TableAlias(this=identifier(SOURCE)))
        select = exp.select(*projections).from_(inner)
        # Only an INSERT has use for rows that match nothing.
        return select.where(all_of(own)) if own and not plan.inserts else select

    def _distinct(self) -> list[exp.Expr]:
        """The values of all clauses, each once: an upsert mentions most of them twice."""
        found: dict[exp.Expr, None] = {}
        for clause in self.plan.clauses:
            for tree in (clause.values or {}).values():
                if not _is_number(tree):
                    found.setdefault(tree)
        return list(found)

    def touched(self, source: pa.Table, found: pa.Table, keys: Sequence[pa.Array]) -> pa.Table:
        """As `queries.touched`: `source` is what the query gave, `found` are target rows with the key columns.

        `keys` are the source's keys as values of the target's columns, NULL where none of those can equal them.
        """
        plan = self.plan
        rows = source.num_rows
        number = pa.array(range(rows), pa.int64())
        names = [key_column(index) for index in range(len(keys))]
        right = pa.table([number, *keys], names=[ID, *names])
        if _JOINS in source.column_names:
            right = right.filter(source.column(_JOINS).fill_null(False))
        columns = dict(zip(names, (key.column for key in self.narrow.keys), strict=True))
        left = pa.table(
            [found.column(FILE), found.column(ROW), *(found.column(name) for name in columns.values())],
            names=[FILE, ROW, *names],
        )
        matches = left.join(right, names, join_type="inner").select([FILE, ROW, ID])
        parts = [self._under(source, matches, [i for i, c in enumerate(plan.clauses) if c.act is not Act.INSERT])]
        if plan.inserts:
            rest = number.filter(pc.invert(pc.is_in(number, value_set=matches.column(ID).combine_chunks())))
            unmatched = pa.table({
                FILE: pa.nulls(len(rest), pa.string()), ROW: pa.nulls(len(rest), pa.int64()), ID: rest,
            })  # fmt: skip
            parts.append(self._under(source, unmatched, [i for i, c in enumerate(plan.clauses) if c.act is Act.INSERT]))
        return pa.concat_tables(parts)

    def _under(self, source: pa.Table, rows: pa.Table, clauses: Sequence[int]) -> pa.Table:
        """The rows that fall under one of these clauses, with its values."""
        plan = self.plan
        values = {tree: f"{_VALUE}{index}" for index, tree in enumerate(self._distinct())}
        fields = [pa.field(name, arrow_type(_type(plan, name))) for name in plan.changed_columns]
        schema = pa.schema([(FILE, pa.string()), (ROW, pa.int64()), (ID, pa.int64()), (ACTION, pa.int32()), *fields])
        parts = [schema.empty_table()]
        for index in clauses:
            clause = plan.clauses[index]
            chosen = rows
            if clause.condition is not None:
                holds = source.column(f"{_WHEN}{index}").fill_null(False).take(rows.column(ID))
                chosen, rows = rows.filter(holds), rows.filter(pc.invert(holds))
            else:
                rows = rows.slice(0, 0)
            columns: list[pa.ChunkedArray | pa.Array] = [chosen.column(name) for name in (FILE, ROW, ID)]
            columns.append(pa.repeat(pa.scalar(index, pa.int32()), chosen.num_rows))
            for name, field in zip(plan.changed_columns, fields, strict=True):
                tree: exp.Expr | None = clause.values.get(name) if clause.values is not None else None
                if tree is None or _is_number(tree):
                    columns.append(pa.nulls(chosen.num_rows, field.type))
                else:
                    columns.append(_as(source.column(values[tree]), field.type).take(chosen.column(ID)))
            parts.append(pa.Table.from_arrays(columns, schema=schema))
        return pa.concat_tables(parts)


def _as(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([as_type(chunk, target) for chunk in values.chunks], target)


def _is_number(tree: exp.Expr) -> bool:
    """Whether the value is an AUTOINCREMENT's, which is given out once the inserted rows are known."""
    return any(found.name.startswith(NUMBER) for found in tree.find_all(exp.Column))


def _type(plan: ChangePlan, name: str) -> DataType:
    return next(item.type for item in plan.definition.columns if item.name == name)
