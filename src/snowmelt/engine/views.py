"""Views of table versions: each made once in each of Spark's sessions, from the list of the version's files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.types import Kind
from snowmelt.engine.model import ColumnSource, TableFiles
from snowmelt.state.model import Column
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW
from snowmelt.storage.rewrite import FILE, ROW

with lazy_imports():
    from pyspark.sql import types as spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RANK = "__rank"
_KEPT_VIEWS = 2_000
"""Temporary views kept a session; the least recently used one goes first."""


class LaneState:
    """A session of Spark, and the views in it."""

    def __init__(self, session: SparkSession, *, in_order: bool = False) -> None:
        self.session = session
        self.in_order = in_order
        """Whether tables that ask for it are read in the order of their files."""
        self.views: OrderedDict[str, None] = OrderedDict()
        self.lock = threading.Lock()


def register(state: LaneState, table: TableFiles) -> str:
    """Makes the view of one table version, once a lane."""
    with state.lock:
        if table.reference in state.views:
            state.views.move_to_end(table.reference)
            return table.reference
    frame = _frame(state.session, table, in_order=state.in_order and table.in_order)
    frame.createOrReplaceTempView(table.reference)
    with state.lock:
        state.views[table.reference] = None
        dropped = [state.views.popitem(last=False)[0] for _ in range(len(state.views) - _KEPT_VIEWS)]
    for name in dropped:
        state.session.catalog.dropTempView(name)
    return table.reference


def _frame(session: SparkSession, table: TableFiles, *, in_order: bool) -> DataFrame:
    if table.ddl is not None:
        return session.read.schema(table.ddl).parquet(*table.files)
    sources = table.sources or tuple(ColumnSource(column.name, column.type) for column in table.columns)
    fields = {source.name: source.type.stored for source in sources if source.name is not None}
    if table.origins and table.delta_path is None:
        fields |= {ORIGIN_FILE: "STRING", ORIGIN_ROW: "BIGINT"}
    ddl = ", ".join(f"{_quoted(name)} {type_}" for name, type_ in fields.items())
    # Rows of a time when the table had none of its present columns still count.
    stored = ddl or spark_types.StructType([])
    scanned = [_scan(column, source) for column, source in zip(table.columns, sources, strict=True)]
    if table.delta_path is not None:
        frame = session.read.format("delta").option("versionAsOf", table.version).load(table.delta_path)
    elif not table.files:
        # From a list of Python rows Spark would start Python workers, which nothing else here needs.
        empty = [f"CAST(NULL AS {type_}) AS {_quoted(name)}" for name, type_ in fields.items()]
        frame = session.range(0).selectExpr(*empty)
    else:
        frame = session.read.schema(stored).parquet(*table.files)
    if not in_order or len(table.files) < 2:
        return frame.selectExpr(*scanned, *_positions(table))
    ranked = frame.selectExpr(*scanned, *_positions(table), f"{_rank(table.files)} AS {_RANK}")
    # Spark reads the largest file first. One task, and a sort that keeps the order inside each file: where a query
    # needs no order (a join, an aggregate), Spark leaves the sort out.
    return ranked.coalesce(1).sortWithinPartitions(_RANK).drop(_RANK)


def _rank(files: Sequence[str]) -> str:
    """The number of a row's file among the files."""
    names = (file.rsplit("/", 1)[-1].replace("\\", "\\\\").replace("'", "\\'") for file in files)
    listed = ", ".join(f"'{name}'" for name in names)
    return f"array_position(array({listed}), _metadata.file_name)"


def _scan(column: Column, source: ColumnSource) -> str:
    """A stored column as its value in queries."""
    name = _quoted(column.name)
    if source.name is None:
        return f"CAST({source.fill} AS {column.type.spark}) AS {name}"
    found = _quoted(source.name)
    if source.type.spark == column.type.spark and column.type.kind is not Kind.TIME:
        return found if found == name else f"{found} AS {name}"
    return f"CAST({found} AS {column.type.spark}) AS {name}"


def _positions(table: TableFiles) -> list[str]:
    if not table.positions:
        return []
    if table.delta_path is not None:
        return [f"_metadata.file_name AS {FILE}", f"monotonically_increasing_id() AS {ROW}"]
    if not table.files:
        return [f"CAST(NULL AS STRING) AS {FILE}", f"CAST(NULL AS BIGINT) AS {ROW}"]
    if table.origins:
        return [
            f"coalesce({ORIGIN_FILE}, _metadata.file_name) AS {FILE}",
            f"coalesce({ORIGIN_ROW}, _metadata.row_index) AS {ROW}",
        ]
    return [f"_metadata.file_name AS {FILE}", f"_metadata.row_index AS {ROW}"]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
