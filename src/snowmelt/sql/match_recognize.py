"""MATCH_RECOGNIZE: rows in order, of which some follow each other as a pattern says.

It becomes four queries, one in the other, so that engines and incremental rules need nothing of their own for it:

1. the rows of the source, each with its number in the partition and with marks that say which conditions of DEFINE it
   meets. Those look at neighbours by windows;
2. of each partition its rows as one array;
3. the rows of its matches, which `core/portable/row_matches.py` finds by the marks alone;
4. MEASURES: aggregates over the rows of a match (ONE ROW PER MATCH), or windows over them (ALL ROWS PER MATCH).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.portable_functions import PREFIX
from snowmelt.sql.binders import BindsQueries
from snowmelt.sql.bound import BoundQuery, CommonTable, OutputColumn, Scope, fold_identifier
from snowmelt.sql.building import fail
from snowmelt.sql.dialect import as_written, call, identifier, spark, string
from snowmelt.sql.match_measures import MATCH, NEIGHBOURS, SEQUENCE, SYMBOL, Measures, column, is_aggregate, over
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import sorted_list, typed
from snowmelt.sql.row_keys import key_of
from snowmelt.sql.row_patterns import RowPattern, compile_pattern

_NUMBER, _MARKS, _HIDDEN, _PARTITION = "__N", "__D", "__X", "__P"
_MATCHES = "__matches"
_FOUND = "array<struct<i:int,m:bigint,s:bigint,c:string,x:boolean>>"
_OF_MATCHES = frozenset({"FIRST", "LAST", "CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER"})
_SEES = "A condition sees its row, and others by LAG, LEAD or a window: FIRST_VALUE(x) OVER ()."
_WHOLE = "Write OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)."
_ONE_ROW, _UNMATCHED, _OMIT = "ONE ROW PER MATCH", "WITH UNMATCHED ROWS", "OMIT EMPTY MATCHES"


def bind_matches(queries: BindsQueries, scope: Scope, node: exp.Expr) -> tuple[BoundQuery, exp.Expr]:
    """The rows of an item of FROM with the clause, and the clause. `scope` is what a subquery there sees."""
    source, written = node.copy(), node.args["match"]
    source.set("match", None)
    source.set("joins", None)
    if not isinstance(source.this, exp.Query):
        only(source, "this")
        source = source.this
    clause = _clause_of(written, source)
    rows = queries.bind(clause.marked(source), scope)
    matches = clause.matches(rows)
    tables = {_MATCHES: CommonTable(_MATCHES, matches)}
    bound = queries.bind(clause.measured(matches.columns), Scope(parent=scope, ctes=tables))
    for table in [table for table in bound.tree.find_all(exp.Table) if table.name == _MATCHES]:
        table.replace(exp.Subquery(this=matches.tree, alias=table.args["alias"]))
    return bound, written


@dataclass(frozen=True, slots=True)
class _Clause:
    partition: tuple[exp.Expr, ...]
    order: exp.Order
    measures: tuple[exp.MatchRecognizeMeasure, ...]
    conditions: dict[str, exp.Expr]
    pattern: RowPattern
    rows: str
    skip: tuple[str, int | None]
    source: str | None
    """What the source is called."""

    @property
    def one_row(self) -> bool:
        return self.rows == _ONE_ROW

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"{_PARTITION}{index}" for index in range(len(self.partition)))

    # -- 1: the rows with their marks -------------------------------------------------------------------------------

    def marked(self, source: exp.Expr) -> exp.Select:
        tests = [self._condition(name, test, windowed=False) for name, test in self.conditions.items()]
        marks = [string("."), *map(_digit, tests)]
        number = over(exp.Anonymous(this="ROW_NUMBER", expressions=[]), self.partition, self.order)
        added: dict[str, exp.Expr] = {_NUMBER: number, _MARKS: exp.Anonymous(this="CONCAT", expressions=marks)}
        added |= {key: part.copy() for key, part in zip(self.keys, self.partition, strict=True)}
        items = [exp.alias_(value, exp.to_identifier(name, quoted=True)) for name, value in added.items()]
        return exp.select(exp.Star(), *items).from_(source)

    def _condition(self, symbol: str, node: exp.Expr, *, windowed: bool) -> exp.Expr:
        """A condition of DEFINE over the rows of the partition, as a plain expression with windows."""
        if isinstance(node, exp.Query):
            return node.copy()
        if isinstance(node, exp.Column):
            return self._own_column(symbol, node)
        if isinstance(node, exp.Window):
            if node.args.get("partition_by") or node.args.get("order"):
                raise errors.unsupported(
                    "PARTITION BY or ORDER BY of a window in DEFINE",
                    hint="Leave them out: those of MATCH_RECOGNIZE hold.",
                )
            if is_aggregate(node.this) and not isinstance(node.args.get("spec"), exp.WindowSpec):
                raise errors.unsupported(f"{node.this.name.upper()} in DEFINE without OVER and a frame", hint=_WHOLE)
            inner = self._condition(symbol, node.this, windowed=True)
            return over(inner, self.partition, self.order, node.args.get("spec"))
        call: exp.Expr = node
        while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
            call = call.this
        name = call.name.upper() if isinstance(call, exp.Anonymous) else ""
        if name in _OF_MATCHES:
            raise errors.unsupported(f"{name} in DEFINE", hint=_SEES)
        if is_aggregate(call) and not windowed:
            raise errors.unsupported(f"{name} in DEFINE without OVER and a frame", hint=_WHOLE)
        made = node.copy()
        if name in NEIGHBOURS and call is node:
            made.set("this", NEIGHBOURS[name])
        for child in list(made.iter_expressions()):
            # A modifier stands between the call and its window.
            child.replace(self._condition(symbol, child, windowed=call is not node))
        return over(made, self.partition, self.order) if name in NEIGHBOURS and not windowed else made

    def _own_column(self, symbol: str, node: exp.Column) -> exp.Expr:
        name = fold_identifier(node.args["table"]) if node.table and not node.args.get("db") else None
        if name == symbol:
            return exp.column(node.this.copy())
        if name in self.pattern.symbols:
            raise errors.unsupported(f"a column of {name} in the condition of {symbol}", hint=_SEES)
        return node.copy()

    # -- 2 and 3: the partitions, and the rows of the matches in them -----------------------------------------------

    def matches(self, rows: BoundQuery) -> BoundQuery:
        """All columns of the source, those of the partition, and what is known of a row of a match."""
        given = rows.columns[: len(rows.columns) - len(self.keys) - 2]
        number, marks, *keys = rows.columns[len(given) :]
        kept = [*given, *keys]
        entry = [part for index, c in enumerate(kept) for part in (string(f"c{index}"), _of("__r", c.key))]
        entry += [string("n"), _of("__r", number.key), string("d"), _of("__r", marks.key)]
        ordered = spark(
            "array_sort(_0, (sm_l, sm_r) -> CASE WHEN sm_l.n < sm_r.n THEN -1 ELSE 1 END)",
            sorted_list(call("collect_list", call("named_struct", *entry))),
        )
        grouped = {f"k{index}": key_of(_of("__r", key.key), key.type) for index, key in enumerate(keys)}
        items = [exp.alias_(key, identifier(name)) for name, key in grouped.items()]
        partitions = exp.select(*items, exp.alias_(ordered, identifier("r"))).from_(_named(rows.tree, "__r"))
        if keys:
            partitions.set("group", exp.Group(expressions=[key.copy() for key in grouped.values()]))
        found = spark("array_join(transform(_0, sm_r -> sm_r.d), '')", _of("__p", "r"))
        found = call(f"{PREFIX}match_rows", found, string(self._specification()))
        items = [exp.alias_(_of("__p", name), identifier(name)) for name in (*grouped, "r")]
        searched = exp.select(*items, exp.alias_(found, identifier("f"))).from_(_named(partitions, "__p"))
        return self._unfolded(searched, kept, len(keys))

    def _unfolded(self, searched: exp.Select, kept: list[OutputColumn], keys: int) -> BoundQuery:
        error = fail("100037", "22000", spark("substr(_0, 2)", _of("__f", "f")))
        rows = spark(f"from_json(if(startswith(_0, '!'), _1, _0), '{_FOUND}')", _of("__f", "f"), error)
        columns = [
            OutputColumn(MATCH, "m", types.INTEGER), OutputColumn(SEQUENCE, "s", types.INTEGER),
            OutputColumn(SYMBOL, "c", types.VARCHAR), OutputColumn(_HIDDEN, "x", types.BOOLEAN),
        ]  # fmt: skip
        fields = [part for c in columns for part in (string(c.key), spark(f"sm_f.{c.key}"))]
        for index in range(len(kept)):
            fields += [string(f"c{index}"), spark(f"get(_0, sm_f.i).c{index}", _of("__f", "r"))]
        columns += [OutputColumn(c.name, f"c{index}", c.type) for index, c in enumerate(kept)]
        unfolded = spark("inline(transform(_0, sm_f -> _1))", rows, call("named_struct", *fields))
        names = [typed(identifier(c.key), c.type) for c in columns]
        lateral = exp.Lateral(this=unfolded, alias=exp.TableAlias(this=identifier("__m"), columns=names))
        values = [_of("__m", c.key) for c in columns]
        for number, c in enumerate(columns[len(columns) - keys :]):
            # The keys of the partition as such: what is asked of one partition is then asked of its rows alone.
            if not c.type.has_key:
                values[len(columns) - keys + number] = _of("__f", f"k{number}")
        selected = [
            typed(exp.alias_(typed(value, c.type), identifier(c.key)), c.type)
            for value, c in zip(values, columns, strict=True)
        ]
        tree = exp.select(*selected).from_(_named(searched, "__f"))
        tree.set("joins", [exp.Join(this=lateral, kind="CROSS")])
        return BoundQuery(tree, tuple(columns))

    def _specification(self) -> str:
        return json.dumps({
            "width": len(self.conditions) + 1, "steps": self.pattern.steps, "symbols": self.pattern.symbols,
            "skip": self.skip, "empty": _OMIT not in self.rows, "unmatched": _UNMATCHED in self.rows,
        })  # fmt: skip

    # -- 4: what is shown of the matches ----------------------------------------------------------------------------

    def measured(self, columns: tuple[OutputColumn, ...]) -> exp.Select:
        given = [c.name for c in columns[4 : len(columns) - len(self.keys)]]
        measures = Measures(self.keys, frozenset(self.pattern.symbols), frozenset(given), self.source, self.one_row)
        items: list[exp.Expr] = (
            [
                exp.alias_(column(key), identifier(_name_of(part)))
                for key, part in zip(self.keys, self.partition, strict=True)
            ]
            if self.one_row
            else [column(name) for name in given]
        )
        for measure in self.measures:
            named = measure.this
            if not isinstance(named, exp.Alias):
                raise errors.compilation("001003", "42000", f"a measure has no name: {as_written(named)}")
            value = measures.value(named.this, final=measure.args.get("window_frame") == "FINAL")
            items.append(exp.alias_(value, named.args["alias"].copy()))
        if not items:
            raise errors.compilation("001003", "42000", "ONE ROW PER MATCH has neither PARTITION BY nor MEASURES.")
        query = exp.select(*items).from_(exp.Table(this=identifier(_MATCHES)))
        if self.one_row:
            query.set("group", exp.Group(expressions=[column(name) for name in (*self.keys, MATCH)]))
            return query
        if not self.pattern.hides:
            return query
        # What is left out counts in the windows, so it goes behind them.
        query.append("expressions", column(_HIDDEN))
        shown = exp.Star(except_=[exp.to_identifier(_HIDDEN, quoted=True)])
        outer = exp.select(shown).from_(exp.Subquery(this=query))
        return outer.where(exp.Is(this=column(_HIDDEN), expression=exp.null()))


def _clause_of(node: exp.MatchRecognize, source: exp.Expr) -> _Clause:
    order, conditions = node.args.get("order"), node.args.get("define") or []
    if order is None:
        raise errors.unsupported("MATCH_RECOGNIZE without ORDER BY", hint="Say which row comes first.")
    for part, word in ((node.args.get("pattern"), "PATTERN"), (conditions, "DEFINE")):
        if not part:
            raise errors.compilation("001003", "42000", f"MATCH_RECOGNIZE needs {word}.")
    tests: dict[str, exp.Expr] = {}
    for item in conditions:
        if not isinstance(item, exp.Alias):
            raise errors.compilation("001003", "42000", f"DEFINE needs a condition: {item.name} AS …")
        name = fold_identifier(item.args["alias"])
        if name in tests:
            raise errors.compilation("001003", "42000", f"DEFINE has two conditions of {name}.")
        tests[name] = item.this
    pattern = compile_pattern(node.args["pattern"].name, {name: number for number, name in enumerate(tests)})
    rows = node.args["rows"].name if node.args.get("rows") else _ONE_ROW
    return _Clause(
        partition=tuple(node.args.get("partition_by") or ()),
        order=order,
        measures=tuple(node.args.get("measures") or ()),
        conditions=tests,
        pattern=pattern,
        rows=rows,
        skip=_skip_of(node.args.get("after"), pattern),
        source=_name_of_source(source),
    )


def _skip_of(after: exp.Expr | None, pattern: RowPattern) -> tuple[str, int | None]:
    words = after.name.removeprefix("AFTER MATCH SKIP ").split(maxsplit=2) if after is not None else ["PAST"]
    if words[0] == "PAST":
        return "PAST", None
    if words[1:] == ["NEXT", "ROW"]:
        return "NEXT", None
    symbol = words[2].upper() if words[2].upper() in pattern.symbols else words[2]
    if symbol not in pattern.symbols:
        raise errors.compilation("001003", "42000", f"AFTER MATCH SKIP TO {symbol}: PATTERN has no such symbol.")
    return words[1], pattern.symbols.index(symbol)


def _name_of_source(source: exp.Expr) -> str | None:
    alias = source.args.get("alias")
    named = alias.this if isinstance(alias, exp.TableAlias) else source.this
    return fold_identifier(named) if isinstance(named, exp.Identifier) else None


def _digit(condition: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="IFF", expressions=[condition, string("1"), string("0")])


def _of(table: str, name: str) -> exp.Expr:
    return exp.column(identifier(name), table=identifier(table))


def _named(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(alias)))


def _name_of(part: exp.Expr) -> str:
    if isinstance(part, exp.Column) and isinstance(part.this, exp.Identifier):
        return fold_identifier(part.this)
    return as_written(part).upper()
