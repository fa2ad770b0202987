"""Every query that the tests of refresh plans, TPC-H and the documents have, with the tables that it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES as TPCH
from benchmarks.tpch.tables import create_table
from snowmelt.core import types
from snowmelt.sql.statements.base import Query
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements
from tests.ivm import test_distinct_steps, test_extremes, test_first_rows, test_incremental_fixed
from tests.ivm.duck import Columns
from tests.ivm.fixed_queries import TIMED, TOP, UNTIMED

_ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MOMENT = (
    "select k from t where e > current_timestamp()::timestamp_ntz",
    "select k from t where e <= sysdate()",
    "select k, e from t where e between dateadd(hour, -1, current_timestamp())::timestamp_ntz and localtimestamp()",
    "select a, max(e) as m from t group by a having max(e) < current_timestamp()::timestamp_ntz",
    "select k from t where e::time < current_time()",
    "select * from recent",
    "select u.k, recent.e from u left join recent on recent.k = u.k",
    "select a, count(*) as n from (select a from t where e::date = current_date()) group by a",
)
"""The clock against an instant, also below a view; `e` is such a column of T."""

DOCUMENTS = (
    "CREATE TABLE events (id INT, at TIMESTAMP_NTZ, payload VARIANT)",
    "CREATE TABLE orders (order_id INT, customer_id INT, placed_at TIMESTAMP_NTZ, country VARCHAR, amount INT)",
    "CREATE TABLE customers (id INT, name VARCHAR, city VARCHAR, valid_from TIMESTAMP_NTZ, valid_to TIMESTAMP_NTZ,"
    " is_current BOOLEAN)",
    "CREATE TABLE customer_events (id INT, changed_at TIMESTAMP_NTZ, lsn INT, operation VARCHAR, last_login DATE)",
    "CREATE TABLE raw_changes (table_name VARCHAR, operation VARCHAR, ts_ms INT, before VARIANT, after VARIANT)",
    "CREATE STREAM customer_changes ON TABLE customers",
)
"""What the documents' queries read."""


@dataclass(frozen=True, slots=True)
class Group:
    """Queries over one set of tables."""

    name: str
    tables: tuple[str, ...]
    """The statements that make them."""
    queries: tuple[str, ...]
    modes: tuple[str, ...] = ("INCREMENTAL",)


def _created(tables: Mapping[str, Columns]) -> tuple[str, ...]:
    return tuple(
        f"CREATE TABLE {name} ({', '.join(f'{column} {type_}' for column, type_ in columns)})"
        for name, columns in tables.items()
    )


def document_queries() -> list[str]:
    """Every query in a block of SQL, and every query that a dynamic table is made of there."""
    found = []
    generated = _ROOT / "docs" / "reference" / "functions.md"
    for path in (_ROOT / "README.md", *sorted({*(_ROOT / "docs").rglob("*.md")} - {generated})):
        for block in _BLOCK.findall(path.read_text()):
            for statement in split_statements(block):
                parsed = parse_statement(statement)
                if isinstance(parsed, Query):
                    found.append(statement.text)
                elif isinstance(parsed, CreateDynamicTable) and parsed.query is not None:
                    found.append(parsed.query.text)
    return found


def groups() -> tuple[Group, ...]:
    fixed = test_incremental_fixed.TABLES
    distinct, extremes, first = test_distinct_steps, test_extremes, test_first_rows
    return (
        Group("operators", _created(fixed), (*UNTIMED, *TOP)),
        Group(
            "clock",
            (
                *_created({**fixed, "T": (*fixed["T"], ("E", types.TIMESTAMP_NTZ))}),
                "CREATE VIEW recent AS SELECT k, e FROM t WHERE e > CURRENT_TIMESTAMP()::TIMESTAMP_NTZ",
            ),
            (*TIMED, *_MOMENT),
            ("AUTO", "ADAPTIVE", "INCREMENTAL"),
        ),
        Group("distinct", _created(distinct.TABLES), (*distinct.ONE_LIST, *distinct.SEVERAL_LISTS)),
        Group("extremes", _created(extremes.TABLES), (extremes.GROUPED, extremes.JOINED, extremes.SCALAR)),
        Group("first rows", _created(first.TABLES), first.QUERIES),
        Group("tpch", tuple(map(create_table, TPCH)), tuple(query_text(name, 1) for name in query_names())),
        Group("documents", DOCUMENTS, tuple(document_queries()), ("AUTO",)),
    )
