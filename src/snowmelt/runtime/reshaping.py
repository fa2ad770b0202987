"""Other columns for a table: what an ALTER TABLE does to its Delta table.

Three ways, the first that will do:

* the schema alone, where no stored value changes and no column goes;
* writing the rows anew, where the table is small or its changes are tracked: it stays a table that both writers know,
  and rows keep their birthplaces;
* Spark: column mapping to rename and drop without touching files, which leaves the table to Spark from then on, or an
  overwrite by a Spark job.

Every commit is tagged with the transaction and becomes visible together with the catalog's change. Commits that move
rows without changing any are marked, so that streams pass over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core.faults import reached
from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import Scope
from snowmelt.sql.dialect import identifier, parse_snowflake, string, to_spark_sql
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.commits import CommitResult, CommitTag
from snowmelt.storage.evolution import Reshape
from snowmelt.storage.first import new_metadata

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class ReshapedColumns:
    """The columns that a table is to have."""

    columns: tuple[Column, ...]
    sources: Mapping[str, str]
    """New name to present name; a column that is not here is new."""
    fills: Mapping[str, Any] = field(default_factory=dict)
    """What existing rows get in new columns, as stored Python values; only those that are not NULL."""
    literals: Mapping[str, str] = field(default_factory=dict)
    """The same as Snowflake literals."""


@dataclass(frozen=True, slots=True)
class Reshaped:
    spark_only: bool
    """Whether from now on only Spark can write the table."""
    moved: tuple[int, int] | None = None
    """The first and last version that moved rows without changing any."""


def delta_table(uri: str) -> exp.Table:
    """A Delta table by its path, as Spark SQL names it."""
    return exp.Table(this=identifier(uri), db=identifier("delta"))


def reshape(run: Run, table: CatalogObject, pending: PendingTable, change: ReshapedColumns) -> Reshaped:
    """Carries the change out; the transaction holds the table. Nothing is committed where disk needs no change."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    work = _Work(run, table, definition, pending, change)
    if not work.touches_schema:
        return Reshaped(definition.spark_only)
    store = run.account.store
    small = pending.bytes <= run.account.settings.small_query_bytes
    evolves = store.can_evolve(definition.location)
    reached("before-commit")
    if evolves and not work.touches_rows and not definition.spark_only:
        done = work.by_schema()
    elif evolves and work.touches_rows and (small or work.tracked):
        done = work.by_rewrite()
    else:
        done = work.by_spark()
    reached("after-commit")
    return done


