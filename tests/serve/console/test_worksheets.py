"""The worksheet: what it completes, how statements end, which session they run in, and what is taken away as a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from tests.serve.callers import Serving
from tests.serve.console.using import check_access, type_sql, visit


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("SELECT * FROM shop.marts.rev", "REVENUE"), ("SELECT * FROM shop.sta", "STAGING"),
        ("SELECT DATE_TR", "DATE_TRUNC"), ("SELECT r.tot FROM shop.marts.revenue r", "TOTAL"),
        ("CREATE DYN", "DYNAMIC"),
    ],
)  # fmt: skip
def test_completion_knows_objects_columns_functions_and_words(page: Page, typed: str, offered: str) -> None:
    visit(page, "#/worksheet")
    expect(page.get_by_label("Schema", exact=True)).to_contain_text("SHOP.MARTS")
    type_sql(page, typed)
    for _ in range(len(typed) - typed.find(" FROM") if "r.tot" in typed else 0):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Space")
    options = page.locator(".cm-tooltip-autocomplete li")
    expect(options.filter(has_text=offered).or_(options.filter(has_text=offered.lower())).first).to_be_visible()


def test_several_statements_stop_at_the_first_that_fails(page: Page) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "SELECT 1 AS one;\nSELECT nothing;\nSELECT 3 AS three")
    page.keyboard.press("Control+Shift+Enter")
    seen = page.locator(".worksheet:not([hidden])")
    expect(seen.get_by_role("alert")).to_contain_text("line 2")
    runs = seen.get_by_role("group", name="Statements").get_by_role("button")
    expect(runs).to_have_text(["1 ✓", "2 ✕", "3"])
    runs.last.click()
    expect(seen.get_by_text("It did not run")).to_be_visible()
    runs.first.click()
    expect(seen.get_by_role("table", name="Result")).to_contain_text("ONE")
    check_access(page)


def test_a_statement_is_cancelled_and_the_next_one_runs(page: Page) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "CALL SYSTEM$WAIT(600)")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("elapsed")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("cancel")
    type_sql(page, "SELECT 'after it' AS said")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("table", name="Result")).to_contain_text("after it")


def test_each_worksheet_has_a_role_a_warehouse_and_a_schema(page: Page, shop: Serving) -> None:
    shop.admin().execute("CREATE WAREHOUSE IF NOT EXISTS night_wh")
    shop.admin().execute("GRANT USAGE ON DATABASE shop TO ROLE sysadmin")
    shop.admin().execute("GRANT USAGE ON SCHEMA shop.marts TO ROLE sysadmin")
    visit(page, "#/worksheet")
    seen = page.locator(".worksheet:not([hidden])")
    seen.get_by_label("Warehouse").select_option("NIGHT_WH")
    seen.get_by_label("Schema", exact=True).select_option(label="SHOP.MARTS")
    seen.get_by_label("Role").select_option("SYSADMIN")
    names = "CURRENT_ROLE() AS r, CURRENT_WAREHOUSE() AS w, CURRENT_DATABASE() || '.' || CURRENT_SCHEMA() AS s"
    type_sql(page, f"SELECT {names}")
    page.keyboard.press("Control+Enter")
    for text in ("SYSADMIN", "NIGHT_WH", "SHOP.MARTS"):
        expect(seen.get_by_role("table", name="Result")).to_contain_text(text)
    page.get_by_role("button", name="New worksheet").click()
    expect(seen.get_by_label("Role")).to_have_value("ACCOUNTADMIN")
    # What a statement changes shows above it.
    type_sql(page, "USE SCHEMA shop.raw")
    page.keyboard.press("Control+Enter")
    expect(seen.get_by_label("Schema", exact=True).locator("option:checked")).to_have_text("SHOP.RAW")
    type_sql(page, "BEGIN")
    page.keyboard.press("Control+Enter")
    expect(seen.get_by_text("transaction open")).to_be_visible()
    shop.admin().execute("DROP WAREHOUSE night_wh")


@pytest.mark.parametrize("form", ["CSV", "JSON", "Parquet"])
def test_a_result_is_taken_away_as_a_file(page: Page, form: str) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "SELECT 1 AS n, 'è' AS t UNION ALL SELECT 2, NULL ORDER BY n")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("summary")).to_contain_text("2 rows")
    with page.expect_download() as download:
        page.get_by_role("link", name=form).click()
    file = Path(download.value.path())
    if form == "CSV":
        assert list(csv.reader(file.read_text(encoding="utf-8").splitlines())) == [["N", "T"], ["1", "è"], ["2", ""]]
    elif form == "JSON":
        assert json.loads(file.read_text(encoding="utf-8")) == [{"N": 1, "T": "è"}, {"N": 2, "T": None}]
    else:
        assert pq.read_table(file).to_pylist() == [{"N": 1, "T": "è"}, {"N": 2, "T": None}]
    assert download.value.suggested_filename.endswith(f".{form.lower()}")
