"""The flow of a query over TPC-H's tables and one of documents, without an account."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

from benchmarks.tpch.tables import TABLES
from snowmelt.core.types import DataType, parse_type
from snowmelt.govern.lineage.flows import Origins, QueryFlow
from snowmelt.govern.lineage.tracing import trace
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.no_relations import NoRelations
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_TABLES = {**TABLES, "documents": {"id": "INTEGER", "body": "VARIANT"}}
OWNER = {column: table for table, columns in _TABLES.items() for column in columns}


class _Catalog(NoRelations):
    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        name = parts[-1].lower()
        columns = tuple(RelationColumn(column.upper(), _type(kind)) for column, kind in _TABLES[name].items())
        return Relation(name, columns, reference=name)


def _type(word: str) -> DataType:
    found = parse_type(word)
    assert found is not None
    return found


def flow_of(text: str) -> QueryFlow:
    return trace(QueryBinder(Environment(_Catalog(), SessionContext(now=_NOW))).bind(parse_snowflake(text)))


def by_influence(origins: Origins) -> dict[str, set[str]]:
    """The columns by how they take part, in lower case; every name belongs to one table."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for column, influences in origins.items():
        assert OWNER[column.column.lower()] == column.source
        for influence in influences:
            found[influence.lower()].add(column.column.lower())
    return dict(found)
