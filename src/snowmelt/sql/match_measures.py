"""MEASURES of MATCH_RECOGNIZE, written as plain SQL over the rows of the matches.

ONE ROW PER MATCH makes aggregates of them. ALL ROWS PER MATCH makes windows over the rows of the match: up to this row
(RUNNING, which is what they do if nothing is said), or all of them (FINAL).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import FunctionKind

MATCH, SEQUENCE, SYMBOL = "__M", "__S", "__C"
"""Columns of the rows of matches: the match, the row's number in it from 1, and the row's symbol. A match without rows
has one row here, without the last two."""
NEIGHBOURS = {"PREV": "LAG", "NEXT": "LEAD", "LAG": "LAG", "LEAD": "LEAD"}
_EDGES = {"FIRST": "MIN_BY", "FIRST_VALUE": "MIN_BY", "LAST": "MAX_BY", "LAST_VALUE": "MAX_BY"}
_MARKS = {"MATCH_NUMBER": MATCH, "MATCH_SEQUENCE_NUMBER": SEQUENCE, "CLASSIFIER": SYMBOL}
_MODIFIERS = exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup


def column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def over(
    value: exp.Expr, partition: Sequence[exp.Expr], order: exp.Order, frame: exp.WindowSpec | None = None
) -> exp.Window:
    return exp.Window(
        this=value, partition_by=[part.copy() for part in partition], order=order.copy(), spec=frame, over="OVER"
    )


def is_aggregate(call: exp.Expr) -> bool:
    known = FUNCTIONS.get(call.name.upper()) if isinstance(call, exp.Anonymous) else None
    return known is not None and known.kind is FunctionKind.AGGREGATE


@dataclass(frozen=True, slots=True)
class Measures:
    partition: tuple[str, ...]
    symbols: frozenset[str]
    columns: frozenset[str]
    """Of the source. A name that is one of them is no CLASSIFIER."""
    source: str | None
    """What the source is called: its columns may be called so, too."""
    one_row: bool

    def value(self, measure: exp.Expr, *, final: bool) -> exp.Expr:
        """A measure without its alias, as an expression over the rows of matches."""
        return self._visited(measure, final)

    def _visited(self, node: exp.Expr, final: bool) -> exp.Expr:
        call = node
        while isinstance(call, _MODIFIERS):
            call = call.this
        if isinstance(node, exp.Query):
            raise errors.unsupported("a query in MEASURES", hint="Put it into the query around MATCH_RECOGNIZE.")
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.Column):
            return self._column(node, final)
        if isinstance(call, exp.Anonymous):
            name = call.name.upper()
            if name in _MARKS and not call.expressions:
                return self._mark(name)
            if name in _EDGES:
                return self._edge(node, call, final)
            if name in NEIGHBOURS:
                return self._neighbour(node, call)
            if is_aggregate(call):
                return self._aggregated(node, call, final)
        made = node.copy()
        for child in list(made.iter_expressions()):
            child.replace(self._visited(child, final))
        return made

    def _mark(self, name: str) -> exp.Expr:
        if not self.one_row or name == "MATCH_NUMBER":
            return column(_MARKS[name])
        return _call("MAX_BY", column(_MARKS[name]), column(SEQUENCE))

    def _column(self, node: exp.Column, final: bool) -> exp.Expr:
        """A column by itself is that of the last row so far."""
        if isinstance(node.this, exp.Star):
            raise errors.unsupported("* in MEASURES", hint="Name the columns.")
        if not node.table and fold_identifier(node.this) == "CLASSIFIER" and "CLASSIFIER" not in self.columns:
            return self._mark("CLASSIFIER")
        plain, condition = self._of_symbol([node])
        if not (self.one_row or final or self._symbols_in(node)):
            return _call("IFF", condition, plain[0], exp.null())
        return self._extreme("MAX_BY", plain[0], condition, final)

    def _edge(self, node: exp.Expr, call: exp.Anonymous, final: bool) -> exp.Expr:
        name = call.name.upper()
        if node is not call or len(call.expressions) != 1:
            raise errors.unsupported(f"{name} with an offset or IGNORE NULLS in MEASURES", hint="Write it without.")
        plain, condition = self._of_symbol(call.expressions)
        return self._extreme(_EDGES[name], plain[0], condition, final)

    def _extreme(self, name: str, value: exp.Expr, condition: exp.Expr, final: bool) -> exp.Expr:
        key = _call("IFF", condition, column(SEQUENCE), exp.null())
        return self._over_match(_call(name, value, key), final)

    def _neighbour(self, node: exp.Expr, call: exp.Anonymous) -> exp.Expr:
        name = call.name.upper()
        if self.one_row:
            raise errors.unsupported(f"{name} in MEASURES with ONE ROW PER MATCH", hint="Use FIRST or LAST.")
        plain, condition = self._of_symbol(call.expressions)
        if self._symbols_in(call):
            raise errors.unsupported(f"{name} of a symbol's column", hint="Use FIRST or LAST.")
        made = node.copy()
        renamed = _call(NEIGHBOURS[name], *plain)
        (made.find(exp.Anonymous) or made).replace(renamed)
        made = renamed if node is call else made
        return _call("IFF", condition, over(made, self._keys(), _ORDER), exp.null())

    def _aggregated(self, node: exp.Expr, call: exp.Anonymous, final: bool) -> exp.Expr:
        distinct = call.expressions and isinstance(call.expressions[0], exp.Distinct)
        given = call.expressions[0].expressions if distinct else call.expressions
        plain, condition = self._of_symbol(given)
        if call.name.upper() == "COUNT" and any(item.find(exp.Star) for item in given):
            if any(item.is_star and not isinstance(item, exp.Star) for item in plain):
                raise errors.unsupported(f"{given[0].sql(dialect='snowflake')} in MEASURES", hint="Name a symbol.")
            plain = [exp.Literal.number(1)]
        values = [
            _call("IFF", condition.copy(), value, exp.null()) if not index or value.find(exp.Column) else value
            for index, value in enumerate(plain)
        ]
        made = _call(call.name, *([exp.Distinct(expressions=values)] if distinct else values))
        if node is call:
            return self._over_match(made, final)
        whole = node.copy()
        inner = whole
        while isinstance(inner.this, _MODIFIERS):
            inner = inner.this
        inner.set("this", made)
        for order in whole.find_all(exp.Order):
            order.set("expressions", [self._plain(item) for item in order.expressions])
        return self._over_match(whole, final)

    def _window(self, node: exp.Window) -> exp.Expr:
        """OVER (…) with a frame of its own, over the rows of the match."""
        if self.one_row or node.args.get("partition_by") or node.args.get("order"):
            raise errors.unsupported("this OVER (…) in MEASURES", hint="It may have a frame, with ALL ROWS PER MATCH.")
        made = over(self._plain(node.this), self._keys(), _ORDER)
        made.set("spec", node.args.get("spec"))
        return _call("IFF", _in_match(), made, exp.null())

    # -- the rows that a measure is over ----------------------------------------------------------------------------

    def _over_match(self, aggregate: exp.Expr, final: bool) -> exp.Expr:
        if self.one_row:
            return aggregate
        end = {"end": "UNBOUNDED", "end_side": "FOLLOWING"} if final else {"end": "CURRENT ROW"}
        frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", **end)
        return over(aggregate, self._keys(), _ORDER, frame)

    def _keys(self) -> list[exp.Expr]:
        return [column(name) for name in (*self.partition, MATCH)]

    def _of_symbol(self, values: Sequence[exp.Expr]) -> tuple[list[exp.Expr], exp.Expr]:
        """The values over columns alone, and the condition for the rows that they are of."""
        found = {symbol for value in values for symbol in self._symbols_in(value)}
        if len(found) > 1:
            raise errors.unsupported(f"columns of {' and '.join(sorted(found))} in one call", hint="Use two measures.")
        plain = [self._plain(value) for value in values]
        if not found:
            return plain, _in_match()
        return plain, exp.EQ(this=column(SYMBOL), expression=exp.Literal.string(found.pop()))

    def _symbols_in(self, value: exp.Expr) -> set[str]:
        named = [item.args["table"] for item in value.find_all(exp.Column) if item.table and not item.args.get("db")]
        return {fold_identifier(name) for name in named} & self.symbols

    def _plain(self, value: exp.Expr) -> exp.Expr:
        """Without symbols, and with the columns that the names of marks stand for."""

        def visit(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and node.table and not node.args.get("db"):
                name = fold_identifier(node.args["table"])
                if name in self.symbols or (name == self.source and not isinstance(node.this, exp.Star)):
                    return exp.Star() if isinstance(node.this, exp.Star) else exp.column(node.this.copy())
            if isinstance(node, exp.Anonymous) and node.name.upper() in _MARKS and not node.expressions:
                return column(_MARKS[node.name.upper()])
            return node

        return value.copy().transform(visit)


_ORDER = exp.Order(expressions=[exp.Ordered(this=column(SEQUENCE), desc=False, nulls_first=False)])


def _in_match() -> exp.Expr:
    return exp.Not(this=exp.Is(this=column(SEQUENCE), expression=exp.null()))


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])
