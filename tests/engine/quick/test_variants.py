"""VARIANT, FLATTEN and regular expressions as a user writes them: the quick lane gives the rows that Spark gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings
from snowmelt.runtime.account import Account
from tests.conftest import SPARK

EVENTS = """
INSERT INTO events (at, payload)
SELECT column1::TIMESTAMP_NTZ, PARSE_JSON(column2) FROM VALUES
  ('2026-01-01 10:00:00', '{"user": "ada",   "cart": [{"sku": "tea", "n": 2}, {"sku": "cup", "n": 1.50}]}'),
  ('2026-01-01 10:05:00.25', '{"user": "grace", "cart": [{"sku": "tea", "n": "1"}], "tags": {"b": true, "a b": null}}'),
  ('2026-01-01', '{"user": "ada",   "cart": [], "more": [[1, [2]], "x", null]}'), (NULL, NULL)
"""
MOMENTS = """
INSERT INTO moments SELECT PARSE_JSON(column1) FROM VALUES
  ('{"at": "2026-01-01T10:00:00Z"}'), ('{"at": "2024-02-29T23:30:45.123456Z"}'), ('{"at": null}'), ('{}'), (NULL),
  ('{"at": "1969-12-31 23:59:59.000001+05:30"}'), ('{"at": "2026-03-29T02:30:00-13:59"}'),
  ('{"at": "0001-01-01 00:00:00.1"}'), ('{"at": "9999-12-31 23:59:59"}')
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    settings = Settings(spark=SPARK, quick=QuickSettings())
    with open_account(tmp_path_factory.mktemp("shop"), settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE events (id INT AUTOINCREMENT, at TIMESTAMP_NTZ, payload VARIANT)")
        session.execute(EVENTS)
        session.execute("CREATE TABLE moments (v VARIANT)")
        session.execute(MOMENTS)
        assert not is_started(account)
        yield account


def is_started(account: Account) -> bool:
    return "spark" in account.engine.__dict__ and account.engine.started.is_set()


STATEMENTS = [
    "SELECT payload:user::VARCHAR AS who, item.value:sku::VARCHAR AS sku, SUM(item.value:n::INT) AS pieces"
    " FROM events, LATERAL FLATTEN(INPUT => payload:cart) item GROUP BY ALL ORDER BY ALL",
    "SELECT id, payload:user::VARCHAR AS who, at FROM events"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY who ORDER BY at DESC) = 1 ORDER BY id",
    "SELECT * FROM events ORDER BY id",
    "SELECT payload:cart[0].sku, payload:cart[0]:n::FLOAT, payload['tags']['a b'], payload:nothing"
    " FROM events ORDER BY id",
    "SELECT payload:cart[0].n::NUMBER(10, 1), payload:cart[1].n::VARCHAR, payload:tags.b::BOOLEAN"
    " FROM events ORDER BY id",
    "SELECT f.key, f.path, f.index, f.value FROM events, LATERAL FLATTEN(INPUT => payload) f"
    " WHERE id < 4 ORDER BY id, f.key",
    "SELECT id, f.value FROM events, LATERAL FLATTEN(INPUT => payload:tags, OUTER => TRUE) f ORDER BY id, f.key",
    "SELECT f.path, f.index FROM events, LATERAL FLATTEN(INPUT => payload, PATH => 'more') f ORDER BY f.index",
    "SELECT TYPEOF(payload), TYPEOF(payload:cart), TYPEOF(payload:user), IS_NULL_VALUE(payload:tags['a b'])"
    " FROM events ORDER BY id",
    "SELECT OBJECT_CONSTRUCT('a', id, 'b', payload:user, 'c', NULL), ARRAY_CONSTRUCT(id, 'x', NULL)"
    " FROM events ORDER BY id",
    "SELECT ARRAY_SIZE(payload:cart), payload:cart[0] IS NULL, TO_JSON(payload:cart) FROM events ORDER BY id",
    "SELECT PARSE_JSON('{\"a\": [1, 2.50, null]}'), TRY_PARSE_JSON('[true]')",
    "SELECT ARRAY_SIZE(ARRAY_AGG(id)) FROM events",
    "SELECT v:at::TIMESTAMP_LTZ FROM moments ORDER BY v:at::VARCHAR",
    "SELECT column1, PARSE_JSON(column1)::TIMESTAMP_NTZ FROM VALUES ('\"2026-01-01 10:00:00\"'),"
    " ('\"2024-02-29T12:30:45.1234\"'), ('\"1970-01-01 00:00:00.000001\"') ORDER BY 1",
    'SELECT PARSE_JSON(column1):at::TIMESTAMP_NTZ FROM VALUES (\'{"at": "0001-01-01 00:00:00"}\'),'
    ' (\'{"at": "9999-12-31 23:59:59.999999"}\'), (\'{"at": "1582-10-10 00:00:00"}\') ORDER BY 1',
    "SELECT '2020-01-31'::DATE, '0001-01-01'::DATE, '2020-01-31 10:11'::TIMESTAMP_NTZ FROM events",
    "SELECT REGEXP_REPLACE(payload:user::VARCHAR, '[aeiou]', '*'), REGEXP_LIKE(payload:user::VARCHAR, 'a.*')"
    " FROM events ORDER BY id",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_both_lanes_agree(shop: Account, statement: str) -> None:
    session = shop.session()
    found = []
    for mode in (QuickMode.ON, QuickMode.OFF):
        shop.engine.mode = mode
        result = session.execute(statement)
        found.append((result.rows(), shop.engine.use_of(result.query_id)))
    shop.engine.mode = QuickMode.ON
    assert found[0][0] == found[1][0]
    assert found[0][1].lane == "quick", found[0][1].reason


def test_other_texts_of_an_instant_are_left_to_spark(shop: Account) -> None:
    """Each of them is one to Snowflake."""
    session = shop.session()
    session.execute("CREATE TABLE more_moments (v VARIANT)")
    texts = ("2026-01-01 10:00Z", "2026-01-01", "01/02/2026", "1700000000", "2026-01-01T10:00:00.1234567Z")
    for text in texts:
        session.execute(f"INSERT OVERWRITE INTO more_moments SELECT OBJECT_CONSTRUCT('at', '{text}')")
        result = session.execute("SELECT v:at::TIMESTAMP_LTZ IS NOT NULL FROM more_moments")
        assert result.rows() == [(True,)]
        assert shop.engine.use_of(result.query_id).lane == "spark", text


def test_what_is_not_known_for_sure_is_left_to_spark(shop: Account) -> None:
    session = shop.session()
    for value in ("PARSE_JSON('1.5e3')::VARCHAR", "PARSE_JSON('\"1e3\"')::INT", "PARSE_JSON('[undefined]')"):
        result = session.execute(f"SELECT {value}")
        assert shop.engine.use_of(result.query_id).lane == "spark"
