"""Queries of Spark's trees in DuckDB's words.

Every relation gets a name of our own and every column a number, so that no name of a user reaches DuckDB, where `a` and
`A` would be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from snowmelt.core.errors import words_of
from snowmelt.engine.quick.expressions import QuickExpressions
from snowmelt.engine.quick.lists import arguments_of
from snowmelt.engine.quick.scopes import DuckQuery, QuickRelation, QuickScope, QuickSource
from snowmelt.engine.quick.types import BIGINT, NotQuick
from snowmelt.engine.quick.values import Value, common
from snowmelt.engine.quick.windows import ordered

_READ = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_"}
"""Parts of a SELECT that are read here; `hint` only tells Spark how."""
_READ_OF_SETS = {"this", "expression", "distinct", "with_", "order", "limit", "offset"}
_MOST_GENERATED = 1_000_000
_GROUPS: dict[type[exp.Expr], str] = {
    exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS",
}  # fmt: skip
_SETS: dict[type[exp.Expr], str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


class QuickQueries:
    """`relations` are what the query's tables stand for."""

    def __init__(self, relations: Mapping[str, QuickRelation]) -> None:
        self._relations = relations
        self._ctes: dict[str, QuickRelation] = {}
        self._aliases = 0

    def query(self, node: exp.Expr) -> DuckQuery:
        return self.inner(node, None)

    def inner(self, node: exp.Expr, outer: QuickScope | None) -> DuckQuery:
        """The query with what it refers to outside."""
        if isinstance(node, exp.Subquery):
            if any(node.args.get(part) for part in ("order", "limit", "offset", "with_", "joins", "pivots")):
                raise NotQuick("a subquery with clauses of its own")
            return self.inner(node.this, outer)
        before = dict(self._ctes)
        try:
            with_ = self._with(node.args.get("with_"), outer)
            if isinstance(node, exp.Select):
                found = self._select(node, outer)
            elif type(node) in _SETS:
                found = self._set(node, outer)
            else:
                raise NotQuick(words_of(type(node)))
        finally:
            self._ctes = before
        return DuckQuery(with_ + found.sql, found.columns) if with_ else found

    def _with(self, node: exp.Expr | None, outer: QuickScope | None) -> str:
        if node is None:
            return ""
        if node.args.get("recursive"):
            raise NotQuick("a recursive query")
        parts = []
        for cte in node.expressions:
            if cte.args["alias"].args.get("columns"):
                raise NotQuick("names of columns in WITH")
            found = self.inner(cte.this, outer)
            name = self._alias()
            parts.append(f"{name} AS ({found.sql})")
            self._ctes[cte.alias] = QuickRelation(name, found.columns)
        return f"WITH {', '.join(parts)} "

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    # -- SELECT ---------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, outer: QuickScope | None) -> DuckQuery:
        _only(node, _READ | {"hint", "kind"})
        scope = QuickScope(outer)
        expressions = QuickExpressions(self, scope)
        source = self._from(node, scope, expressions)
        outputs = self._outputs(node, scope, expressions)
        if scope.reached_into and (expressions.aggregated or node.args.get("group") is not None):
            # Spark has no such subquery either: what works for few rows has to work for many.
            raise NotQuick("a correlated subquery beside an aggregate")
        parts = ["SELECT"]
        if node.args.get("distinct") is not None:
            _no_expressions(node.args["distinct"])
            _keys(value for _, value in outputs)
            parts.append("DISTINCT")
        parts.append(", ".join(f"{value.sql} AS c{index}" for index, (_, value) in enumerate(outputs)))
        parts.append(source)
        if node.args.get("where") is not None:
            with expressions.in_where():
                parts.append("WHERE " + expressions.condition(node.args["where"].this))
        parts.append(self._group(node.args.get("group"), expressions))
        parts.append(self._having(node, expressions))
        parts.append(self._ending(node, outputs, expressions))
        if expressions.reaches_out and any(node.args.get(part) for part in ("limit", "offset", "order")):
            raise NotQuick("a correlated subquery with an order or a limit")
        columns = tuple((name, value.type) for name, value in outputs)
        return DuckQuery(" ".join(part for part in parts if part), columns)

    def _outputs(self, node: exp.Select, scope: QuickScope, expressions: QuickExpressions) -> list[tuple[str, Value]]:
        found: list[tuple[str, Value]] = []
        for item in node.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                if any(star.args.get(part) for part in ("except_", "replace", "rename")):
                    raise NotQuick("* with exceptions")
                for source in scope.starred(item):
                    for reason in source.refused.values():
                        raise NotQuick(reason)
                    found += source.values()
            elif isinstance(item, exp.Alias):
                found.append((item.alias, expressions.value(item.this)))
            elif isinstance(item, exp.Subquery) and item.alias:
                found.append((item.alias, expressions.value(item)))
            elif isinstance(item, exp.Column):
                found.append((item.name, expressions.value(item)))
            else:
                found.append((_spark_name(item), expressions.value(item)))
        return found

    def _group(self, node: exp.Expr | None, expressions: QuickExpressions) -> str:
        if node is None:
            return ""
        if any(node.args.get(part) for part in ("grouping_sets", "cube", "rollup", "totals", "all")):
            raise NotQuick("grouping sets")
        keys = [self._group_key(key, expressions) for key in node.expressions]
        return "GROUP BY " + ", ".join(keys) if keys else ""

    def _having(self, node: exp.Select, expressions: QuickExpressions) -> str:
        group, having = node.args.get("group"), node.args.get("having")
        conditions = [] if having is None else [f"({expressions.condition(having.this)})"]
        if group is not None and any(type(key) in _GROUPS for key in group.expressions):
            # Of no rows DuckDB makes a total all the same; Spark has no group then.
            conditions.insert(0, "count(*) > 0")
        return "HAVING " + " AND ".join(conditions) if conditions else ""

    def _group_key(self, node: exp.Expr, expressions: QuickExpressions) -> str:
        """A key, or several that are grouped by in turns."""
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
            inner = ", ".join(self._group_key(key, expressions) for key in node.expressions)
            return f"{_GROUPS[type(node)]} ({inner})"
        if isinstance(node, exp.Tuple):
            return f"({', '.join(self._group_key(key, expressions) for key in node.expressions)})"
        key = expressions.value(node)
        _keys([key])
        return key.sql

    def _ending(
        self, node: exp.Expr, outputs: Sequence[tuple[str, Value]], expressions: QuickExpressions | None
    ) -> str:
        parts = []
        order = node.args.get("order")
        if order is not None:
            indexes = {name: index for index, (name, _) in enumerate(outputs)}
            items = []
            for item in order.expressions:
                key = item.this
                if isinstance(key, exp.Column) and not key.table and key.name in indexes:
                    index = indexes[key.name]
                    value = Value(f"c{index}", outputs[index][1].type)
                    items.append(ordered(item, value))
                elif expressions is not None:
                    items.append(ordered(item, expressions.value(item.this)))
                else:
                    raise NotQuick("an order by what is no column")
            parts.append("ORDER BY " + ", ".join(items))
        for word in ("limit", "offset"):
            part = node.args.get(word)
            if part is not None:
                number = part.expression
                text = number.name.removesuffix("L") if isinstance(number, exp.Literal | exp.Var) else ""
                if not text.isdigit() or part.args.get("offset") is not None or part.expressions:
                    raise NotQuick(f"{word} that is no number")
                parts.append(f"{word.upper()} {text}")
        return " ".join(parts)

    # -- FROM -----------------------------------------------------------------------------------------------------

    def _from(self, node: exp.Select, scope: QuickScope, expressions: QuickExpressions) -> str:
        if node.args.get("from_") is None:
            return ""
        parts = ["FROM " + self._source(node.args["from_"].this, scope)]
        parts += [self._join(join, scope, expressions) for join in node.args.get("joins") or []]
        return " ".join(parts)

    def _join(self, join: exp.Join, scope: QuickScope, expressions: QuickExpressions) -> str:
        _only(join, {"this", "on", "side", "kind", "hint"})
        side, kind = (str(join.args.get(part) or "").upper() for part in ("side", "kind"))
        if kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI") or side not in ("", "LEFT", "RIGHT", "FULL"):
            raise NotQuick(f"a {side} {kind} JOIN")
        known = set(scope.sources)
        if isinstance(join.this, exp.Lateral):
            if side or kind not in ("", "INNER", "CROSS") or join.args.get("on") is not None:
                raise NotQuick("a lateral join of this kind")
            return "CROSS JOIN LATERAL " + self._unfolded(join.this, scope, expressions)
        text = self._source(join.this, scope)
        on = join.args.get("on")
        semi = kind in ("SEMI", "ANTI")
        if on is None:
            if side or semi:
                raise NotQuick("an outer join without a condition")
            return f"CROSS JOIN {text}"
        with expressions.in_join():
            condition = expressions.condition(on)
        if semi:
            for name in set(scope.sources) - known:
                del scope.sources[name]
        words = kind if semi else side or "INNER"
        return f"{words} JOIN {text} ON {condition}"

    def _unfolded(self, node: exp.Lateral, scope: QuickScope, expressions: QuickExpressions) -> str:
        """`inline(array)`: a row for each of its structs."""
        call, alias_node = node.this, node.args.get("alias")
        rows = arguments_of(call, "inline")
        if not rows or alias_node is None or alias_node.name in scope.sources:
            raise NotQuick("Lateral in FROM")
        array = expressions.value(rows[0])
        fields = list(array.type.element.parts) if array.type.name == "array" else []
        names = [column.name for column in alias_node.args.get("columns") or []]
        if not fields or len(fields) != len(names):
            raise NotQuick("Lateral in FROM")
        values = ", ".join(f"struct_extract(e, '{name}') AS c{index}" for index, (name, _) in enumerate(fields))
        columns = {new: (f"c{index}", type_) for index, (new, (_, type_)) in enumerate(zip(names, fields, strict=True))}
        alias = self._alias()
        scope.sources[alias_node.name] = QuickSource(alias, columns, {})
        return f"(SELECT {values} FROM (SELECT unnest({array.sql}) AS e)) AS {alias}"

    def _source(self, node: exp.Expr, scope: QuickScope) -> str:
        name = node.alias or (node.name if isinstance(node, exp.Table) else "") or f"({len(scope.sources)})"
        if name in scope.sources:
            raise NotQuick("a relation without a name of its own")
        alias_node = node.args.get("alias")
        renamed = [column.name for column in (alias_node.args.get("columns") or [])] if alias_node is not None else []
        found = self._relation(node, scope)
        columns = found.columns
        if renamed:
            if found.refused or len(renamed) != len(columns):
                raise NotQuick("other names for columns")
            columns = tuple((new, type_) for new, (_, type_) in zip(renamed, columns, strict=True))
        alias = self._alias()
        named = {name: (f"c{index}", type_) for index, (name, type_) in enumerate(columns)}
        if len(named) != len(columns):
            raise NotQuick("two columns of one name")
        scope.sources[name] = QuickSource(alias, named, found.refused)
        return f"{found.sql} AS {alias}"

    def _relation(self, node: exp.Expr, scope: QuickScope) -> QuickRelation:
        if isinstance(node, exp.Subquery):
            if any(node.args.get(part) for part in ("order", "limit", "offset", "with_", "joins", "pivots", "sample")):
                raise NotQuick("a subquery with clauses of its own")
            inner = self.inner(node.this, scope.outer)
            return QuickRelation(f"({inner.sql})", inner.columns)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            return self._generated(node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            _only(node, {"this", "alias"})
            if node.name in self._ctes:
                return self._ctes[node.name]
            found = self._relations.get(node.name)
            if found is not None:
                return found
            raise NotQuick(f"relation {node.name}")
        if isinstance(node, exp.Values):
            return self._values(node)
        raise NotQuick(f"{words_of(type(node))} in FROM")

    def _values(self, node: exp.Values) -> QuickRelation:
        """Rows that are written in the query; their names come from the alias."""
        expressions = QuickExpressions(self, QuickScope())
        rows = [[expressions.value(cell) for cell in row.expressions] for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            raise NotQuick("VALUES of different lengths")
        kinds = [common((value.type for value in column), "VALUES") for column in zip(*rows, strict=True)]
        texts = [", ".join(f"CAST({v.sql} AS {k.duck})" for v, k in zip(row, kinds, strict=True)) for row in rows]
        names = ", ".join(f"c{index}" for index in range(len(kinds)))
        sql = f"(SELECT * FROM (VALUES {', '.join(f'({text})' for text in texts)}) AS v({names}))"
        return QuickRelation(sql, tuple((f"col{index + 1}", kind) for index, kind in enumerate(kinds)))

    def _generated(self, node: exp.Table) -> QuickRelation:
        """`range(n)`: the numbers from 0."""
        arguments = node.this.expressions
        count = QuickExpressions(self, QuickScope()).value(arguments[0]).number if len(arguments) == 1 else None
        if node.this.name.lower() != "range" or count is None or not 0 <= count <= _MOST_GENERATED:
            raise NotQuick(f"function {node.this.name} in FROM")
        return QuickRelation(f"(SELECT range AS c0 FROM range({count}))", (("id", BIGINT),))

    # -- UNION, EXCEPT, INTERSECT ---------------------------------------------------------------------------------

    def _set(self, node: exp.Expr, outer: QuickScope | None) -> DuckQuery:
        _only(node, _READ_OF_SETS)
        left, right = (self.inner(node.args[side], outer) for side in ("this", "expression"))
        if len(left.columns) != len(right.columns):
            raise NotQuick("sides with different columns")
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple((name, common((one, other), "UNION")) for (name, one), (_, other) in pairs)
        targets = [type_ for _, type_ in columns]
        word = _SETS[type(node)]
        if node.args.get("distinct"):
            _keys(Value("", type_) for type_ in targets)
        else:
            word += " ALL"
            if not isinstance(node, exp.Union):
                _keys(Value("", type_) for type_ in targets)
        sql = f"({left.cast_to(targets)}) {word} ({right.cast_to(targets)})"
        ending = self._ending(node, [(name, Value("", type_)) for name, type_ in columns], None)
        return DuckQuery(f"SELECT * FROM ({sql}) {ending}" if ending else sql, columns)


def _spark_name(item: exp.Expr) -> str:
    """The name that Spark gives an item without one."""
    if arguments_of(item, "count") in ([exp.Literal.number(1)], [exp.Star()]):
        return "count(1)"
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
        return str(item.name)
    raise NotQuick("an item without a name")


def _only(node: exp.Expr, parts: set[str]) -> None:
    """Refuses a node with a part that is not read here."""
    for name, value in node.args.items():
        if name not in parts and value not in (None, False) and value != []:
            raise NotQuick(f"{words_of(type(node))} with {name}")


def _no_expressions(node: exp.Expr) -> None:
    if isinstance(node, exp.Distinct) and node.args.get("on") is not None:
        raise NotQuick("DISTINCT ON")


def _keys(values: Iterable[Value]) -> None:
    for value in values:
        if not value.type.can_be_key:
            raise NotQuick(f"a key of type {value.type.duck}")
