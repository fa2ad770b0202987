"""The Spark queries that turn records into rows: the same casts, defaults and checks that INSERT has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.engine.model import Lane
from snowmelt.features.loading.records import SourceField, nth
from snowmelt.features.loading.transformation import bound_transformation, staged_fields, staged_relation
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql import fallible
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Bound, FromItem, Scope, SourceColumn
from snowmelt.sql.dialect import call, identifier, parse_snowflake, spark
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.functions.semi_structured import parse_json
from snowmelt.sql.queries import QueryBinder
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.schema import arrow_schema, as_type

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

ROW = "__i"
"""The number of a row in its batch, which travels with it."""
_IN = "__in"
_CHECK = "__check"
_FIRST = "__first"
_LIGHT_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Where each column of the table comes from."""

    fields: tuple[SourceField, ...]
    """Of the records; the batch's columns are c0, c1, …."""
    direct: Mapping[str, int] = field(default_factory=dict)
    """Column name to the field that it takes its values from."""
    expressions: Mapping[str, exp.Expr] = field(default_factory=dict)
    """Column name to a Snowflake expression over the fields' Arrow names, where the field itself will not do."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    truncate: bool = False
    reads_json: bool = False
    """Whether text that goes to a VARIANT is read as JSON, as that of CSV files is; else it stays text."""
    encodes_documents: bool = False
    """Whether JSON is encoded here however much it is, instead of asking Spark to."""
    query: str | None = None
    """A transformation: a Snowflake SELECT from the staged files."""
    whole: bool = False
    """Whether `$1` is an object of all fields, as for typed files."""
    columns: tuple[str, ...] = ()
    """The columns that the transformation's values go to."""

    @property
    def given(self) -> frozenset[str]:
        """The columns that get values from the files."""
        return frozenset(self.columns if self.query is not None else (*self.direct, *self.expressions))


