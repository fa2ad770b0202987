"""DataFrame code as a query: PySpark's methods, each of which builds Snowflake SQL.

Nothing runs here. The query goes through the same parser, binder and refresh planner as one written by hand, so that a
dynamic table defined in this way is incremental wherever its SQL is. Expressions mean what they mean in
Snowflake; only the order of NULLs is Spark's, and written out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote, split_name
from snowmelt.projects.columns import (
    Column,
    as_column,
    as_order,
    flat,
    identifier,
    output_name,
    parsed,
    stored_name,
)
from snowmelt.projects.functions import functions
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import fold_identifier

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
            raise errors.project(f"'{name}' is not the name of a table.")
        names = [identifier(part) for part in parts]
        tree = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(names), strict=False)))
        return self.scan(tree, self.columns_of(parts))

    def sql(self, text: str) -> DataFrame:
        """A query in Snowflake's SQL. Its columns are known to nobody: select those that follow."""
        tree = parse_snowflake(text.strip().rstrip(";"))
        if not isinstance(tree, exp.Query):
            raise errors.project("sql() takes a query.")
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
    """A query under construction. Every method gives a new one."""

    tables: Tables
    query: exp.Query
    """Without projections: everything of what it reads, which conditions and joins can still be added to."""
    lineage: Mapping[str, str]
    """From every alias that columns may carry to the one that is in scope for them now."""
    known: tuple[tuple[str | None, str], ...] | None
    """The columns with the alias that they are found under; None where they are not known."""
    closed: bool = False
    """With projections, groups, an order: what comes next reads from it as a whole."""

    # -- columns --------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        return [name for _, name in self._columns("columns")]

    def __getitem__(self, name: str) -> Column:
        return self._named(stored_name(name))

    def __getattr__(self, name: str) -> Column:
        if name.startswith("_"):
            raise AttributeError(name)
        stored = stored_name(name)
        if self.known is not None and all(stored != other for _, other in self.known):
            raise AttributeError(
                f"A DataFrame of a project has neither the method nor the column '{name}'. "
                f"Its columns: {', '.join(other for _, other in self.known)}."
            )
        return self._named(stored)

    def _named(self, stored: str) -> Column:
        owners = {owner for owner, name in self.known or () if name == stored}
        scopes = set(self.lineage.values())
        owner = owners.pop() if len(owners) == 1 else scopes.pop() if len(scopes) == 1 and not self.known else None
        table = identifier(owner) if owner is not None and not self.closed else None
        return Column(exp.Column(this=identifier(stored), table=table))

    def _columns(self, method: str) -> tuple[tuple[str | None, str], ...]:
        if self.known is None:
            raise errors.project(
                f"{method} needs to know the columns, and those of a SQL text or of a table that does not exist are "
                "not known. Name them with select() first."
            )
        return self.known

    def _here(self, tree: exp.Expr) -> exp.Expr:
        """The expression with its columns under the aliases that are in scope."""
        copied = tree.copy()
        for node in list(copied.find_all(exp.Column)):
            owner = node.args.get("table")
            scope = self.lineage.get(fold_identifier(owner)) if owner is not None else None
            if scope is not None:
                node.set("table", identifier(scope))
        return copied

    # -- shape ----------------------------------------------------------------------------------------------------

    def _open(self) -> DataFrame:
        """Itself while conditions and joins can be added; otherwise what reads from it."""
        if not self.closed:
            return self
        names = None if self.known is None else [name for _, name in self.known]
        outer = self.tables.scan(exp.Subquery(this=self.query.copy()), names)
        (alias,) = outer.lineage
        return replace(outer, lineage={**dict.fromkeys(self.lineage, alias), alias: alias})

    def _select(self, trees: Sequence[exp.Expr], group: Sequence[exp.Expr] = ()) -> DataFrame:
        """Closed, with these projections; `self` is open."""
        query = self.query.copy()
        assert isinstance(query, exp.Select)
        query = query.select(*trees, copy=False)
        if group:
            query = query.group_by(*(item.copy() for item in group), copy=False)
        names = [output_name(tree) for tree in trees]
        known = tuple((None, name) for name in names if name is not None)
        complete = len(known) == len(names)
        return replace(self, query=query, known=known if complete else None, closed=True)

    def select(self, *items: Column | str) -> DataFrame:
        frame = self._open()
        trees: list[exp.Expr] = []
        for item in flat(items):
            tree = frame._here(as_column(item).tree)
            star = tree if isinstance(tree, exp.Star) else tree.this if isinstance(tree, exp.Column) else None
            if isinstance(star, exp.Star) and frame.known is not None:
                owner = tree.args.get("table")
                trees += [_owned(alias, name) for alias, name in frame.known if owner is None or owner.name == alias]
            else:
                trees.append(tree)
        return frame._select(trees)

    def selectExpr(self, *texts: str) -> DataFrame:  # noqa: N802 (PySpark's name)
        return self.select(*(Column(parsed(text)) for text in flat(texts)))

    def withColumn(self, name: str, item: Column) -> DataFrame:  # noqa: N802 (PySpark's name)
        return self.withColumns({name: item})

    def withColumns(self, items: Mapping[str, Column]) -> DataFrame:  # noqa: N802 (PySpark's name)
        frame = self._open()
        new = {stored_name(name): frame._here(item.alias(name).tree) for name, item in items.items()}
        present = frame._columns("withColumn")
        trees = [new.pop(name) if name in new else _owned(alias, name) for alias, name in present]
        return frame._select([*trees, *new.values()])

    def withColumnRenamed(self, old: str, new: str) -> DataFrame:  # noqa: N802 (PySpark's name)
        frame = self._open()
        before = stored_name(old)
        return frame._select([
            Column(_owned(alias, name)).alias(new).tree if name == before else _owned(alias, name)
            for alias, name in frame._columns("withColumnRenamed")
        ])  # fmt: skip

    def drop(self, *items: str | Column) -> DataFrame:
        frame = self._open()
        gone = []
        for item in items:
            tree = frame._here(as_column(item).tree)
            owner = tree.args.get("table")
            gone.append((owner.name if owner is not None else None, output_name(tree)))
        kept = [
            _owned(alias, name)
            for alias, name in frame._columns("drop")
            if (alias, name) not in gone and (None, name) not in gone
        ]
        return frame._select(kept)

    def alias(self, name: str) -> DataFrame:
        """A name for `col("name.column")`."""
        frame = self._open() if len(set(self.lineage.values())) == 1 else self._whole()
        return replace(frame, lineage={**frame.lineage, stored_name(name): next(iter(set(frame.lineage.values())))})

    def _whole(self) -> DataFrame:
        """As one relation: what a join or a set operation reads."""
        return self if self.closed else self._everything()

    def _everything(self) -> DataFrame:
        """Closed, with all columns there are."""
        if self.known is None:
            return self._select([exp.Star()])
        return self._select([_owned(alias, name) for alias, name in self.known])

    # -- rows -----------------------------------------------------------------------------------------------------

    def filter(self, condition: Column | str) -> DataFrame:
        frame = self._open()
        tree = frame._here(parsed(condition) if isinstance(condition, str) else condition.tree)
        assert isinstance(frame.query, exp.Select)
        return replace(frame, query=frame.query.where(tree))

    where = filter

    def distinct(self) -> DataFrame:
        query = self._open()._everything()
        assert isinstance(query.query, exp.Select)
        return replace(query, query=query.query.distinct())

    dropDuplicates = distinct  # noqa: N815 (PySpark's name)

    def orderBy(self, *items: Column | str) -> DataFrame:  # noqa: N802 (PySpark's name)
        frame = self._open()
        orders = [frame._here(as_order(item)) for item in flat(items)]
        whole = frame._everything()
        return replace(whole, query=whole.query.order_by(*orders))

    sort = orderBy

    def limit(self, count: int) -> DataFrame:
        whole = self._whole()
        return replace(whole, query=whole.query.limit(count))

    # -- several --------------------------------------------------------------------------------------------------

    def join(
        self, other: DataFrame, on: Column | str | Sequence[str | Column] | None = None, how: str = "inner"
    ) -> DataFrame:
        kind = how.lower().replace("_", "")
        if kind not in _JOINS and kind not in _SEMI:
            raise errors.project(f"'{how}' is not a kind of join.")
        left = self._open()
        alias, source, lineage, known = _joined(other)
        # A frame joined to what was made of it: its own columns are those of the left side.
        both = replace(left, lineage={**lineage, **left.lineage})
        keys = _keys(on)
        condition = both._here(_condition(on)) if not keys and on is not None else None
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
        query = left.query.copy()
        query.append("joins", join)
        return replace(both, query=query, known=_together(left.known, known, keys))

    def crossJoin(self, other: DataFrame) -> DataFrame:  # noqa: N802 (PySpark's name)
        return self.join(other, how="cross")

    def _exists(
        self, alias: str, source: exp.Expr, keys: Sequence[str], condition: exp.Expr | None, *, wanted: bool
    ) -> DataFrame:
        pairs = [exp.EQ(this=self._named(key).tree, expression=_owned(alias, key)) for key in keys]
        inner = exp.select(exp.Literal.number(1)).from_(source)
        found = exp.Exists(this=inner.where(*pairs, *([condition] if condition is not None else [])))
        assert isinstance(self.query, exp.Select)
        return replace(self, query=self.query.where(found if wanted else exp.Not(this=found)))

    def union(self, other: DataFrame) -> DataFrame:
        return self._set(exp.Union, other, distinct=False)

    unionAll = union  # noqa: N815 (PySpark's name)

    def unionByName(self, other: DataFrame) -> DataFrame:  # noqa: N802 (PySpark's name)
        names = [name for _, name in self._columns("unionByName")]
        return self.union(other.select(*(Column(exp.Column(this=identifier(name))) for name in names)))

    def intersect(self, other: DataFrame) -> DataFrame:
        return self._set(exp.Intersect, other, distinct=True)

    def subtract(self, other: DataFrame) -> DataFrame:
        return self._set(exp.Except, other, distinct=True)

    def _set(self, kind: type[exp.SetOperation], other: DataFrame, *, distinct: bool) -> DataFrame:
        left, right = self._whole(), other._whole()
        sides = [_side(frame) for frame in (left, right)]
        tree = kind(this=sides[0], expression=sides[1], distinct=distinct)
        return replace(left, query=tree, lineage={**left.lineage, **right.lineage})

    def groupBy(self, *items: Column | str) -> GroupedData:  # noqa: N802 (PySpark's name)
        frame = self._open()
        return GroupedData(frame, tuple(frame._here(as_column(item).tree) for item in flat(items)))

    groupby = groupBy

    def agg(self, *items: Column | Mapping[str, str]) -> DataFrame:
        return self.groupBy().agg(*items)

    def sql(self) -> str:
        """The query in Snowflake's SQL."""
        return self._whole().query.sql(dialect="snowflake", pretty=True)


