"""The pages, used as a person would, in a real browser against a real server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serve.callers import PASSWORD, Serving
from tests.serve.console.browser import opened
from tests.serve.console.using import check_access, log_in, picture, type_sql, visit


def test_logging_in_and_out(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        page.goto("/")
        picture(page, "console-log-in")
        check_access(page)
        page.get_by_label("User").fill("admin")
        page.get_by_label("Password", exact=True).last.fill("not it")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("Incorrect username or password")
        log_in(page)
        page.reload()
        expect(page.get_by_role("heading", name="Home")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in to Snowmelt")).to_be_visible()


def test_a_link_opens_the_console(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        page.goto(f"/#link={shop.server.console.visitors.links.issue()}")
        expect(page.get_by_role("heading", name="Home")).to_be_visible()
        assert "link" not in page.url


def test_home_leads_to_the_cause(page: Page) -> None:
    expect(page.get_by_text("Refresh failed")).to_be_visible()
    expect(page.get_by_role("img", name="Rows that came in by minute in the last hour")).to_be_visible()
    expect(page.locator(".arrived li", has_text="ORDERS")).to_contain_text(re.compile(r"\d+ rows"))
    picture(page, "console-home")
    check_access(page)
    page.get_by_role("link", name="PRICE_LIST").first.click()
    expect(page.get_by_role("heading", name="PRICE_LIST")).to_be_visible()
    expect(page.get_by_text("The last refresh failed.")).to_be_visible()


def test_the_graph_shows_what_is_made_from_what(page: Page) -> None:
    visit(page, "#/graph")
    revenue = page.locator('[data-node="SHOP.MARTS.REVENUE"]')
    revenue.click()
    details = page.get_by_role("complementary", name="REVENUE", exact=True)
    expect(details.get_by_text("upstream")).to_be_visible()
    expect(page.locator('[data-node="SHOP.MARTS.ARCHIVE"]')).to_have_css("opacity", "0.32")
    expect(page.locator('[data-node="SHOP.RAW.ORDERS"]')).to_have_css("opacity", "1")
    marts = page.locator('[data-frame="SHOP.MARTS"] rect').bounding_box()
    box = revenue.bounding_box()
    assert marts is not None and box is not None
    assert marts["x"] < box["x"] and box["x"] + box["width"] < marts["x"] + marts["width"]
    page.set_viewport_size({"width": 1440, "height": 680})
    picture(page, "console-graph")
    check_access(page)
    details.get_by_role("button", name="Its definition").click()
    expect(details.locator("pre")).to_contain_text("SUM(o.amount)")
    page.get_by_label("schemas as groups").uncheck()
    expect(page.locator(".schema-frame")).to_have_count(0)
    details.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("Refresh: done")).to_be_visible()


def test_a_new_table_shows_by_itself(page: Page, shop: Serving) -> None:
    visit(page, "#/graph")
    expect(page.locator('[data-node="SHOP.RAW.ORDERS"]')).to_be_visible()
    shop.admin().execute("CREATE TABLE shop.raw.arrived_just_now (a INT)")
    expect(page.locator('[data-node="SHOP.RAW.ARRIVED_JUST_NOW"]')).to_be_attached()
    shop.admin().execute("DROP TABLE shop.raw.arrived_just_now")


def test_a_table_and_its_refreshes(page: Page) -> None:
    visit(page, "#/table/SHOP/MARTS/REVENUE")
    expect(page.get_by_role("table", name="Preview")).to_contain_text("gold")
    expect(page.locator("pre.code").first).to_contain_text("SUM(o.amount)")
    picture(page, "console-table")
    check_access(page)
    page.get_by_role("link", name="Refreshes").click()
    expect(page.get_by_text("This refresh")).to_be_visible()
    expect(page.locator(".timeline button").first).to_be_visible()
    picture(page, "console-refreshes")
    check_access(page)
    page.get_by_role("link", name="Plan").click()
    expect(page.get_by_text("How a refresh is computed")).to_be_visible()
    expect(page.locator(".plan li").first).to_contain_text("INCREMENTAL")
    plan = page.get_by_role("group", name="The plan of a refresh")
    expect(plan.locator('[data-drawn="CLEAN_ORDERS"]').first).to_be_visible()
    expect(plan.locator('[data-drawn="Apply"]')).to_be_visible()
    expect(plan.locator('[data-drawn="Rows to apply"]')).to_contain_text("ms")
    assert plan.locator(".share").count() >= 3, "each stage that ran shows what it took"
    picture(page, "console-plan")
    check_access(page)
    page.get_by_role("link", name="What if").click()
    page.get_by_role("button", name="What if?").click()
    expect(page.get_by_text("It would be felt by")).to_contain_text("GOLD_REVENUE")
    expect(page.locator(".meta")).to_contain_text("stay as they are")
    for tab in ("Cost", "Grants and contract"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.locator(".content .card").first).to_be_visible()
        check_access(page)


def test_what_if_names_what_would_break(page: Page, shop: Serving) -> None:
    shop.admin().execute("CREATE CONTRACT shop.marts.promised FROM TABLE shop.marts.revenue")
    shop.admin().execute("ALTER DYNAMIC TABLE shop.marts.revenue SET CONTRACT = shop.marts.promised")
    visit(page, "#/table/SHOP/MARTS/REVENUE/whatif")
    page.get_by_role("textbox", name="New definition").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SELECT country, COUNT(*)::VARCHAR AS orders FROM shop.staging.clean_orders GROUP BY 1")
    page.get_by_role("button", name="What if?").click()
    told = page.locator(".meta")
    expect(told).to_contain_text("TIER is gone")
    expect(told).to_contain_text("PROMISED: TIER, TOTAL, ORDERS may break it")
    picture(page, "console-what-if")
    check_access(page)
    shop.admin().execute("ALTER DYNAMIC TABLE shop.marts.revenue UNSET CONTRACT")


def test_where_a_column_comes_from(page: Page) -> None:
    visit(page, "#/table/SHOP/MARTS/REVENUE/lineage")
    page.get_by_role("combobox", name="Column").select_option("TOTAL")
    drawn = page.get_by_role("group", name="Lineage of TOTAL")
    expect(drawn.locator('[data-drawn="AMOUNT"]')).to_have_count(2)
    picture(page, "console-lineage")
    check_access(page)


def test_the_versions_of_a_table(page: Page) -> None:
    visit(page, "#/table/SHOP/RAW/ORDERS/travel")
    versions = page.get_by_role("table", name="Versions")
    expect(versions.get_by_role("row").nth(1)).to_contain_text("insert")
    expect(versions.get_by_role("row").nth(1)).to_contain_text("+1")
    picture(page, "console-versions")
    check_access(page)


@pytest.mark.slow
def test_a_table_as_it_was(page: Page) -> None:
    visit(page, "#/table/SHOP/RAW/ORDERS/travel")
    page.get_by_role("button", name="Show version 1", exact=True).click()
    then = page.get_by_role("table", name="As of")
    expect(then).to_contain_text("99.90", timeout=300_000)
    expect(then.get_by_role("row")).to_have_count(5)
    check_access(page)


def test_a_query_says_where_it_was_computed(page: Page, shop: Serving) -> None:
    shop.admin().execute("SELECT country, COUNT(*) AS computed_here FROM shop.raw.orders GROUP BY country")
    visit(page, "#/queries")
    page.locator("table.list button.mono", has_text="computed_here").first.click()
    expect(page.locator(".computed")).to_contain_text("Computed by this process")
    check_access(page)


def test_quarantine_is_shown_and_replayed(page: Page, shop: Serving) -> None:
    session = shop.admin()
    session.execute("CREATE TABLE shop.staging.payments (id INT, amount INT)")
    session.execute(
        "ALTER TABLE shop.staging.payments ADD QUALITY CHECK paid AS RANGE (amount) MIN = 0 ON_FAILURE = QUARANTINE"
    )
    session.execute("INSERT INTO shop.staging.payments VALUES (1, 5), (2, -5)")
    visit(page, "#/table/SHOP/STAGING/PAYMENTS/quality")
    kept = page.locator(".card", has_text="Quarantine").last
    expect(kept).to_contain_text("PAID")
    check_access(page)
    session.execute("UPDATE shop.staging.payments_quarantine SET amount = 7")
    page.get_by_role("button", name="Replay").click()
    expect(kept).to_contain_text("No rows are in quarantine")
    assert session.execute("SELECT COUNT(*) FROM shop.staging.payments").rows()[0][0] == 2
    session.execute("DROP TABLE shop.staging.payments")


def test_the_worksheet(page: Page) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "SELECT 1;\nSELECT country, SUM(total) AS total FROM shop.marts.revenue GROUP BY 1 ORDER BY 2 DESC")
    page.get_by_role("button", name="Run all").click()
    expect(page.get_by_role("table", name="Result")).to_contain_text("TOTAL")
    expect(page.get_by_test_id("summary")).to_contain_text("rows in")
    page.keyboard.press("Escape")
    picture(page, "console-worksheet")
    check_access(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert "NL" in Path(download.value.path()).read_text(encoding="utf-8")
    page.get_by_role("button", name="Chart").click()
    expect(page.get_by_role("img", name="TOTAL by COUNTRY")).to_be_visible()
    type_sql(page, "SELECT 1;\nSELECT nothing_here")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("invalid identifier")
    expect(page.locator(".cm-lintRange-error")).to_have_text("nothing_here")
    page.get_by_role("button", name="History").click()
    expect(page.locator(".history li").first).to_contain_text("nothing_here")


def test_completion_knows_columns(page: Page) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "SELECT tot FROM shop.marts.revenue")
    for _ in range(len(" FROM shop.marts.revenue")):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Schema", exact=True)).to_contain_text("SHOP.MARTS")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("total")


def test_a_role_sees_its_own(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        log_in(page, "rita", PASSWORD)
        visit(page, "#/graph")
        expect(page.locator('[data-node="SHOP.MARTS.REVENUE"]')).to_be_visible()
        assert page.locator(".node").count() == 1
        visit(page, "#/table/SHOP/RAW/ORDERS")
        expect(page.get_by_text("does not exist, or your role may not know of it")).to_be_visible()


def test_keys_find_and_open(page: Page) -> None:
    page.keyboard.press("Control+k")
    found = page.get_by_role("listbox", name="Objects").get_by_role("option")
    expect(found.first).to_be_visible()
    page.get_by_role("searchbox", name="Find an object").fill("customer_360")
    expect(found).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="CUSTOMER_360")).to_be_visible()


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("tables", "CLEAN_ORDERS"), ("tasks", "NOTE_EVENTS"), ("alerts", "LOW_REVENUE"), ("people", "RITA"),
        ("products", "REVENUE_BY_COUNTRY"), ("connectors", "No connectors yet"), ("channels", "No channels yet"),
        ("queries", "revenue"),
    ],
)  # fmt: skip
def test_lists(page: Page, address: str, text: str) -> None:
    visit(page, f"#/{address}")
    expect(page.locator(".content").get_by_text(text).first).to_be_visible()
    if not text.startswith("No "):
        # Where something is to be seen, another test takes the picture.
        picture(page, f"console-{address}")
    check_access(page)


def test_dark_and_narrow(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url, scheme="dark") as page:
        log_in(page)
        expect(page.locator(".uplot").first).to_be_visible()
        check_access(page)
        visit(page, "#/graph")
        expect(page.locator('[data-node="SHOP.RAW.ORDERS"]')).to_be_visible()
        picture(page, "console-graph-dark")
        check_access(page)
    with opened(browser, shop.url, width=420, height=860) as page:
        log_in(page)
        picture(page, "console-narrow")
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.slow
def test_a_hundred_thousand_rows_scroll(page: Page) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "SELECT a.id * 1 AS n FROM shop.raw.orders a, TABLE(GENERATOR(ROWCOUNT => 100000)) g LIMIT 100000")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_test_id("summary")).to_contain_text("100,000 rows", timeout=300_000)
    page.locator(".result").evaluate("element => { element.scrollTop = element.scrollHeight; }")
    expect(page.get_by_role("table", name="Result")).to_contain_text("100,000")
    assert page.locator(".result .row").count() < 100


def test_a_table_is_proven(page: Page) -> None:
    visit(page, "#/table/SHOP/MARTS/REVENUE")
    page.get_by_role("button", name="Prove").click()
    dialog = page.get_by_role("dialog", name="Proof of REVENUE")
    expect(dialog).to_contain_text("equal")
    expect(dialog).to_contain_text("expected rows")
    picture(page, "console-prove")
    check_access(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Prove")).to_be_focused()