class RowQueries:
    """Runs batches of records through Spark."""

    def __init__(self, run: Run, table: CatalogObject, plan: ColumnMapping, written: Sequence[Column]) -> None:
        """`written`: the columns that get a value here; others are numbered when the rows are written."""
        self._run = run
        self._plan = plan
        self._written = list(written)
        self._writer = RowWriter(run, table)
        assert isinstance(table.definition, TableDefinition)
        self._definition = table.definition
        self._reference = f"staged_{run.query_id.replace('-', '')}"

    @contextmanager
    def binder(self) -> Iterator[ExpressionBinder]:
        """Binds expressions over the fields of a record, with the file format's ways to read text in force."""
        with self._run.environment() as environment:
            formatted = self._formatted(environment)
            source = FromItem(
                alias=_IN,
                columns=tuple(
                    SourceColumn(nth(index).upper(), entry.type, exp.column(identifier(nth(index)), identifier(_IN)))
                    for index, entry in enumerate(self._plan.fields)
                ),
            )
            yield ExpressionBinder(formatted, Scope(sources=[source]), QueryBinder(formatted))

    def _formatted(self, environment: Environment) -> Environment:
        context = environment.context
        parameters = {**context.parameters, **self._plan.parameters}
        return replace(environment, context=replace(context, parameters=parameters))

    # -- running --------------------------------------------------------------------------------------------------

    def rows(self, data: pa.Table) -> pa.Table:
        """The rows in stored form. Raises where a value does not fit."""
        return self._fetched(self._plain, data)

    def rows_and_errors(self, data: pa.Table) -> pa.Table:
        """The rows, with a column of error texts for each column that may fail."""
        return self._fetched(self._observed, data)

    def first_error(self, _: pa.Table) -> str:
        return _FIRST

    def errors(self, bad: pa.Table) -> Iterator[tuple[int, tuple[int | None, str]]]:
        """The number of each row, the first column that failed (from 0; None for a CHECK) and the error's text."""
        columns = {name: index for index, name in enumerate(column.name for column in self._definition.columns)}
        for record in bad.to_pylist():
            for name, index in columns.items():
                text = record.get(_error_of(name))
                if text is not None:
                    yield record[ROW], (index, text)
                    break
            else:
                yield record[ROW], (None, record[_CHECK])

    def evaluated(self, binder: ExpressionBinder, column: Column, value: Bound) -> Any:
        """The one value, in stored form, of a default that is the same for all rows."""
        tree = self._writer.stored_value(binder, column, value)
        select = exp.select(exp.alias_(tree, identifier(column.name)))
        found = self._run.account.engine.to_arrow(select, lane=Lane.LIGHT, tag=self._run.tag)
        return as_type(found.column(0).combine_chunks(), arrow_schema([column]).field(0).type)[0]

    def _fetched(self, select: exp.Select, data: pa.Table) -> pa.Table:
        run = self._run
        run.check_cancelled()
        return run.account.engine.to_arrow(
            select,
            list(run.tables.values()),
            lane=Lane.LIGHT if data.num_rows <= _LIGHT_ROWS else Lane.HEAVY,
            tag=run.tag,
            pool=run.pool,
            inputs={**run.inputs, self._reference: data},
        )

    # -- building -------------------------------------------------------------------------------------------------

    @cached_property
    def _trees(self) -> tuple[dict[str, exp.Expr], exp.Expr | None, exp.Query]:
        """Each written column's value in stored form, the CHECK condition, and the query they are over."""
        with self.binder() as binder:
            source, values = self._values(binder)
            trees = {
                column.name: self._writer.stored_value(binder, column, values[column.name]) for column in self._written
            }
            return trees, self._writer.check(binder, values), source

    def _values(self, binder: ExpressionBinder) -> tuple[exp.Query, dict[str, Bound]]:
        values = {column.name: Bound(exp.Null(), types.NULL) for column in self._definition.columns}
        given = self._plan.given
        for column in self._written:
            if column.name not in given and column.default is not None:
                values[column.name] = binder.bind(parse_snowflake(column.default))
        if self._plan.query is not None:
            batch = staged_relation(self._reference, self._plan.fields, self._plan.whole, [ROW])
            bound = bound_transformation(self._plan.query, batch, binder.environment, ROW)
            if len(bound.columns) != len(self._plan.columns):
                raise errors.value_list_mismatch(len(self._plan.columns), len(bound.columns))
            for name, output in zip(self._plan.columns, bound.columns, strict=True):
                value = Bound(exp.column(identifier(output.key), identifier(_IN)), output.type)
                values[name] = self._cut(binder, name, value)
            return bound.tree, values
        for name, index in self._plan.direct.items():
            values[name] = self._cut(binder, name, self._field(binder, index, name))
        for name, expression in self._plan.expressions.items():
            values[name] = self._cut(binder, name, binder.bind(expression.copy()))
        return staged_fields(self._reference, self._plan.fields, [ROW]), values

    def _field(self, binder: ExpressionBinder, index: int, name: str) -> Bound:
        column = next(column for column in self._definition.columns if column.name == name)
        value = binder.bind(exp.column(nth(index)))
        if self._plan.reads_json and value.type.kind is types.Kind.VARCHAR and column.type.is_semi_structured:
            return Bound(parse_json(value.tree), types.VARIANT)
        try:
            binder.cast(value, column.type)
        except errors.SnowmeltError:
            # Snowflake has typed files as VARIANT: what can't be cast from the value's own type may be from that.
            return binder.cast(value, types.VARIANT)
        return value

    def _cut(self, binder: ExpressionBinder, name: str, value: Bound) -> Bound:
        """TRUNCATECOLUMNS: text that is too long for its column is cut."""
        column = next(column for column in self._definition.columns if column.name == name)
        if not self._plan.truncate or column.type.kind is not types.Kind.VARCHAR:
            return value
        text = binder.cast(value, types.VARCHAR)
        return Bound(spark("left(_0, _1)", text.tree, exp.Literal.number(column.type.length or 0)), column.type)

    @cached_property
    def _plain(self) -> exp.Select:
        trees, check, source = self._trees
        values = dict(trees)
        if check is not None:
            first = next(iter(values))
            values[first] = spark("if(_0, _1, null)", check, values[first])
        return self._select(values, [], source)

    @cached_property
    def _observed(self) -> exp.Select:
        trees, check, source = self._trees
        values: dict[str, exp.Expr] = {}
        errors: list[exp.Expr] = []
        for name, tree in trees.items():
            values[name], error = fallible.split(tree)
            if error is not None:
                errors.append(exp.alias_(error, identifier(_error_of(name))))
        if check is not None:
            refused = fallible.split(check)[1]
            if refused is not None:
                errors.append(exp.alias_(refused, identifier(_CHECK)))
        first = [error.this.copy() for error in errors]
        text = call("coalesce", *first) if first else spark("cast(null as string)")
        return self._select(values, [*errors, exp.alias_(text, identifier(_FIRST))], source)

    def _select(self, values: dict[str, exp.Expr], more: list[exp.Expr], source: exp.Query) -> exp.Select:
        projections = [exp.alias_(tree, identifier(name)) for name, tree in values.items()]
        row = exp.column(identifier(ROW), identifier(_IN))
        return exp.select(*projections, *more, exp.alias_(row, identifier(ROW))).from_(
            exp.Subquery(this=source, alias=exp.TableAlias(this=identifier(_IN)))
        )


def _error_of(column: str) -> str:
    return f"__error {column}"