@dataclass(frozen=True, slots=True)
class GroupedData:
    frame: DataFrame
    keys: tuple[exp.Expr, ...]

    def agg(self, *items: Column | Mapping[str, str]) -> DataFrame:
        given: list[Column] = []
        for item in items:
            if isinstance(item, Column):
                given.append(item)
            else:
                given += [_aggregate(name, of) for of, name in item.items()]
        trees = [self.frame._here(item.tree) for item in given]
        groups = [key.this if isinstance(key, exp.Alias) else key for key in self.keys]
        return self.frame._select([*(key.copy() for key in self.keys), *trees], groups)

    def count(self) -> DataFrame:
        return self.agg(functions.count("*").alias("count"))

    def sum(self, *names: str) -> DataFrame:
        return self.agg(*(_aggregate("sum", name) for name in names))

    def avg(self, *names: str) -> DataFrame:
        return self.agg(*(_aggregate("avg", name) for name in names))

    mean = avg

    def min(self, *names: str) -> DataFrame:
        return self.agg(*(_aggregate("min", name) for name in names))

    def max(self, *names: str) -> DataFrame:
        return self.agg(*(_aggregate("max", name) for name in names))


def _aggregate(name: str, of: str) -> Column:
    """Spark calls it `sum(amount)`; a column needs a name that SQL can write, so here it is `SUM_AMOUNT`."""
    call = functions.count(of) if name == "count" else getattr(functions, name)(of)
    assert isinstance(call, Column)
    return call.alias(f"{name}_{'all' if of == '*' else of}")


