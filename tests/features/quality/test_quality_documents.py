"""Checks in YAML files become the statements that declare them."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.quality.documents import statements
from snowmelt.sql.statements.parse import parse_statement

_FILE = """
tables:
  shop.public.orders:
    - {name: id_there, check: not_null, column: order_id, on_failure: quarantine, threshold: 5 %}
    - {name: once, check: unique, columns: [order_id, '"Line"']}
    - {name: known, check: accepted_values, column: status, values: [open, "it's", 3], severity: warn}
    - {name: late, check: range, column: at, min: 2024-01-01}
    - {name: sane, check: expression, expression: amount > 0}
    - {name: parent, check: references, column: customer, table: shop.public.customers, key: id}
    - {name: fresh, check: freshness, column: at, max_age: 2 hours, severity: critical}
    - {name: p95, check: quantile, column: amount, quantile: 0.95, max: 100}
"""


def test_a_file_of_checks() -> None:
    made = statements(_FILE)
    begin = "ALTER TABLE SHOP.PUBLIC.ORDERS ADD OR REPLACE QUALITY CHECK "
    assert [text.removeprefix(begin) for text in made] == [
        "ID_THERE AS NOT_NULL (ORDER_ID) SEVERITY = ERROR ON_FAILURE = QUARANTINE THRESHOLD = '5 %'",
        'ONCE AS UNIQUE (ORDER_ID, "Line") SEVERITY = ERROR ON_FAILURE = FAIL',
        "KNOWN AS ACCEPTED_VALUES (STATUS) VALUES = ('open', 'it''s', 3) SEVERITY = WARN ON_FAILURE = WARN",
        "LATE AS RANGE (AT) MIN = '2024-01-01' SEVERITY = ERROR ON_FAILURE = FAIL",
        "SANE AS EXPRESSION (amount > 0) SEVERITY = ERROR ON_FAILURE = FAIL",
        "PARENT AS REFERENCES (CUSTOMER) TABLE = SHOP.PUBLIC.CUSTOMERS KEY = (ID) SEVERITY = ERROR ON_FAILURE = FAIL",
        "FRESH AS FRESHNESS (AT) MAX_AGE = '2 hours' SEVERITY = CRITICAL ON_FAILURE = SUSPEND",
        "P95 AS QUANTILE (AMOUNT) MAX = 100 QUANTILE = 0.95 SEVERITY = ERROR ON_FAILURE = FAIL",
    ]
    for text in made:
        parse_statement(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "the file"),
        ("tables: 3", "must have `tables`"),
        ("tables: {t: {a: 1}}", "list of checks"),
        ("tables: {t: [{check: not_null}]}", "`name`"),
        ("tables: {t: [{name: a, check: nice, column: x}]}", "Unknown quality check 'nice'"),
        ("tables: {t: [{name: a, check: range, column: x}]}", "check a.*needs MIN or MAX"),
        ("tables: {t: [{name: a, check: not_null, column: x, severity: bad}]}", "check a"),
        ("tables: {t: [{name: a, check: not_null, column: x, wrong: 1}]}", "WRONG"),
        ("tables: {t: [{name: a, check: references, column: x, table: y}]}", "full name"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(SnowmeltError, match="(?s)" + message):
        statements(text)
