"""Which rows of a table a row of a query was made from: an expression over the table's columns, and conditions.

For a query over documents, `SELECT record:id::INT AS id FROM raw WHERE kind = 'customer'`, the rows of `raw` that make
the rows with `id = 42` are those with `record:id::INT = 42 AND kind = 'customer'`. What picks one of several rows
of a key (QUALIFY, windows, aggregates) is left out: all of them are about the same key. Where a condition needs
another table, nothing is said, because a guess would remove rows of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import FunctionKind

ColumnsOf = Callable[[exp.Table], Sequence[str] | None]
"""The columns of a table that a query names, or None when that is not known."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    table: exp.Table
    value: exp.Expr
    conditions: tuple[exp.Expr, ...] = ()

    @property
    def plain_column(self) -> str | None:
        """The column, if the value is one as it is, of whatever rows."""
        if self.conditions or not isinstance(self.value, exp.Column) or isinstance(self.value.this, exp.Star):
            return None
        return fold_identifier(self.value.this)


@dataclass(slots=True)
class Origins:
    found: list[ValueOrigin] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    """Tables whose rows decide the value in a way that can't be turned around."""


def origins_of(query: exp.Expr, column: str, columns_of: ColumnsOf) -> Origins:
    """Where the values of an output column come from."""
    reader = _Reader(columns_of)
    reader.down(query, exp.column(exp.to_identifier(column, quoted=True)), (), {})
    return reader.origins


def output_names(query: exp.Expr, columns_of: ColumnsOf) -> list[str]:
    """The names of the output columns, in their order."""
    return [name for name, _ in _Reader(columns_of).outputs(query, {})]


@dataclass(frozen=True, slots=True)
class _Cte:
    query: exp.Expr
    around: Mapping[str, _Cte]


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of FROM."""

    table: exp.Table | None = None
    query: exp.Expr | None = None
    around: Mapping[str, _Cte] = field(default_factory=dict)
    columns: Sequence[str] | None = None


class _Reader:
    def __init__(self, columns_of: ColumnsOf) -> None:
        self._columns_of = columns_of
        self.origins = Origins()

    # -- going down -----------------------------------------------------------------------------------------------

    def down(
        self, query: exp.Expr, value: exp.Expr, conditions: Sequence[exp.Expr], around: Mapping[str, _Cte]
    ) -> None:
        """`value` and `conditions` are over the query's output columns."""
        query, around = _opened(query, around)
        if isinstance(query, exp.SetOperation):
            names = [name for name, _ in self.outputs(query.this, around)]
            sides = [query.this, query.expression] if isinstance(query, exp.Union) else [query.this]
            for side in sides:
                given = dict(zip(names, [name for name, _ in self.outputs(side, around)], strict=False))
                renamed = {old: exp.column(exp.to_identifier(new, quoted=True)) for old, new in given.items()}
                self.down(side, _replaced(value, renamed), [_replaced(each, renamed) for each in conditions], around)
            return
        if not isinstance(query, exp.Select):
            return
        items = self._items(query, around)
        outputs = dict(self._select_outputs(query, items))
        inner = [_replaced(each, outputs) for each in conditions]
        inner += [self._without_aliases(each, outputs, items) for each in _filters(query)]
        self._into_items(self._without_aliases(_replaced(value, outputs), outputs, items), inner, items)

    def _into_items(self, value: exp.Expr, conditions: Sequence[exp.Expr], items: Mapping[str, _Item]) -> None:
        used = self._used(value, items)
        if not used:
            return
        alias = next(iter(used))
        item = items.get(alias)
        if len(used) > 1 or item is None or _is_collective(value) or (item.table is None and item.query is None):
            self._say_unclear(used, items)
            return
        kept: list[exp.Expr] = []
        for condition in conditions:
            if _is_collective(condition):
                continue
            wanted = self._used(condition, items)
            if condition.find(exp.Query) is not None or wanted - {alias}:
                self._say_unclear(used, items)
                return
            if wanted:
                kept.append(condition)
        value, kept = _unqualified(value), [_unqualified(each) for each in kept]
        if item.query is not None:
            self.down(item.query, value, kept, item.around)
        elif item.table is not None:
            self.origins.found.append(ValueOrigin(item.table, value, tuple(kept)))

    def _say_unclear(self, used: set[str], items: Mapping[str, _Item]) -> None:
        for alias in sorted(used):
            item = items.get(alias)
            source = item.table or item.query if item is not None else None
            for table in source.find_all(exp.Table) if source is not None else ():
                self.origins.unclear.append(table.name)

    def _used(self, node: exp.Expr, items: Mapping[str, _Item]) -> set[str]:
        """The aliases of the items whose columns an expression reads; the empty alias for columns of unknown origin."""
        return {self._alias_of(column, items) for column in node.find_all(exp.Column)}

    def _alias_of(self, column: exp.Column, items: Mapping[str, _Item]) -> str:
        if column.args.get("table") is not None:
            return fold_identifier(column.args["table"])
        if len(items) == 1:
            return next(iter(items))
        name = fold_identifier(column.this)
        having = [alias for alias, item in items.items() if item.columns is not None and name in item.columns]
        return having[0] if len(having) == 1 else ""

    # -- what a query gives ---------------------------------------------------------------------------------------

    def outputs(self, query: exp.Expr, around: Mapping[str, _Cte]) -> list[tuple[str, exp.Expr]]:
        query, around = _opened(query, around)
        if isinstance(query, exp.SetOperation):
            return self.outputs(query.this, around)
        if not isinstance(query, exp.Select):
            return []
        return list(self._select_outputs(query, self._items(query, around)))

    def _select_outputs(self, query: exp.Select, items: Mapping[str, _Item]) -> Iterator[tuple[str, exp.Expr]]:
        for each in query.expressions:
            star = each.this if isinstance(each, exp.Column) else each
            if not isinstance(star, exp.Star):
                inner = each.this if isinstance(each, exp.Alias) else each
                name = each.args.get("alias") if isinstance(each, exp.Alias) else inner.find(exp.Identifier)
                yield (fold_identifier(name) if name is not None else ""), inner
                continue
            chosen = fold_identifier(each.args["table"]) if isinstance(each, exp.Column) else None
            left_out = {fold_identifier(name) for name in star.args.get("except_") or ()}
            for alias, item in items.items():
                for name in (item.columns or ()) if chosen in (None, alias) else ():
                    if name not in left_out:
                        table = exp.to_identifier(alias, quoted=True)
                        yield name, exp.Column(this=exp.to_identifier(name, quoted=True), table=table)

    def _items(self, query: exp.Select, around: Mapping[str, _Cte]) -> dict[str, _Item]:
        from_ = query.args.get("from_")
        nodes = [from_.this] if from_ is not None else []
        nodes += [join.this for join in query.args.get("joins") or []]
        nodes += query.args.get("laterals") or []
        return dict(self._item(node, around, number) for number, node in enumerate(nodes))

    def _item(self, node: exp.Expr, around: Mapping[str, _Cte], number: int) -> tuple[str, _Item]:
        alias = node.args.get("alias")
        given = alias.this if isinstance(alias, exp.TableAlias) else None
        name = fold_identifier(given) if given is not None else f"#{number}"
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            own = fold_identifier(node.this)
            cte = around.get(own) if node.args.get("db") is None else None
            name = name if given is not None else own
            if cte is not None:
                columns = [column for column, _ in self.outputs(cte.query, cte.around)]
                return name, _Item(query=cte.query, around=cte.around, columns=columns)
            return name, _Item(table=node, columns=self._columns_of(node))
        if isinstance(node, exp.Subquery):
            return name, _Item(
                query=node.this, around=around, columns=[column for column, _ in self.outputs(node.this, around)]
            )
        return name, _Item(columns=())

    def _without_aliases(self, node: exp.Expr, outputs: Mapping[str, exp.Expr], items: Mapping[str, _Item]) -> exp.Expr:
        """A clause may name an output where no item has a column of that name."""

        def known(name: str) -> bool:
            return any(item.columns is None or name in item.columns for item in items.values())

        named = {name: value for name, value in outputs.items() if not known(name)}
        return _replaced(node, named)


