"""Results too large to be held: Spark writes them to files, and who fetches them reads piece by piece."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.engine.model import Lane, TableFiles
from snowmelt.runtime.protocols import DataDirectory
from snowmelt.runtime.results import Result, ResultColumn, SpilledRows, arrow_type
from snowmelt.runtime.statement import ComputingStatement
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.output import presented


class SpillingSession(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def spills(self) -> bool: ...


class SpillingStatement(ComputingStatement, Protocol):
    """A statement whose result may be too large for memory."""

    @property
    def session(self) -> SpillingSession: ...
    @property
    def outer(self) -> object | None: ...


FOLDER = "results"
_FEW_ROWS = 100_000
_SAMPLE = 2_000
_NOT_IN_FILES = frozenset({Kind.NULL, Kind.TIME})
"""What Parquet files of Spark do not hold as results have it."""


def folder_of(account: DataDirectory, session_id: str) -> Path:
    """Where the large results of a session lie until it ends."""
    return account.data_dir / FOLDER / session_id


def worth_it(run: SpillingStatement, bound: BoundQuery) -> bool:
    """Whether the result of a query may be too large for memory, and files can hold it."""
    local = run.account.settings.storage_root is None
    if not run.session.spills or run.outer is not None or not local:
        return False
    if run.lane is not Lane.HEAVY and not (not run.tables and _generates_many(bound.tree)):
        return False
    if any(column.type.kind in _NOT_IN_FILES for column in bound.columns):
        return False
    limit = bound.tree.args.get("limit")
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal):
        return int(limit.expression.this) > _FEW_ROWS
    return True


def _generates_many(tree: exp.Expr) -> bool:
    """Rows of a GENERATOR are read from nowhere: how many there are stands in the query."""
    calls = (call for call in tree.find_all(exp.Anonymous) if call.name == "range")
    counts = (call.expressions[0].name.removesuffix("L") for call in calls)
    return any(count.isdigit() and int(count) > _FEW_ROWS for count in counts)


def _bytes_held(files: Sequence[str], rows: int) -> int:
    """What the rows would take in memory, by a sample: files hold values that are repeated once."""
    for file in files:
        with pq.ParquetFile(file) as opened:
            sample = next(opened.iter_batches(batch_size=_SAMPLE), None)
        if sample is not None and sample.num_rows:
            return max(rows, int(sample.nbytes) * rows // int(sample.num_rows))
    return 0


def spill(run: SpillingStatement, bound: BoundQuery, columns: Sequence[ResultColumn]) -> Result:
    """The query's result, in files unless it is small."""
    folder = folder_of(run.account, run.session.id) / f"rows-{run.query_id}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    run.account.engine.spill(
        to_spark_sql(presented(bound)), list(run.tables.values()), folder.as_uri(), tag=run.tag, pool=run.pool,
        inputs=run.inputs, positional=True,
    )  # fmt: skip
    files = tuple(str(path) for path in sorted(folder.glob("part-*")))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    size = _bytes_held(files, rows)
    schema = pa.schema([(f"c{index}", arrow_type(column.type)) for index, column in enumerate(columns)])
    result = Result(
        tuple(columns), schema.empty_table(), statement_type="SELECT", spilled=SpilledRows(files, rows, size)
    )
    if size > run.account.settings.held_result_bytes:
        return result
    held = pa.concat_tables(list(result.slices(rows, max(1, rows))))
    shutil.rmtree(folder, ignore_errors=True)
    return replace(result, data=held, spilled=None)


def attached(run: SpillingStatement, query_id: str, result: Result) -> str | None:
    """The name under which a query reads a result that lies in files; None when they are gone."""
    rows = result.spilled
    if rows is None or not all(Path(file).is_file() for file in rows.files):
        return None
    name = f"result_{query_id.replace('-', '')}"
    types = ["STRING" if column.type.is_semi_structured else column.type.spark for column in result.columns]
    run.tables[name] = TableFiles(
        reference=name, columns=(), files=tuple(Path(file).as_uri() for file in rows.files), bytes=rows.bytes,
        ddl=", ".join(f"c{index} {type_}" for index, type_ in enumerate(types)),
    )  # fmt: skip
    run.input_bytes += rows.bytes
    return name
