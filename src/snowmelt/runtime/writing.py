"""Writing rows: matched to a table's columns, checked, and committed by whichever writer is cheaper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.faults import reached
from snowmelt.core.names import quote
from snowmelt.core.types import DataType, Kind
from snowmelt.engine.model import Lane
from snowmelt.runtime.sequences import numbered
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Bound, BoundQuery, FromItem, Scope, SourceColumn
from snowmelt.sql.building import fail
from snowmelt.sql.dialect import identifier, integer, parse_snowflake, spark, to_spark_sql
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_SOURCE = "__in"
_SEQUENCE = "__n"


@dataclass(frozen=True, slots=True)
class RowWriter:
    """Puts the rows of a query into a table that the statement holds for writing."""

    run: Run
    table: CatalogObject

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    def insert(
        self,
        environment: Environment,
        query: BoundQuery,
        columns: Sequence[str] | None,
        *,
        overwrite: bool = False,
    ) -> CommitResult:
        """INSERT: the query's columns go, in order, to the named columns (or to all)."""
        names = list(columns) if columns is not None else [column.name for column in self.definition.columns]
        self._check_names(names)
        if len(names) != len(query.columns):
            raise errors.value_list_mismatch(len(names), len(query.columns))
        return self.write(self.matched(environment, query, names), overwrite=overwrite)

    def _check_names(self, names: Sequence[str]) -> None:
        known = {column.name for column in self.definition.columns}
        for name in names:
            if name not in known:
                raise errors.invalid_identifier(quote(name), 1, 0)
        if len(set(names)) != len(names):
            raise errors.duplicate_column(next(name for name in names if names.count(name) > 1))

    def matched(self, environment: Environment, query: BoundQuery, names: Sequence[str]) -> exp.Select:
        """The query as rows of the table, in stored form: cast, defaults filled in, constraints checked."""
        given = dict(zip(names, query.columns, strict=True))
        binder = ExpressionBinder(environment, Scope(), QueryBinder(environment))
        values: dict[str, Bound] = {}
        for column in self.definition.columns:
            source = given.get(column.name)
            if source is not None:
                value = Bound(exp.column(identifier(source.key), table=identifier(_SOURCE)), source.type)
            elif column.identity is not None:
                value = Bound(exp.column(identifier(column.name), table=identifier(_SEQUENCE)), column.type)
            elif column.default is not None:
                value = binder.bind(parse_snowflake(column.default))
            else:
                value = Bound(exp.Null(), types.NULL)
            values[column.name] = value
        numbered = [c for c in self.definition.columns if c.identity is not None and c.name not in given]
        tree = self.row_query(binder, values, query.tree)
        return self._numbered(tree, numbered) if numbered else tree

    def row_query(self, binder: ExpressionBinder, values: Mapping[str, Bound], source: exp.Query) -> exp.Select:
        """Casts and checks values per column, over a source query under the alias `__in`."""
        trees = [self.stored_value(binder, column, values[column.name]) for column in self.definition.columns]
        condition = self.check(binder, values)
        if condition is not None:
            # Not in WHERE: Spark would move it down to where rows still are that the query leaves out.
            trees[0] = spark("if(_0, _1, null)", condition, trees[0])
        projections = [
            exp.alias_(tree, identifier(column.name))
            for tree, column in zip(trees, self.definition.columns, strict=True)
        ]
        return exp.select(*projections).from_(exp.Subquery(this=source, alias=exp.TableAlias(this=identifier(_SOURCE))))

    def stored_value(self, binder: ExpressionBinder, column: Column, value: Bound) -> exp.Expr:
        """A value as the column keeps it; evaluating it fails where the column does not allow it."""
        return stored(self._checked(column, binder.cast(value, column.type)), column.type)

    def _checked(self, column: Column, value: Bound) -> exp.Expr:
        table = str(self.table.name)
        tree = value.tree
        prefix = f"DML operation to table {table} failed on column {column.name} with error: "
        if not column.nullable:
            problem = fail("100072", "22000", prefix + "NULL result in a non-nullable column")
            if column.type.kind is not Kind.TIMESTAMP_TZ:
                problem = exp.cast(problem, exp.DataType.build(column.type.spark, dialect="spark"))
            tree = spark("coalesce(_0, _1)", tree, problem)
        if column.type.kind is Kind.VARCHAR and (column.type.length or 0) < types.MAX_VARCHAR:
            problem = fail("100078", "22000", prefix + "String '", tree, "' is too long and would be truncated")
            tree = spark("if(length(_0) > _1, _2, _0)", tree, integer(column.type.length or 0), problem)
        return tree

    def check(self, binder: ExpressionBinder, values: Mapping[str, Bound]) -> exp.Expr | None:
        """A condition that is always true, or fails the statement: CHECK constraints hold or are unknown."""
        conditions: list[exp.Expr] = []
        for check in self.definition.checks:
            scope = Scope(
                sources=[
                    FromItem(
                        alias=self.table.name.name,
                        columns=tuple(
                            SourceColumn(c.name, c.type, exp.Paren(this=binder.cast(values[c.name], c.type).tree))
                            for c in self.definition.columns
                        ),
                    )
                ]
            )
            bound = binder.in_scope(scope).boolean(parse_snowflake(check.expression))
            problem = fail(
                "100079", "23514",
                f"DML operation to table {self.table.name} failed: CHECK constraint {check.name} was violated",
            )  # fmt: skip
            conditions.append(spark("if(coalesce(_0, true), true, cast(_1 as boolean))", bound.tree, problem))
        return exp.and_(*conditions) if conditions else None

    def _numbered(self, tree: exp.Select, columns: Sequence[Column]) -> exp.Select:
        """AUTOINCREMENT: values from a range that the state store hands out."""
        numbered = tree.copy()
        source = numbered.find(exp.Subquery)
        assert source is not None
        inner = exp.select(exp.Star(), exp.alias_(spark("row_number() over (order by 1)"), identifier("__row"))).from_(
            exp.Subquery(this=source.this.copy(), alias=exp.TableAlias(this=identifier("__base")))
        )
        source.set("this", inner)
        count = self._count(source)
        for column in columns:
            assert column.identity is not None
            with self.run.state.begin() as state:
                first = state.counters.take(
                    self.table.id, column.name, max(count, 1), column.identity.start, column.identity.step
                )
            value = spark(
                "cast(_0 + (`__in`.`__row` - 1) * _1 as bigint)",
                integer(first),
                integer(column.identity.step),
            )
            for reference in list(numbered.find_all(exp.Column)):
                if reference.table == _SEQUENCE and reference.name == column.name:
                    reference.replace(exp.Paren(this=value.copy()))
        return numbered

    def _count(self, source: exp.Subquery) -> int:
        query = exp.select(spark("count(1)")).from_(
            exp.Subquery(this=source.this.copy(), alias=exp.TableAlias(this=identifier("__c")))
        )
        data = self.run.account.engine.to_arrow(
            query,
            list(self.run.tables.values()),
            lane=self.run.lane,
            tag=self.run.tag,
            pool=self.run.pool,
            inputs=self.run.inputs,
        )
        return int(data.column(0)[0].as_py())

    # -- commit ---------------------------------------------------------------------------------------------------

    def write(self, tree: exp.Select, *, overwrite: bool = False) -> CommitResult:
        """Runs the row query and commits its rows, by delta-rs when they are few and by Spark when many."""
        tree = numbered(self.run, tree)
        data = self.few_rows(tree)
        if data is not None:
            return self.write_arrow(data, overwrite=overwrite)
        return self._write_by_spark(tree, overwrite=overwrite)

    def few_rows(self, tree: exp.Select) -> pa.Table | None:
        """The rows of the query when they are few enough to be committed from here; None when Spark should write."""
        if not self._reads_little(tree) or self.definition.spark_only:
            return None
        account = self.run.account
        limit = account.settings.small_write_rows
        alias = exp.TableAlias(this=identifier("__l"))
        limited = exp.select("*").from_(exp.Subquery(this=tree.copy(), alias=alias)).limit(limit + 1)
        data = account.engine.to_arrow(
            limited,
            list(self.run.tables.values()),
            lane=Lane.LIGHT,
            tag=self.run.tag,
            pool=self.run.pool,
            inputs=self.run.inputs,
        )
        return data if data.num_rows <= limit else None

    def _reads_little(self, tree: exp.Select) -> bool:
        """Whether the query reads only small tables among those that the statement has pinned."""
        if self.run.lane is Lane.LIGHT:
            return True
        named = {table.name for table in tree.find_all(exp.Table)}
        read = [files.bytes for name, files in self.run.tables.items() if name in named]
        return all(read) and sum(read) <= self.run.account.settings.small_query_bytes

    def write_arrow(self, data: pa.Table, *, overwrite: bool = False) -> CommitResult:
        """Commits rows that are here already, in stored form."""
        run = self.run
        run.check_cancelled()
        pending = run.open_for_write(self.table)
        if data.num_rows == 0 and not overwrite:
            return CommitResult(version=pending.version, committed=False)
        tag = run.transaction.tag(run.query_id)
        rows = data.rename_columns([column.name for column in self.definition.columns])
        reached("before-commit")
        store = run.account.store
        before = pending.rows
        result = (
            store.overwrite(self.definition.location, rows, tag)
            if overwrite
            else store.append(self.definition.location, rows, tag)
        )
        reached("after-commit")
        if overwrite:
            result = CommitResult(
                version=result.version,
                rows_inserted=rows.num_rows,
                rows_deleted=before,
                bytes_delta=result.bytes_delta,
            )
        run.account.transactions.wrote(pending, result, "INSERT", run.query_id)
        return result

    def _write_by_spark(self, tree: exp.Select, *, overwrite: bool) -> CommitResult:
        run = self.run
        pending = run.open_for_write(self.table)
        account = run.account
        location = self.definition.location
        reached("before-commit")
        account.engine.append(
            to_spark_sql(tree), list(run.tables.values()), account.store.root.uri_of(location),
            user_metadata=run.transaction.tag(run.query_id).user_metadata(), tag=run.tag, pool=run.pool,
            overwrite=overwrite, inputs=run.inputs,
        )  # fmt: skip
        reached("after-commit")
        latest = account.store.latest_version(location)
        files = account.store.files(location, latest)
        rows = account.store.row_count(location, latest)
        inserted = rows if overwrite else rows - pending.rows
        result = CommitResult(
            version=latest, rows_inserted=inserted, rows_deleted=pending.rows if overwrite else 0,
            bytes_delta=files.total_bytes - pending.bytes,
        )  # fmt: skip
        account.transactions.wrote(pending, result, "INSERT", run.query_id)
        return result


def stored(tree: exp.Expr, type_: DataType) -> exp.Expr:
    """A value in the form in which it is kept on disk."""
    return spark("cast(_0 as string)", tree) if type_.kind is Kind.TIME else tree
