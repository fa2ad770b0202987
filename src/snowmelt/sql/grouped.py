"""Aggregation policies: relations whose rows may be seen in groups of some size only.

Such a relation has a call of MARK among its conditions. Every SELECT that reads it either hands its rows on as they
are, or aggregates them:

    SELECT k, SUM(v) FROM t GROUP BY k
    SELECT k, IF(<enough>, SUM(v), NULL) FROM (SELECT IF(size >= n, k, NULL) AS k, v FROM …) GROUP BY k, size >= n

so that groups that are too small are one group, with NULL for a key and, if it is too small as well, for its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.dialect import call, identifier

MARK = "snowmelt_in_groups"
ENTITY = "__entity"
"""The column of what counts once in a group, if the policy was set with ENTITY KEY."""
_AGGREGATES = frozenset({"count", "sum", "avg", "approx_count_distinct"})
_ROWS_TOO = (exp.Count, exp.Sum, exp.Avg, exp.ApproxDistinct)
_GROUPS = "__groups"
_SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)


@dataclass(frozen=True, slots=True)
class GroupSize:
    """How many rows and, where it has an entity key, how many entities a group must have."""

    rows: int
    entities: int = 0


NOTHING = GroupSize(1 << 62)
"""No group is large enough: what holds when a policy says something that is no constraint."""


def marked(tree: exp.Expr) -> bool:
    return any(_is_mark(node) for node in tree.find_all(exp.Anonymous))


def mark(size: GroupSize) -> exp.Expr:
    return call(MARK, exp.Literal.number(size.rows), exp.Literal.number(size.entities))


def entity_of(columns: Iterable[exp.Expr]) -> exp.Expr:
    """The hidden column: one value for each entity, NULL for none."""
    parts = list(columns)
    key = exp.Anonymous(this="struct", expressions=[part.copy() for part in parts])
    known = exp.or_(*[exp.Not(this=exp.Is(this=part.copy(), expression=exp.Null())) for part in parts])
    return exp.Alias(this=exp.Case(ifs=[exp.If(this=known, true=key)]), alias=identifier(ENTITY))


def allowed(tree: exp.Expr) -> exp.Expr:
    """The query with its small groups put together. Raises where rows would come out by themselves."""
    if not marked(tree):
        return tree
    tree = tree.copy()
    if _Enforcement().rows_of(tree, {}) is not None:
        raise _must_aggregate("the query")
    return tree


def _is_mark(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.this == MARK


def _must_aggregate(what: str) -> SnowmeltError:
    return SnowmeltError(
        "002759", "42501",
        "SQL compilation error:\n"
        f"An aggregation policy holds for a table that is read: {what} must aggregate its rows.",
        hint="Use COUNT, SUM, AVG or APPROX_COUNT_DISTINCT, with or without GROUP BY.",
    )  # fmt: skip


def _refused(what: str) -> SnowmeltError:
    return SnowmeltError(
        "002760", "42501",
        f"SQL compilation error:\nAn aggregation policy holds for a table that is read: {what} can't be used with it.",
        hint="Write one SELECT with GROUP BY over the table, and the rest around it.",
    )  # fmt: skip


@dataclass(slots=True)
class _Held:
    """Rows of a relation with a policy, before they are aggregated."""

    size: GroupSize
    alias: str = ""


class _Enforcement:
    """Visits a query from the inside out, and changes it in place."""

    def rows_of(self, query: exp.Expr, tables: Mapping[str, _Held]) -> _Held | None:
        """The policy that the rows of a query are still under; None when they are no single rows any more."""
        tables = self._with(query, tables)
        if isinstance(query, exp.Subquery):
            held = self.rows_of(query.this, tables)
            if held is not None and any(query.args.get(key) for key in ("order", "limit", "offset")):
                raise _refused("ORDER BY and LIMIT before it")
            return held
        if isinstance(query, exp.SetOperation):
            sides = [self.rows_of(side, tables) for side in (query.this, query.expression)]
            if any(side is not None for side in sides):
                raise _refused("a set operator before it")
            return None
        return self._select(query, tables) if isinstance(query, exp.Select) else None

    def _with(self, query: exp.Expr, tables: Mapping[str, _Held]) -> Mapping[str, _Held]:
        with_ = query.args.get("with_")
        if with_ is None:
            return tables
        found = dict(tables)
        for cte in with_.expressions:
            found.pop(cte.alias, None)
            held = self.rows_of(cte.this, found)
            if held is not None:
                if with_.args.get("recursive"):
                    raise _refused("a recursive query")
                found[cte.alias] = held
        return found

    def _select(self, node: exp.Select, tables: Mapping[str, _Held]) -> _Held | None:
        own = self._unmarked(node)
        sources = [held for source in _sources(node) if (held := self._source(source, tables)) is not None]
        self._check_inner(node, tables)
        if own is not None:
            if sources:
                raise _refused("a policy of a view over a table that has one, too,")
            return own
        if not sources:
            return None
        held, joined = sources[0], len(_sources(node)) > 1
        if len(sources) > 1:
            raise _refused("a join with another such table")
        if joined and not held.size.entities:
            raise _refused("a join, unless the policy was set with ENTITY KEY,")
        if node.find(exp.Window) is not None and _own(node, exp.Window):
            raise _refused("a window function")
        if not node.args.get("group") and not _aggregates(node):
            return _handed_on(node, held)
        _Groups(node, held).change()
        return None

    def _unmarked(self, node: exp.Select) -> _Held | None:
        """Takes the mark off the SELECT that reads the relation."""
        where = node.args.get("where")
        found = [one for one in where.find_all(exp.Anonymous) if _is_mark(one)] if where is not None else []
        found = [one for one in found if one.find_ancestor(exp.Select) is node]
        if not found:
            return None
        rows, entities = (int(part.name) for part in found[0].expressions)
        found[0].replace(exp.true())
        return _Held(GroupSize(rows, entities))

    def _source(self, node: exp.Expr, tables: Mapping[str, _Held]) -> _Held | None:
        if isinstance(node, exp.Query):
            held = self.rows_of(node, tables)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            held = tables.get(node.name)
        else:
            # LATERAL and the like: queries in them see rows of the tables beside them.
            for query in _queries(node):
                if self.rows_of(query, tables) is not None:
                    raise _refused("LATERAL")
            return None
        return _Held(held.size, node.alias_or_name) if held is not None else None

    def _check_inner(self, node: exp.Select, tables: Mapping[str, _Held]) -> None:
        """Queries inside of expressions give single values: these must not be of single rows."""
        skipped = {id(source) for source in _sources(node)}
        for query in _queries(node, skipped):
            if self.rows_of(query, tables) is not None:
                raise _must_aggregate("a subquery in an expression")


def _sources(node: exp.Select) -> list[exp.Expr]:
    from_ = node.args.get("from_")
    first = [from_.this] if from_ is not None else []
    inner = [join.this for one in first for join in one.args.get("joins") or []]
    return [*first, *inner, *(join.this for join in node.args.get("joins") or []), *(node.args.get("laterals") or [])]


def _queries(node: exp.Expr, skipped: Iterable[int] = ()) -> list[exp.Expr]:
    """The outermost queries below a node."""
    waiting, left_out = list(node.iter_expressions()), set(skipped)
    found: list[exp.Expr] = []
    while waiting:
        one = waiting.pop()
        if id(one) in left_out or isinstance(one, exp.With):
            continue
        if isinstance(one, exp.Query):
            found.append(one)
        else:
            waiting += list(one.iter_expressions())
    return found


def _own(node: exp.Select, kind: type[exp.Expr]) -> bool:
    return any(one.find_ancestor(exp.Select) is node for one in node.find_all(kind))


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, _ROWS_TOO) or (isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATES)


def _aggregates(node: exp.Select) -> bool:
    parts = [*node.expressions, *filter(None, [node.args.get("having")])]
    every = (one for part in parts for one in part.find_all(exp.AggFunc, exp.Anonymous))
    return any(
        (_is_aggregate(one) or isinstance(one, exp.AggFunc)) and one.find_ancestor(exp.Select) is node for one in every
    )


def _handed_on(node: exp.Select, held: _Held) -> _Held:
    """A SELECT that leaves out rows and computes columns, and nothing else: its rows are still single rows."""
    if node.args.get("distinct") is not None:
        raise _refused("DISTINCT before it")
    if any(node.args.get(key) for key in ("limit", "offset", "having", "qualify")):
        raise _refused("LIMIT before it")
    if held.size.entities:
        entity = exp.column(identifier(ENTITY), table=identifier(held.alias))
        node.append("expressions", exp.alias_(entity, identifier(ENTITY)))
    return _Held(held.size)


class _Groups:
    """One SELECT that aggregates."""

    def __init__(self, node: exp.Select, held: _Held) -> None:
        self.node = node
        self.held = held
        group = node.args.get("group")
        self.keys: list[exp.Expr] = list(group.expressions) if group is not None else []
        self.inner: list[exp.Expr] = []
        """What the rows have that are put together."""
        if any(key.find(*_SETS) for key in self.keys) or (group is not None and any(group.args.get(k) for k in _EXTRA)):
            raise _refused("GROUPING SETS, ROLLUP or CUBE")

    def change(self) -> None:
        node = self.node
        outputs = {item.alias_or_name for item in node.expressions}
        order = node.args.get("order")
        for item in [*node.expressions, *(order.expressions if order is not None else [])]:
            value = item.this if isinstance(item, exp.Alias | exp.Ordered) else item
            if isinstance(value, exp.Column) and not value.table and value.name in outputs:
                continue
            value.replace(self._only_large(self._over_groups(value.copy())))
        having = node.args.get("having")
        if having is not None:
            both = exp.and_(self._enough(), exp.Paren(this=self._over_groups(having.this.copy())))
            node.set("having", exp.Having(this=both))
        if self.keys:
            self._put_small_ones_together()
        else:
            self._over_one_group()

    def _only_large(self, value: exp.Expr) -> exp.Expr:
        if self.keys and value in [self._key(number) for number in range(len(self.keys))]:
            return value
        return exp.Case(ifs=[exp.If(this=self._enough(), true=value)])

    def _enough(self) -> exp.Expr:
        size = self.held.size
        enough: exp.Expr = exp.GTE(this=call("count", exp.Literal.number(1)), expression=exp.Literal.number(size.rows))
        if size.entities:
            entity = exp.column(identifier(ENTITY), table=identifier(_GROUPS))
            counted = call("count", exp.Distinct(expressions=[entity]))
            enough = exp.and_(enough, exp.GTE(this=counted, expression=exp.Literal.number(size.entities)))
        return enough

    def _key(self, number: int) -> exp.Expr:
        return exp.column(identifier(f"__k{number}"), table=identifier(_GROUPS))

    def _over_groups(self, value: exp.Expr) -> exp.Expr:
        """The value in terms of keys and of aggregates that are allowed; raises for anything else of a row."""
        for number, key in enumerate(self.keys):
            if value == key:
                return self._key(number)
        if _is_aggregate(value):
            return self._aggregate(value)
        if isinstance(value, exp.Column):
            raise _refused("anything but keys, COUNT, SUM, AVG and APPROX_COUNT_DISTINCT in the SELECT list")
        if isinstance(value, exp.Query):
            return value
        for child in list(value.iter_expressions()):
            child.replace(self._over_groups(child.copy()))
        return value

    def _aggregate(self, value: exp.Expr) -> exp.Expr:
        """Its arguments are columns of the rows that are put together."""
        if list(value.find_all(exp.Query)):
            raise _refused("a subquery inside of an aggregate")
        distinct = value.find(exp.Distinct)
        holder = distinct if distinct is not None else value
        for argument in list(holder.expressions) or [holder.this]:
            if isinstance(argument, exp.Literal | exp.Star | exp.Distinct):
                continue
            if argument not in self.inner:
                self.inner.append(argument.copy())
            index = self.inner.index(argument)
            argument.replace(exp.column(identifier(f"__a{index}"), table=identifier(_GROUPS)))
        return value

    # -- the rows below -------------------------------------------------------------------------------------------

    def _below(self) -> exp.Select:
        """The rows with keys, arguments and entities by names of our own."""
        node = self.node
        items = [exp.alias_(key.copy(), identifier(f"__k{number}")) for number, key in enumerate(self.keys)]
        items += [exp.alias_(value, identifier(f"__a{number}")) for number, value in enumerate(self.inner)]
        if self.held.size.entities:
            entity = exp.column(identifier(ENTITY), table=identifier(self.held.alias))
            items.append(exp.alias_(entity, identifier(ENTITY)))
        if not items:
            items.append(exp.alias_(exp.Literal.number(1), identifier("__one")))
        below = exp.Select(expressions=items)
        for part in ("from_", "joins", "laterals", "where"):
            found = node.args.get(part)
            if found:
                below.set(part, found)
                node.set(part, None)
        return below

    def _over_one_group(self) -> None:
        self.node.set("from_", _from(self._below(), _GROUPS))

    def _put_small_ones_together(self) -> None:
        size, count = self.held.size, len(self.keys)
        below = self._below()
        names = [item.alias for item in below.expressions]
        kept = [exp.column(identifier(name), table=identifier("__rows")) for name in names]
        keys = kept[:count]
        rows = _over(call("count", exp.Literal.number(1)), keys)
        measured = [exp.alias_(column.copy(), identifier(column.name)) for column in kept]
        measured.append(exp.alias_(rows, identifier("__size")))
        conditions = [_least("__size", size.rows)]
        if size.entities:
            entity = exp.column(identifier(ENTITY), table=identifier("__rows"))
            rank = _over(call("dense_rank"), keys, [exp.Ordered(this=entity.copy(), nulls_first=False)])
            known = exp.Not(this=exp.Is(this=entity.copy(), expression=exp.Null()))
            measured.append(exp.alias_(exp.Case(ifs=[exp.If(this=known, true=rank)]), identifier("__rank")))
        counted = exp.Select(expressions=measured)
        counted.set("from_", _from(below, "__rows"))
        if size.entities:
            counted = _with_most(counted, [*names, "__size"], names[:count])
            conditions.append(_least("__entities", size.entities))
        whole = exp.and_(*conditions)
        items = []
        for name in names:
            value: exp.Expr = exp.column(identifier(name), table=identifier("__sized"))
            if name in names[:count]:
                value = exp.Case(ifs=[exp.If(this=whole.copy(), true=value)])
            items.append(exp.alias_(value, identifier(name)))
        items.append(exp.alias_(whole, identifier("__whole")))
        together = exp.Select(expressions=items)
        together.set("from_", _from(counted, "__sized"))
        self.node.set("from_", _from(together, _GROUPS))
        whole_groups = exp.column(identifier("__whole"), table=identifier(_GROUPS))
        self.node.set("group", exp.Group(expressions=[*(self._key(n) for n in range(count)), whole_groups]))


_EXTRA = ("grouping_sets", "rollup", "cube", "totals", "all")


def _from(query: exp.Select, alias: str) -> exp.From:
    return exp.From(this=exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(alias))))


def _over(value: exp.Expr, keys: Iterable[exp.Expr], order: list[exp.Ordered] | None = None) -> exp.Window:
    ordered = exp.Order(expressions=order) if order else None
    return exp.Window(this=value, partition_by=[key.copy() for key in keys], order=ordered)


def _least(name: str, number: int) -> exp.Expr:
    return exp.GTE(
        this=exp.column(identifier(name), table=identifier("__sized")), expression=exp.Literal.number(number)
    )


def _with_most(query: exp.Select, names: list[str], keys: list[str]) -> exp.Select:
    """The highest rank of each group is how many entities it has."""
    column = {name: exp.column(identifier(name), table=identifier("__ranked")) for name in [*names, "__rank"]}
    most = _over(call("max", column["__rank"].copy()), [column[key] for key in keys])
    items = [exp.alias_(column[name], identifier(name)) for name in names]
    counted = exp.Select(expressions=[*items, exp.alias_(most, identifier("__entities"))])
    counted.set("from_", _from(query, "__ranked"))
    return counted
