"""FROZEN WHERE in a refresh by changes: what falls into the region is ignored, what lies in it is not looked at.

Right as long as the region only grows with time: what is outside of it now was outside before, and there the table was
what its query gave. Of a region that may let rows go again, the rows that come out have to be computed from nothing.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from snowmelt.engine.model import Lane
from snowmelt.ivm.algebra import WEIGHT
from snowmelt.ivm.rendering import moves
from snowmelt.runtime.incremental import filling
from snowmelt.runtime.incremental.applying import TooLargeError
from snowmelt.runtime.run import Run
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import identifier, parse_snowflake, spark
from snowmelt.state.model import CatalogObject, TableDefinition

_INDEX = "__place"
_CLOCKS = {"CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "GETDATE", "SYSTIMESTAMP", "SYSDATE"}
_LATER = {"TO_DATE", "DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_NTZ", "TO_TIMESTAMP_LTZ", "LAST_DAY"}
"""Functions of an instant that never give less for a later one."""
_SHIFTS = {"DATEADD": 2, "TIMESTAMPADD": 2, "TIMEADD": 2, "DATE_TRUNC": 1, "ADD_MONTHS": 0}
"""The same, with further arguments that must be constants, and the place of the instant."""


@dataclass(frozen=True, slots=True)
class Region:
    """The frozen region of a table, as of the data timestamp of `environment`."""

    run: Run
    environment: Environment
    table: CatalogObject

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    def outside(self, rows: exp.Select, *, weighted: bool) -> exp.Select:
        """The rows, in stored form, that are not frozen."""
        return filling.thawed(self.environment, self.table, rows, [WEIGHT] if weighted else [])

    def outside_of(self, existing: pa.Table) -> pa.Table:
        """The rows of the table that are not frozen."""
        if not existing.num_rows:
            return existing
        condition = filling.frozen_condition(self.environment, self.definition, stored_form=True)
        names = {column.name for column in condition.find_all(exp.Column)}
        used = [column for column in self.definition.columns if column.name in names]
        if any(column.type.is_semi_structured for column in used):
            raise TooLargeError("FROZEN WHERE looks into semi-structured values")
        given = existing.select([column.name for column in used])
        given = given.append_column(_INDEX, pa.array(range(existing.num_rows), pa.int64()))
        name = f"f{uuid.uuid4().hex}"
        query = (
            exp.select(exp.column(identifier(_INDEX)))
            .from_(exp.Table(this=identifier(name)))
            .where(spark("NOT coalesce(_0, false)", condition))
        )
        self.run.check_cancelled()
        indexes = self.run.account.engine.to_arrow(
            query, lane=Lane.LIGHT, tag=self.run.tag, pool=self.run.pool, inputs={name: given}
        ).column(0)
        return existing.take(indexes.combine_chunks())


def may_shrink(environment: Environment, definition: TableDefinition) -> bool:
    """Whether rows may leave the frozen region as time goes by."""
    if definition.dynamic is None or definition.dynamic.frozen_where is None:
        return False
    return not _Growth(environment, definition).of(parse_snowflake(definition.dynamic.frozen_where))


@dataclass(frozen=True, slots=True)
class _Growth:
    """Whether a condition that is once true stays so: comparisons with the present that time can only fulfil."""

    environment: Environment
    definition: TableDefinition

    def of(self, tree: exp.Expr) -> bool:
        match tree:
            case exp.Paren():
                return self.of(tree.this)
            case exp.And() | exp.Or():
                return self.of(tree.this) and self.of(tree.expression)
            case exp.LT() | exp.LTE() if _advances(tree.expression):
                return self._constant(exp.Is(this=tree.this, expression=exp.Null()))
            case exp.GT() | exp.GTE() if _advances(tree.this):
                return self._constant(exp.Is(this=tree.expression, expression=exp.Null()))
            case exp.Between() if _advances(tree.args["high"]):
                return self._constant(exp.GTE(this=tree.this, expression=tree.args["low"]))
        return self._constant(tree)

    def _constant(self, tree: exp.Expr) -> bool:
        """Whether a condition has nothing to do with the clock."""
        return not moves(filling.condition_over(self.environment, self.definition, tree.copy(), stored_form=False))


def _advances(tree: exp.Expr) -> bool:
    """Whether the value is an instant, or a day, that is never before what it was."""
    match tree:
        case exp.CurrentDate() | exp.CurrentTimestamp():
            return True
        case exp.Paren():
            return _advances(tree.this)
        case exp.Add() | exp.Sub():
            return _advances(tree.this) and _fixed(tree.expression)
        case exp.Cast():
            return _advances(tree.this) and tree.to.is_type(*exp.DataType.TEMPORAL_TYPES)
        case exp.Anonymous():
            name, arguments = str(tree.this).upper(), tree.expressions
            if name in _CLOCKS:
                return True
            if name in _SHIFTS and len(arguments) > _SHIFTS[name]:
                rest = [item for index, item in enumerate(arguments) if index != _SHIFTS[name]]
                return _advances(arguments[_SHIFTS[name]]) and all(map(_fixed, rest))
            return name in _LATER and len(arguments) == 1 and _advances(arguments[0])
    return False


def _fixed(tree: exp.Expr) -> bool:
    """A literal, or the name of a part of dates, which is written like a column."""
    return all(
        isinstance(node, exp.Literal | exp.Neg | exp.Paren | exp.Interval | exp.Var | exp.Column | exp.Identifier)
        for node in tree.walk()
    )
