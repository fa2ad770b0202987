"""INSERT ALL and INSERT FIRST: rows of one query into several tables, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import int64
from snowmelt.runtime.results import Result, ResultColumn, table_result
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Bound, BoundQuery, FromItem, OutputColumn, Scope, SourceColumn
from snowmelt.sql.clauses import WHERE
from snowmelt.sql.dialect import identifier, parse_snowflake, spark
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.notes import typed
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.dml import InsertTarget, MultiInsertStatement
from snowmelt.sql.tokens import SqlText

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.state.model import CatalogObject, TableDefinition

_ROWS = "__rows"
_TYPE = "MULTI_TABLE_INSERT"


def insert_many(run: Run, statement: MultiInsertStatement) -> Result:
    """The source is bound once, so that all tables get rows of the same versions, whatever is written meanwhile."""
    written: dict[str, int] = {}
    with run.environment() as environment:
        source = QueryBinder(environment).bind(_parsed(statement.source))
        if source.volatile:
            raise errors.unsupported(
                "INSERT ALL or FIRST of a query with values that differ each time (RANDOM, NEXTVAL, SAMPLE)",
                hint="Keep the rows in a temporary table first.",
            )
        binder = _over(environment, source)
        for condition, target in _conditions(binder, statement):
            table = run.target_table(target.target)
            query = _rows(binder, source, condition, target, table)
            overwrite = statement.overwrite and table.name.name not in written
            commit = RowWriter(run, table).insert(environment, query, target.columns, overwrite=overwrite)
            written[table.name.name] = written.get(table.name.name, 0) + commit.rows_inserted
    columns = [ResultColumn(f"number of rows inserted into {name}", int64()) for name in written]
    result = table_result(columns, [list(written.values())], statement_type=_TYPE)
    return Result(result.columns, result.data, statement_type=_TYPE, rows_affected=sum(written.values()))


def _parsed(text: SqlText) -> exp.Expr:
    return parse_snowflake(text.text, line=text.line, column=text.column)


def _over(environment: Environment, source: BoundQuery) -> ExpressionBinder:
    columns = tuple(
        SourceColumn(c.name, c.type, typed(exp.column(identifier(c.key), table=identifier(_ROWS)), c.type))
        for c in source.columns
    )
    scope = Scope(sources=[FromItem(alias=None, columns=columns, key=_ROWS)])
    return ExpressionBinder(environment, scope, QueryBinder(environment))


def _conditions(
    binder: ExpressionBinder, statement: MultiInsertStatement
) -> list[tuple[exp.Expr | None, InsertTarget]]:
    """Each target with the condition under which a row goes there."""
    found: list[tuple[exp.Expr | None, InsertTarget]] = []
    met: list[exp.Expr] = []
    for branch in statement.branches:
        if branch.condition is None:
            found += [(None, target) for target in branch.targets]
            continue
        own = spark("coalesce(_0, false)", binder.in_clause(WHERE).boolean(_parsed(branch.condition)).tree)
        passed = [exp.Not(this=earlier.copy()) for earlier in met] if statement.first else []
        found += [(exp.and_(*passed, own.copy()), target) for target in branch.targets]
        met.append(own)
    rest = exp.and_(*[exp.Not(this=condition.copy()) for condition in met]) if met else None
    return [*found, *[(rest, target) for target in statement.otherwise]]


def _rows(
    binder: ExpressionBinder, source: BoundQuery, condition: exp.Expr | None, target: InsertTarget, table: CatalogObject
) -> BoundQuery:
    if target.values is None:
        values = [
            (column.name, Bound(exp.column(identifier(column.key), table=identifier(_ROWS)), column.type))
            for column in source.columns
        ]
    else:
        definition: TableDefinition = table.definition  # type: ignore[assignment]
        names = target.columns if target.columns is not None else tuple(c.name for c in definition.columns)
        if len(names) != len(target.values):
            raise errors.value_list_mismatch(len(names), len(target.values))
        defaults = {column.name: column.default for column in definition.columns}
        values = [
            (name, _value(binder, text, defaults.get(name))) for name, text in zip(names, target.values, strict=True)
        ]
    columns = tuple(OutputColumn(name, f"v{index}", value.type) for index, (name, value) in enumerate(values))
    query = exp.select(*[
        typed(exp.alias_(value.tree.copy(), identifier(column.key)), column.type)
        for column, (_, value) in zip(columns, values, strict=True)
    ]).from_(exp.Subquery(this=source.tree.copy(), alias=exp.TableAlias(this=identifier(_ROWS))))  # fmt: skip
    if condition is not None:
        query.set("where", exp.Where(this=condition.copy()))
    return BoundQuery(query, columns)


def _value(binder: ExpressionBinder, text: SqlText, default: str | None) -> Bound:
    if text.text.strip().upper() != "DEFAULT":
        return binder.bind(_parsed(text))
    return binder.bind(parse_snowflake(default) if default is not None else exp.Null())
