"""A part of the parsed tree that binding does not read can't be: it is refused by name.

The tables of `node_arguments` claim what is read. The first tests hold them against sqlglot's classes, so that a new
version of it opens nothing; the last one proves the claim, by taking each argument away from a query that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import DataType
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import FunctionKind, SessionContext
from snowmelt.sql.no_relations import NoRelations
from snowmelt.sql.node_arguments import READ, VALUES, WITHOUT_EFFECT, WORDS, argument_name, name_of, refuse_unread
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import ChangeSpan, Relation, RelationColumn, TimeTravel


def node_classes() -> list[type[exp.Expr]]:
    found: dict[type[exp.Expr], None] = {}
    waiting: list[type[exp.Expr]] = [exp.Expr]
    while waiting:
        kind = waiting.pop()
        for below in kind.__subclasses__():
            if below not in found:
                found[below] = None
                waiting.append(below)
    return [kind for kind in found if kind.__module__.startswith("sqlglot.expressions")]


def test_all_arguments_of_the_classes_that_are_bound_stand_in_one_table() -> None:
    for kind, read in READ.items():
        for argument in kind.arg_types:
            without_effect = (kind, argument) in WITHOUT_EFFECT
            accounted = argument in read or without_effect or argument in WORDS.get(kind, {})
            assert accounted, f"{kind.__name__}.{argument} is neither read nor refused"
            assert not (argument in read and without_effect), f"{kind.__name__}.{argument} can't be both"


def test_the_tables_name_only_what_sqlglot_has() -> None:
    named = {(kind, argument) for kind, read in READ.items() for argument in read}
    named |= {(kind, argument) for kind, words in WORDS.items() for argument in words}
    assert {(kind, argument) for kind, argument in {*named, *WITHOUT_EFFECT, *VALUES} if kind not in READ} == set()
    unknown = {(k.__name__, a) for k, a in {*named, *WITHOUT_EFFECT, *VALUES} if a not in k.arg_types}
    assert unknown == set()


def test_every_class_is_bound_or_refused_by_name() -> None:
    for kind in node_classes():
        if kind not in READ:
            assert name_of(kind) in refusal_of(exp.Paren(this=kind()))
            continue
        for argument in kind.arg_types:
            if argument not in READ[kind] and (kind, argument) not in WITHOUT_EFFECT:
                assert argument_name(kind, argument) in refusal_of(kind(**{argument: exp.Null()}))


def refusal_of(tree: exp.Expr) -> str:
    with pytest.raises(SnowmeltError, match="Unsupported feature") as refusal:
        refuse_unread(tree)
    return refusal.value.message


def test_empty_arguments_are_not_set() -> None:
    refuse_unread(exp.Select(expressions=[exp.Star()], locks=[], sample=None, hint=False))


def test_words_that_an_argument_may_not_hold() -> None:
    with pytest.raises(SnowmeltError, match="SEMI JOIN"):
        parse_snowflake("SELECT 1 FROM a LEFT SEMI JOIN b ON TRUE")


# -- the proof --------------------------------------------------------------------------------------------------------


class Everything(NoRelations):
    """A catalog whose answers show what they were asked."""

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        if parts[-1] not in ("T", "U"):
            raise errors.not_found("Object", parts[-1])
        columns = (("X", types.INTEGER), ("Y", types.VARCHAR), ("V", types.VARIANT), ("D", types.TIMESTAMP_NTZ))
        shown = "" if when is None else f" {when.before} {when.kind} {when.expression.sql()}"
        return Relation(parts[-1], tuple(RelationColumn(*c) for c in columns), reference=f"{'.'.join(parts)}{shown}")

    def changes(self, parts: tuple[str, ...], span: ChangeSpan) -> Relation:
        end = span.end.expression.sql() if span.end is not None else None
        told = f"{span.append_only} {span.start.before} {span.start.kind} {span.start.expression.sql()} {end}"
        return Relation("C", (RelationColumn("X", types.INTEGER),), reference=f"{'.'.join(parts)} {told}")

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        columns = tuple(RelationColumn(f"${n}", types.VARIANT) for n in range(1, width + 1))
        return Relation("S", columns, reference=f"{location} {format_name} {pattern}")

    def distinct_values(self, query: BoundQuery) -> list[exp.Expr]:
        return [exp.Literal.string(to_spark_sql(query.tree))]

    def variable(self, name: str) -> exp.Expr | None:
        return exp.Literal.number(7)

    def local(self, name: str) -> tuple[exp.Expr, DataType] | None:
        return (exp.Literal.number(8), types.INTEGER) if name == "l" else None


ENVIRONMENT = Environment(Everything(), SessionContext(now=datetime(2026, 1, 1, tzinfo=UTC)))
SAMPLES = """
SELECT DISTINCT x AS a, "Y" FROM db.s.t AS q WHERE x > 1 AND NOT y = 'b' OR y <> 'c'
SELECT x, COUNT(*) AS n FROM t GROUP BY x HAVING COUNT(*) > 1 ORDER BY n DESC, x NULLS FIRST LIMIT 3 OFFSET 2
SELECT x FROM t ORDER BY x FETCH FIRST 3 ROWS ONLY
SELECT y, x FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY y ORDER BY x) = 1
SELECT SUM(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM t
SELECT SUM(x) OVER (ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t
SELECT FIRST_VALUE(x) IGNORE NULLS OVER (ORDER BY y), LAST_VALUE(x RESPECT NULLS) OVER (ORDER BY y) FROM t
WITH a (p) AS (SELECT x FROM t), b AS (SELECT p FROM a) SELECT p FROM b
WITH a AS (SELECT x FROM t) SELECT x FROM a UNION ALL SELECT x FROM u ORDER BY 1 LIMIT 5 OFFSET 1
WITH a AS (SELECT x FROM t) SELECT x FROM a EXCEPT SELECT x FROM u ORDER BY 1 LIMIT 5 OFFSET 1
WITH a AS (SELECT x FROM t) SELECT x FROM a INTERSECT SELECT x FROM u ORDER BY 1 LIMIT 5 OFFSET 1
SELECT x FROM t UNION SELECT x FROM u
WITH a AS (SELECT x FROM t) (SELECT x FROM a) ORDER BY x LIMIT 2 OFFSET 1
SELECT s.a FROM (SELECT x FROM t) AS s (a)
SELECT * FROM ((SELECT x FROM t) LIMIT 2 OFFSET 1)
SELECT * FROM ((SELECT x FROM t) ORDER BY x)
SELECT 1 FROM ((SELECT x FROM t) a JOIN u ON a.x = u.x)
SELECT 1 FROM (t JOIN u ON t.x = u.x)
SELECT u.x FROM t LEFT JOIN u ON t.x = u.x
SELECT x FROM t FULL OUTER JOIN u USING (x)
SELECT 1 FROM t CROSS JOIN u
SELECT 1 FROM t NATURAL JOIN u
SELECT 1 FROM t, u WHERE t.x = u.x (+)
SELECT t.*, q.v FROM t, LATERAL (SELECT v FROM u WHERE u.x = t.x) q
SELECT f.value FROM t, LATERAL FLATTEN(INPUT => v, PATH => 'a', OUTER => TRUE) f
SELECT value FROM t, TABLE(FLATTEN(v))
SELECT COLUMN1, z FROM (VALUES (1, 'a'), (2, 'b')) AS w (k, z), VALUES (3)
VALUES (1), (2) ORDER BY 1 LIMIT 1 OFFSET 1
SELECT x FROM t AT (OFFSET => -60)
SELECT x FROM t BEFORE (STATEMENT => 'id')
SELECT x FROM t CHANGES (INFORMATION => APPEND_ONLY) BEFORE (OFFSET => -60) END (OFFSET => -1)
SELECT $1, q.$2 FROM @stage/path (FILE_FORMAT => 'f', PATTERN => 'p') q
SELECT $v + 1, :l + 2
SELECT * EXCLUDE (y, v, d) RENAME (x AS z) FROM t
SELECT * REPLACE (x + 1 AS x) FROM t
SELECT * ILIKE 'x%' FROM t
SELECT COUNT(DISTINCT x), LISTAGG(y, ',') WITHIN GROUP (ORDER BY x DESC) FROM t
SELECT x, SUM(1) FROM t GROUP BY GROUPING SETS ((x), (y)), y
SELECT 1 FROM t GROUP BY ROLLUP (x, y), CUBE (x)
SELECT x FROM t GROUP BY ALL
SELECT x BETWEEN 1 AND 2, x IN (1, 2), x IN (SELECT x FROM u), EXISTS (SELECT 1 FROM u), (SELECT MAX(x) FROM u) FROM t
SELECT x = ANY (SELECT x FROM u), x <> ALL (SELECT x FROM u) FROM t
SELECT x + 1, x - 1, x * 2, x / 2, x % 2, -x, x || y, x >= 1, x < 1, x <= 1, NOT (x = 1) FROM t
SELECT x IS NULL, (x = 1) IS TRUE, x IS DISTINCT FROM 2, x IS NOT DISTINCT FROM 3 FROM t
SELECT y LIKE 'a%', y ILIKE 'b%', y LIKE 'c^%' ESCAPE '^', y RLIKE 'd.*', y LIKE ANY ('e', 'f'), y LIKE ALL ('g') FROM t
SELECT CASE x WHEN 1 THEN 'a' ELSE 'b' END, CASE WHEN x = 2 THEN y END FROM t
SELECT x::VARCHAR(10), TRY_CAST(y AS NUMBER(10, 2)), CAST(x AS FLOAT) FROM t
SELECT v:a.b[1], v['k'], v[x] FROM t
SELECT EXTRACT(day FROM d), POSITION('a' IN y), POSITION('a', y, 2), d + INTERVAL '2 days', d + INTERVAL '3' DAY FROM t
SELECT d + INTERVAL '1-2' YEAR TO MONTH, d - (INTERVAL '1 02:03' DAY TO MINUTE) FROM t
SELECT y COLLATE 'en-ci' = 'A', CAST(y AS VARCHAR COLLATE 'upper') = 'B' FROM t
SELECT [1, x], {'a': x}, {*} FROM t
SELECT FILTER(v, e -> e > 1), REDUCE(v::ARRAY, 0, (a, e) -> a + e) FROM t
SELECT d AT TIME ZONE 'UTC' FROM t
SELECT CURRENT_TIMESTAMP, CURRENT_DATE, CURRENT_USER, TRUE, NULL, $$raw$$, N'national', X'FF', 1.5, 'text'
SELECT (x, y) = (1, 'a'), (x, y) IN ((1, 'a')) FROM t
SELECT a.b.f(1)
SELECT other.s.t.x FROM db.s.t
SELECT db.s.t.x AS "low" FROM db.s.t
SELECT v:"K" FROM t
SELECT * FROM (SELECT x, y FROM t) PIVOT (SUM(x) AS s FOR y IN ('a' AS b, 'c') DEFAULT ON NULL (0)) AS p (g, h)
SELECT * FROM (SELECT x, y FROM t) PIVOT (MAX(x) FOR y IN (ANY ORDER BY y))
SELECT * FROM (VALUES (1, 2)) w (a, b) UNPIVOT INCLUDE NULLS (m FOR n IN (a AS aa, b))
SELECT * FROM VALUES (1, 2) w (a, b) UNPIVOT (m FOR n IN (a, b))
SELECT * FROM t PIVOT (COUNT(d) FOR y IN ('a'))
SELECT x FROM t SAMPLE SYSTEM (10) SEED (3)
SELECT x FROM (SELECT x FROM t) SAMPLE ROW (10 ROWS)
SELECT x FROM t SAMPLE SYSTEM (10 ROWS)
SELECT t.x FROM t ASOF JOIN u MATCH_CONDITION (t.d >= u.d) ON t.x = u.x
SELECT x, y FROM t UNION BY NAME SELECT y, x FROM u
SELECT x, y FROM t EXCEPT BY NAME SELECT y, x FROM u
SELECT x, y FROM t INTERSECT BY NAME SELECT y, x FROM u
SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES FINAL LAST(x) m ALL ROWS PER MATCH PATTERN (a) DEFINE a AS x) AS r
SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY y ORDER BY x AFTER MATCH SKIP TO NEXT ROW PATTERN (a b+) DEFINE b AS TRUE)
SELECT LEVEL, CONNECT_BY_ROOT y AS r FROM t START WITH x = 1 CONNECT BY x = PRIOR x + 1
WITH RECURSIVE t AS (SELECT x FROM t) SELECT x FROM t
""".strip().splitlines()


def outcome(tree: exp.Expr) -> object:
    """What binding makes of a tree. A tree with a hole may fail anywhere, which shows that the hole was looked at."""
    try:
        bound = QueryBinder(ENVIRONMENT).bind(tree)
        return to_spark_sql(bound.tree), [(column.name, str(column.type)) for column in bound.columns]
    except Exception as error:
        return type(error), str(error)


def without(tree: exp.Expr, place: int, argument: str) -> exp.Expr:
    copy = tree.copy()
    node = list(copy.walk())[place]
    if node.args[argument] is True:
        node.args[argument] = False
    else:
        node.args.pop(argument)
    return without_text(copy)


def uses(trees: list[exp.Expr], kind: type[exp.Expr], argument: str) -> Iterator[tuple[exp.Expr, int]]:
    for tree in trees:
        for place, node in enumerate(tree.walk()):
            if type(node) is kind and node.args.get(argument):
                yield tree, place


def test_each_argument_that_is_said_to_be_read_changes_what_is_bound() -> None:
    trees = [parse_snowflake(text) for text in SAMPLES]
    plain = {id(tree): outcome(without_text(tree)) for tree in trees}
    unproved = []
    for kind, read in READ.items():
        for argument in read:
            found = uses(trees, kind, argument)
            if not any(outcome(without(tree, place, argument)) != plain[id(tree)] for tree, place in found):
                unproved.append(f"{kind.__name__}.{argument}")
    assert unproved == []


def without_text(tree: exp.Expr) -> exp.Expr:
    """The text of an item would show an argument, whether it is read or not."""
    copy = tree.copy()
    for item in copy.walk():
        item.meta.pop("text", None)
    return copy


@pytest.mark.parametrize(
    ("clause", "modifier"),
    [("{}(DISTINCT {})", "distinct"), ("{}({}) WITHIN GROUP (ORDER BY x)", "order"), ("{}({}) IGNORE NULLS", "nulls")],
)
def test_what_a_function_does_not_read_is_refused(clause: str, modifier: str) -> None:
    for name, function in FUNCTIONS.items():
        if modifier in function.accepts or not function.min_args or function.refusal is not None:
            continue
        if name == "POSITION":  # It has a grammar of its own, in which none of these can be written.
            continue
        call = clause.format(name, ", ".join(["x"] * function.min_args))
        over = " OVER (ORDER BY x)" if function.kind is FunctionKind.WINDOW else ""
        with pytest.raises(SnowmeltError, match=re.escape(name)):
            QueryBinder(ENVIRONMENT).bind(parse_snowflake(f"SELECT {call}{over} FROM t"))


def test_over_is_refused_behind_what_is_no_aggregate() -> None:
    for name, function in FUNCTIONS.items():
        if function.kind in (FunctionKind.SCALAR, FunctionKind.CONTEXT) and function.refusal is None:
            call = f"{name}({', '.join(['x'] * function.min_args)})"
            with pytest.raises(SnowmeltError, match="OVER"):
                QueryBinder(ENVIRONMENT).bind(parse_snowflake(f"SELECT {call} OVER (ORDER BY x) FROM t"))
