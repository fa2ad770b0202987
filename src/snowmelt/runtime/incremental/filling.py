"""All rows of a dynamic table, computed from nothing; rows of a frozen region stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import Kind
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog
from snowmelt.runtime.run import Run
from snowmelt.runtime.writing import RowWriter, stored
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery, FromItem, Scope, SourceColumn
from snowmelt.sql.dialect import identifier, parse_snowflake, spark
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.state.model import CatalogObject, Column, TableDefinition

_ROWS = "__rows"


def check_columns(table: CatalogObject, query: BoundQuery) -> None:
    """Raises, naming the column, when the query no longer gives what the table holds."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    explicit = definition.dynamic.explicit_columns
    if len(query.columns) != len(definition.columns):
        found = {column.name for column in query.columns}
        missing = [column.name for column in definition.columns if column.name not in found]
        named = missing[0] if missing and not explicit else f"{len(definition.columns)} columns"
        raise _recreate(table, f"column '{named}' is gone" if missing and not explicit else f"it had {named}")
    for column, produced in zip(definition.columns, query.columns, strict=True):
        if not explicit and column.name != produced.name:
            raise _recreate(table, f"column '{column.name}' is gone")
        changed = column.type.kind is not produced.type.kind and produced.type.kind is not Kind.NULL
        if not explicit and changed:
            raise _recreate(table, f"column '{column.name}' was {column.type} and is {produced.type}")


def _recreate(table: CatalogObject, what: str) -> errors.SnowmeltError:
    return errors.compilation(
        "002718", "22000",
        f"Dynamic Table '{table.name}' needs to be recreated because a base table changed: {what}.",
    )  # fmt: skip


def all_rows(run: Run, table: CatalogObject, bound: BoundDefinition, kept: int | None = None) -> exp.Select:
    """The rows in stored form. `kept`: the table's version whose frozen rows stay; None to compute all of them."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    names = [column.name for column in definition.columns]
    rows = RowWriter(run, table).matched(bound.environment, bound.query, names)
    where = definition.dynamic.frozen_where
    if where is None or kept is None:
        return rows
    catalog = bound.environment.relations
    assert isinstance(catalog, DefinitionCatalog)
    frozen = frozen_rows(bound.environment, catalog, table, kept)
    return together(definition, thawed(bound.environment, table, rows), frozen)


def together(definition: TableDefinition, first: exp.Select, second: exp.Select) -> exp.Select:
    return _from(exp.union(first, second, distinct=False), definition.columns)


def thawed(environment: Environment, table: CatalogObject, rows: exp.Query, also: Sequence[str] = ()) -> exp.Select:
    """Those of some rows in stored form that are not frozen. `also`: columns that they have beside the table's."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    condition = frozen_condition(environment, definition, stored_form=True)
    chosen = _from(rows, definition.columns).select(*(exp.column(identifier(name)) for name in also))
    return chosen.where(spark("NOT coalesce(_0, false)", condition))


def without(environment: Environment, table: CatalogObject, rows: exp.Query, condition: exp.Expr) -> exp.Select:
    """Some rows in stored form, but for those that fulfil a condition over the table's columns."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    bound = condition_over(environment, definition, condition, stored_form=True)
    return _from(rows, definition.columns).where(spark("NOT coalesce(_0, false)", bound))


def stored_rows(definition: TableDefinition, reference: str) -> exp.Select:
    """The rows of a table that a statement has pinned, in stored form."""
    values = [
        exp.alias_(stored(exp.column(identifier(c.name)), c.type), identifier(c.name)) for c in definition.columns
    ]
    return exp.select(*values).from_(exp.Table(this=identifier(reference)))


def frozen_rows(environment: Environment, catalog: DefinitionCatalog, table: CatalogObject, version: int) -> exp.Select:
    """The frozen rows that a version of the table has, in stored form."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    relation = catalog.pin(table, definition, version, catalog.state.shapes.at(table.id, version))
    assert relation.reference is not None
    condition = frozen_condition(environment, definition, stored_form=False)
    return stored_rows(definition, relation.reference).where(condition)


def frozen_condition(environment: Environment, definition: TableDefinition, *, stored_form: bool) -> exp.Expr:
    """FROZEN WHERE as a condition over the table's columns."""
    assert definition.dynamic is not None and definition.dynamic.frozen_where is not None
    tree = parse_snowflake(definition.dynamic.frozen_where)
    if tree.find(exp.Query) is not None:
        raise errors.unsupported("a subquery in FROZEN WHERE")
    return condition_over(environment, definition, tree, stored_form=stored_form)


def condition_over(
    environment: Environment, definition: TableDefinition, tree: exp.Expr, *, stored_form: bool
) -> exp.Expr:
    """A condition over the table's columns, as they are on disk or as queries see them."""
    source = FromItem(
        alias=None,
        columns=tuple(SourceColumn(c.name, c.type, _value(c, stored_form=stored_form)) for c in definition.columns),
    )
    return ExpressionBinder(environment, Scope(sources=[source]), QueryBinder(environment)).boolean(tree).tree


def _value(column: Column, *, stored_form: bool) -> exp.Expr:
    tree = exp.column(identifier(column.name))
    if stored_form and column.type.kind is Kind.TIME:
        return exp.cast(tree, exp.DataType.build(column.type.spark, dialect="spark"))
    return tree


def _from(rows: exp.Query, columns: Sequence[Column]) -> exp.Select:
    alias = exp.TableAlias(this=identifier(_ROWS))
    return exp.select(*(exp.column(identifier(c.name)) for c in columns)).from_(exp.Subquery(this=rows, alias=alias))
