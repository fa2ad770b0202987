"""Random nested Snowflake SQL whose result depends on nothing but the rows.

Sums of FLOAT and the like (`exact` is false) are selected but never compared: two right answers may differ in their
last bits. Where the place of a row among its equals counts, all columns decide.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.ivm.duck import Columns
from tests.ivm.randomcalls import Item, Output, RandomCalls, Scope, Source
from tests.ivm.randomdata import code_of

_LITERALS = {
    "I": ("0", "1", "2", "-1"),
    "S": ("'a'", "'b'", "''"),
    "D": ("'2025-12-31'::DATE", "'2026-01-01'::DATE", "'2026-01-02'::DATE"),
    "B": ("TRUE", "FALSE"),
    "N": ("1.50::NUMBER(10,2)", "0::NUMBER(10,2)"),
    "F": ("0.1::FLOAT", "1::FLOAT"),
}
_COMPARISONS = ("=", "=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Query:
    sql: str
    columns: tuple[Output, ...]


class Generator:
    """One random query. `clock` says whether it may ask for the time."""

    def __init__(self, rnd: random.Random, tables: Mapping[str, Columns], *, clock: bool = False) -> None:
        self.rnd = rnd
        self._numbers = 0
        self._clock = clock
        self._tables = {
            name: tuple(Output(column, code_of(type_)) for column, type_ in columns) for name, columns in tables.items()
        }
        self._ctes: dict[str, tuple[Output, ...]] = {}

    def query(self, depth: int) -> str:
        ctes = []
        for _ in range(self.rnd.choice((0, 0, 1, 2)) if depth > 1 else 0):
            found = self.block(depth - 1)
            name = self._name("X")
            ctes.append(f"{name} AS ({found.sql})")
            self._ctes[name] = found.columns
        body = self.block(depth).sql
        return f"WITH {', '.join(ctes)} {body}" if ctes else body

    def _name(self, letter: str) -> str:
        self._numbers += 1
        return f"{letter}{self._numbers}"

    def _chance(self, share: float) -> bool:
        return self.rnd.random() < share

    # -- queries --------------------------------------------------------------------------------------------------

    def block(self, depth: int, wanted: Sequence[str] | None = None) -> Query:
        kinds = ["plain", "plain", "group", "group", "window", "top"]
        if depth > 1:
            kinds += ["set", "set", "scalar"]
        kind = self.rnd.choice(kinds)
        if kind == "set":
            return self._set(depth, wanted)
        if kind == "top":
            return self._top(depth, wanted)
        sources, scope = self._from(depth)
        where = self._where(scope, depth)
        if kind in ("group", "scalar"):
            return self._grouped(sources, scope, where, depth, wanted, keys=kind == "group")
        if kind == "window":
            return self._windowed(sources, scope, where, wanted)
        return self._plain(sources, scope, where, depth, wanted)

    def _select(self, items: Sequence[Item], rest: str, *, distinct: bool = False) -> Query:
        outputs = tuple(Output(self._name("C"), code, exact) for _, code, exact in items)
        distinct = distinct and all(output.exact for output in outputs)
        texts = [f"{text} AS {output.name}" for (text, _, _), output in zip(items, outputs, strict=True)]
        return Query(f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(texts)} {rest}", outputs)

    def _codes(self, wanted: Sequence[str] | None, scope: Scope, most: int = 4) -> list[str]:
        if wanted is not None:
            return list(wanted)
        there = [column.code for _, column in scope.columns(inexact=True)] or ["I"]
        return [self.rnd.choice(there) for _ in range(self.rnd.randint(1, most))]

    def _plain(self, sources: str, scope: Scope, where: str, depth: int, wanted: Sequence[str] | None) -> Query:
        items = []
        for code in self._codes(wanted, scope):
            if depth > 1 and code == "I" and self._chance(0.12):
                items.append((self._scalar_subquery(scope, depth), "I", True))
            elif depth > 1 and code == "B" and self._chance(0.3):
                items.append((f"({self._by_query(scope, depth)})", "B", True))
            else:
                items.append(self._item(scope, code))
        if depth > 1 and wanted is None and self._chance(0.15):
            items.append((f"({self._by_query(scope, depth)})", "B", True))
        return self._select(items, f"FROM {sources}{where}", distinct=self._chance(0.2))

    def _set(self, depth: int, wanted: Sequence[str] | None) -> Query:
        left = self.block(depth - 1, wanted)
        right = self.block(depth - 1, [column.code for column in left.columns])
        exact = all(column.exact for column in (*left.columns, *right.columns))
        word = self.rnd.choice(("UNION", "INTERSECT", "EXCEPT", "UNION ALL", "MINUS") if exact else ("UNION ALL",))
        columns = tuple(
            Output(own.name, own.code, own.exact and other.exact)
            for own, other in zip(left.columns, right.columns, strict=True)
        )
        return Query(f"({left.sql}) {word} ({right.sql})", columns)

    def _top(self, depth: int, wanted: Sequence[str] | None) -> Query:
        """The first rows of some order in which all columns count."""
        found = self.block(depth - 1, wanted) if depth > 1 else self._table_rows(wanted)
        if not all(column.exact for column in found.columns):
            return found
        names = [column.name for column in found.columns]
        alias = self._name("Q")
        order = [f"{alias}.{name}{self.rnd.choice(('', ' DESC'))}" for name in self.rnd.sample(names, len(names))]
        tail = f" LIMIT {self.rnd.randint(0, 4)}" + (f" OFFSET {self.rnd.randint(1, 3)}" if self._chance(0.2) else "")
        listed = ", ".join(f"{alias}.{name}" for name in names)
        return Query(f"SELECT {listed} FROM ({found.sql}) {alias} ORDER BY {', '.join(order)}{tail}", found.columns)

    def _table_rows(self, wanted: Sequence[str] | None) -> Query:
        sources, scope = self._from(1)
        return self._plain(sources, scope, self._where(scope, 1), 1, wanted)

    # -- FROM -----------------------------------------------------------------------------------------------------

    def _from(self, depth: int, outer: Scope | None = None) -> tuple[str, Scope]:
        text, first = self._source(depth)
        scope = Scope((first,), outer)
        for _ in range(self.rnd.choices((0, 1, 2), weights=(5, 4, 1))[0]):
            if depth > 1 and self._chance(0.06):
                text, scope = self._lateral(text, scope, depth)
                continue
            other, source = self._source(depth - 1)
            scope = Scope((*scope.sources, source), outer)
            kind = self.rnd.choices(
                ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"), weights=(5, 4, 2, 3, 1)
            )[0]
            on = "" if kind == "CROSS JOIN" else f" ON {self._on(scope, source)}"
            text = f"{text} {kind} {other}{on}"
        return text, scope

    def _lateral(self, text: str, scope: Scope, depth: int) -> tuple[str, Scope]:
        alias = self._name("L")
        inner = self._inner_query(scope, depth, self.rnd.choice((["I"], ["I", "I"])), top=True)
        return f"{text}, LATERAL ({inner.sql}) {alias}", Scope(
            (*scope.sources, Source(alias, inner.columns)), scope.outer
        )

    def _source(self, depth: int) -> tuple[str, Source]:
        alias = self._name("T")
        if self._ctes and self._chance(0.4):
            name = self.rnd.choice(list(self._ctes))
            return f"{name} {alias}", Source(alias, self._ctes[name])
        if depth > 1 and self._chance(0.5):
            found = self.block(depth - 1)
            return f"({found.sql}) {alias}", Source(alias, found.columns)
        if self._chance(0.04):
            columns = (Output("V1", "I"), Output("V2", "S"))
            return f"(VALUES (1, 'a'), (2, NULL), (NULL, 'b')) {alias}(V1, V2)", Source(alias, columns)
        name = self.rnd.choice(list(self._tables))
        return f"{name} {alias}", Source(alias, self._tables[name])

    def _on(self, scope: Scope, source: Source) -> str:
        """Mostly an equality between the new source and those before, sometimes with more, sometimes something else."""
        before = Scope(scope.sources[:-1])
        pairs = [
            (one, f"{source.alias}.{column.name}")
            for column in source.columns
            if column.exact
            for one, _ in before.columns(column.code)
        ]
        if not pairs:
            return self._comparison(scope)
        parts = []
        if self._chance(0.85):
            parts.append(" = ".join(self.rnd.choice(pairs)))
        if not parts or self._chance(0.25):
            one, other = self.rnd.choice(pairs)
            parts.append(f"{one} {self.rnd.choice(_COMPARISONS)} {other}")
        if self._chance(0.2):
            parts.append(self._comparison(scope))
        return self.rnd.choice((" AND ", " AND ", " OR ")).join(parts)

    # -- conditions -----------------------------------------------------------------------------------------------

    def _where(self, scope: Scope, depth: int) -> str:
        number = self.rnd.choices((0, 1, 2), weights=(4, 5, 2))[0]
        parts = [self._condition(scope, depth) for _ in range(number)]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _condition(self, scope: Scope, depth: int) -> str:
        kind = self.rnd.random()
        if self._clock and kind < 0.5:
            found = self._by_clock(scope)
            if found is not None:
                return found
        if depth > 1 and kind < 0.3:
            return self._by_query(scope, depth)
        if depth > 0 and kind < 0.38:
            return f"({self._condition(scope, depth - 1)} OR {self._comparison(scope)})"
        if kind < 0.43:
            return f"NOT ({self._condition(scope, depth - 1)})"
        return self._comparison(scope)

    def _by_clock(self, scope: Scope) -> str | None:
        dates = scope.columns("D")
        if not dates:
            return None
        column = self.rnd.choice(dates)[0]
        days = self.rnd.randint(-3, 3)
        bound = self.rnd.choice((f"CURRENT_DATE() + {days}", f"DATEADD(DAY, {days}, CURRENT_TIMESTAMP()::DATE)"))
        return f"{column} {self.rnd.choice(('<', '<=', '>', '>=', '='))} {bound}"

    def _comparison(self, scope: Scope) -> str:
        columns = scope.columns()
        if not columns:
            return "1 = 1"
        name, column = self.rnd.choice(columns)
        kind = self.rnd.random()
        if kind < 0.12:
            return f"{name} IS {self.rnd.choice(('', 'NOT '))}NULL"
        if kind < 0.2:
            values = ", ".join(self.rnd.sample(_LITERALS[column.code], 2))
            return f"{name} {self.rnd.choice(('', 'NOT '))}IN ({values})"
        if kind < 0.25 and column.code == "S":
            return f"{name} LIKE 'a%'"
        if kind < 0.3 and column.code in "ID":
            low, high = _LITERALS[column.code][0], _LITERALS[column.code][-2]
            return f"{name} BETWEEN {low} AND {high}"
        if kind < 0.35:
            return f"{name} IS {self.rnd.choice(('', 'NOT '))}DISTINCT FROM {self._value(scope, column.code)}"
        return f"{name} {self.rnd.choice(_COMPARISONS)} {self._value(scope, column.code)}"

    def _by_query(self, scope: Scope, depth: int) -> str:
        """EXISTS, IN and comparisons with one value, mostly correlated."""
        kind = self.rnd.random()
        no = self.rnd.choice(("", "NOT "))
        columns = scope.columns()
        if kind < 0.35 or not columns:
            return f"{no}EXISTS ({self._inner_query(scope, depth, ['I']).sql})"
        if kind < 0.7:
            name, column = self.rnd.choice(columns)
            return f"{name} {no}IN ({self._inner_query(scope, depth, [column.code]).sql})"
        if kind < 0.78 and len(columns) > 1:
            (one, first), (two, second) = self.rnd.sample(columns, 2)
            return f"({one}, {two}) {no}IN ({self._inner_query(scope, depth, [first.code, second.code]).sql})"
        numbers = scope.columns("I")
        value = self.rnd.choice(numbers)[0] if numbers else "1"
        return f"{value} {self.rnd.choice(_COMPARISONS)} {self._scalar_subquery(scope, depth)}"

    def _scalar_subquery(self, scope: Scope, depth: int) -> str:
        sources, inner = self._from(depth - 1, scope)
        where = self._correlated(inner, depth)
        numbers = [name for name, _ in inner.columns("I")] or ["1"]
        call = self.rnd.choice(("COUNT(*)", "COUNT({})", "SUM({})", "MIN({})", "MAX({})", "COUNT(DISTINCT {})"))
        text = call.format(self.rnd.choice(numbers))
        if self._chance(0.15):
            text = f"COALESCE({text}, 0) + 1"
        having = " HAVING COUNT(*) > 1" if self._chance(0.1) else ""
        return f"(SELECT {text} FROM {sources}{where}{having})"

    def _inner_query(self, scope: Scope, depth: int, codes: Sequence[str], *, top: bool = False) -> Query:
        """A query that may name columns of the scope around it."""
        sources, inner = self._from(depth - 1, scope)
        where = self._correlated(inner, depth)
        if self._chance(0.15):
            grouped = self._grouped(sources, inner, where, 0, codes, keys=self._chance(0.7))
            if all(column.exact for column in grouped.columns):
                return grouped
        found = self._select([self._item(inner, code, exact=True) for code in codes], f"FROM {sources}{where}",
                             distinct=self._chance(0.2))  # fmt: skip
        if top and self._chance(0.3):
            order = ", ".join(str(place) for place in range(1, len(codes) + 1))
            return Query(f"{found.sql} ORDER BY {order} LIMIT 2", found.columns)
        return found

    def _correlated(self, inner: Scope, depth: int) -> str:
        """WHERE with a condition between the query and the one around it, mostly an equality."""
        assert inner.outer is not None
        parts = [] if self._chance(0.4) else [self._condition(inner, depth - 1)]
        pairs = [
            (own, other) for own, column in inner.columns() for other, _ in inner.outer.columns(column.code)
        ]  # fmt: skip
        if pairs and self._chance(0.75):
            own, other = self.rnd.choice(pairs)
            parts.append(f"{own} {'=' if self._chance(0.75) else self.rnd.choice(_COMPARISONS)} {other}")
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    # -- values ---------------------------------------------------------------------------------------------------

    def _item(self, scope: Scope, code: str, *, exact: bool = False) -> Item:
        columns = scope.columns(code, inexact=not exact)
        if columns and self._chance(0.7):
            name, column = self.rnd.choice(columns)
            return name, code, column.exact
        return self._value(scope, code), code, True

    def _value(self, scope: Scope, code: str) -> str:
        """An expression of exact columns."""
        names = [name for name, _ in scope.columns(code)]
        literal = self.rnd.choice(_LITERALS[code])
        if not names or self._chance(0.15):
            return literal
        name = self.rnd.choice(names)
        if self._chance(0.6):
            return name
        shapes = ["COALESCE({a}, {c})", "CASE WHEN {p} THEN {a} ELSE {b} END", "IFF({p}, {a}, {c})", "NULLIF({a}, {c})"]
        shapes += {
            "I": ["{a} + {b}", "{a} - 1", "ABS({a})", "MOD({a}, 2)", "-{a}"],
            "S": ["UPPER({a})", "{a} || {b}", "{a} || 'x'"],
            "D": ["{a} + 1"],
            "B": ["NOT {a}", "({a} AND {b})", "({p})"],
            "N": ["{a} + 1"],
            "F": ["{a} * 2"],
        }[code]
        return self.rnd.choice(shapes).format(a=name, b=self.rnd.choice(names), c=literal, p=self._plain_test(scope))

    def _plain_test(self, scope: Scope) -> str:
        name, column = self.rnd.choice(scope.columns())
        return f"{name} {self.rnd.choice(_COMPARISONS)} {self.rnd.choice(_LITERALS[column.code])}"

    # -- GROUP BY and windows -------------------------------------------------------------------------------------

    def _aggregate(self, scope: Scope, code: str) -> Item:
        """An aggregate whose result has the type."""
        return RandomCalls(self.rnd, scope, self._value, self._plain_test).aggregate(code)

    def _grouped(
        self, sources: str, scope: Scope, where: str, depth: int, wanted: Sequence[str] | None, *, keys: bool
    ) -> Query:
        there = scope.columns()
        chosen: list[tuple[str, str]] = []
        if keys and there:
            for name, column in self.rnd.sample(there, min(len(there), self.rnd.randint(1, 2))):
                value = name if self._chance(0.75) else self._value(scope, column.code)
                chosen.append((value, column.code))
        # A literal as a key would be taken for a place in the list.
        chosen = [key for key in chosen if "." in key[0] and "::" not in key[0]]
        codes = list(wanted) if wanted is not None else [*(code for _, code in chosen), *self._codes(None, scope, 3)]
        items = []
        left = list(chosen)
        for code in codes:
            key = next((key for key in left if key[1] == code), None)
            if key is not None and self._chance(0.8):
                left.remove(key)
                items.append((key[0], code, True))
            else:
                items.append(self._aggregate(scope, code))
        rest = f"FROM {sources}{where}"
        texts = list(dict.fromkeys(text for text, _ in chosen))
        if len(texts) > 1 and self._chance(0.2):
            rest += f" GROUP BY GROUPING SETS (({texts[0]}), ({', '.join(texts)}), ({texts[1]}))"
        elif texts:
            rest += f" GROUP BY {', '.join(texts)}"
        if self._chance(0.5 if self._clock else 0.25):
            rest += f" HAVING {self._having(scope, chosen, depth)}"
        return self._select(items, rest, distinct=self._chance(0.05))

    def _having(self, scope: Scope, keys: Sequence[tuple[str, str]], depth: int) -> str:
        kind = self.rnd.random()
        if kind < 0.2 and depth > 1:
            return f"COUNT(*) >= {self._scalar_subquery(Scope(()), depth - 1)}"
        dates = [name for name, _ in scope.columns("D")]
        if self._clock and dates and kind < 0.8:
            return f"MAX({self.rnd.choice(dates)}) >= CURRENT_DATE() - {self.rnd.randint(0, 3)}"
        if kind < 0.5 and keys:
            return f"{keys[0][0]} IS NOT NULL"
        numbers = [name for name, _ in scope.columns("I")]
        if kind < 0.7 and numbers:
            return f"SUM({self.rnd.choice(numbers)}) > 1"
        return f"COUNT(*) {self.rnd.choice(('>', '=', '<='))} {self.rnd.randint(1, 2)}"

    def _windowed(self, sources: str, scope: Scope, where: str, wanted: Sequence[str] | None) -> Query:
        calls = RandomCalls(self.rnd, scope, self._value, self._plain_test)
        columns = scope.columns()
        if not columns:
            return self._plain(sources, scope, where, 0, wanted)
        partition = [name for name, _ in self.rnd.sample(columns, min(len(columns), self.rnd.choice((1, 1, 1, 2))))]
        codes = self._codes(wanted, scope)
        made = [calls.window(code, partition) if self._chance(0.4) else None for code in codes]
        items = [found or self._item(scope, code) for found, code in zip(made, codes, strict=True)]
        if wanted is None and not any(made):
            items += [calls.window("I", partition) or self._item(scope, "I")]
        if wanted is None and self._chance(0.6):
            # With the partition among the columns the table is refreshed by partition, without it row by row.
            items += [(name, next(c.code for n, c in columns if n == name), True) for name in partition]
        qualify = ""
        if self._chance(0.4):
            found = calls.numbering(partition)
            qualify = f" QUALIFY {found} {self.rnd.choice(('= 1', '<= 2', '> 1'))}" if found else ""
        return self._select(items, f"FROM {sources}{where}{qualify}", distinct=self._chance(0.1))
