"""Queries turned around: which rows of a source a value was made from."""

from __future__ import annotations

import pytest
from sqlglot import exp

from snowmelt.govern.erasure.identifiers import Mentions, names_one_person
from snowmelt.govern.erasure.origins import origins_of
from snowmelt.sql.dialect import parse_snowflake

COLUMNS = {"RAW": ["RECORD", "KIND", "N"], "OTHER": ["ID", "KIND"], "T": ["ID", "NAME"]}


def _columns(table: exp.Table) -> list[str] | None:
    return COLUMNS.get(table.name.upper())


def turned(query: str, column: str = "ID") -> tuple[set[str], set[str]]:
    found = origins_of(parse_snowflake(query), column, _columns)
    texts = set()
    for origin in found.found:
        parts = [origin.value, *origin.conditions]
        texts.add(
            f"{origin.table.name.upper()}: " + " AND ".join(each.sql(dialect="snowflake").upper() for each in parts)
        )
    return texts, {name.upper() for name in found.unclear}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id FROM t", {"T: ID"}),
        ("SELECT * FROM t", {'T: "ID"'}),
        ("SELECT name AS id FROM t WHERE id > 3", {"T: NAME AND ID > 3"}),
        ("SELECT id FROM (SELECT id, name FROM t) q WHERE q.name = 'x'", {"T: ID AND NAME = 'X'"}),
        ("WITH q AS (SELECT id FROM t) SELECT id FROM q", {"T: ID"}),
        ("SELECT id FROM t UNION ALL SELECT id FROM other", {"T: ID", "OTHER: ID"}),
        ("SELECT t.id FROM t JOIN other o ON t.id = o.id", {"T: ID"}),
        ("SELECT t.id FROM t JOIN other o ON t.id = o.id AND t.name = 'x'", {"T: ID AND NAME = 'X'"}),
        ("SELECT id FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY name) = 1", {"T: ID"}),
        ("SELECT id, COUNT(*) AS n FROM t GROUP BY id HAVING COUNT(*) > 1", {"T: ID"}),
    ],
)
def test_rows_of_the_source(query: str, expected: set[str]) -> None:
    assert turned(query) == (expected, set())


def test_documents_with_the_conditions_of_their_query() -> None:
    texts, _ = turned("SELECT record:id::INT AS id FROM raw WHERE kind = 'customer' QUALIFY MAX(n) OVER () = n")
    (text,) = texts
    assert text.endswith("AND KIND = 'CUSTOMER'")
    assert "RECORD" in text


@pytest.mark.parametrize(
    ("query", "unclear"),
    [
        ("SELECT id FROM t WHERE id IN (SELECT id FROM other)", {"T"}),
        ("SELECT t.id FROM t JOIN other o ON t.id = o.id WHERE o.kind = 'customer'", {"T"}),
        ("SELECT MAX(id) AS id FROM t", {"T"}),
        ("SELECT COALESCE(t.id, o.id) AS id FROM t FULL JOIN other o ON t.id = o.id", {"T", "OTHER"}),
    ],
)
def test_nothing_is_guessed(query: str, unclear: set[str]) -> None:
    assert turned(query) == (set(), unclear)


def test_constants_come_from_nowhere() -> None:
    assert turned("SELECT 1 AS id FROM t") == (set(), set())


def test_what_names_one_person() -> None:
    assert names_one_person("email", "ada@example.org")
    assert names_one_person("token", "1b4e28ba-2fa1-11d2-883f-0016d3cca427")
    assert names_one_person("phone", "0171 555 0100")
    assert not names_one_person("id", "42")
    assert not names_one_person("city", "London in summer")


def test_mentions_in_any_case_and_as_json_writes_them() -> None:
    mentions = Mentions(["Ada@Example.org", 'a"b-long-name'])
    assert mentions.erased("to ADA@example.ORG, and others") == "to [erased], and others"
    assert mentions.in_text('{"x": "a\\"b-long-name"}')
    assert mentions.in_bytes("…ada@example.org…".encode())
    assert not Mentions([]).in_text("anything")
