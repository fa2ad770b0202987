"""Gates of a design: none that somebody asked for is lost, and each says which rows are to blame."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from pydantic import ValidationError

from snowmelt.core.errors import SnowmeltError
from snowmelt.design.building.project import project_files
from snowmelt.design.deciding import decide
from snowmelt.design.making.checking import check_design
from snowmelt.design.making.designing import design
from snowmelt.design.model import Design, DesignGate
from snowmelt.design.requirements.model import Requirements, WorkedExample
from tests.design.building import PROJECTS

COLUMNS = [
    {"name": "ORD_NO", "called": "order_id", "type": "NUMBER(38,0)"},
    {"name": "STATE", "called": "status", "nullable": False},
    {"name": "AMT", "called": "amount", "type": "NUMBER(12,2)"}, {"name": "CUST_NO", "called": "customer_id"},
    {"name": "CHG_TS", "called": "changed_at", "type": "TIMESTAMP_NTZ"},
]  # fmt: skip
SQL = "SELECT customer_id, SUM(amount) AS revenue FROM stg_orders WHERE status = 'paid' GROUP BY customer_id"


def made(*rules: dict[str, Any], columns: list[dict[str, Any]] | None = None, **more: Any) -> Design:
    table = {"name": "public.orders", "key": ["ORD_NO"], "change_column": "CHG_TS", "columns": columns or COLUMNS}
    given = Requirements.model_validate({
        **PROJECTS["postgres_snowmelt"], "quality": list(rules),
        "sources": [{"name": "shop", "kind": "postgres", "connection": "SHOP_URL", "tables": [{**table, **more}]}],
        "transformations": [{"name": "revenue", "key": ["customer_id"], "sql": SQL}],
    })  # fmt: skip
    return design(given, decide(given))


def gate(found: Design, check: str, table: str = "stg_orders", at: int = 0) -> DesignGate:
    return [item for item in found.quality if item.rule.check == check and item.rule.table == table][at]


def test_two_bounds_of_one_column_are_two_checks() -> None:
    low = {"check": "range", "table": "stg_orders", "columns": ["amount"], "minimum": 0}
    high = {"check": "range", "table": "stg_orders", "columns": ["amount"], "maximum": 1000, "severity": "critical"}
    found = made(low, high)
    names = [check.name for item in found.quality for check in item.checks if item.rule.check == "range"]
    assert names == ["gate_range_amount", "gate_range_amount_2"]
    assert len(project_files(found)) > 0, "the tests of both gates can be written"


def test_a_share_of_the_rows_before_is_held_by_the_engine() -> None:
    found = gate(made({"check": "row_count", "table": "revenue", "share": 0.9}), "row_count", "revenue")
    assert "AS\n  ROW_COUNT OF_BEFORE = '90 %' SEVERITY = ERROR ON_FAILURE = FAIL" in found.checks[0].sql
    assert found.counted == "" and found.on_failure.startswith("the refresh is refused")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"check": "row_count", "share": 0.9, "minimum": 1}, "share stands alone"),
        ({"check": "row_count", "share": 0.9, "severity": "warn"}, "error or critical"),
        ({"check": "range", "columns": ["amount"], "minimum": 0, "share": 0.9}, "belongs to row_count"),
        ({"check": "row_count", "share": 1.5}, "less than or equal to 1"),
    ],
)
def test_a_share_that_means_nothing_is_refused(rule: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        made({"table": "revenue", **rule})


def test_a_share_of_a_table_that_others_make_is_refused() -> None:
    rule = {"check": "row_count", "table": "customer_scores", "share": 0.9}
    given = Requirements.model_validate({**PROJECTS["model_api"], "quality": [rule]})
    with pytest.raises(SnowmeltError, match="made elsewhere"):
        design(given, decide(given))


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (
            {"check": "range", "table": "stg_orders", "columns": ["amount"], "minimum": 0, "severity": "warn"},
            ("('order_id', order_id, 'amount', amount) AS example\nFROM stg_orders\nWHERE amount < 0\nLIMIT 10",),
        ),
        (
            {"check": "range", "table": "revenue", "columns": ["revenue"], "maximum": 9, "severity": "critical"},
            (f"FROM (\n{SQL}\n)\nWHERE revenue > 9",),
        ),
        ({"check": "range", "table": "stg_orders", "columns": ["amount"], "minimum": 0}, ()),
        (
            {"check": "referential_integrity", "table": "revenue", "columns": ["customer_id"],
             "references": "stg_orders(customer_id)"},
            ("FROM revenue AS a LEFT JOIN stg_orders AS b ON b.customer_id = a.customer_id",
             "WHERE a.customer_id IS NOT NULL AND b.customer_id IS NULL"),
        ),
        (
            {"check": "distribution", "table": "stg_orders", "columns": ["amount"], "severity": "warn"},
            ("STDDEV(amount) OVER () AS _deviation FROM stg_orders)",),
        ),
        ({"check": "row_count", "table": "stg_orders", "minimum": 1}, ()),
    ],
    ids=["a warning", "what is refused", "what is quarantined", "references", "distribution", "a count"],
)  # fmt: skip
def test_examples_are_the_rows_to_blame(rule: dict[str, Any], parts: tuple[str, ...]) -> None:
    found = gate(made(rule), rule["check"], rule["table"])
    assert bool(found.examples) == bool(parts)
    assert all(part in found.examples for part in parts), found.examples


# -- examples of what a transformation gives --------------------------------------------------------------------------


def with_example(**example: Any) -> Design:
    shown = {"about": "amounts add up", "expect": [{"customer_id": "a", "revenue": 3}], **example}
    given = made().model_copy()
    stage = given.stage("revenue")
    assert stage is not None
    told = stage.model_copy(update={"examples": (WorkedExample.model_validate(shown),)})
    return given.model_copy(update={"stages": tuple(told if item is stage else item for item in given.stages)})


def test_examples_become_tests_of_the_project() -> None:
    rows = [{"customer_id": "it's", "amount": 1.5, "status": "paid", "changed_at": datetime.date(2024, 1, 1)}]
    files = project_files(with_example(given={"stg_orders": rows}))
    (kept,) = json.loads(files["tests/fixtures/examples.json"])
    (row,) = kept["given"]["stg_orders"]
    assert row["customer_id"] == "'it''s'" and (row["amount"], row["changed_at"]) == ("1.5", "'2024-01-01'")
    assert kept["columns"] == ["customer_id", "revenue"] and "tests/integration/test_examples.py" in files
    assert "tests/integration/test_examples.py" not in project_files(made())


@pytest.mark.parametrize(
    ("example", "told"),
    [
        ({"given": {"stg_customers": []}}, "gives rows of stg_customers, which is not read: stg_orders"),
        ({"given": {"stg_orders": [{"amout": 1}]}}, "has a column amout of stg_orders: there are order_id"),
        ({"expect": [{"total": 1}]}, "has a column total of revenue: there are customer_id, revenue"),
    ],
)
def test_examples_of_what_is_not_there_are_refused(example: dict[str, Any], told: str) -> None:
    with pytest.raises(SnowmeltError, match=told):
        check_design(with_example(**example))


def test_rows_of_an_example_have_the_same_columns() -> None:
    with pytest.raises(ValidationError, match="same columns"):
        with_example(expect=[{"customer_id": "a"}, {"revenue": 1}])


# -- columns that have other names here -------------------------------------------------------------------------------


@pytest.mark.parametrize("load", ["merge", "scd_type_1", "scd_type_2", "scd_type_3"])
@pytest.mark.parametrize("read", ["watermark", "whole", "log"])
def test_columns_go_by_their_names_here(load: str, read: str) -> None:
    """In tables, keys, gates and contracts; the source is asked by its own."""
    way: dict[str, dict[str, Any]] = {
        "watermark": {}, "whole": {"change_column": None}, "log": {"deletes": True, "replica_identity": "full"},
    }  # fmt: skip
    previous = ["status"] if load == "scd_type_3" else []
    given = Requirements.model_validate({
        **PROJECTS["postgres_snowmelt"], "transformations": [], "quality": [],
        "recipe": "cdc" if read == "log" else "etl",
        "sources": [{"name": "shop", "kind": "postgres", "connection": "SHOP_URL", "tables": [
            {"name": "public.orders", "key": ["ORD_NO"], "change_column": "CHG_TS", "columns": COLUMNS, **way[read]}]}],
        "sinks": [{"name": "mart", "kind": "snowmelt", "load": load, "previous": previous}],
    })  # fmt: skip
    verdict = decide(given)
    if not verdict.final:
        pytest.skip("refused, with other words in another test")
    found = design(given, verdict)
    stage = found.stage("stg_orders")
    assert stage is not None and stage.key == ("order_id",)
    assert ":ORD_NO::" in stage.sql and "AS order_id" in stage.sql
    assert gate(found, "reconciliation").rule.columns == ("order_id",)
    empty = {item.rule.columns for item in found.quality if item.rule.check == "not_null"}
    assert empty == {("order_id",), ("status",)}
    names = {column.name.lower() for item in found.contracts for column in item.columns}
    assert not names or {"order_id", "amount"} <= names
    config = project_files(found)["config/pipeline_config.yaml"]
    assert "called:" in config and "ORD_NO: order_id" in config


def test_two_columns_can_not_be_called_the_same() -> None:
    with pytest.raises(ValidationError, match="column called"):
        made(columns=[*COLUMNS[:2], {"name": "OTHER", "called": "Status"}, *COLUMNS[2:]])


def test_columns_of_tables_that_are_here_keep_their_names() -> None:
    source = {"name": "w", "kind": "snowmelt", "tables": [{"name": "t", "columns": [{"name": "a", "called": "b"}]}]}
    with pytest.raises(ValidationError, match="named in SQL"):
        Requirements.model_validate({**PROJECTS["model_api"], "sources": [source]})
