"""UPDATE, DELETE and MERGE in plain Python: statements as data, with their SQL and what they do to a list of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Row = tuple[Any, ...]
COLUMNS = ("ID", "K", "A", "S", "V")
"""Two whole numbers, one more, a text, and a VARIANT that holds a whole number."""
Both = Mapping[str, Any]
"""A target row and a source row: `t.K`, `s.A`, ….; the side that is not there is missing."""
NUMERIC = ("ID", "K", "A", "V")


@dataclass(frozen=True)
class Expression:
    sql: str
    value: Callable[[Both], Any] = field(compare=False)

    def __repr__(self) -> str:
        return self.sql


def pair(target: Row | None, source: Row | None) -> Both:
    found: dict[str, Any] = {}
    for side, row in (("t", target), ("s", source)):
        if row is not None:
            found |= {f"{side}.{name}": value for name, value in zip(COLUMNS, row, strict=True)}
    return found


# -- expressions ----------------------------------------------------------------------------------------------------


def column(side: str, name: str) -> Expression:
    return Expression(f"{side}.{name}", lambda row: row[f"{side}.{name}"])


def constant(value: int | str | None) -> Expression:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return Expression(text, lambda _: value)


def numbers(sides: str) -> st.SearchStrategy[Expression]:
    columns = st.builds(column, st.sampled_from(list(sides)), st.sampled_from(("ID", "K", "A")))
    leaves = st.one_of(columns, st.builds(constant, st.integers(0, 5)))
    return st.one_of(leaves, st.builds(_sum, leaves, leaves), st.builds(_coalesce, leaves, leaves))


def texts(sides: str) -> st.SearchStrategy[Expression]:
    columns = st.builds(column, st.sampled_from(list(sides)), st.just("S"))
    leaves = st.one_of(columns, st.builds(constant, st.sampled_from(["", "x", "yy", None])))
    return st.one_of(leaves, st.builds(_concat, leaves, leaves))


def _sum(left: Expression, right: Expression) -> Expression:
    def value(row: Both) -> Any:
        a, b = left.value(row), right.value(row)
        return None if a is None or b is None else a + b

    return Expression(f"({left.sql} + {right.sql})", value)


def _coalesce(left: Expression, right: Expression) -> Expression:
    def value(row: Both) -> Any:
        found = left.value(row)
        return right.value(row) if found is None else found

    return Expression(f"COALESCE({left.sql}, {right.sql})", value)


def _concat(left: Expression, right: Expression) -> Expression:
    def value(row: Both) -> Any:
        a, b = left.value(row), right.value(row)
        return None if a is None or b is None else a + b

    return Expression(f"{left.sql} || {right.sql}", value)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
}


def _comparison(left: Expression, operator: str, right: Expression) -> Expression:
    def value(row: Both) -> bool | None:
        a, b = left.value(row), right.value(row)
        return None if a is None or b is None else _COMPARE[operator](a, b)

    return Expression(f"{left.sql} {operator} {right.sql}", value)


def _is_null(inner: Expression) -> Expression:
    return Expression(f"{inner.sql} IS NULL", lambda row: inner.value(row) is None)


def _not(inner: Expression) -> Expression:
    def value(row: Both) -> bool | None:
        found = inner.value(row)
        return None if found is None else not found

    return Expression(f"NOT ({inner.sql})", value)


def _and(left: Expression, right: Expression) -> Expression:
    def value(row: Both) -> bool | None:
        both = (left.value(row), right.value(row))
        return False if False in both else None if None in both else True

    return Expression(f"({left.sql}) AND ({right.sql})", value)


def _or(left: Expression, right: Expression) -> Expression:
    def value(row: Both) -> bool | None:
        both = (left.value(row), right.value(row))
        return True if True in both else None if None in both else False

    return Expression(f"({left.sql}) OR ({right.sql})", value)


def _among(subject: Expression, options: list[int]) -> Expression:
    def value(row: Both) -> bool | None:
        found = subject.value(row)
        return None if found is None else found in options

    return Expression(f"{subject.sql} IN ({', '.join(map(str, options))})", value)


def conditions(sides: str) -> st.SearchStrategy[Expression]:
    side = st.sampled_from(list(sides))
    operators = st.sampled_from(list(_COMPARE))
    leaves = st.one_of(
        st.builds(_comparison, numbers(sides), operators, numbers(sides)),
        st.builds(_comparison, texts(sides), operators, texts(sides)),
        st.builds(
            _comparison, st.builds(column, side, st.sampled_from(NUMERIC)), operators,
            st.builds(constant, st.integers(0, 5)),
        ),
        st.builds(_is_null, st.builds(column, side, st.sampled_from(COLUMNS))),
        st.builds(
            _among, st.builds(column, side, st.sampled_from(("ID", "K", "A"))),
            st.lists(st.integers(0, 5), min_size=1, max_size=3),
        ),
    )  # fmt: skip

    def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(st.builds(_and, inner, inner), st.builds(_or, inner, inner), st.builds(_not, inner))

    return st.recursive(leaves, larger, max_leaves=3)


def joins() -> st.SearchStrategy[Expression]:
    """What relates a target row to a source row: mostly keys."""
    keys = st.builds(
        lambda name, other: _comparison(column("t", name), "=", column("s", other)),
        st.sampled_from(("ID", "K")), st.sampled_from(("ID", "K")),
    )  # fmt: skip
    more = st.one_of(keys, conditions("s"), conditions("t"), conditions("ts"))
    return st.one_of(keys, keys, st.builds(_and, keys, more), conditions("ts"))


Assignments = dict[str, Expression]


def assignments(sides: str, *, every: bool = False) -> st.SearchStrategy[Assignments]:
    number = st.one_of(numbers(sides), st.builds(constant, st.none()))
    # A VARIANT takes any number.
    values = {"ID": number, "K": number, "A": number, "S": texts(sides), "V": numbers(sides)}
    if every:
        return st.fixed_dictionaries(values)
    return st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: values[name] for name in names})
    )


# -- statements -----------------------------------------------------------------------------------------------------


class AmbiguousError(Exception):
    """More than one source row would change a target row."""


@dataclass
class Effect:
    rows: list[Row]
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    multi_joined: int = 0
    doubtful: bool = False
    """Several results are right: one of several source rows is taken."""


def assigned(row: Row | None, given: Assignments, both: Both) -> Row:
    return tuple(
        given[name].value(both) if name in given else (row[place] if row is not None else None)
        for place, name in enumerate(COLUMNS)
    )


def set_clause(given: Assignments) -> str:
    return ", ".join(f"{name} = {expression.sql}" for name, expression in given.items())


@dataclass(frozen=True)
class Update:
    given: Assignments
    where: Expression | None
    from_source: bool

    @property
    def sql(self) -> str:
        source = " FROM s" if self.from_source else ""
        where = f" WHERE {self.where.sql}" if self.where is not None else ""
        return f"UPDATE t SET {set_clause(self.given)}{source}{where}"

    def apply(self, target: list[Row], source: list[Row]) -> Effect:
        effect = Effect([])
        for row in target:
            new = [
                assigned(row, self.given, both)
                for both in _pairs(row, source, self.from_source)
                if self.where is None or self.where.value(both) is True
            ]
            effect.rows.append(new[0] if new else row)
            effect.updated += bool(new)
            effect.multi_joined += len(new) > 1
            effect.doubtful |= len(set(new)) > 1
        return effect


@dataclass(frozen=True)
class Delete:
    where: Expression | None
    from_source: bool

    @property
    def sql(self) -> str:
        source = " USING s" if self.from_source else ""
        where = f" WHERE {self.where.sql}" if self.where is not None else ""
        return f"DELETE FROM t{source}{where}"

    def apply(self, target: list[Row], source: list[Row]) -> Effect:
        effect = Effect([])
        for row in target:
            pairs = _pairs(row, source, self.from_source)
            if any(self.where is None or self.where.value(both) is True for both in pairs):
                effect.deleted += 1
            else:
                effect.rows.append(row)
        return effect


def _pairs(row: Row, source: list[Row], joined: bool) -> list[Both]:
    return [pair(row, other) for other in source] if joined else [pair(row, None)]


@dataclass(frozen=True)
class Clause:
    kind: str
    condition: Expression | None
    given: Assignments | None = None

    @property
    def sql(self) -> str:
        condition = f" AND {self.condition.sql}" if self.condition is not None else ""
        if self.kind == "insert":
            assert self.given is not None
            values = ", ".join(expression.sql for expression in self.given.values())
            return f"WHEN NOT MATCHED{condition} THEN INSERT ({', '.join(self.given)}) VALUES ({values})"
        if self.kind == "delete":
            return f"WHEN MATCHED{condition} THEN DELETE"
        assert self.given is not None
        return f"WHEN MATCHED{condition} THEN UPDATE SET {set_clause(self.given)}"

    def applies(self, both: Both) -> bool:
        return self.condition is None or self.condition.value(both) is True


@dataclass(frozen=True)
class Merge:
    on: Expression
    clauses: tuple[Clause, ...]

    @property
    def sql(self) -> str:
        return f"MERGE INTO t USING s ON {self.on.sql} " + " ".join(clause.sql for clause in self.clauses)

    def apply(self, target: list[Row], source: list[Row]) -> Effect:
        effect = Effect([])
        found: set[int] = set()
        for row in target:
            changes: list[tuple[Clause, Row | None]] = []
            for number, other in enumerate(source):
                both = pair(row, other)
                if self.on.value(both) is not True:
                    continue
                found.add(number)
                clause = next((c for c in self.clauses if c.kind != "insert" and c.applies(both)), None)
                if clause is not None:
                    changes.append((clause, assigned(row, clause.given, both) if clause.given else None))
            if len(changes) > 1 and any(clause.kind != "delete" for clause, _ in changes):
                raise AmbiguousError
            if not changes:
                effect.rows.append(row)
            elif changes[0][1] is None:
                effect.deleted += 1
            else:
                effect.rows.append(changes[0][1])
                effect.updated += 1
        for number, other in enumerate(source):
            both = pair(None, other)
            clause = next((c for c in self.clauses if c.kind == "insert" and c.applies(both)), None)
            if number not in found and clause is not None:
                assert clause.given is not None
                effect.rows.append(assigned(None, clause.given, both))
                effect.inserted += 1
        return effect


def reachable(clauses: list[Clause]) -> tuple[Clause, ...]:
    """Without those that stand behind an unconditional one of their kind: MERGE refuses them."""
    found: list[Clause] = []
    for clause in clauses:
        inserts = clause.kind == "insert"
        if not any(other.condition is None and (other.kind == "insert") is inserts for other in found):
            found.append(clause)
    return tuple(found)


def maybe(strategy: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression | None]:
    return st.one_of(st.none(), strategy)


merge_clauses = st.one_of(
    st.builds(Clause, st.just("update"), maybe(conditions("ts")), assignments("ts")),
    st.builds(Clause, st.just("update"), maybe(conditions("s")), assignments("s")),
    st.builds(Clause, st.just("delete"), maybe(conditions("ts"))),
    st.builds(Clause, st.just("insert"), maybe(conditions("s")), assignments("s", every=True)),
    st.builds(Clause, st.just("insert"), maybe(conditions("s")), assignments("s")),
)
statements: st.SearchStrategy[Update | Delete | Merge] = st.one_of(
    st.builds(Update, assignments("t"), maybe(conditions("t")), st.just(False)),
    st.builds(Update, assignments("ts"), maybe(joins()), st.just(True)),
    st.builds(Update, assignments("s"), joins(), st.just(True)),
    st.builds(Delete, maybe(conditions("t")), st.just(False)),
    st.builds(Delete, joins(), st.just(True)),
    st.builds(Merge, joins(), st.lists(merge_clauses, min_size=1, max_size=3).map(reachable)),
    st.builds(Merge, joins(), st.lists(merge_clauses, min_size=1, max_size=3).map(reachable)),
)
small_numbers = st.one_of(st.none(), st.integers(0, 5))
rows = st.tuples(
    small_numbers, small_numbers, small_numbers, st.one_of(st.none(), st.sampled_from(["", "x", "yy"])), small_numbers
)


def multiset(rows_: list[Row]) -> Counter[Row]:
    return Counter(rows_)