def _opened(query: exp.Expr, around: Mapping[str, _Cte]) -> tuple[exp.Expr, Mapping[str, _Cte]]:
    """Without parentheses, and with the CTEs in front of it."""
    inside = dict(around)
    while True:
        with_ = query.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            inside[fold_identifier(cte.args["alias"].this)] = _Cte(cte.this, dict(inside))
        if not isinstance(query, exp.Subquery):
            return query, inside
        query = query.this


def _filters(query: exp.Select) -> Iterator[exp.Expr]:
    """What rows must satisfy, one by one: WHERE, and ON where the other side does not keep rows without it."""
    where = query.args.get("where")
    if where is not None:
        yield from _parts(where.this)
    for join in query.args.get("joins") or []:
        if not join.args.get("side") and join.args.get("on") is not None:
            # What compares both sides only says that there is a partner.
            yield from (
                part for part in _parts(join.args["on"]) if len({c.table for c in part.find_all(exp.Column)}) < 2
            )


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _parts(condition.this)
        yield from _parts(condition.expression)
    elif isinstance(condition, exp.Paren):
        yield from _parts(condition.this)
    else:
        yield condition


def _replaced(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """The expression with columns without a table replaced."""

    def replace(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and part.args.get("table") is None and isinstance(part.this, exp.Identifier):
            found = values.get(fold_identifier(part.this))
            if found is not None:
                plain = isinstance(found, exp.Column | exp.Literal | exp.Func)
                return found.copy() if plain else exp.Paren(this=found.copy())
        return part

    return node.copy().transform(replace)


def _unqualified(node: exp.Expr) -> exp.Expr:
    copied = node.copy()
    for column in copied.find_all(exp.Column):
        column.set("table", None)
    return copied


def _is_collective(node: exp.Expr) -> bool:
    """Whether the value is of several rows."""
    if node.find(exp.AggFunc, exp.Window) is not None:
        return True
    called = (FUNCTIONS.get(call.name.upper()) for call in node.find_all(exp.Anonymous))
    return any(function is not None and function.kind is FunctionKind.AGGREGATE for function in called)
