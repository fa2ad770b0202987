"""The forms of queries that docs/reference/sql.md promises, at random: each is bound, or refused in plain words.

What an engine makes of them is in tests/slt; here no message may show a name of the translation's own, a class of
Spark's errors or a placeholder that nobody filled.
"""

from __future__ import annotations

import random
import re

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.errors import plainly
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.queries import QueryBinder
from tests.sql.test_node_arguments import ENVIRONMENT

_INTERNAL = re.compile(r"\b__\w+|\[[A-Z]+(?:_[A-Z]+)+[.\]]|\{\d+\}")

SOURCES = """
t
t AS q
(SELECT x, y, d FROM t) q
t SAMPLE (10)
t SAMPLE (10 ROWS)
t TABLESAMPLE SYSTEM (3) SEED (1)
t SAMPLE SYSTEM (3 ROWS)
(SELECT x, y FROM t) PIVOT (SUM(x) FOR y IN ('a', 'b' AS c)) p
(SELECT x, y FROM t) PIVOT (COUNT(x) FOR y IN (ANY ORDER BY y) DEFAULT ON NULL (0))
(SELECT x, y FROM t) PIVOT (LISTAGG(x) FOR y IN ('a'))
(SELECT x, x + 1 AS z, y FROM t) UNPIVOT (v FOR n IN (x, z))
(SELECT x, y FROM t) UNPIVOT INCLUDE NULLS (v FOR n IN (x, y))
t ASOF JOIN u MATCH_CONDITION (t.d >= u.d) ON t.x = u.x
t ASOF JOIN u MATCH_CONDITION (t.d < u.d) USING (x)
t ASOF JOIN u MATCH_CONDITION (t.d = u.d)
t LEFT JOIN u USING (x)
t NATURAL JOIN u
t, LATERAL FLATTEN(INPUT => t.v) f
TABLE(GENERATOR(ROWCOUNT => 3))
DUAL
VALUES (1, 'a') w (x, y)
r
nowhere
""".strip().splitlines()
ITEMS = """
*
x
COUNT(*)
x, COUNT(*)
SUM(x) AS s, y
v, COUNT(*)
SEQ4()
LEVEL, x
CONNECT_BY_ROOT y, SYS_CONNECT_BY_PATH(y, '/')
NTH_VALUE(x, 2) FROM LAST OVER (ORDER BY y)
ROW_NUMBER() OVER (PARTITION BY y ORDER BY x) AS n
x > ALL (SELECT x FROM u), x <= ANY (SELECT x FROM u)
ARRAY_AGG(x ORDER BY y)
HLL_ESTIMATE(HLL_ACCUMULATE(x))
NO_SUCH(x)
MINHASH(5, x)
DISTINCT v
""".strip().splitlines()
TAILS = ["", *"""
WHERE x > 1
GROUP BY x
GROUP BY v
GROUP BY ALL
GROUP BY ROLLUP (x)
GROUP BY ROLLUP (v)
START WITH x = 1 CONNECT BY x = PRIOR x + 1
CONNECT BY LEVEL <= 3
QUALIFY ROW_NUMBER() OVER (ORDER BY 1) = 1
ORDER BY 1
ORDER BY v LIMIT 3
LIMIT 99999999999
LIMIT 1 OFFSET 99999999999
LIMIT x
UNION BY NAME SELECT x FROM u
UNION SELECT 1, 2
EXCEPT SELECT v FROM u
INTERSECT ALL SELECT 1
""".strip().splitlines()]  # fmt: skip
HEADS = (
    "", "", "", "WITH r AS (SELECT x, y, v, d FROM t) ",
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) ",
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT x + 1 FROM r) ",
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT MAX(x) FROM r) ",
)  # fmt: skip


def combined(rnd: random.Random) -> str:
    return f"{rnd.choice(HEADS)}SELECT {rnd.choice(ITEMS)} FROM {rnd.choice(SOURCES)} {rnd.choice(TAILS)}"


@pytest.mark.parametrize("seed", range(20))
def test_every_form_is_bound_or_refused_in_plain_words(seed: int) -> None:
    rnd = random.Random(seed)
    for _ in range(30):
        query = combined(rnd)
        try:
            to_spark_sql(QueryBinder(ENVIRONMENT).bind(parse_snowflake(query)).tree)
        except SnowmeltError as error:
            told = f"{error.message} {error.hint or ''}"
            assert _INTERNAL.search(told) is None, (query, told)


@pytest.mark.parametrize(
    "text",
    [
        '[INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE] The limit like expression "__seq" is invalid. SQLSTATE: 42K0E',
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `__s1`.`X` cannot be resolved. SQLSTATE: 42703",
        "[MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_APPEAR_IN_OPERATION] Attribute sm_e is missing.",
    ],
)
def test_what_spark_says_is_told_without_its_internals(text: str) -> None:
    told = plainly(text)
    assert told and _INTERNAL.search(told) is None and "SQLSTATE" not in told and "sm_" not in told
