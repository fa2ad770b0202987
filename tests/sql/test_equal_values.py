"""Values that are equal but look different are one value, wherever rows are gathered, compared or counted.

Whatever does not take them for one must be refused by name: counted apart, they would be wrong rows without a word.
"""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

PAIRS = {
    "TIMESTAMP_TZ": ("'2024-01-01 12:00 +0200'::TIMESTAMP_TZ", "'2024-01-01 10:00 +0000'::TIMESTAMP_TZ"),
    "VARIANT": ("PARSE_JSON('1')", "PARSE_JSON('1.0')"),
    "OBJECT": ("OBJECT_CONSTRUCT('a', 1, 'b', 2)", "OBJECT_CONSTRUCT('b', 2.0, 'a', 1)"),
    "zeros": ("0.0::FLOAT", "-0.0::FLOAT"),
    "NaN": ("'NaN'::FLOAT", "'NaN'::FLOAT"),
    "collation": ("'a' COLLATE 'en-ci'", "'A'"),
    "upper": ("'a' COLLATE 'upper-trim'", "' A'"),
    "TIME": ("'10:00:00'::TIME", "'10:00:00.000'::TIME"),
    "NUMBER": ("1.50::NUMBER(5, 2)", "1.5::NUMBER(5, 1)"),
}
ONE = (
    "SELECT COUNT(*) FROM (SELECT v FROM e GROUP BY v)",
    "SELECT COUNT(*) FROM (SELECT v AS w, COUNT(*) FROM e GROUP BY ALL)",
    "SELECT COUNT_IF(g = 0) FROM (SELECT v, GROUPING(v) AS g FROM e GROUP BY ROLLUP (v))",
    "SELECT COUNT(*) FROM (SELECT DISTINCT v FROM e)",
    "SELECT COUNT(*) FROM (SELECT v FROM e UNION SELECT v FROM e)",
    "SELECT COUNT(*) FROM (SELECT v FROM e WHERE i = 1 INTERSECT SELECT v FROM e WHERE i = 2)",
    "SELECT 1 + COUNT(*) FROM (SELECT v FROM e WHERE i = 1 EXCEPT SELECT v FROM e WHERE i = 2)",
    "SELECT COUNT(DISTINCT v) FROM e",
    "SELECT COUNT(DISTINCT v, 'x') FROM e",
    "SELECT MAX(n) FROM (SELECT COUNT(DISTINCT v) OVER () AS n FROM e)",
    "SELECT MAX(n) FROM (SELECT COUNT(DISTINCT v, 'x') OVER () AS n FROM e)",
    "SELECT APPROX_COUNT_DISTINCT(v) FROM e",
    "SELECT HLL_ESTIMATE(HLL_ACCUMULATE(v)) FROM (SELECT v FROM e UNION ALL SELECT NULL)",
    "SELECT ARRAY_SIZE(ARRAY_AGG(DISTINCT v)) FROM e",
    "SELECT ARRAY_SIZE(ARRAY_UNIQUE_AGG(v)) FROM e",
    "SELECT ARRAY_SIZE(APPROX_TOP_K(v, 5)) FROM e",
    "SELECT COUNT_IF(n = 1) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY v ORDER BY i) AS n FROM e)",
    "SELECT MAX(n) FROM (SELECT DENSE_RANK() OVER (ORDER BY v) AS n FROM e)",
    "SELECT COUNT(*) FROM e a JOIN e b ON a.v = b.v AND a.i < b.i",
    "SELECT COUNT(*) FROM (SELECT v FROM e WHERE i = 1) a JOIN (SELECT v FROM e WHERE i = 2) b USING (v)",
    "SELECT COUNT(*) FROM e WHERE i = 1 AND v IN (SELECT v FROM e WHERE i = 2)",
    "SELECT COUNT(*) FROM e a JOIN e b ON a.i < b.i AND EQUAL_NULL(a.v, b.v) AND NULLIF(a.v, b.v) IS NULL AND "
    "a.v IS NOT DISTINCT FROM b.v AND a.v IN (b.v) AND a.v BETWEEN b.v AND b.v AND DECODE(a.v, b.v, 1, 0) = 1 AND "
    "CASE a.v WHEN b.v THEN TRUE END AND a.v >= b.v AND NOT a.v < b.v",
)


@pytest.mark.parametrize("kind", PAIRS)
def test_equal_values_are_one(session: Session, kind: str) -> None:
    one, other = PAIRS[kind]
    session.execute(f"CREATE TABLE e AS SELECT 1 AS i, {one} AS v UNION ALL SELECT 2, {other}")
    apart, refused = {}, set()
    for query in ONE:
        try:
            found = session.execute(query).rows()
        except SnowmeltError as error:
            assert error.code == "000002", (query, error.text)
            refused.add(query)
        else:
            if found != [(1,)]:
                apart[query] = found
    assert not apart
    assert len(refused) < len(ONE) / 3
    # Equality itself is the measure: of what it takes for one, nothing may be refused there.
    assert ONE[-1] not in refused


def test_a_set_is_sorted_by_its_members_only(session: Session) -> None:
    """Sorted by something else, a value would be there once for each of its rows."""
    session.execute("CREATE TABLE e (v VARCHAR, w INT) AS SELECT * FROM VALUES ('a', 2), ('b', 1), ('a', 0)")
    for name in ("LISTAGG", "ARRAY_AGG"):
        for order in ("w", "v, w", "LENGTH(v)", "1"):
            with pytest.raises(SnowmeltError) as refused:
                session.execute(f"SELECT {name}(DISTINCT v) WITHIN GROUP (ORDER BY {order}) FROM e")
            assert refused.value.code == "001104", order
    assert session.execute("SELECT LISTAGG(DISTINCT e.v) WITHIN GROUP (ORDER BY v DESC) FROM e").rows() == [("ba",)]
