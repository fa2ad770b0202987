"""From a bound Spark query to the algebra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.ivm import grouping
from snowmelt.ivm.algebra import (
    Aggregate,
    Column,
    Constant,
    Filter,
    InnerJoin,
    Item,
    Join,
    JoinKind,
    Limit,
    Node,
    Project,
    Scan,
    Union,
    Unnest,
    Window,
    all_of,
    columns_in,
    conjuncts,
)
from snowmelt.ivm.distinct import in_two_steps
from snowmelt.ivm.pruning import pruned
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.rendering import moves
from snowmelt.ivm.subqueries import Decorrelation, free_ids, passed
from snowmelt.ivm.trees import (
    aggregates_in,
    call,
    has_subquery,
    is_subquery,
    mapped,
    number,
    substituted,
    unwrapped,
    windows_in,
)
from snowmelt.sql.notes import note_of

LAMBDA_PREFIX = "sm_"
"""What the translation calls the parameters of the lambdas it writes."""
Tables = Mapping[str, tuple[tuple[str, DataType], ...]]
"""The columns of each table that a query may scan, by the name it has in the query."""


@dataclass(frozen=True, slots=True)
class View:
    """A query as algebra."""

    root: Node
    outputs: tuple[tuple[str, Column], ...]
    """The names of the result's columns, in order."""


@dataclass(frozen=True, slots=True)
class Lowered:
    node: Node
    outputs: tuple[tuple[str, Column], ...]


@dataclass(slots=True)
class Names:
    """What an expression may name: the columns of the sources, then those of the query around."""

    parent: Names | None = None
    sources: dict[str, dict[str, Column]] = field(default_factory=dict)

    def find(self, table: str, name: str) -> Column | None:
        names: Names | None = self
        while names is not None:
            if table:
                found = names.sources.get(table, {}).get(name)
            else:
                found = next((columns[name] for columns in names.sources.values() if name in columns), None)
            if found is not None:
                return found
            names = names.parent
        return None


def lower(query: exp.Expr, tables: Tables) -> View:
    """The algebra of a bound query. Raises `NotIncrementalError` for what it has no operator for."""
    lowering = Lowering(tables)
    lowered = lowering.query(query, None, {})
    root = lowered.node
    outputs = lowered.outputs
    if len({column.id for _, column in outputs}) < len(outputs) or len(root.columns) != len(outputs):
        root = Project(root, passed([column for _, column in outputs]))
    if free_ids(root):
        raise NotIncrementalError(
            Reason.UNSUPPORTED_OPERATOR, "subquery over grouping sets", "Put the grouping sets into a subquery in FROM."
        )
    return View(pruned(in_two_steps(pruned(root), lowering.fresh)), outputs)


class Lowering:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._numbers = count(1)
        self.decorrelation = Decorrelation(self.fresh)

    def fresh(self, type_: DataType | None = None) -> Column:
        return Column(f"c{next(self._numbers)}", type_)

    def query(self, tree: exp.Expr, outer: Names | None, ctes: Mapping[str, Lowered]) -> Lowered:
        while isinstance(tree, exp.Subquery) and tree.args.get("with_") is None:
            tree = tree.this
        with_ = tree.args.get("with_")
        if with_ is not None:
            ctes = dict(ctes)
            for cte in with_.expressions:
                ctes[cte.alias] = self.query(cte.this, outer, ctes)
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this, outer, ctes)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, outer, ctes)
        if isinstance(tree, exp.Select):
            rows = _made_rows(tree)
            return self._made(tree, rows) if rows else _Block(self, outer, ctes).lower(tree)
        raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, type(tree).__name__.upper(), "Write it as a SELECT.")

    def _made(self, tree: exp.Select, names: list[str]) -> Lowered:
        columns = tuple((name, self.fresh()) for name in names)
        return Lowered(Constant(tree, tuple((column, name) for name, column in columns)), columns)

    def _set_operation(self, tree: exp.SetOperation, outer: Names | None, ctes: Mapping[str, Lowered]) -> Lowered:
        left = self.query(tree.this, outer, ctes)
        right = self.query(tree.expression, outer, ctes)
        outputs = tuple((name, self.fresh(column.type)) for name, column in left.outputs)
        columns = tuple(column for _, column in outputs)
        if isinstance(tree, exp.Union):
            both: Node = Union((_only(left), _only(right)), columns)
            return Lowered(Aggregate(both, columns, ()) if tree.args.get("distinct") else both, outputs)
        return Lowered(self._counted_sides(tree, left, right, columns), outputs)

    def _counted_sides(
        self, tree: exp.SetOperation, left: Lowered, right: Lowered, columns: tuple[Column, ...]
    ) -> Node:
        """INTERSECT and EXCEPT: every distinct row with how often each side has it."""
        side = self.fresh()
        branches = tuple(
            Project(lowered.node, (*passed([c for _, c in lowered.outputs]), Item(self.fresh(), number(place))))
            for place, lowered in enumerate((left, right))
        )
        both = Union(branches, (*columns, side))
        counts = [self.fresh(), self.fresh()]
        items = tuple(
            Item(counted, call("count_if", exp.EQ(this=side.ref, expression=number(place))))
            for place, counted in enumerate(counts)
        )
        test = exp.GT if isinstance(tree, exp.Intersect) else exp.EQ
        condition = exp.and_(
            exp.GT(this=counts[0].ref, expression=number(0)), test(this=counts[1].ref, expression=number(0))
        )
        return Project(Filter(Aggregate(both, columns, items), condition), passed(columns))


