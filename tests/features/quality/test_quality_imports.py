"""Suites of Great Expectations and check files of Soda become statements; what has no counterpart is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.quality import great_expectations, soda
from snowmelt.govern.quality.imported import Imported
from snowmelt.sql.statements.parse import parse_statement


def definitions(found: Imported, table: str) -> list[str]:
    """What stands behind AS, without the defaults."""
    begin = f"ALTER TABLE {table} ADD OR REPLACE QUALITY CHECK "
    for statement in found.statements:
        parse_statement(statement)
        assert statement.startswith(begin)
    return [
        statement.removeprefix(begin).replace(" SEVERITY = ERROR ON_FAILURE = FAIL", "")
        for statement in found.statements
    ]


def expected(kind: str, **arguments: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """The checks that one expectation becomes, and what is said of it if it becomes none."""
    suite = {"name": "s", "expectations": [{"type": kind, "kwargs": arguments}]}
    found = great_expectations.imported(json.dumps(suite), "shop.public.t")
    return definitions(found, "SHOP.PUBLIC.T"), [(item.name, item.why) for item in found.unmapped]


@pytest.mark.parametrize(
    ("kind", "arguments", "wanted"),
    [
        ("column_values_to_not_be_null", {"column": "id"}, "ID_NOT_NULL AS NOT_NULL (ID)"),
        (
            "column_values_to_not_be_null",
            {"column": "id", "mostly": 0.95},
            "ID_NOT_NULL AS NOT_NULL (ID) THRESHOLD = '5 %'",
        ),
        ("column_values_to_be_null", {"column": "id"}, "EXPRESSION AS EXPRESSION (ID IS NULL)"),
        ("column_values_to_be_unique", {"column": "id"}, "ID_UNIQUE AS UNIQUE (ID)"),
        ("compound_columns_to_be_unique", {"column_list": ["a", "b"]}, "A_B_UNIQUE AS UNIQUE (A, B)"),
        (
            "select_column_values_to_be_unique_within_record",
            {"column_list": ["a", "b", "c"]},
            "EXPRESSION AS EXPRESSION (A <> B AND A <> C AND B <> C)",
        ),
        (
            "column_values_to_be_in_set",
            {"column": "s", "value_set": ["a", "it's", 1]},
            "S_ACCEPTED_VALUES AS ACCEPTED_VALUES (S) VALUES = ('a', 'it''s', 1)",
        ),
        (
            "column_values_to_not_be_in_set",
            {"column": "s", "value_set": [0]},
            "EXPRESSION AS EXPRESSION (S NOT IN (0))",
        ),
        (
            "column_values_to_be_between",
            {"column": "x", "min_value": 0, "max_value": 9.5},
            "X_RANGE AS RANGE (X) MIN = 0 MAX = 9.5",
        ),
        (
            "column_values_to_be_between",
            {"column": "x", "min_value": 0, "max_value": 9, "strict_min": True},
            "EXPRESSION AS EXPRESSION (X > 0 AND X <= 9)",
        ),
        (
            "column_values_to_be_between",
            {"column": "d", "min_value": "2024-01-01"},
            "D_RANGE AS RANGE (D) MIN = '2024-01-01'",
        ),
        ("column_value_lengths_to_be_between", {"column": "x", "max_value": 3}, "X_LENGTH AS LENGTH (X) MAX = 3"),
        ("column_value_lengths_to_equal", {"column": "x", "value": 3}, "X_LENGTH AS LENGTH (X) MIN = 3 MAX = 3"),
        (
            "column_values_to_match_regex",
            {"column": "x", "regex": r"\d+'s"},
            r"EXPRESSION AS EXPRESSION (REGEXP_INSTR(X, '\\d+''s') > 0)",
        ),
        (
            "column_values_to_match_like_pattern",
            {"column": "x", "like_pattern": "a%"},
            "EXPRESSION AS EXPRESSION (X LIKE 'a%')",
        ),
        (
            "column_pair_values_a_to_be_greater_than_b",
            {"column_A": "a", "column_B": "My B", "or_equal": True},
            'EXPRESSION AS EXPRESSION (A >= "My B")',
        ),
        ("column_to_exist", {"column": "order"}, "SCHEMA AS SCHEMA VALUES = ('\"ORDER\"')"),
        (
            "column_values_to_be_of_type",
            {"column": "a", "type_": "NUMBER(10,2)"},
            "SCHEMA AS SCHEMA VALUES = ('A NUMBER(10,2)')",
        ),
        (
            "table_columns_to_match_set",
            {"column_set": ["a", "b"], "exact_match": False},
            "SCHEMA AS SCHEMA VALUES = ('A', 'B')",
        ),
        (
            "table_row_count_to_be_between",
            {"min_value": 1, "max_value": None},
            "ROW_COUNT AS ROW_COUNT MIN = 1 WINDOW = 10",
        ),
        ("table_row_count_to_equal", {"value": 7}, "ROW_COUNT AS ROW_COUNT MIN = 7 MAX = 7 WINDOW = 10"),
        (
            "table_row_count_to_equal_other_table",
            {"other_table_name": "u"},
            "SQL AS SQL (SELECT (SELECT COUNT(*) FROM SHOP.PUBLIC.T) - (SELECT COUNT(*) FROM U)) MIN = 0 MAX = 0",
        ),
        ("column_mean_to_be_between", {"column": "x", "min_value": 1}, "X_MEAN AS MEAN (X) MIN = 1"),
        ("column_stdev_to_be_between", {"column": "x", "max_value": 1}, "X_STDDEV AS STDDEV (X) MAX = 1"),
        (
            "column_median_to_be_between",
            {"column": "x", "max_value": 1},
            "X_QUANTILE AS QUANTILE (X) MAX = 1 QUANTILE = 0.5",
        ),
        (
            "column_max_to_be_between",
            {"column": "x", "max_value": 1},
            "SQL AS SQL (SELECT MAX(X) FROM SHOP.PUBLIC.T) MAX = 1",
        ),
        (
            "column_proportion_of_non_null_values_to_be_between",
            {"column": "x", "min_value": 0.9},
            "X_COMPLETENESS AS COMPLETENESS (X) MIN = 90",
        ),
    ],
)
def test_expectations(kind: str, arguments: dict[str, Any], wanted: str) -> None:
    assert expected(f"expect_{kind}", **arguments) == ([wanted], [])


def test_quantiles_are_a_check_each() -> None:
    ranges = {"quantiles": [0.1, 0.9], "value_ranges": [[0, 1], [None, 9]]}
    made, unmapped = expected("expect_column_quantile_values_to_be_between", column="x", quantile_ranges=ranges)
    assert made == [
        "X_QUANTILE AS QUANTILE (X) MIN = 0 MAX = 1 QUANTILE = 0.1",
        "X_QUANTILE_2 AS QUANTILE (X) MAX = 9 QUANTILE = 0.9",
    ]
    assert unmapped == []


@pytest.mark.parametrize(
    ("kind", "arguments", "why"),
    [
        ("expect_column_kl_divergence_to_be_less_than", {"column": "x"}, "no such check"),
        ("expect_column_values_to_not_be_null", {"column": "x", "row_condition": "a = 1"}, "row_condition"),
        ("expect_column_values_to_be_unique", {"column": "x", "mostly": 0.9}, "mostly"),
        ("expect_column_values_to_not_be_null", {}, "no `column`"),
        ("expect_column_values_to_be_between", {"column": "x"}, "no bounds"),
        ("expect_column_max_to_be_between", {"column": "x", "max_value": "2024-01-01"}, "not a number"),
        ("expect_column_values_to_be_of_type", {"column": "x", "type_": "StringType"}, "not an SQL type"),
        ("expect_table_columns_to_match_set", {"column_set": ["a"]}, "forbidden"),
        ("expect_column_quantile_values_to_be_between", {"column": "x", "quantile_ranges": 3}, "not written"),
        ("expect_column_values_to_be_in_set", {"column": "x", "value_set": [[1]]}, "not a value"),
    ],
)
def test_expectations_without_a_counterpart_are_named(kind: str, arguments: dict[str, Any], why: str) -> None:
    made, unmapped = expected(kind, **arguments)
    assert made == [] and len(unmapped) == 1
    assert unmapped[0][0].startswith(kind) and why in unmapped[0][1]


def test_both_layouts_of_suites_and_severities() -> None:
    suite = {
        "expectation_suite_name": "old",
        "expectations": [
            {"expectation_type": "expect_column_to_exist", "kwargs": {"column": "a", "result_format": "BASIC"}},
            {"type": "expect_column_to_exist", "severity": "warning", "kwargs": {"column": "b"}},
        ],
    }
    found = great_expectations.imported(json.dumps(suite), "t")
    assert definitions(found, "T") == [
        "SCHEMA AS SCHEMA VALUES = ('A')",
        "SCHEMA_2 AS SCHEMA VALUES = ('B') SEVERITY = WARN ON_FAILURE = WARN",
    ]
    for text in ("{", "[]", '{"expectations": 3}'):
        with pytest.raises(SnowmeltError):
            great_expectations.imported(text, "t")


# -- Soda -------------------------------------------------------------------------------------------------------------


def soda_checks(body: str) -> tuple[list[str], list[tuple[str, str]]]:
    lines = "".join(f"  {line}\n" for line in body.strip("\n").splitlines())
    found = soda.imported(f"checks for orders:\n{lines}", "shop.public")
    return definitions(found, "SHOP.PUBLIC.ORDERS"), [(item.name, item.why) for item in found.unmapped]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("- row_count > 0", ["ROW_COUNT AS ROW_COUNT MIN = 1 WINDOW = 10"]),
        ("- row_count between 10 and 20", ["ROW_COUNT AS ROW_COUNT MIN = 10 MAX = 20 WINDOW = 10"]),
        ("- missing_count(id) = 0", ["ID_NOT_NULL AS NOT_NULL (ID)"]),
        ("- missing_percent(id) = 0 %", ["ID_NOT_NULL AS NOT_NULL (ID)"]),
        ("- missing_percent(id) <= 5%", ["ID_COMPLETENESS AS COMPLETENESS (ID) MIN = 95"]),
        (
            "- missing_count(id) < 5",
            ['SQL AS SQL (SELECT COUNT_IF(("ID" IS NULL)) FROM SHOP.PUBLIC.ORDERS) MAX = 4'],
        ),
        (
            "- missing_count(n) = 0:\n    missing values: [N/A, none]",
            ["N_NOT_NULL AS NOT_NULL (N)", "EXPRESSION AS EXPRESSION (N NOT IN ('N/A', 'none'))"],
        ),
        ("- duplicate_count(a, b) = 0", ["A_B_UNIQUE AS UNIQUE (A, B)"]),
        (
            "- duplicate_count(a) < 3",
            [
                "SQL AS SQL (SELECT COUNT(*) FROM (SELECT A FROM SHOP.PUBLIC.ORDERS WHERE A IS NOT NULL GROUP BY A "
                "HAVING COUNT(*) > 1)) MAX = 2"
            ],
        ),
        (
            "- invalid_count(s) = 0:\n    valid values: [a, b]\n    valid max length: 3",
            ["S_ACCEPTED_VALUES AS ACCEPTED_VALUES (S) VALUES = ('a', 'b')", "S_LENGTH AS LENGTH (S) MAX = 3"],
        ),
        (
            "- invalid_percent(x) <= 2:\n    valid min: 1\n    valid max: 6",
            [
                'SQL AS SQL (SELECT 100 * COUNT_IF(("X" < 1 OR "X" > 6)) / NULLIF(COUNT(*), 0) FROM '
                "SHOP.PUBLIC.ORDERS) MAX = 2"
            ],
        ),
        ("- invalid_count(s) = 0:\n    valid regex: ^a+$", ["S_PATTERN AS PATTERN (S) PATTERN = '^a+$'"]),
        ("- avg(x) between 1 and 2.5", ["X_MEAN AS MEAN (X) MIN = 1 MAX = 2.5"]),
        ("- max(x) <= 10", ["SQL AS SQL (SELECT MAX(X) FROM SHOP.PUBLIC.ORDERS) MAX = 10"]),
        ("- percentile(x, 0.95) <= 10", ["X_QUANTILE AS QUANTILE (X) MAX = 10 QUANTILE = 0.95"]),
        ("- avg(x) < 1", ["X_MEAN AS MEAN (X) MAX = 0.9999999999999999"]),
        ("- freshness(at) < 1d6h", ["AT_FRESHNESS AS FRESHNESS (AT) MAX_AGE = '108000 seconds'"]),
        (
            "- values in (c) must exist in customers (id)",
            ["C_REFERENCES AS REFERENCES (C) TABLE = SHOP.PUBLIC.CUSTOMERS KEY = (ID)"],
        ),
        (
            "- row_count same as other.raw",
            [
                "SQL AS SQL (SELECT (SELECT COUNT(*) FROM SHOP.PUBLIC.ORDERS) - (SELECT COUNT(*) FROM OTHER.RAW))"
                " MIN = 0 MAX = 0"
            ],
        ),
        (
            "- failed rows:\n    name: Sane amounts\n    fail condition: amount < 0",
            ["SANE_AMOUNTS AS EXPRESSION (NOT (amount < 0))"],
        ),
        (
            "- failed rows:\n    fail query: SELECT * FROM t;",
            ["SQL AS SQL (SELECT COUNT(*) FROM (SELECT * FROM t)) MAX = 0"],
        ),
        (
            "- ratio between 0 and 1:\n    ratio expression: SUM(a) / SUM(b)",
            ["SQL AS SQL (SELECT SUM(a) / SUM(b) FROM SHOP.PUBLIC.ORDERS) MIN = 0 MAX = 1"],
        ),
        (
            "- row_count:\n    warn: when < 10\n    fail: when = 0",
            [
                "ROW_COUNT AS ROW_COUNT MIN = 10 WINDOW = 10 SEVERITY = WARN ON_FAILURE = WARN",
                "ROW_COUNT_2 AS ROW_COUNT MIN = 1 WINDOW = 10",
            ],
        ),
        (
            "- schema:\n    fail:\n      when required column missing: [a]\n      when wrong column type: {b: varchar}",
            ["SCHEMA AS SCHEMA VALUES = ('A')", "SCHEMA_2 AS SCHEMA VALUES = ('B varchar')"],
        ),
    ],
)
def test_soda_checks(body: str, wanted: list[str]) -> None:
    assert soda_checks(body) == (wanted, [])


@pytest.mark.parametrize(
    ("body", "name", "why"),
    [
        ("- anomaly detection for row_count", "orders: anomaly detection for row_count", "condition"),
        ("- missing_count(a) = 0:\n    filter: b = 1", "orders: missing_count(a) = 0", "`filter`"),
        ("- invalid_count(a) = 0", "orders: invalid_count(a) = 0", "what is valid"),
        ("- invalid_count(a) = 0:\n    valid format: email", "orders: invalid_count(a) = 0", "`valid format`"),
        ("- row_count != 3", "orders: row_count != 3", "condition"),
        ("- strange(a) > 3", "orders: strange(a) > 3", "no such check"),
        ("- duplicate_percent(a) < 3", "orders: duplicate_percent(a) < 3", "= 0"),
        ("- row_count", "orders: row_count", "no condition"),
        (
            "- schema:\n    fail:\n      when forbidden column present: [a]",
            "orders: schema: when forbidden column present",
            "no such check",
        ),
    ],
)
def test_soda_checks_without_a_counterpart_are_named(body: str, name: str, why: str) -> None:
    made, unmapped = soda_checks(body)
    assert made == [] and [item[0] for item in unmapped] == [name]
    assert why in unmapped[0][1]


def test_soda_files() -> None:
    found = soda.imported(
        "filter orders [daily]: {where: a}\nchecks for orders [daily]: [row_count > 0]\nchecks for b: [row_count > 0]",
        None,
    )
    assert definitions(found, "B") == ["ROW_COUNT AS ROW_COUNT MIN = 1 WINDOW = 10"]
    assert [item.name for item in found.unmapped] == ["filter orders [daily]", "checks for orders [daily]"]
    lost = soda.imported("checks for b: [values in (c) must exist in d (e)]", None)
    assert "--schema" in lost.unmapped[0].why
    for text in ("[1", "tables: 3", "- a"):
        with pytest.raises(SnowmeltError, match=r"Soda|YAML"):
            soda.imported(text, None)
