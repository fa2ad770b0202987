"""Whether the rows of a table satisfy what an ALTER TABLE is about to demand of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.runtime import errors as statement_errors
from snowmelt.runtime.altering import Alteration
from snowmelt.runtime.declaring import bind_check
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.sql.dialect import identifier, integer, spark
from snowmelt.state.model import CheckConstraint, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def check_rows(run: Run, alteration: Alteration, pending: PendingTable) -> None:
    """Raises Snowflake's error for the first demand that a row does not meet."""
    if not pending.rows:
        return
    rows = _Rows(run, alteration, pending)
    for name, (old, new) in alteration.narrowed.items():
        if rows.any_beyond(name, new):
            shown = alteration.renamed.get(name, name)
            raise statement_errors.cannot_retype(
                shown, str(old), str(new),
                f"some existing values cannot be represented using precision {new.precision} instead of precision "
                f"{old.precision}",
            )  # fmt: skip
    for name in sorted(alteration.not_null):
        if rows.any_null(name):
            shown = alteration.renamed.get(name, name)
            raise errors.SnowmeltError(
                "002229", "22000",
                f"SQL compilation error: column '{shown}' contains null values. Not null constraint cannot be added.",
            )  # fmt: skip
    for check in alteration.checks:
        rows.demand(check)


class _Rows:
    """The rows as they are now, read without Spark where they are few."""

    def __init__(self, run: Run, alteration: Alteration, pending: PendingTable) -> None:
        self.run = run
        self.alteration = alteration
        self.pending = pending
        definition = alteration.table.definition
        assert isinstance(definition, TableDefinition)
        self.definition = definition

    def any_null(self, column: str) -> bool:
        data = self._column(column)
        if data is not None:
            return bool(data.null_count)
        return self._any(spark("_0 is null", exp.column(identifier(column))))

    def any_beyond(self, column: str, type_: DataType) -> bool:
        limit = 10 ** ((type_.precision or 0) - (type_.scale or 0))
        data = self._column(column)
        if data is not None:
            low, high = (Decimal(value or 0) for value in pc.min_max(data).as_py().values())
            return bool(max(abs(low), abs(high)) >= limit)
        return self._any(spark("abs(_0) >= cast(_1 as decimal(38, 0))", exp.column(identifier(column)), integer(limit)))

    def demand(self, check: CheckConstraint) -> None:
        with self.run.environment() as environment:
            name = self.alteration.table.name.name
            condition = bind_check(environment, name, self.definition.columns, check.expression).tree
        if self._any(spark("not coalesce(_0, true)", condition)):
            raise statement_errors.check_violated(str(self.alteration.table.name), check.name)

    def _column(self, column: str) -> pa.ChunkedArray | None:
        if self.pending.bytes > self.run.account.settings.small_query_bytes:
            return None
        store = self.run.account.store
        return store.read(self.definition.location, self.pending.version, [column]).column(0)

    def _any(self, condition: exp.Expr) -> bool:
        run = self.run
        with run.state.read() as state:
            catalog = StatementCatalog(run, state, run.session.database, run.session.schema)
            reference = catalog.pin(self.alteration.table, self.definition, self.pending.version).reference
        assert reference is not None
        query = exp.select(integer(1)).from_(exp.Table(this=identifier(reference))).where(condition).limit(1)
        data = run.account.engine.to_arrow(query, list(run.tables.values()), lane=run.lane, tag=run.tag, pool=run.pool)
        return bool(data.num_rows > 0)
