"""One SELECT, clause by clause."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core.types import INTEGER, DataType
from snowmelt.ivm import grouping
from snowmelt.ivm.algebra import Fresh, Item, PlanColumn, conjuncts, passed
from snowmelt.ivm.expressions import Expressions, Replaced, View
from snowmelt.ivm.operators.aggregate import Aggregate
from snowmelt.ivm.operators.base import Operator
from snowmelt.ivm.operators.constant import Constant
from snowmelt.ivm.operators.join import full_join, left_join
from snowmelt.ivm.operators.limit import Limit
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.operators.scan import Scan
from snowmelt.ivm.operators.unnest import Unnest
from snowmelt.ivm.operators.windowed import Windowed
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.trees import aggregates_in, column_of, has_subquery, number, windows_in
from snowmelt.sql.notes import note_of


class Sources(Expressions):
    def read(self, tree: exp.Select) -> None:
        """Adds all of FROM to the parts."""
        from_ = tree.args.get("from_")
        if from_ is None:
            one = self.lowerer.fresh()
            self.parts.append(Constant(((one, "one"),), exp.select(exp.alias_(number(1), "one"))))
            return
        self.parts.append(self._source(from_.this))
        for join in tree.args.get("joins") or []:
            self._join(join)

    def _join(self, join: exp.Join) -> None:
        side = str(join.args.get("side") or "").upper()
        on = join.args.get("on")
        if isinstance(join.this, exp.Lateral):
            self._lateral(join.this, side, on)
            return
        right = self._source(join.this)
        if not side:
            self.parts.append(right)
            self.conditions += conjuncts(on) if on is not None else []
            return
        left = self.node
        condition = self.expression(on) if on is not None else exp.true()
        self.node = self._outer_join(side, left, right, condition)

    def _outer_join(self, side: str, left: Operator, right: Operator, condition: exp.Expr) -> Operator:
        columns = (*left.columns, *right.columns)
        if side == "LEFT":
            return left_join(left, right, condition)
        if side == "RIGHT":
            return Project(left_join(right, left, condition), passed(columns))
        node = full_join(left, right, condition, self.lowerer.fresh)
        self.scope.rename({old.id: new for old, new in zip(columns, node.columns, strict=True)})
        return node

    def _lateral(self, item: exp.Lateral, side: str, on: exp.Expr | None) -> None:
        alias = item.args["alias"]
        inner = item.this
        if isinstance(inner, exp.Subquery):
            if side or on is not None:
                raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "LEFT JOIN LATERAL", "Write it as a LEFT JOIN.")
            lowered = self.lowerer.query(inner.this, self.scope, self.ctes)
            self.node = self.lowerer.decorrelation.lateral(self.node, lowered.root)
            self.scope.sources[alias.this.name] = dict(lowered.outputs)
            return
        if side and on is not None and not (isinstance(on, exp.Boolean) and on.this):
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "LEFT JOIN FLATTEN ON", "Use OUTER => TRUE.")
        node = self.node
        unfolded = self.expression(inner)
        if side:
            unfolded.set("this", "inline_outer")
        columns = [(self.lowerer.fresh(note_of(column).type), column.name) for column in alias.columns]
        self.scope.sources[alias.this.name] = {name: column for column, name in columns}
        self.node = Unnest(node, unfolded, tuple(columns))

    def _source(self, item: exp.Expr) -> Operator:
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            cte = self.ctes.get(item.name)
            lowered = self._reference(cte) if cte is not None else self._scan(item.name)
        elif isinstance(item, exp.Subquery):
            lowered = self.lowerer.query(item, self.scope.parent, self.ctes)
        elif isinstance(item, exp.Table | exp.Values):
            lowered = self._constant(item)
        else:
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, type(item).__name__.upper(), "Use a subquery.")
        self.scope.sources[item.alias] = dict(lowered.outputs)
        return lowered.root

    def _scan(self, table: str) -> View:
        columns = [(name, self.lowerer.fresh(type_)) for name, type_ in self.lowerer.tables[table]]
        return View(Scan(tuple((column, name) for name, column in columns), table), tuple(columns))

    def _reference(self, cte: View) -> View:
        """A CTE: one node for all references to it, under other ids."""
        columns = [(name, self.lowerer.fresh(column.type)) for name, column in cte.outputs]
        items = tuple(Item(new, old.ref) for (_, new), old in zip(columns, cte.columns, strict=True))
        return View(Project(cte.root, items), tuple(columns))

    def _constant(self, item: exp.Expr) -> View:
        named = item.args["alias"].columns if item.args.get("alias") is not None else []
        names = [column.name for column in named] or ["id"]
        if any(item.find_all(exp.Column)):
            raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "VALUES over columns", "Write it as UNION ALL.")
        query = exp.select(*[column_of(name) for name in names]).from_(item.copy())
        return constant(query, names, self.lowerer.fresh)


class SelectBlock(Sources):
    def lower(self, tree: exp.Select) -> View:
        self.read(tree)
        self._where(tree)
        replaced: dict[exp.Expr, exp.Expr] = {}
        items = list(tree.expressions)
        order = list(tree.args["order"].expressions) if tree.args.get("order") else []
        having = tree.args.get("having")
        raw = [*items, *order, *([having.this] if having is not None else [])]
        if tree.args.get("group") is not None or any(True for part in raw for _ in aggregates_in(part)):
            self._aggregate(tree, raw, replaced)
        if having is not None:
            self.filter(conjuncts(having.this), replaced)
        self._windows([*items, *order], replaced)
        return self._finish(tree, items, order, replaced)

    def _where(self, tree: exp.Select) -> None:
        where = tree.args.get("where")
        conditions = [*self.conditions, *(conjuncts(where.this) if where is not None else [])]
        self.conditions = [condition for condition in conditions if not has_subquery(condition)]
        self.filter([condition for condition in conditions if has_subquery(condition)], {})

    def _aggregate(self, tree: exp.Select, raw: list[exp.Expr], replaced: dict[exp.Expr, exp.Expr]) -> None:
        sets = grouping.sets_of(tree.args.get("group"))
        keys = list(dict.fromkeys(key for one in sets for key in one))
        calls = list(dict.fromkeys(found for part in raw for found in aggregates_in(part)))
        columns = {key: self._as_column(self.expression(key), note_of(key).type) for key in keys}
        arguments = {found: self.expression(found) for found in calls}
        below = self._computed(list(columns.values()))
        self.node, found = grouping.aggregate(self.lowerer.fresh, below, sets, columns, arguments)
        replaced.update(found)

    def _as_column(self, tree: exp.Expr, type_: DataType | None) -> Item:
        """A plain column as it is; anything else under an id of its own."""
        if isinstance(tree, exp.Column):
            known = next((column for column in self.node.columns if column.id == tree.name), None)
            return Item(known or PlanColumn(tree.name, type_), tree)
        return Item(self.lowerer.fresh(type_), tree)

    def _computed(self, items: list[Item]) -> Operator:
        """The node with further columns."""
        added = {item.column.id: item for item in items if item.column.id not in self.node.ids}
        return Project(self.node, (*passed(self.node.columns), *added.values())) if added else self.node

    def _windows(self, raw: list[exp.Expr], replaced: dict[exp.Expr, exp.Expr]) -> None:
        found = list(dict.fromkeys(window for part in raw for window in windows_in(part)))
        groups: dict[tuple[exp.Expr, ...], list[exp.Window]] = {}
        for window in found:
            groups.setdefault(tuple(window.args.get("partition_by") or []), []).append(window)
        for partition, windows in groups.items():
            keys = [self._as_column(self.expression(part, replaced), note_of(part).type) for part in partition]
            keys = keys or [self._of_all_rows()]
            trees = [self._window(window, replaced) for window in windows]
            below = self._computed(keys)
            items = []
            for window, tree in zip(windows, trees, strict=True):
                tree.set("partition_by", [key.column.ref for key in keys])
                items.append(Item(self.lowerer.fresh(note_of(window.this).type), tree))
            self.node = Windowed(below, tuple(key.column for key in keys), tuple(items))
            replaced.update({w: item.column.ref for w, item in zip(windows, items, strict=True)})

    def _of_all_rows(self) -> Item:
        """The key of windows without PARTITION BY: all rows are one partition, so that any change concerns all."""
        return Item(self.lowerer.fresh(INTEGER), exp.cast(number(1), "INT"))

    def _window(self, window: exp.Window, replaced: Replaced) -> exp.Expr:
        bare = window.copy()
        bare.set("partition_by", None)
        return self.expression(bare, replaced)

    def _finish(self, tree: exp.Select, items: list[exp.Expr], order: list[exp.Expr], replaced: Replaced) -> View:
        outputs: list[tuple[str, PlanColumn]] = []
        computed: list[Item] = []
        for item in items:
            value = item.this if isinstance(item, exp.Alias) else item
            column = self.lowerer.fresh(note_of(item).type or note_of(value).type)
            computed.append(Item(column, self.expression(value, replaced)))
            outputs.append((item.alias_or_name, column))
        columns = tuple(column for _, column in outputs)
        limit, offset = tree.args.get("limit"), tree.args.get("offset")
        limited = limit is not None or offset is not None
        distinct = tree.args.get("distinct") is not None
        sorting = [self._order(item, outputs, computed, replaced, distinct=distinct) for item in order if limited]
        node: Operator = Project(self.node, tuple(computed))
        if distinct:
            node = Aggregate(node, columns, ())
        if limited:
            first, skipped = (int(part.expression.name) if part is not None else None for part in (limit, offset))
            node = Limit(node, tuple(sorting), first, skipped or 0)
        if len(node.columns) != len(columns):
            node = Project(node, passed(columns))
        return View(node, tuple(outputs))

    def _order(
        self,
        item: exp.Expr,
        outputs: list[tuple[str, PlanColumn]],
        computed: list[Item],
        replaced: Replaced,
        *,
        distinct: bool,
    ) -> exp.Ordered:
        value = item.this
        named = next((c for name, c in outputs if isinstance(value, exp.Column) and not value.table
                      and name == value.name), None)  # fmt: skip
        if named is None:
            tree = self.expression(value, replaced)
            named = next((one.column for one in computed if one.value.unnest() == tree.unnest()), None)
            if named is None and distinct:
                raise NotIncrementalError(
                    Reason.UNSUPPORTED_OPERATOR, "ORDER BY of what SELECT DISTINCT does not list",
                    "Put the expression into the SELECT list.",
                )  # fmt: skip
            if named is None:
                named = self.lowerer.fresh(note_of(value).type)
                computed.append(Item(named, tree))
        return exp.Ordered(this=named.ref, desc=item.args.get("desc"), nulls_first=item.args.get("nulls_first"))


def constant(query: exp.Select, names: Sequence[str], fresh: Fresh) -> View:
    """Rows that a query without tables makes."""
    columns = tuple((name, fresh(None)) for name in names)
    return View(Constant(tuple((column, name) for name, column in columns), query), columns)
