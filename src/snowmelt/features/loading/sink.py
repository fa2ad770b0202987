"""Where converted rows go: collected, written to data files as they come, committed in one step at the end.

Rows of a file are kept apart until the file is settled, because ON_ERROR may drop a whole file over its last record.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.runtime.defaults import sequence_default
from snowmelt.runtime.pii_at_ingest import Protection
from snowmelt.runtime.sequences import numbers
from snowmelt.sql.dialect import identifier, to_spark_sql
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.append import AppendedPart
from snowmelt.storage.commits import AppTransaction, CommitResult, CommitTag
from snowmelt.storage.schema import arrow_schema

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

FLUSH_BYTES = 128 << 20
"""Bytes of Arrow memory that go into one data file."""


@dataclass(frozen=True, slots=True)
class _Spooled:
    """Rows beside the table, which takes no files from outside."""

    path: Path
    rows: int


@dataclass(slots=True)
class _Rows:
    tables: list[pa.Table] = field(default_factory=list)
    bytes: int = 0
    parts: list[AppendedPart | _Spooled] = field(default_factory=list)

    def add(self, rows: pa.Table) -> None:
        self.tables.append(rows)
        self.bytes += rows.nbytes

    def take(self) -> list[pa.Table]:
        taken, self.tables, self.bytes = self.tables, [], 0
        return taken


class RowSink:
    """Takes the rows of one statement for a table that its transaction holds."""

    def __init__(
        self,
        run: Run,
        table: CatalogObject,
        operation: str = "COPY",
        app_transactions: Sequence[AppTransaction] = (),
        offsets: Mapping[str, str] | None = None,
    ) -> None:
        """`app_transactions`: Delta's own marks of what the commit holds; Spark's writer leaves them out.

        `offsets`: where the rows come from, see `CommitTag`.
        """
        self._run = run
        self._offsets = offsets
        self._operation = operation
        self._app_transactions = app_transactions
        self._table = table
        assert isinstance(table.definition, TableDefinition)
        self._definition = table.definition
        self._open: dict[int, _Rows] = {}
        self._kept = _Rows()
        self._spool: tempfile.TemporaryDirectory[str] | None = None
        self._schema = arrow_schema(table.definition.columns)
        self._protection = Protection.of(run.account, table)

    def add(self, file: int, rows: pa.Table) -> None:
        """Rows of a file that is not settled yet."""
        if rows.num_rows == 0:
            return
        pending = self._open.setdefault(file, _Rows())
        pending.add(self._protection.applied(rows))
        if pending.bytes > FLUSH_BYTES:
            pending.parts.append(self._write(pending.take()))

    def settle(self, file: int, *, keep: bool) -> None:
        """Decides over the rows of a file."""
        pending = self._open.pop(file, None)
        if pending is None:
            return
        if not keep:
            self._drop(pending.parts)
            return
        self._kept.parts += pending.parts
        for rows in pending.tables:
            self._kept.add(rows)
        if self._kept.bytes > FLUSH_BYTES:
            self._kept.parts.append(self._write(self._kept.take()))

    def commit(self) -> int:
        """Puts the kept rows into the table, not yet visible to others; returns how many they are."""
        try:
            return self._commit()
        finally:
            self.close()

    def close(self) -> None:
        """Leaves nothing behind that was not committed."""
        for pending in self._open.values():
            self._drop(pending.parts)
        self._open.clear()
        self._drop(self._kept.parts)
        self._kept = _Rows()
        if self._spool is not None:
            self._spool.cleanup()
            self._spool = None

    # -- committing -----------------------------------------------------------------------------------------------

    def _commit(self) -> int:
        run, location = self._run, self._definition.location
        pending = run.open_for_write(self._table)
        rest = self._kept.take()
        if self._kept.parts and rest:
            self._kept.parts.append(self._write(rest))
            rest = []
        store, tag = run.account.store, self._tag
        parts, spooled = self._separated()
        total = 0
        run.check_cancelled()
        reached("before-commit")
        if parts:
            result = store.append_parts(location, parts, tag, app_transactions=self._app_transactions)
            # From here on the files belong to the table.
            self._kept.parts = list(spooled)
            run.account.transactions.wrote(pending, result, self._operation, run.query_id)
            total += result.rows_inserted
        for rows in [*(self._read(part) for part in spooled), *([self._complete(rest)] if rest else [])]:
            run.account.transactions.wrote(pending, self._appended(rows), self._operation, run.query_id)
            total += rows.num_rows
        reached("after-commit")
        return total

    @property
    def _tag(self) -> CommitTag:
        return replace(self._run.transaction.tag(self._run.query_id), offsets=self._offsets)

    def _separated(self) -> tuple[list[AppendedPart], list[_Spooled]]:
        parts = [part for part in self._kept.parts if isinstance(part, AppendedPart)]
        return parts, [part for part in self._kept.parts if isinstance(part, _Spooled)]

    def _appended(self, rows: pa.Table) -> CommitResult:
        run, location = self._run, self._definition.location
        store, tag = run.account.store, self._tag
        if not self._definition.spark_only:
            return store.append(location, rows, tag, app_transactions=self._app_transactions)
        before = store.files(location, store.latest_version(location)).total_bytes
        reference = f"load_{run.query_id.replace('-', '')}"
        select = exp.select(*[exp.column(identifier(name)) for name in rows.column_names]).from_(
            exp.Table(this=identifier(reference))
        )
        run.account.engine.append(
            to_spark_sql(select), (), store.root.uri_of(location), user_metadata=tag.user_metadata(), tag=run.tag,
            pool=run.pool, inputs={reference: rows},
        )  # fmt: skip
        version = store.latest_version(location)
        size = store.files(location, version).total_bytes
        return CommitResult(version=version, rows_inserted=rows.num_rows, bytes_delta=size - before)

    # -- writing --------------------------------------------------------------------------------------------------

    def _write(self, tables: list[pa.Table]) -> AppendedPart | _Spooled:
        rows = self._complete(tables)
        if not self._definition.spark_only:
            part = self._run.account.store.write_part(self._definition.location, rows)
            if part is not None:
                return part
        if self._spool is None:
            self._spool = tempfile.TemporaryDirectory(prefix="snowmelt-load-")
        path = Path(self._spool.name) / f"{len(list(Path(self._spool.name).iterdir()))}.parquet"
        pq.write_table(rows, path, compression="zstd")
        return _Spooled(path, rows.num_rows)

    def _read(self, part: _Spooled) -> pa.Table:
        return pq.read_table(part.path, schema=self._schema)

    def _drop(self, parts: Sequence[AppendedPart | _Spooled]) -> None:
        for part in parts:
            if isinstance(part, AppendedPart):
                self._run.account.store.drop_part(self._definition.location, part)
            else:
                part.path.unlink(missing_ok=True)

    def _complete(self, tables: list[pa.Table]) -> pa.Table:
        """One table with all columns; those that the rows lack are numbered."""
        return pa.concat_tables([self._with_numbers(rows) for rows in tables])

    def _with_numbers(self, rows: pa.Table) -> pa.Table:
        columns: list[Any] = []
        for column, entry in zip(self._definition.columns, self._schema, strict=True):
            if column.name in rows.column_names:
                columns.append(rows.column(column.name))
            else:
                columns.append(pa.array(self._numbers(column, rows.num_rows)).cast(entry.type))
        return pa.table(columns, names=[column.name for column in self._definition.columns])

    def _numbers(self, column: Column, count: int) -> range:
        if column.identity is None:
            sequence = sequence_default(self._run, column.default or "")
            if sequence is None:
                raise errors.internal(f"column {column.name} has no numbers")
            return numbers(self._run, sequence, count)
        step = column.identity.step
        with self._run.state.begin() as state:
            first = state.counters.take(self._table.id, column.name, count, column.identity.start, step)
        return range(first, first + count * step, step)
