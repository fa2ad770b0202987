"""DataFrame code as a query: PySpark's methods, each of which builds Snowflake SQL.

Nothing runs here. The query goes through the same parser, binder and refresh planner as one written by hand, so that a
dynamic table defined in this way is incremental wherever its SQL is. Expressions mean what they mean in
Snowflake; only the order of NULLs is Spark's, and written out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from sqlglot import exp

from snowmelt.core.names import split_name
from snowmelt.projects import errors as project_errors
from snowmelt.projects.columns import (
    ColumnExpression,
    as_column,
    as_order,
    flat,
    identifier,
    output_name,
    parsed,
    stored_name,
)
from snowmelt.projects.frame_parts import Known, join_condition, join_keys, owned, together
from snowmelt.projects.grouping import GroupedData
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import parse_snowflake

ColumnsOf = Callable[[tuple[str, ...]], Sequence[str] | None]
"""The columns of a table or view, by the parts of its name; None when nobody knows."""
_JOINS = {
    "inner": "", "cross": "CROSS", "left": "LEFT", "leftouter": "LEFT", "right": "RIGHT", "rightouter": "RIGHT",
    "outer": "FULL", "full": "FULL", "fullouter": "FULL",
}  # fmt: skip
_SEMI = {"semi": True, "leftsemi": True, "anti": False, "leftanti": False}


@dataclass(slots=True)
class Tables:
    """What a definition in Python reads from: `tables.table("orders")`, or SQL text as a DataFrame."""

    columns_of: ColumnsOf
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def table(self, name: str) -> DataFrame:
        parts = split_name(name)
        if parts is None or len(parts) > 3:
            raise project_errors.project(f"'{name}' is not the name of a table.")
        names = [identifier(part) for part in parts]
        tree = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(names), strict=False)))
        return self.scan(tree, self.columns_of(parts))

    def sql(self, text: str) -> DataFrame:
        """A query in Snowflake's SQL. Its columns are known to nobody: select those that follow."""
        tree = parse_snowflake(text.strip().rstrip(";"))
        if not isinstance(tree, exp.Query):
            raise project_errors.project("sql() takes a query.")
        return self.scan(exp.Subquery(this=tree), None)

    @property
    def read(self) -> Tables:
        """So that `spark.read.table(…)` reads as it does in PySpark."""
        return self

    def scan(self, source: exp.Expr, columns: Sequence[str] | None) -> DataFrame:
        alias = f"T{next(self._numbers)}"
        source.set("alias", exp.TableAlias(this=identifier(alias)))
        known = None if columns is None else tuple((alias, name) for name in columns)
        return DataFrame(self, exp.Select().from_(source, copy=False), {alias: alias}, known)