class _Block:
    """One SELECT."""

    def __init__(self, lowering: Lowering, outer: Names | None, ctes: Mapping[str, Lowered]) -> None:
        self.lowering = lowering
        self.ctes = ctes
        self.names = Names(outer)
        self.node: Node | None = None
        self._parts: list[Node] = []
        self._conditions: list[exp.Expr] = []

    def lower(self, tree: exp.Select) -> Lowered:
        self._from(tree)
        where = tree.args.get("where")
        self._where(conjuncts(where.this) if where is not None else [])
        replaced: dict[exp.Expr, exp.Expr] = {}
        items = list(tree.expressions)
        order = list(tree.args["order"].expressions) if tree.args.get("order") else []
        having = tree.args.get("having")
        raw = [*items, *order, *([having.this] if having is not None else [])]
        if tree.args.get("group") is not None or any(True for part in raw for _ in aggregates_in(part)):
            self._aggregate(tree, raw, replaced)
        if having is not None:
            self._filter(conjuncts(having.this), replaced)
        self._windows([*items, *order], replaced)
        return self._finish(tree, items, order, replaced)

    # -- FROM -----------------------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select) -> None:
        from_ = tree.args.get("from_")
        if from_ is None:
            one = self.lowering.fresh()
            self._parts.append(Constant(exp.select(exp.alias_(number(1), "one")), ((one, "one"),)))
            return
        self._parts.append(self._source(from_.this))
        for join in tree.args.get("joins") or []:
            self._join(join)

    def _join(self, join: exp.Join) -> None:
        side = str(join.args.get("side") or "").upper()
        item = join.this
        on = join.args.get("on")
        if isinstance(item, exp.Lateral):
            self._lateral(item, side, on)
            return
        right = self._source(item)
        if not side:
            self._parts.append(right)
            self._conditions += conjuncts(on) if on is not None else []
            return
        left = self._joined()
        condition = self._expression(on) if on is not None else exp.true()
        self._parts = [self._outer_join(side, left, right, condition)]

    def _outer_join(self, side: str, left: Node, right: Node, condition: exp.Expr) -> Node:
        if side == "LEFT":
            return _left_join(left, right, condition)
        if side == "RIGHT":
            return Project(_left_join(right, left, condition), passed((*left.columns, *right.columns)))
        # A full join is the left one and, padded, the right rows without a match.
        padded = tuple(Item(self.lowering.fresh(column.type), exp.null()) for column in left.columns)
        unmatched = Project(Join(JoinKind.ANTI, right, left, condition), (*padded, *passed(right.columns)))
        matched = Project(Join(JoinKind.LEFT, left, right, condition), passed((*left.columns, *right.columns)))
        outputs = tuple(self.lowering.fresh(column.type) for column in matched.columns)
        self._rename({old.id: new for old, new in zip(matched.columns, outputs, strict=True)})
        return Union((matched, unmatched), outputs)

    def _rename(self, columns: Mapping[str, Column]) -> None:
        for source in self.names.sources.values():
            for key, column in source.items():
                source[key] = columns.get(column.id, column)

    def _lateral(self, item: exp.Lateral, side: str, on: exp.Expr | None) -> None:
        alias = item.args["alias"]
        inner = item.this
        if isinstance(inner, exp.Subquery):
            if side or on is not None:
                raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "LEFT JOIN LATERAL", "Write it as a LEFT JOIN.")
            lowered = self.lowering.query(inner.this, self.names, self.ctes)
            node = self.lowering.decorrelation.lateral(self._joined(), lowered.node)
            self.names.sources[alias.this.name] = dict(lowered.outputs)
            self._parts = [node]
            return
        if side and on is not None and not (isinstance(on, exp.Boolean) and on.this):
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "LEFT JOIN FLATTEN ON", "Use OUTER => TRUE.")
        node = self._joined()
        unfolded = self._expression(inner)
        if side:
            unfolded.set("this", "inline_outer")
        names = [column.name for column in alias.columns]
        columns = [(self.lowering.fresh(note_of(c).type), name) for c, name in zip(alias.columns, names, strict=True)]
        self.names.sources[alias.this.name] = {name: column for column, name in columns}
        self._parts = [Unnest(self.node or node, unfolded, tuple(columns))]

    def _source(self, item: exp.Expr) -> Node:
        alias = item.alias
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            cte = self.ctes.get(item.name)
            lowered = self._renamed(cte) if cte is not None else self._scan(item.name)
        elif isinstance(item, exp.Subquery):
            lowered = self.lowering.query(item, self.names.parent, self.ctes)
        elif isinstance(item, exp.Table | exp.Values):
            lowered = self._constant(item)
        else:
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, type(item).__name__.upper(), "Use a subquery.")
        self.names.sources[alias] = dict(lowered.outputs)
        return lowered.node

    def _scan(self, table: str) -> Lowered:
        columns = [(name, self.lowering.fresh(type_)) for name, type_ in self.lowering.tables[table]]
        return Lowered(Scan(table, tuple((column, name) for name, column in columns)), tuple(columns))

    def _renamed(self, cte: Lowered) -> Lowered:
        """A reference to a CTE: one node for all of them, under other ids."""
        columns = [(name, self.lowering.fresh(column.type)) for name, column in cte.outputs]
        items = tuple(Item(new, old.ref) for (_, new), (_, old) in zip(columns, cte.outputs, strict=True))
        return Lowered(Project(cte.node, items), tuple(columns))

    def _constant(self, item: exp.Expr) -> Lowered:
        named = item.args["alias"].columns if item.args.get("alias") is not None else []
        names = [column.name for column in named] or ["id"]
        if any(item.find_all(exp.Column)):
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "VALUES over columns", "Write it as UNION ALL.")
        columns = [(name, self.lowering.fresh()) for name in names]
        query = exp.select(*[exp.column(exp.Identifier(this=name, quoted=True)) for name in names]).from_(item.copy())
        return Lowered(Constant(query, tuple((column, name) for name, column in columns)), tuple(columns))

    def _joined(self) -> Node:
        """What FROM has so far, as one node."""
        plain = [self._expression(c) for c in self._conditions]
        node = inner_join(self._parts, plain)
        self._parts, self._conditions = [node], []
        return node

    # -- WHERE and HAVING -----------------------------------------------------------------------------------------

    def _where(self, conditions: list[exp.Expr]) -> None:
        conditions = [*self._conditions, *conditions]
        self._conditions = [condition for condition in conditions if not has_subquery(condition)]
        self.node = self._joined()
        self._filter([condition for condition in conditions if has_subquery(condition)], {})

    def _filter(self, conditions: list[exp.Expr], replaced: dict[exp.Expr, exp.Expr]) -> None:
        assert self.node is not None
        for condition in conditions:
            if not self._filtered_by_query(unwrapped(condition), replaced):
                tree = self._expression(condition, replaced)
                self.node = Filter(self.node, tree)

    def _filtered_by_query(self, condition: exp.Expr, replaced: dict[exp.Expr, exp.Expr]) -> bool:
        """Whether the condition is EXISTS or IN, perhaps with NOT, which a semi or anti join decides."""
        assert self.node is not None
        negated = isinstance(condition, exp.Not)
        test = unwrapped(condition.this) if negated else condition
        kind = JoinKind.ANTI if negated else JoinKind.SEMI
        if isinstance(test, exp.Exists):
            inner = self.lowering.query(test.this, self.names, self.ctes)
            self.node = self.lowering.decorrelation.filtered(kind, self.node, inner.node, [])
            return True
        if not isinstance(test, exp.In) or not is_subquery(test):
            return False
        values, inner = self._membership(test, replaced)
        pairs = [exp.EQ(this=v, expression=c.ref) for v, (_, c) in zip(values, inner.outputs, strict=True)]
        if negated:
            self._not_in(values, inner, pairs)
        else:
            self.node = self.lowering.decorrelation.filtered(kind, self.node, inner.node, pairs)
        return True

    def _membership(self, test: exp.In, replaced: dict[exp.Expr, exp.Expr]) -> tuple[list[exp.Expr], Lowered]:
        left = unwrapped(test.this)
        parts = left.expressions if isinstance(left, exp.Tuple) else [left]
        values = [_tight(self._expression(part, replaced)) for part in parts]
        return values, self.lowering.query(test.args["query"], self.names, self.ctes)

    def _not_in(self, values: list[exp.Expr], inner: Lowered, pairs: list[exp.EQ]) -> None:
        assert self.node is not None
        decorrelation = self.lowering.decorrelation
        if len(pairs) > 1 or free_ids(inner.node):
            # Anything that is not surely unequal keeps the row out.
            maybe = [exp.Paren(this=exp.or_(pair, _is_null(pair.this), _is_null(pair.expression))) for pair in pairs]
            self.node = decorrelation.filtered(JoinKind.ANTI, self.node, inner.node, maybe)
            return
        # The same with a join by equality: no NULL among the values, and a NULL of ours only if there are none at all.
        (pair,), value = pairs, inner.outputs[0][1]
        rows, nulls = self.lowering.fresh(), self.lowering.fresh()
        none, known = self.lowering.fresh(), self.lowering.fresh()
        counted = Aggregate(
            inner.node,
            (),
            (Item(rows, call("count", number(1))), Item(nulls, call("count_if", _is_null(value.ref)))),
        )
        zero = [exp.EQ(this=column.ref, expression=number(0)) for column in (rows, nulls)]
        facts = Project(counted, (Item(none, zero[0]), Item(known, zero[1])))
        kept = Join(JoinKind.ANTI, self.node, inner.node, pair)
        ours = exp.or_(exp.Not(this=_is_null(values[0])), none.ref)
        self.node = InnerJoin((kept, facts), (known.ref, exp.Paren(this=ours)))

    # -- expressions ----------------------------------------------------------------------------------------------

    def _expression(self, tree: exp.Expr, replaced: Mapping[exp.Expr, exp.Expr] | None = None) -> exp.Expr:
        """The tree with ids for names; queries inside are joined to the node and become columns of it."""

        def change(node: exp.Expr) -> exp.Expr | None:
            if replaced and node in replaced:
                return replaced[node].copy()
            if isinstance(node, exp.Column):
                return self._column(node)
            return self._value(node, replaced or {}) if is_subquery(node) else None

        return mapped(tree, change)

    def _column(self, node: exp.Column) -> exp.Expr:
        found = self.names.find(node.table, node.name)
        if found is None and (node.table or node.name).startswith(LAMBDA_PREFIX):
            # A parameter of a function inside a function: a name for Spark, not a column.
            name: exp.Expr = exp.to_identifier(node.name)
            return exp.Dot(this=exp.to_identifier(node.table), expression=name) if node.table else name
        if found is None:
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, node.name, "Name a column of a table in FROM.")
        return found.ref

    def _value(self, node: exp.Expr, replaced: Mapping[exp.Expr, exp.Expr]) -> exp.Expr:
        outer = self.node if self.node is not None else self._joined()
        if isinstance(node, exp.Subquery):
            inner = self.lowering.query(node.this, self.names, self.ctes)
            value: Node = inner.node
            column = inner.outputs[0][1]
        elif isinstance(node, exp.Exists):
            inner = self.lowering.query(node.this, self.names, self.ctes)
            rows, column = self.lowering.fresh(), self.lowering.fresh()
            value = Aggregate(inner.node, (), (Item(rows, call("count", number(1))),))
            value = Project(value, (Item(column, exp.GT(this=rows.ref, expression=number(0))),))
        else:
            assert isinstance(node, exp.In)
            value, column = self._in_value(node, dict(replaced))
            outer = self.node if self.node is not None else self._parts[0]
        joined, tree = self.lowering.decorrelation.scalar(outer, value, column)
        if self.node is not None:
            self.node = joined
        else:
            self._parts = [joined]
        return tree

    def _in_value(self, test: exp.In, replaced: dict[exp.Expr, exp.Expr]) -> tuple[Node, Column]:
        """IN as a value, TRUE, FALSE or NULL: by counting equal, unknown and all rows."""
        values, inner = self._membership(test, replaced)
        pairs = [exp.EQ(this=v, expression=c.ref) for v, (_, c) in zip(values, inner.outputs, strict=True)]
        hits, unknown, column = self.lowering.fresh(), self.lowering.fresh(), self.lowering.fresh()
        both = all_of(pairs)
        counted = Aggregate(
            inner.node,
            (),
            (
                Item(hits, call("count_if", both)),
                Item(unknown, call("count_if", _is_null(exp.Paren(this=both.copy())))),
            ),
        )
        positive = [exp.GT(this=column.ref, expression=number(0)) for column in (hits, unknown)]
        tree = exp.Case(
            ifs=[exp.If(this=positive[0], true=exp.true()), exp.If(this=positive[1], true=exp.null())],
            default=exp.false(),
        )
        return Project(counted, (Item(column, tree),)), column

    # -- GROUP BY and windows -------------------------------------------------------------------------------------

    def _aggregate(self, tree: exp.Select, raw: list[exp.Expr], replaced: dict[exp.Expr, exp.Expr]) -> None:
        sets = grouping.sets_of(tree.args.get("group"))
        keys = list(dict.fromkeys(key for one in sets for key in one))
        calls = list(dict.fromkeys(found for part in raw for found in aggregates_in(part)))
        columns = {key: self._as_column(self._expression(key), note_of(key).type) for key in keys}
        arguments = {found: self._expression(found) for found in calls}
        assert self.node is not None
        below = self._computed(list(columns.values()))
        grouped, found = grouping.aggregate(self.lowering.fresh, below, sets, columns, arguments)
        self.node = grouped
        replaced.update(found)

    def _as_column(self, tree: exp.Expr, type_: DataType | None) -> Item:
        """A plain column as it is; anything else under an id of its own."""
        if isinstance(tree, exp.Column):
            assert self.node is not None
            known = next((column for column in self.node.columns if column.id == tree.name), None)
            return Item(known or Column(tree.name, type_), tree)
        return Item(self.lowering.fresh(type_), tree)

    def _computed(self, items: list[Item]) -> Node:
        """The node with further columns."""
        assert self.node is not None
        added = [item for item in items if item.column.id not in self.node.ids]
        unique = {item.column.id: item for item in added}
        return Project(self.node, (*passed(self.node.columns), *unique.values())) if added else self.node

    def _windows(self, raw: list[exp.Expr], replaced: dict[exp.Expr, exp.Expr]) -> None:
        found = list(dict.fromkeys(window for part in raw for window in windows_in(part)))
        groups: dict[tuple[exp.Expr, ...], list[exp.Window]] = {}
        for window in found:
            groups.setdefault(tuple(window.args.get("partition_by") or []), []).append(window)
        for partition, windows in groups.items():
            keys = [self._as_column(self._expression(part, replaced), note_of(part).type) for part in partition]
            trees = [self._window(window, replaced) for window in windows]
            below = self._computed(keys)
            items = []
            for window, tree in zip(windows, trees, strict=True):
                tree.set("partition_by", [key.column.ref for key in keys])
                items.append(Item(self.lowering.fresh(note_of(window.this).type), tree))
            self.node = Window(below, tuple(key.column for key in keys), tuple(items))
            replaced.update({w: item.column.ref for w, item in zip(windows, items, strict=True)})

    def _window(self, window: exp.Window, replaced: dict[exp.Expr, exp.Expr]) -> exp.Expr:
        bare = window.copy()
        bare.set("partition_by", None)
        return self._expression(bare, replaced)

    # -- SELECT, DISTINCT, ORDER BY, LIMIT ------------------------------------------------------------------------

    def _finish(
        self, tree: exp.Select, items: list[exp.Expr], order: list[exp.Expr], replaced: dict[exp.Expr, exp.Expr]
    ) -> Lowered:
        outputs: list[tuple[str, Column]] = []
        computed: list[Item] = []
        for item in items:
            value = item.this if isinstance(item, exp.Alias) else item
            column = self.lowering.fresh(note_of(item).type or note_of(value).type)
            computed.append(Item(column, self._expression(value, replaced)))
            outputs.append((item.alias_or_name, column))
        columns = tuple(column for _, column in outputs)
        limited = tree.args.get("limit") is not None or tree.args.get("offset") is not None
        sorting = [self._order(item, outputs, computed, replaced) for item in order] if limited else []
        assert self.node is not None
        self.node = Project(self.node, tuple(computed))
        if tree.args.get("distinct") is not None:
            self.node = Aggregate(self.node, columns, ())
        if limited:
            limit, offset = tree.args.get("limit"), tree.args.get("offset")
            self.node = Limit(
                self.node,
                tuple(sorting),
                int(limit.expression.name) if limit is not None else None,
                int(offset.expression.name) if offset is not None else 0,
            )
        if len(self.node.columns) != len(columns):
            self.node = Project(self.node, passed(columns))
        return Lowered(self.node, tuple(outputs))

    def _order(
        self,
        item: exp.Expr,
        outputs: list[tuple[str, Column]],
        computed: list[Item],
        replaced: dict[exp.Expr, exp.Expr],
    ) -> exp.Ordered:
        value = item.this
        named = next((c for name, c in outputs if isinstance(value, exp.Column) and not value.table
                      and name == value.name), None)  # fmt: skip
        if named is None:
            tree = self._expression(value, replaced)
            known = next((one.column for one in computed if one.value == tree), None)
            named = known or self.lowering.fresh(note_of(value).type)
            if known is None:
                computed.append(Item(named, tree))
        return exp.Ordered(this=named.ref, desc=item.args.get("desc"), nulls_first=item.args.get("nulls_first"))