def _owned(alias: str | None, name: str) -> exp.Column:
    return exp.Column(this=identifier(name), table=identifier(alias) if alias is not None else None)


def _joined(
    other: DataFrame,
) -> tuple[str, exp.Expr, dict[str, str], tuple[tuple[str | None, str], ...] | None]:
    """The right side of a join: a plain table as it is, anything else as a subquery."""
    assert isinstance(other.query, exp.Query)
    plain = not other.closed and not other.query.args.get("where") and not other.query.args.get("joins")
    frame = other if plain else other._whole()._open()
    source = frame.query.args["from_"].this.copy()
    alias = str(source.alias)
    return alias, source, dict.fromkeys(frame.lineage, alias), frame.known


def _keys(on: Column | str | Sequence[str | Column] | None) -> list[str]:
    """The names of a join by names; empty for a join by conditions."""
    given = [on] if isinstance(on, str) else on if isinstance(on, list | tuple) else []
    return [stored_name(item) for item in given if isinstance(item, str)]


def _condition(on: Column | str | Sequence[str | Column]) -> exp.Expr:
    items = [on] if isinstance(on, Column) else [item for item in on if isinstance(item, Column)]
    return exp.and_(*(item.tree for item in items))


def _together(
    left: tuple[tuple[str | None, str], ...] | None,
    right: tuple[tuple[str | None, str], ...] | None,
    keys: Sequence[str],
) -> tuple[tuple[str | None, str], ...] | None:
    """The columns of a join; those that it joins by are there once."""
    if left is None or right is None:
        return None
    for key in keys:
        if any(key not in {name for _, name in side} for side in (left, right)):
            raise errors.project(f"Column {quote(key)} of a join is not on both sides.")
    others = [(alias, name) for alias, name in (*left, *right) if name not in keys]
    return (*((None, key) for key in keys), *others)


def _side(frame: DataFrame) -> exp.Expr:
    """One side of a set operation: in brackets where it has an order or a limit."""
    query = frame.query.copy()
    nested = isinstance(query, exp.SetOperation) or query.args.get("order") or query.args.get("limit")
    return exp.Subquery(this=query) if nested else query
