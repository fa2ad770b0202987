"""Dynamic tables whose rows a Python function computes with Spark's own DataFrames (UDFs, machine learning).

The module's text is part of the definition. It runs in the owner process, with its rights, at every refresh; its tables
are those of the refresh's data timestamp. Nothing can be said about its changes, so that every refresh is full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.frames import SCHEMA, SparkTables
from snowmelt.engine.model import FrameColumn, FrameView
from snowmelt.runtime import python_code
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import identifier, spark, to_spark_sql
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn
from snowmelt.sql.spark_frames import SparkFrame

if TYPE_CHECKING:
    from snowmelt.runtime.resolver import StatementCatalog
    from snowmelt.runtime.run import Run


def relation(catalog: StatementCatalog, context: SessionContext, call: SparkFrame) -> Relation:
    """The rows that the function returns. Calls it, once a run for the same versions of its tables."""
    run = catalog.run
    python_code.require_trust(run.account.settings)
    sources = {".".join(parts): _source(catalog, context, parts) for parts in call.reads}
    key = (call, *sources.values())
    if key not in run.frames:
        run.frames[key] = _called(run, call, sources)
    view = run.frames[key]
    columns = tuple(RelationColumn(column.name.upper(), column.type) for column in view.columns)
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        raise errors.duplicate_column(next(name for name in names if names.count(name) > 1))
    return Relation(call.handler, columns, query=_rows(view))


def _source(catalog: StatementCatalog, context: SessionContext, parts: tuple[str, ...]) -> str:
    """Spark SQL for the rows of a table or view at the version of the refresh, which the run pins for it."""
    names = [exp.Identifier(this=part, quoted=True) for part in parts]
    table = exp.Table(this=names[-1])
    for part, name in zip(("db", "catalog"), reversed(names[:-1]), strict=False):
        table.set(part, name)
    bound = QueryBinder(Environment(catalog, context)).bind(exp.select(exp.Star()).from_(table))
    inner = exp.Subquery(this=bound.tree, alias=exp.TableAlias(this=identifier("__s")))
    named = [exp.alias_(exp.column(identifier(c.key)), identifier(c.name)) for c in bound.columns]
    return to_spark_sql(exp.select(*named).from_(inner))


def _called(run: Run, call: SparkFrame, sources: dict[str, str]) -> FrameView:
    code = python_code.compiled(call.code)

    def work(tables: SparkTables) -> object:
        try:
            # No module of that name can be imported: functions that go to Spark's workers are sent with their code.
            namespace: dict[str, Any] = {"__name__": "_udf_code"}
            exec(code, namespace)
            handler: Callable[..., Any] | None = namespace.get(call.handler)
            if not callable(handler):
                raise python_code.failed(f"The handler '{call.handler}' is not a function of the code.")
            return handler(tables)
        except SnowmeltError:
            raise
        except Exception as error:
            raise python_code.raised(error) from error

    return run.account.engine.frame(
        work, call.handler, sources, list(run.tables.values()), tag=run.tag, pool=run.pool, inputs=run.inputs
    )


def _rows(view: FrameView) -> exp.Select:
    table = exp.Table(this=identifier(view.name), db=identifier(SCHEMA))
    return exp.select(*(exp.alias_(_value(c), identifier(c.name.upper())) for c in view.columns)).from_(table)


def _value(column: FrameColumn) -> exp.Expr:
    value = exp.column(identifier(column.name))
    if column.nested:
        return spark("parse_json(to_json(_0))", value)
    return exp.cast(value, exp.DataType.build(column.type.spark, dialect="spark"))