def _made_rows(tree: exp.Select) -> list[str]:
    """The columns of VALUES with computed cells, which the translation writes as an array that is unfolded."""
    call = tree.expressions[0] if len(tree.expressions) == 1 else None
    if not isinstance(call, exp.Anonymous) or call.name != "inline":
        return []
    first = next((n for n in tree.find_all(exp.Anonymous) if n.name == "named_struct"), None)
    return [name.name for name in first.expressions[::2]] if first is not None else []


def inner_join(parts: list[Node], conditions: list[exp.Expr]) -> Node:
    """The parts joined, each condition as deep as the columns it names are."""
    filtered = list(parts)
    joining: list[exp.Expr] = []
    above: list[exp.Expr] = []
    for condition in conditions:
        names = columns_in(condition)
        place = next((index for index, part in enumerate(parts) if names and names <= part.ids), None)
        if place is None:
            # What moves with the clock stays a filter, which knows how to find the rows that come and go with time.
            (above if moves(condition) else joining).append(condition)
        else:
            filtered[place] = _filtered(filtered[place], condition)
    node = InnerJoin(tuple(filtered), tuple(joining)) if len(filtered) > 1 else filtered[0]
    above += joining if len(filtered) == 1 else []
    return Filter(node, all_of(above)) if above else node


