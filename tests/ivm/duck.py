"""Refresh plans on DuckDB: the same stages that Spark runs, so that thousands of cases take minutes.

What the plans are compared with is the bound original query, never SQL that the algebra made.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.ivm.algebra import TARGET, WEIGHT, table_name
from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.plan import Apply, ApplyKind, RefreshPlanner
from snowmelt.ivm.top_rows import TopRows
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.no_relations import NoRelations
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel

Columns = tuple[tuple[str, DataType], ...]
Row = tuple[Any, ...]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_NAMES = {
    "collect_list": "list",
    "raise_error": "error",
    "array_join": "array_to_string",
    "to_variant_object": "to_json",
    "timestampadd": "add_days",
    "transform": "list_transform",
    "element_at": "list_extract",
    "array": "list_value",
    "int": "to_int",
    "max_by": "arg_max_null",
    "min_by": "arg_min_null",
}
_NUMBER = re.compile(r"-?\d+(\.\d+)?(L|BD)")
_MACROS = (
    "sort_array(x, up := true) AS CASE WHEN up THEN list_sort(x) ELSE list_reverse_sort(x) END",
    "date_add(d, n) AS d + CAST(n AS INT)",
    "date_sub(d, n) AS d - CAST(n AS INT)",
    "add_months(d, n) AS CAST(d + to_months(CAST(n AS INT)) AS DATE)",
    "unix_date(d) AS d - DATE '1970-01-01'",
    "add_days(n, t) AS t + to_days(CAST(n AS INT))",
    "get(l, i) AS l[i + 1]",
    "size(l) AS len(l)",
    "to_int(x) AS CAST(x AS INT)",
    "schema_of_variant(x) AS json_structure(x)",
)
_TINY = 1e-12


class Catalog(NoRelations):
    def __init__(self, tables: Mapping[str, Columns]) -> None:
        self.tables = tables

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        if parts[-1] not in self.tables:
            raise errors.not_found("Object", parts[-1])
        columns = tuple(RelationColumn(name, type_) for name, type_ in self.tables[parts[-1]])
        return Relation(parts[-1], columns, reference=parts[-1])


def bind(query: str, tables: Mapping[str, Columns], now: datetime = NOW) -> BoundQuery:
    return QueryBinder(Environment(Catalog(tables), SessionContext(now=now))).bind(parse_snowflake(query))


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all: opening another takes longer than most cases."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    # These two together take a join with a count over no rows for empty (DuckDB 2.0).
    connection.execute("SET disabled_optimizers = 'projection_pullup, statistics_propagation'")
    for macro in _MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    return connection


class _Words(DuckDB.Generator):
    """Spark's tree in DuckDB's words, for the part of both that the tests use."""

    def var_sql(self, expression: exp.Var) -> str:
        if not _NUMBER.fullmatch(expression.name):
            return expression.name
        text = expression.name.removesuffix("L").removesuffix("BD")
        return f"CAST({text} AS BIGINT)" if expression.name.endswith("L") else text

    def join_sql(self, expression: exp.Join) -> str:
        if expression.args.get("kind") in ("SEMI", "ANTI"):
            expression.args["side"] = None
        return str(super().join_sql(expression))

    def dot_sql(self, expression: exp.Dot) -> str:
        # DuckDB takes the parameter of a lambda for a table where there are groups.
        return f"struct_extract({self.sql(expression, 'this')}, '{expression.expression.name}')"

    def hint_sql(self, expression: exp.Hint) -> str:
        return ""

    def datatype_sql(self, expression: exp.DataType) -> str:
        return "JSON" if expression.this is exp.DType.VARIANT else str(super().datatype_sql(expression))

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name = expression.name.lower()
        arguments = [self.sql(argument) for argument in expression.expressions]
        if name == "count_if":
            # DuckDB's own gives NULL for no rows.
            return f"count(CASE WHEN {arguments[0]} THEN 1 END)"
        if name == "collect_set":
            return f"list(DISTINCT {arguments[0]})"
        if name == "named_struct":
            fields = zip(arguments[::2], arguments[1::2], strict=True)
            return "{" + ", ".join(f"{key}: {value}" for key, value in fields) + "}"
        if name == "timestampadd":
            # Only days are used.
            arguments = arguments[1:]
        return f"{_NAMES.get(name, expression.name)}({', '.join(arguments)})"


def duck_sql(tree: exp.Expr) -> str:
    return str(_Words(dialect="duckdb", normalize_functions=False).generate(tree, copy=False))


class View:
    """One dynamic table over tables in DuckDB, refreshed by plans. Only the newest one may be used."""

    def __init__(
        self,
        query: str,
        tables: Mapping[str, Columns],
        rows: Mapping[str, Iterable[Row]],
        *,
        now: datetime = NOW,
        seed: int = 0,
        states: bool = False,
    ) -> None:
        self.query = query
        self.tables = tables
        self.now = now
        self._shuffles = random.Random(seed)
        self.bound = bind(query, tables, now)
        self.names = [column.key for column in self.bound.columns]
        self.wanted = self._original()
        self.planner = self._planner()
        self.database = database()
        self.rows = {name: Counter(rows.get(name, [])) for name in tables}
        for name in tables:
            self._create(table_name(name, "new"), name, self.rows[name])
            self.database.execute(f'CREATE OR REPLACE VIEW "{name}" AS SELECT * FROM "{table_name(name, "new")}"')
        self.database.execute(f"CREATE OR REPLACE TABLE target AS {self.wanted}")
        self.database.execute(f"CREATE OR REPLACE TEMP VIEW {TARGET} AS SELECT * FROM target")
        self.last: Apply | None = None
        self.shortened = 0
        """How often the first rows of an order were found without reading all."""
        self.states: dict[str, dict[str, str]] | None = None
        """The types of what is kept for each aggregate; None where nothing is kept."""
        if states:
            initial = self.planner.initial(now)
            self.states = {}
            for state, filled in initial.states:
                self.database.execute(f"CREATE OR REPLACE TABLE {state.stored} AS {duck_sql(filled)}")
                self.states[state.name] = self._types_of(state.stored)
            self.database.execute(f"CREATE OR REPLACE TABLE target AS {duck_sql(initial.rows)}")

    def _types_of(self, table: str) -> dict[str, str]:
        """As Spark has them, whose sums of integers are integers of 64 bits."""
        described = self.database.execute(f"DESCRIBE {table}").fetchall()
        return {name: "BIGINT" if type_ == "HUGEINT" else type_ for name, type_, *_ in described}

    def _planner(self) -> RefreshPlanner:
        return RefreshPlanner(lower(self.bound.tree, self.tables))

    def _original(self) -> str:
        columns = ", ".join(f'"{name}"' for name in self.names)
        return f"SELECT {columns} FROM ({duck_sql(self.bound.tree.copy())})"

    def _create(self, name: str, table: str, rows: Counter[Row], *, weight: bool = False) -> None:
        """The rows in another order each time, since no file keeps one."""
        columns = [(f'"{column}"', _duck_type(type_)) for column, type_ in self.tables[table]]
        columns += [(f'"{WEIGHT}"', "BIGINT")] if weight else []
        values = (
            [(*row, n) for row, n in rows.items()] if weight else [row for row, n in rows.items() for _ in range(n)]
        )
        self._shuffles.shuffle(values)
        types = ", ".join(f"{column} {type_}" for column, type_ in columns)
        self.database.execute(f'CREATE OR REPLACE TABLE "{name}" ({types})')
        if values:
            texts = ", ".join(f"({', '.join(map(_literal, row))})" for row in values)
            self.database.execute(f'INSERT INTO "{name}" VALUES {texts}')

    def refresh(self, changes: Mapping[str, Counter[Row]], *, now: datetime | None = None) -> None:
        """Applies signed changes to the tables, and what follows from them to the view."""
        before, self.now = self.now, now or self.now
        if self.now != before:
            self.bound = bind(self.query, self.tables, self.now)
            self.wanted = self._original()
        notes = {}
        for name, change in changes.items():
            if not change:
                continue
            old = self.rows[name]
            new = Counter({row: old[row] + change[row] for row in {*old, *change} if old[row] + change[row] > 0})
            net = Counter({row: new[row] - old[row] for row in {*old, *new} if new[row] != old[row]})
            self._create(table_name(name, "old"), name, old)
            self._create(table_name(name, "change"), name, net, weight=True)
            self._create(table_name(name, "new"), name, new)
            self.rows[name] = new
            notes[name] = self._note(net)
        plan = self.planner.plan(notes, before=before, after=self.now, types=self.states)
        for stage in plan.stages:
            self.database.execute(f"CREATE OR REPLACE TEMP TABLE {stage.name} AS {duck_sql(stage.query)}")
        self._apply(plan.apply)
        for state in plan.additions:
            self.database.execute(f"INSERT INTO {state.stored} BY NAME SELECT * FROM {state.added}")
        self.last = plan.apply

    def _note(self, net: Counter[Row]) -> TableChange:
        return TableChange(inserts_only=all(weight > 0 for weight in net.values()))

    def _apply(self, apply: Apply) -> None:
        if apply.kind is ApplyKind.NOTHING:
            return
        assert apply.rows is not None
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE applied AS {duck_sql(apply.rows)}")
        names = ", ".join(f'"{name}"' for name in self.names)
        if apply.kind in (ApplyKind.APPEND, ApplyKind.BAG):
            self._bag(names, appended=apply.kind is ApplyKind.APPEND)
            return
        if apply.top is not None and self._top(apply.top):
            return
        if apply.kind is ApplyKind.OVERWRITE:
            self.database.execute("DELETE FROM target")
        else:
            on = " AND ".join(f'target."{own}" IS NOT DISTINCT FROM k."{key}"' for own, key in apply.key_columns)
            self.database.execute(f"DELETE FROM target WHERE EXISTS (SELECT 1 FROM {apply.keys} k WHERE {on})")
        self.database.execute(f"INSERT INTO target SELECT {names} FROM applied")

    def _top(self, top: TopRows) -> bool:
        found = self.database.execute(duck_sql(top.query)).fetchall()
        indexes = top.indexes([row[-2] for row in found], [row[-1] for row in found])
        if indexes is None:
            return False
        self.shortened += 1
        self.database.execute("DELETE FROM target")
        names = ", ".join(f'"{name}"' for name, _ in top.names)
        for place in indexes:
            values = ", ".join(map(_literal, found[place][:-2]))
            self.database.execute(f"INSERT INTO target ({names}) VALUES ({values})")
        return True

    def _bag(self, names: str, *, appended: bool) -> None:
        """So many more or fewer of each row, compared bit by bit: what is not reproducible is found out here."""
        weights = self.database.execute(f'SELECT min("{WEIGHT}") FROM applied').fetchone()
        assert weights is not None
        assert not appended or weights[0] is None or weights[0] > 0, "an append that deletes"
        self.database.execute(
            f"CREATE OR REPLACE TEMP TABLE counted AS SELECT {names}, sum(__n) AS __n"
            f" FROM (SELECT {names}, 1 AS __n FROM target"
            f' UNION ALL SELECT {names}, "{WEIGHT}" FROM applied) GROUP BY {names}'
        )
        missing = self.database.execute("SELECT * FROM counted WHERE __n < 0 LIMIT 3").fetchall()
        assert not missing, f"rows to delete that are not there: {missing}"
        self.database.execute("DELETE FROM target")
        self.database.execute(f"INSERT INTO target SELECT {names} FROM counted, range(CAST(__n AS BIGINT))")

    def result(self) -> list[Row]:
        return self.database.execute("SELECT * FROM target").fetchall()

    def check(self) -> tuple[Counter[Any], Counter[Any]]:
        """What the table has and should not, and what it has not and should."""
        want = Counter(_key(row) for row in self.database.execute(self.wanted).fetchall())
        have = Counter(_key(row) for row in self.result())
        return have - want, want - have


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool() | int() | Decimal():
            return str(value)
        case float():
            return f"{value!r}::DOUBLE"
        case datetime():
            return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
        case date():
            return f"DATE '{value}'"
    return "'" + str(value).replace("'", "''") + "'"


def _key(row: Row) -> Row:
    """Sums of floats are compared by nine digits: their order may differ."""
    return tuple(_rounded(value) if isinstance(value, float) else _hashable(value) for value in row)


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < _TINY else float(f"{value:.9g}")


def _hashable(value: Any) -> Any:
    return tuple(sorted(map(str, value))) if isinstance(value, list) else value


def _duck_type(type_: DataType) -> str:
    name = type_.spark.replace("STRING", "VARCHAR").replace("TIMESTAMP_NTZ", "TIMESTAMP")
    return "JSON" if name == "VARIANT" else name