def start_change_feed(run: Run, table: CatalogObject, pending: PendingTable) -> None:
    """From the next commit on, the Delta change feed of a table that the transaction holds records changes."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    work = _Work(run, table, definition, pending, ReshapedColumns(definition.columns, {}))
    reached("before-commit")
    work.set_property("delta.enableChangeDataFeed", "true")
    reached("after-commit")


@dataclass(frozen=True, slots=True)
class _Work:
    run: Run
    table: CatalogObject
    definition: TableDefinition
    pending: PendingTable
    change: ReshapedColumns

    # -- what there is to do --------------------------------------------------------------------------------------

    @property
    def present(self) -> dict[str, Column]:
        return {column.name: column for column in self.definition.columns}

    @property
    def tracked(self) -> bool:
        """Whether somebody asks which rows are the same, and the files tell."""
        return self.definition.change_tracking and not self.definition.spark_only

    @property
    def dropped(self) -> list[str]:
        kept = set(self.change.sources.values())
        return [name for name in self.present if name not in kept]

    @property
    def renamed(self) -> dict[str, str]:
        """Present name to new name."""
        return {old: new for new, old in self.change.sources.items() if old != new}

    @property
    def added(self) -> list[Column]:
        return [column for column in self.change.columns if column.name not in self.change.sources]

    @property
    def retyped(self) -> list[Column]:
        return [
            column
            for column in self.change.columns
            if column.name in self.change.sources and _stored(column) != _stored(self._before(column))
        ]

    def _before(self, column: Column) -> Column:
        return self.present[self.change.sources[column.name]]

    @property
    def touches_rows(self) -> bool:
        return bool(self.dropped or self.renamed or self.retyped or (self.change.fills and self.pending.rows))

    @property
    def touches_schema(self) -> bool:
        return (
            self.touches_rows
            or bool(self.added)
            or any(
                (column.nullable, column.comment) != (self._before(column).nullable, self._before(column).comment)
                for column in self.change.columns
                if column.name in self.change.sources
            )
        )

    # -- three ways -----------------------------------------------------------------------------------------------

    def by_schema(self) -> Reshaped:
        store = self.run.account.store
        result = store.set_columns(self.definition.location, self.change.columns, self._tag)
        self._wrote(result)
        return Reshaped(spark_only=False)

    def by_rewrite(self) -> Reshaped:
        shape = Reshape(self.change.columns, self.change.sources, self.change.fills)
        result = self.run.account.store.reshape(
            self.definition.location, shape, self._tag, origins=self.definition.change_tracking
        )
        self._wrote(result)
        return Reshaped(spark_only=False, moved=(result.version, result.version))

    def by_spark(self) -> Reshaped:
        first = self.pending.version + 1
        mapped = self.definition.spark_only
        if self.retyped:
            self._overwrite()
        else:
            if self.added:
                self._allow_features()
                self._alter(exp.Schema(expressions=[_column_definition(column) for column in self.added]))
            for column in self.change.columns:
                if column.name in self.change.sources and column.nullable and not self._before(column).nullable:
                    self._alter(exp.AlterColumn(this=identifier(self._before(column).name), drop=True, allow_null=True))
            if self.change.fills and self.pending.rows:
                self._fill()
            if (self.dropped or self.renamed) and not mapped:
                self._alter(_property("delta.columnMapping.mode", "name"))
                mapped = True
            if self.dropped:
                names = exp.Schema(expressions=[identifier(name) for name in self.dropped])
                self._alter(exp.Drop(kind="COLUMNS", tables=[names]))
            for old, new in self.renamed.items():
                self._alter(exp.RenameColumn(this=exp.column(identifier(old)), to=exp.column(identifier(new))))
        store = self.run.account.store
        latest = self._latest()
        if latest < first:
            return Reshaped(mapped)
        grown = store.files(self.definition.location, latest).total_bytes - self.pending.bytes
        self._wrote(CommitResult(latest, bytes_delta=grown))
        return Reshaped(mapped, moved=(first, latest) if self.touches_rows else None)

    # -- Spark's statements ---------------------------------------------------------------------------------------

    def set_property(self, key: str, value: str) -> None:
        self._alter(_property(key, value))
        self._wrote(CommitResult(self._latest()))

    def _latest(self) -> int:
        store = self.run.account.store
        store.forget(self.definition.location)
        return store.latest_version(self.definition.location)

    def _alter(self, action: exp.Expr) -> None:
        self._execute(exp.Alter(this=self._delta, kind="TABLE", actions=[action]))

    def _allow_features(self) -> None:
        """Spark does not bring the table features along that new columns need."""
        store = self.run.account.store
        has = store.files(self.definition.location, self.pending.version).metadata.features
        needs = new_metadata(self.added, change_feed=False).reader_features
        for feature in sorted(needs - has):
            self._alter(_property(f"delta.feature.{feature}", "supported"))

    def _fill(self) -> None:
        values = self._bound_fills()
        assignments = [exp.EQ(this=exp.column(identifier(name)), expression=tree) for name, tree in values.items()]
        self._execute(exp.Update(this=self._delta, expressions=assignments))

    def _overwrite(self) -> None:
        """All rows in the new shape, by a Spark job; the schema is replaced in the same commit."""
        run = self.run
        fills = self._bound_fills()
        with run.state.read() as state:
            catalog = StatementCatalog(run, state, run.session.database, run.session.schema)
            relation = catalog.pin(self.table, self.definition, self.pending.version)
        assert relation.reference is not None
        projections: list[exp.Expr] = []
        for column in self.change.columns:
            source = self.change.sources.get(column.name)
            value = exp.column(identifier(source)) if source is not None else fills.get(column.name, exp.Null())
            stored = exp.cast(value, exp.DataType.build(column.type.stored, dialect="spark"))
            projections.append(exp.alias_(stored, identifier(column.name)))
        query = exp.select(*projections).from_(exp.Table(this=identifier(relation.reference)))
        run.account.engine.append(
            to_spark_sql(query), list(run.tables.values()), run.account.store.root.uri_of(self.definition.location),
            user_metadata=self._tag.user_metadata(), tag=run.tag, pool=run.pool, overwrite=True,
            options={"overwriteSchema": "true"},
        )  # fmt: skip

    def _execute(self, statement: exp.Expr) -> None:
        run = self.run
        run.account.engine.execute(
            to_spark_sql(statement), user_metadata=self._tag.user_metadata(), tag=run.tag, pool=run.pool
        )

    def _bound_fills(self) -> dict[str, exp.Expr]:
        types = {column.name: column.type for column in self.change.columns}
        with self.run.environment() as environment:
            return {name: _bound(environment, text, types[name]) for name, text in self.change.literals.items()}

    @property
    def _delta(self) -> exp.Table:
        return delta_table(self.run.account.store.root.uri_of(self.definition.location))

    @property
    def _tag(self) -> CommitTag:
        return self.run.transaction.tag(self.run.query_id)

    def _wrote(self, result: CommitResult) -> None:
        self.run.account.transactions.wrote(self.pending, result, "ALTER TABLE", self.run.query_id)


def _stored(column: Column) -> str:
    # VARIANT, OBJECT and ARRAY are one type on disk, and so are all lengths of text.
    return column.type.stored


def _bound(environment: Environment, literal: str, type_: DataType) -> exp.Expr:
    binder = ExpressionBinder(environment, Scope(), QueryBinder(environment))
    tree = binder.cast(binder.bind(parse_snowflake(literal)), type_).tree
    return exp.cast(tree, "STRING") if type_.kind is Kind.TIME else tree


def _column_definition(column: Column) -> exp.ColumnDef:
    constraints: Sequence[exp.Expr] = (
        [exp.ColumnConstraint(kind=exp.CommentColumnConstraint(this=string(column.comment)))] if column.comment else []
    )
    return exp.ColumnDef(
        this=identifier(column.name),
        kind=exp.DataType.build(column.type.stored, dialect="spark"),
        constraints=list(constraints),
    )


def _property(key: str, value: str) -> exp.AlterSet:
    pair = exp.Property(this=string(key), value=string(value))
    return exp.AlterSet(expressions=[exp.Properties(expressions=[pair])])