def _left_join(left: Node, right: Node, condition: exp.Expr) -> Node:
    """What moves with the clock and concerns the right side alone is a filter of that side."""
    parts = conjuncts(condition)
    moving = [part for part in parts if moves(part) and columns_in(part) <= right.ids]
    if not moving:
        return Join(JoinKind.LEFT, left, right, condition)
    rest = [part for part in parts if part not in moving]
    return Join(JoinKind.LEFT, left, _filtered(right, all_of(moving)), all_of(rest))


def _filtered(node: Node, condition: exp.Expr) -> Node:
    """The node's rows that meet the condition.

    Where it names a value that moves with the clock (QUALIFY makes one), it is tested below the projection: there it is
    a filter, which knows how to find the rows that come and go with time, and the value itself is not needed any more.
    """
    if isinstance(node, Project):
        values = {item.column.id: item.value for item in node.items}
        if any(name in values and moves(values[name]) for name in columns_in(condition)):
            return replace(node, input=_filtered(node.input, substituted(condition, values)))
    return Filter(node, condition)


def _only(lowered: Lowered) -> Node:
    """The node with exactly its outputs, in order."""
    columns = [column for _, column in lowered.outputs]
    same = [column.id for column in lowered.node.columns] == [column.id for column in columns]
    return lowered.node if same else Project(lowered.node, passed(columns))


def _is_null(tree: exp.Expr) -> exp.Expr:
    return exp.Is(this=tree.copy(), expression=exp.null())


def _tight(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=tree) if isinstance(tree, exp.Binary | exp.Unary) else tree
