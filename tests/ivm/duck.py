"""Refresh plans on DuckDB: the same stages that Spark runs, so that thousands of cases take minutes."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import duckdb
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.plan import Apply, ApplyKind, Planner
from snowmelt.ivm.rendering import WEIGHT, table_name
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import Environment
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel
from snowmelt.sql.translate import NoRelations

Columns = tuple[tuple[str, DataType], ...]
Row = tuple[Any, ...]
_NAMES = {"collect_list": "list", "raise_error": "error", "approx_count_distinct": "approx_count_distinct"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?(L|BD)")


class Catalog(NoRelations):
    def __init__(self, tables: dict[str, Columns]) -> None:
        self.tables = tables

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        if parts[-1] not in self.tables:
            raise errors.not_found("Object", parts[-1])
        columns = tuple(RelationColumn(name, type_) for name, type_ in self.tables[parts[-1]])
        return Relation(parts[-1], columns, reference=parts[-1])


def bind(query: str, tables: dict[str, Columns], now: datetime | None = None) -> BoundQuery:
    context = SessionContext(now=now or datetime(2026, 1, 1, tzinfo=UTC))
    return QueryBinder(Environment(Catalog(tables), context)).bind(parse_snowflake(query))


def duck_sql(tree: exp.Expr) -> str:
    """Spark's tree in DuckDB's words, for the part of both that the tests use."""

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Var) and _NUMBER.fullmatch(node.name):
            text = node.name.removesuffix("L").removesuffix("BD")
            return exp.cast(exp.Literal.number(text), "BIGINT") if node.name.endswith("L") else exp.Literal.number(text)
        if isinstance(node, exp.Join) and node.args.get("kind") in ("SEMI", "ANTI"):
            node.set("side", None)
        if isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES:
            node.set("this", _NAMES[node.name.lower()])
        if isinstance(node, exp.Anonymous) and node.name.lower() == "count_if":
            # DuckDB's own gives NULL for no rows.
            one = exp.Case(ifs=[exp.If(this=node.expressions[0], true=exp.Literal.number(1))])
            return exp.Anonymous(this="count", expressions=[one])
        if isinstance(node, exp.Select):
            node.set("hint", None)
        return node

    return tree.copy().transform(change, copy=False).sql(dialect="duckdb", normalize_functions=False)


class View:
    """One dynamic table over tables in DuckDB, refreshed by plans."""

    def __init__(
        self, query: str, tables: dict[str, Columns], rows: dict[str, list[Row]], *, states: bool = False
    ) -> None:
        self.tables = tables
        self.bound = bind(query, tables)
        self.planner = Planner(lower(self.bound.tree, tables))
        self.names = [column.key for column in self.bound.columns]
        self.database = duckdb.connect()
        self.database.execute("SET default_null_order = 'nulls_first'")
        self.rows = {name: Counter(rows.get(name, [])) for name in tables}
        for name in tables:
            self._create(name, self.rows[name])
        columns = ", ".join(f'"{name}"' for name in self.names)
        self.database.execute(f"CREATE TABLE target AS SELECT {columns} FROM ({duck_sql(self.bound.tree)})")
        self.last: Apply | None = None
        self.states = states
        if states:
            for name in tables:
                self._create(table_name(name, "new"), self.rows[name])
            initial = self.planner.initial()
            for state, filled in initial.states:
                self.database.execute(f"CREATE TABLE {state.stored} AS {duck_sql(filled)}")
            self.database.execute(f"CREATE OR REPLACE TABLE target AS {duck_sql(initial.rows)}")

    def _create(self, name: str, rows: Counter[Row], *, weight: bool = False) -> None:
        columns = ", ".join(
            f'"{column}" {_duck_type(type_)}' for column, type_ in self.tables[name.split("__", maxsplit=1)[0]]
        )
        extra = f', "{WEIGHT}" BIGINT' if weight else ""
        self.database.execute(f'CREATE OR REPLACE TABLE "{name}" ({columns}{extra})')
        values = (
            [(*row, count) for row, count in rows.items()]
            if weight
            else [row for row, count in rows.items() for _ in range(count)]
        )
        if values:
            marks = ", ".join("?" for _ in values[0])
            self.database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)

    def refresh(self, changes: dict[str, Counter[Row]]) -> None:
        """Applies signed changes to the tables, and what follows from them to the view."""
        changed = {name: change for name, change in changes.items() if change}
        notes = {}
        for name in self.tables:
            before = self.rows[name]
            self._create(table_name(name, "old"), before)
            after = Counter(before)
            for row, weight in changed.get(name, Counter()).items():
                after[row] += weight
            after = Counter({row: count for row, count in after.items() if count > 0})
            net = Counter({row: after[row] - before[row] for row in {*before, *after} if after[row] != before[row]})
            if name in changed:
                self._create(table_name(name, "change"), net, weight=True)
                notes[name] = TableChange(inserts_only=all(weight > 0 for weight in net.values()))
            self._create(table_name(name, "new"), after)
            self._create(name, after)
            self.rows[name] = after
        plan = self.planner.plan(notes, types={} if self.states else None)
        for stage in plan.stages:
            self.database.execute(f"CREATE OR REPLACE TEMP TABLE {stage.name} AS {duck_sql(stage.query)}")
        self._apply(plan.apply)
        for state in plan.additions:
            self.database.execute(f"INSERT INTO {state.stored} BY NAME SELECT * FROM {state.added}")
        self.last = plan.apply

    def _apply(self, apply: Apply) -> None:
        if apply.kind is ApplyKind.NOTHING:
            return
        assert apply.rows is not None
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE applied AS {duck_sql(apply.rows)}")
        names = ", ".join(f'"{name}"' for name in self.names)
        if apply.kind in (ApplyKind.APPEND, ApplyKind.BAG):
            self._bag(names)
            return
        if apply.kind is ApplyKind.OVERWRITE:
            self.database.execute("DELETE FROM target")
        else:
            on = " AND ".join(f'target."{own}" IS NOT DISTINCT FROM k."{key}"' for own, key in apply.key_columns)
            self.database.execute(f"DELETE FROM target WHERE EXISTS (SELECT 1 FROM {apply.keys} k WHERE {on})")
        self.database.execute(f"INSERT INTO target SELECT {names} FROM applied")

    def _bag(self, names: str) -> None:
        rows = self.database.execute(f'SELECT {names}, "{WEIGHT}" FROM applied').fetchall()
        stored = Counter(_key(row) for row in self.database.execute("SELECT * FROM target").fetchall())
        originals = {_key(row): row for row in self.database.execute("SELECT * FROM target").fetchall()}
        for *row, weight in rows:
            stored[_key(tuple(row))] += weight
            originals.setdefault(_key(tuple(row)), tuple(row))
        assert all(count >= 0 for count in stored.values()), "a row to delete is not there"
        self.database.execute("DELETE FROM target")
        values = [originals[key] for key, count in stored.items() for _ in range(count)]
        if values:
            self.database.executemany(f"INSERT INTO target VALUES ({', '.join('?' for _ in values[0])})", values)

    def check(self) -> tuple[Counter[Any], Counter[Any]]:
        """What the table has and should not, and what it has not and should."""
        columns = ", ".join(f'"{name}"' for name in self.names)
        wanted = self.database.execute(f"SELECT {columns} FROM ({duck_sql(self.bound.tree)})").fetchall()
        have = Counter(_key(row) for row in self.database.execute("SELECT * FROM target").fetchall())
        want = Counter(_key(row) for row in wanted)
        return have - want, want - have


def _key(row: Row) -> Row:
    return tuple(float(f"{value:.9g}") if isinstance(value, float) else _hashable(value) for value in row)


def _hashable(value: Any) -> Any:
    return tuple(sorted(map(str, value))) if isinstance(value, list) else value


def _duck_type(type_: DataType) -> str:
    return type_.spark.replace("STRING", "VARCHAR").replace("TIMESTAMP_NTZ", "TIMESTAMP")
