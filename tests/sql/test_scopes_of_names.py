"""Random nestings of views, WITH clauses, derived tables and SQL functions whose names come from four letters.

Every query has one column of integers, and is worked out here as well, by the rules of scope alone.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from snowmelt.runtime.session import Session

TABLES = {"A": (1, 2, 2), "B": (2, 3)}
VIEWS = ("C", "D")
NAMES = (*TABLES, *VIEWS)
TOGETHER = 8

Rows = list[int]


@dataclass(frozen=True)
class Query:
    text: str
    rows: Rows


@dataclass
class Catalog:
    """What the statements outside of any WITH clause see."""

    relations: dict[str, Rows] = field(default_factory=lambda: {name: list(rows) for name, rows in TABLES.items()})
    functions: dict[str, Rows] = field(default_factory=dict)
    """How often the body's query has each number: a call gives the count of its argument."""


class Queries:
    def __init__(self, seed: int, catalog: Catalog) -> None:
        self.random = random.Random(seed)
        self.catalog = catalog

    def query(self, depth: int, common: Mapping[str, Rows]) -> Query:
        if depth == 0:
            return self.read(common)
        kind = self.random.choice(
            [self.with_, self.with_, self.union, self.join, self.nested, self.filtered, self.call]
        )
        return kind(depth - 1, common)

    def source(self, common: Mapping[str, Rows]) -> tuple[str, Rows]:
        name = self.random.choice([*self.catalog.relations, *common])
        return self.written(name), common.get(name, self.catalog.relations.get(name, []))

    def written(self, name: str) -> str:
        return self.random.choice([name, name.lower(), f'"{name}"'])

    def alias(self) -> str:
        return self.random.choice(NAMES)

    def read(self, common: Mapping[str, Rows]) -> Query:
        name, rows = self.source(common)
        more = self.random.randint(0, 2)
        return Query(f"SELECT n + {more} AS n FROM {name}", [value + more for value in rows])

    def with_(self, depth: int, common: Mapping[str, Rows]) -> Query:
        known = dict(common)
        parts = []
        for name in self.random.sample(NAMES, self.random.randint(1, 2)):
            inner = self.query(depth, known)
            parts.append(f"{self.written(name)} AS ({inner.text})")
            known[name] = inner.rows
        body = self.query(depth, known)
        return Query(f"WITH {', '.join(parts)} {body.text}" if not body.text.startswith("WITH") else
                     f"WITH {', '.join(parts)} SELECT n FROM ({body.text})", body.rows)  # fmt: skip

    def union(self, depth: int, common: Mapping[str, Rows]) -> Query:
        left, right = self.query(depth, common), self.query(depth, common)
        return Query(f"SELECT n FROM ({left.text}) UNION ALL SELECT n FROM ({right.text})", left.rows + right.rows)

    def join(self, depth: int, common: Mapping[str, Rows]) -> Query:
        inner = self.query(depth, common)
        name, rows = self.source(common)
        one, other = self.random.sample(NAMES, 2)
        found = [value + 1 for value in inner.rows for partner in rows if partner == value]
        return Query(f"SELECT {one}.n + 1 AS n FROM ({inner.text}) {one} JOIN {name} {other} ON {one}.n = {other}.n",
                     found)  # fmt: skip

    def nested(self, depth: int, common: Mapping[str, Rows]) -> Query:
        inner = self.query(depth, common)
        return Query(f"SELECT {(alias := self.alias())}.n FROM ({inner.text}) {alias}", inner.rows)

    def filtered(self, depth: int, common: Mapping[str, Rows]) -> Query:
        """Correlated, where the inner alias is often that of the outer one."""
        name, rows = self.source(common)
        inner = self.query(depth, common)
        outer, other = self.alias(), self.alias()
        kept = [value for value in rows if value in inner.rows]
        return Query(
            f"SELECT m AS n FROM (SELECT n AS m FROM {name}) {outer} "
            f"WHERE EXISTS (SELECT 1 FROM ({inner.text}) {other} WHERE {other}.n = m)",
            kept,
        )

    def call(self, depth: int, common: Mapping[str, Rows]) -> Query:
        if not self.catalog.functions:
            return self.nested(depth, common)
        inner = self.query(depth, common)
        alias, rows = self.alias(), inner.rows
        value = f"{alias}.n"
        for name in self.random.choices(list(self.catalog.functions), k=self.random.choice([1, 1, 2])):
            counts = Counter(self.catalog.functions[name])
            value, rows = f"{name}({value})", [counts[each] for each in rows]
        return Query(f"SELECT {value} AS n FROM ({inner.text}) {alias}", rows)


def declare(session: Session, queries: Queries) -> None:
    for name, rows in TABLES.items():
        session.execute(f"CREATE OR REPLACE TABLE {name} (n INT)")
        session.execute(f"INSERT INTO {name} VALUES {', '.join(f'({value})' for value in rows)}")
    for name in VIEWS:
        made = queries.query(2, {})
        session.execute(f"CREATE OR REPLACE VIEW {name} AS {made.text}")
        queries.catalog.relations[name] = made.rows
        function, body, alias = f"F_{name}", queries.query(1, {}), queries.alias()
        session.execute(
            f"CREATE OR REPLACE FUNCTION {function}(wanted INT) RETURNS INT AS "
            f"$$ SELECT COUNT(*) FROM ({body.text}) {alias} WHERE {alias}.n = wanted $$"
        )
        queries.catalog.functions[function] = body.rows


@pytest.mark.parametrize("seed", range(4))
def test_names_mean_what_their_scope_says(session: Session, seed: int) -> None:
    queries = Queries(seed, Catalog())
    declare(session, queries)
    asked = [queries.query(3, {}) for _ in range(TOGETHER)]
    text = " UNION ALL ".join(f"SELECT {place} AS place, n FROM ({query.text})" for place, query in enumerate(asked))
    got = Counter((place, n) for place, n in session.execute(text).rows())
    for place, query in enumerate(asked):
        wanted = Counter(query.rows)
        assert Counter({n: times for (at, n), times in got.items() if at == place}) == wanted, query.text


def test_names_in_dynamic_tables(session: Session) -> None:
    queries = Queries(17, Catalog())
    declare(session, queries)
    asked = queries.with_(2, {})
    session.execute(f"CREATE DYNAMIC TABLE made TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS {asked.text}")
    assert Counter(n for (n,) in session.execute("SELECT n FROM made").rows()) == Counter(asked.rows), asked.text