@dataclass(frozen=True, slots=True)
class DataFrame:
    """A query under construction. Every method gives a new one.

    Whatever does not begin with an underscore and is no method of PySpark's is a column.
    """

    _tables: Tables
    _query: exp.Query
    """Without projections: everything of what it reads, which conditions and joins can still be added to."""
    _lineage: Mapping[str, str]
    """From every alias that columns may carry to the one that is in scope for them now."""
    _known: Known | None
    """The columns with the alias that they are found under; None where they are not known."""
    _closed: bool = False
    """With projections, groups, an order: what comes next reads from it as a whole."""

    # -- columns --------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        return [name for _, name in self._columns("columns")]

    def __getitem__(self, name: str) -> ColumnExpression:
        return self._named(stored_name(name))

    def __getattr__(self, name: str) -> ColumnExpression:
        if name.startswith("_"):
            raise AttributeError(name)
        stored = stored_name(name)
        if self._known is not None and all(stored != other for _, other in self._known):
            raise AttributeError(
                f"A DataFrame of a project has neither the method nor the column '{name}'. "
                f"Its columns: {', '.join(other for _, other in self._known)}."
            )
        return self._named(stored)

    def _named(self, stored: str) -> ColumnExpression:
        owners = {owner for owner, name in self._known or () if name == stored}
        scopes = set(self._lineage.values())
        owner = owners.pop() if len(owners) == 1 else scopes.pop() if len(scopes) == 1 and not self._known else None
        table = identifier(owner) if owner is not None and not self._closed else None
        return ColumnExpression(exp.Column(this=identifier(stored), table=table))

    def _columns(self, method: str) -> Known:
        if self._known is None:
            raise project_errors.project(
                f"{method} needs to know the columns, and those of a SQL text or of a table that does not exist are "
                "not known. Name them with select() first."
            )
        return self._known

    def _here(self, tree: exp.Expr) -> exp.Expr:
        """The expression with its columns under the aliases that are in scope."""
        copied = tree.copy()
        for node in list(copied.find_all(exp.Column)):
            owner = node.args.get("table")
            scope = self._lineage.get(fold_identifier(owner)) if owner is not None else None
            if scope is not None:
                node.set("table", identifier(scope))
        return copied

    # -- shape ----------------------------------------------------------------------------------------------------

    def _open(self) -> DataFrame:
        """Itself while conditions and joins can be added; otherwise what reads from it."""
        if not self._closed:
            return self
        names = None if self._known is None else [name for _, name in self._known]
        outer = self._tables.scan(exp.Subquery(this=self._query.copy()), names)
        (alias,) = outer._lineage
        return replace(outer, _lineage={**dict.fromkeys(self._lineage, alias), alias: alias})

    def _projected(self, trees: Sequence[exp.Expr], group: Sequence[exp.Expr] = ()) -> Self:
        """Closed, with these projections; `self` is open."""
        query = self._query.copy()
        assert isinstance(query, exp.Select)
        query = query.select(*trees, copy=False)
        if group:
            query = query.group_by(*(item.copy() for item in group), copy=False)
        names = [output_name(tree) for tree in trees]
        known = tuple((None, name) for name in names if name is not None)
        complete = len(known) == len(names)
        return replace(self, _query=query, _known=known if complete else None, _closed=True)

    def select(self, *items: ColumnExpression | str) -> DataFrame:
        frame = self._open()
        trees: list[exp.Expr] = []
        for item in flat(items):
            tree = frame._here(as_column(item).tree)
            star = tree if isinstance(tree, exp.Star) else tree.this if isinstance(tree, exp.Column) else None
            if isinstance(star, exp.Star) and frame._known is not None:
                owner = tree.args.get("table")
                trees += [owned(alias, name) for alias, name in frame._known if owner is None or owner.name == alias]
            else:
                trees.append(tree)
        return frame._projected(trees)

    def selectExpr(self, *texts: str) -> DataFrame:  # noqa: N802 (PySpark's name)
        return self.select(*(ColumnExpression(parsed(text)) for text in flat(texts)))

    def withColumn(self, name: str, item: ColumnExpression) -> DataFrame:  # noqa: N802 (PySpark's name)
        return self.withColumns({name: item})

    def withColumns(self, items: Mapping[str, ColumnExpression]) -> DataFrame:  # noqa: N802 (PySpark's name)
        frame = self._open()
        new = {stored_name(name): frame._here(item.alias(name).tree) for name, item in items.items()}
        present = frame._columns("withColumn")
        trees = [new.pop(name) if name in new else owned(alias, name) for alias, name in present]
        return frame._projected([*trees, *new.values()])

    def withColumnRenamed(self, old: str, new: str) -> DataFrame:  # noqa: N802 (PySpark's name)
        frame = self._open()
        before = stored_name(old)
        return frame._projected([
            ColumnExpression(owned(alias, name)).alias(new).tree if name == before else owned(alias, name)
            for alias, name in frame._columns("withColumnRenamed")
        ])  # fmt: skip

    def drop(self, *items: str | ColumnExpression) -> DataFrame:
        frame = self._open()
        gone = []
        for item in items:
            tree = frame._here(as_column(item).tree)
            owner = tree.args.get("table")
            gone.append((owner.name if owner is not None else None, output_name(tree)))
        kept = [
            owned(alias, name)
            for alias, name in frame._columns("drop")
            if (alias, name) not in gone and (None, name) not in gone
        ]
        return frame._projected(kept)

    def alias(self, name: str) -> DataFrame:
        """A name for `col("name.column")`."""
        frame = self._open() if len(set(self._lineage.values())) == 1 else self._whole()
        return replace(frame, _lineage={**frame._lineage, stored_name(name): next(iter(set(frame._lineage.values())))})

    def _whole(self) -> DataFrame:
        """The frame as one relation, as a join or a set operation reads it."""
        return self if self._closed else self._everything()

    def _everything(self) -> DataFrame:
        """Closed, with all columns there are."""
        if self._known is None:
            return self._projected([exp.Star()])
        return self._projected([owned(alias, name) for alias, name in self._known])

    # -- rows -----------------------------------------------------------------------------------------------------

    def filter(self, condition: ColumnExpression | str) -> DataFrame:
        frame = self._open()
        tree = frame._here(parsed(condition) if isinstance(condition, str) else condition.tree)
        assert isinstance(frame._query, exp.Select)
        return replace(frame, _query=frame._query.where(tree))

    where = filter

    def distinct(self) -> DataFrame:
        query = self._open()._everything()
        assert isinstance(query._query, exp.Select)
        return replace(query, _query=query._query.distinct())

    dropDuplicates = distinct  # noqa: N815 (PySpark's name)

    def orderBy(self, *items: ColumnExpression | str) -> DataFrame:  # noqa: N802 (PySpark's name)
        frame = self._open()
        orders = [frame._here(as_order(item)) for item in flat(items)]
        whole = frame._everything()
        return replace(whole, _query=whole._query.order_by(*orders))

    sort = orderBy

    def limit(self, count: int) -> DataFrame:
        whole = self._whole()
        return replace(whole, _query=whole._query.limit(count))

    # -- several --------------------------------------------------------------------------------------------------

    def join(
        self,
        other: DataFrame,
        on: ColumnExpression | str | Sequence[str | ColumnExpression] | None = None,
        how: str = "inner",
    ) -> DataFrame:
        kind = how.lower().replace("_", "")
        if kind not in _JOINS and kind not in _SEMI:
            raise project_errors.project(f"'{how}' is not a kind of join.")
        left = self._open()
        alias, source, lineage, known = _joined(other)
        # A frame joined to what was made of it: its own columns are those of the left side.
        both = replace(left, _lineage={**lineage, **left._lineage})
        keys = join_keys(on)
        condition = both._here(join_condition(on)) if not keys and on is not None else None
        if kind in _SEMI:
            return left._exists(alias, source, keys, condition, wanted=_SEMI[kind])
        join = exp.Join(this=source)
        if keys:
            join.set("using", [identifier(key) for key in keys])
        elif condition is not None:
            join.set("on", condition)
        side = _JOINS[kind] or ("" if keys or condition is not None else "CROSS")
        if side:
            join.set("kind" if side == "CROSS" else "side", side)
        query = left._query.copy()
        query.append("joins", join)
        return replace(both, _query=query, _known=together(left._known, known, keys))

    def crossJoin(self, other: DataFrame) -> DataFrame:  # noqa: N802 (PySpark's name)
        return self.join(other, how="cross")

    def _exists(
        self, alias: str, source: exp.Expr, keys: Sequence[str], condition: exp.Expr | None, *, wanted: bool
    ) -> DataFrame:
        pairs = [exp.EQ(this=self._named(key).tree, expression=owned(alias, key)) for key in keys]
        inner = exp.select(exp.Literal.number(1)).from_(source)
        found = exp.Exists(this=inner.where(*pairs, *([condition] if condition is not None else [])))
        assert isinstance(self._query, exp.Select)
        return replace(self, _query=self._query.where(found if wanted else exp.Not(this=found)))

    def union(self, other: DataFrame) -> DataFrame:
        return self._set(exp.Union, other, distinct=False)

    unionAll = union  # noqa: N815 (PySpark's name)

    def unionByName(self, other: DataFrame) -> DataFrame:  # noqa: N802 (PySpark's name)
        names = [name for _, name in self._columns("unionByName")]
        return self.union(other.select(*(ColumnExpression(exp.Column(this=identifier(name))) for name in names)))

    def intersect(self, other: DataFrame) -> DataFrame:
        return self._set(exp.Intersect, other, distinct=True)

    def subtract(self, other: DataFrame) -> DataFrame:
        return self._set(exp.Except, other, distinct=True)

    def _set(self, kind: type[exp.SetOperation], other: DataFrame, *, distinct: bool) -> DataFrame:
        left, right = self._whole(), other._whole()
        sides = [_side(frame) for frame in (left, right)]
        tree = kind(this=sides[0], expression=sides[1], distinct=distinct)
        return replace(left, _query=tree, _lineage={**left._lineage, **right._lineage})

    def groupBy(self, *items: ColumnExpression | str) -> GroupedData[DataFrame]:  # noqa: N802 (PySpark's name)
        frame = self._open()
        return GroupedData(frame, tuple(frame._here(as_column(item).tree) for item in flat(items)))

    groupby = groupBy

    def agg(self, *items: ColumnExpression | Mapping[str, str]) -> DataFrame:
        return self.groupBy().agg(*items)

    def sql(self) -> str:
        """The query in Snowflake's SQL."""
        return self._whole()._query.sql(dialect="snowflake", pretty=True)


def _joined(
    other: DataFrame,
) -> tuple[str, exp.Expr, dict[str, str], Known | None]:
    """The right side of a join: a plain table as it is, anything else as a subquery."""
    assert isinstance(other._query, exp.Query)
    plain = not other._closed and not other._query.args.get("where") and not other._query.args.get("joins")
    frame = other if plain else other._whole()._open()
    source = frame._query.args["from_"].this.copy()
    alias = str(source.alias)
    return alias, source, dict.fromkeys(frame._lineage, alias), frame._known


def _side(frame: DataFrame) -> exp.Expr:
    """One side of a set operation: in brackets where it has an order or a limit."""
    query = frame._query.copy()
    nested = isinstance(query, exp.SetOperation) or query.args.get("order") or query.args.get("limit")
    return exp.Subquery(this=query) if nested else query
