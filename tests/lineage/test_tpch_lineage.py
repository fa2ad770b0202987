"""Column lineage of TPC-H's queries against `tpch.txt`, which was written by hand."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES
from snowmelt.core.types import DataType, parse_type
from snowmelt.govern.lineage.flows import Origins, QueryFlow
from snowmelt.govern.lineage.tracing import trace
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import Environment
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel
from snowmelt.sql.translate import NoRelations

_TRUTH = Path(__file__).parent / "tpch.txt"
_PART = re.compile(r"(\w+)\(([^)]*)\)")
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_OWNER = {column: table for table, columns in TABLES.items() for column in columns}


class _Tables(NoRelations):
    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        name = parts[-1].lower()
        columns = tuple(RelationColumn(column.upper(), _type(kind)) for column, kind in TABLES[name].items())
        return Relation(name, columns, reference=name)


def _type(word: str) -> DataType:
    found = parse_type(word)
    assert found is not None
    return found


def _flow(text: str) -> QueryFlow:
    return trace(QueryBinder(Environment(_Tables(), SessionContext(now=_NOW))).bind(parse_snowflake(text)))


def _truth() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _TRUTH.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            name, _, value = line.partition(" = ")
            found[list(found)[-1]][name] = value
    return found


def _expected(written: str) -> dict[str, set[str]]:
    return {kind: set(columns.split(", ")) for kind, columns in _PART.findall(written)}


def _found(origins: Origins) -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for column, influences in origins.items():
        assert _OWNER[column.column.lower()] == column.source
        for influence in influences:
            found[influence.lower()].add(column.column.lower())
    return dict(found)


@pytest.mark.parametrize("name", query_names())
def test_columns_come_from_where_the_truth_says(name: str) -> None:
    truth = dict(_truth()[name])
    rows = set(truth.pop("rows").split(", "))
    flow = _flow(query_text(name, 1))

    assert {output.name.lower(): _found(output.origins) for output in flow.outputs} == {
        output: _expected(written) for output, written in truth.items()
    }
    assert {column.column.lower() for column in flow.rows} == rows
