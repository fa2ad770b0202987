"""The changes of tables whose files are not ours to read: renamed columns, partitions, deletion vectors, object stores.

Spark reads their change feed. It does not say which rows are the same, so rows are known by what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.runtime.writing import stored
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.model import TableDefinition
from snowmelt.storage.change_files import ORDER, SIGN, ChangedRows
from snowmelt.storage.feed import CHANGE_TYPE, COMMIT_VERSION
from snowmelt.storage.origins import with_origins

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_CAME = pa.array(["insert", "update_postimage"])


def changed_rows(
    run: Run, definition: TableDefinition, ranges: Sequence[tuple[int, int]], *, inserts: bool
) -> ChangedRows:
    """The changes of version ranges, both ends included, in stored form."""
    uri = run.account.store.root.uri_of(definition.location)
    parts = [_range(run, definition, uri, first, last, inserts=inserts) for first, last in ranges]
    if not parts:
        parts = [_empty(run, definition)]
    return ChangedRows(pa.concat_tables(parts), identified=False)


def _range(run: Run, definition: TableDefinition, uri: str, first: int, last: int, *, inserts: bool) -> pa.Table:
    feed = exp.Anonymous(
        this="table_changes_by_path",
        expressions=[exp.Literal.string(uri), integer(first), integer(last)],
    )
    query = exp.select(*_columns(definition), CHANGE_TYPE, COMMIT_VERSION).from_(exp.Table(this=feed))
    data = run.account.engine.to_arrow(query, [], tag=run.tag, pool=run.pool)
    if inserts:
        data = data.filter(pc.equal(data.column(CHANGE_TYPE), "insert"))
    return _signed(data, f"feed-{last}")


def _columns(definition: TableDefinition) -> list[exp.Expr]:
    return [exp.alias_(stored(exp.column(identifier(c.name)), c.type), identifier(c.name)) for c in definition.columns]


def _empty(run: Run, definition: TableDefinition) -> pa.Table:
    nulls = [
        exp.alias_(spark(f"cast(null as {column.type.stored})"), identifier(column.name))
        for column in definition.columns
    ]
    kinds = [exp.alias_(spark("''"), CHANGE_TYPE), exp.alias_(spark("0L"), COMMIT_VERSION)]
    query = exp.select(*nulls, *kinds).where(exp.false())
    return _signed(run.account.engine.to_arrow(query, [], tag=run.tag, pool=run.pool), "none")


def _signed(data: pa.Table, name: str) -> pa.Table:
    came = pc.is_in(data.column(CHANGE_TYPE), value_set=_CAME)
    sign = pc.if_else(came, pa.scalar(1, pa.int8()), pa.scalar(-1, pa.int8()))
    order = pc.add(pc.multiply(data.column(COMMIT_VERSION).cast(pa.int64()), 2), came.cast(pa.int64()))
    rows = with_origins(data.drop_columns([CHANGE_TYPE, COMMIT_VERSION]), name)
    return rows.append_column(SIGN, sign).append_column(ORDER, order)
