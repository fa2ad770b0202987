"""How pages are used: by keys alone, with lists that are sorted, worksheets that stay, and a connection that breaks."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, Route, expect

from tests.serve.callers import PASSWORD, Serving
from tests.serve.console.browser import opened
from tests.serve.console.using import check_access, log_in, type_sql, visit

_EVENTS, _HOME = "**/api/v1/console/events", "**/api/v1/console/home"


def test_lists_are_sorted_filtered_and_opened_by_address(page: Page) -> None:
    visit(page, "#/tables")
    table = page.get_by_role("table", name="Tables")
    names = table.locator("tbody td:first-child")
    expect(table.get_by_role("row", name="PRICE_LIST")).to_contain_text("failed")
    table.get_by_role("button", name="Rows").focus()
    page.keyboard.press("Enter")
    expect(table.get_by_role("columnheader", name="Rows")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("ORDERS")
    page.get_by_role("searchbox", name="Filter tables").fill("marts dynamic")
    expect(names).to_have_text(["REVENUE", "CUSTOMER_360", "ARCHIVE", "DAILY", "PRICE_LIST"])
    visit(page, "#/tasks")
    page.get_by_role("button", name="NOTE_EVENTS").press("Enter")
    detail = page.get_by_role("complementary", name="NOTE_EVENTS")
    expect(detail).to_contain_text("INSERT INTO")
    expect(detail.get_by_role("button", name="Resume")).to_be_visible()
    expect(detail.get_by_role("button", name="Suspend")).to_have_count(0)
    check_access(page)
    page.go_back()
    expect(detail).to_have_count(0)
    page.go_forward()
    detail.get_by_role("button", name="Close").press("Escape")
    expect(detail).to_have_count(0)


def test_worksheets_stay_and_keep_no_secret(page: Page, shop: Serving) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "SELECT PARSE_JSON('{\"kept\": [1]}') AS v, 2 AS n")
    page.keyboard.press("Control+Enter")
    result = page.get_by_role("table", name="Result")
    expect(result).to_contain_text("kept")
    page.get_by_role("button", name="New worksheet").click()
    expect(result).to_be_hidden()
    type_sql(page, "CREATE USER quiet PASSWORD = 'never to be kept'; SELECT 3 AS three")
    page.keyboard.press("Control+Shift+Enter")
    expect(page.locator(".worksheet:not([hidden]) .result")).to_contain_text("THREE")
    page.get_by_role("tab", name="Worksheet 2").press("F2")
    page.get_by_role("textbox", name="Name of the worksheet").fill("People")
    page.keyboard.press("Enter")
    visit(page, "#/home")
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    visit(page, "#/worksheet")
    page.get_by_role("tab", name="People").press("ArrowLeft")
    expect(page.get_by_role("tab", name="Worksheet 1")).to_be_focused()
    # Results are where they were; one value is shown whole, and Escape leads back.
    result.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    whole = page.get_by_role("dialog", name="V of row 1")
    expect(whole).to_contain_text('{\n  "kept": [\n    1\n  ]\n}')
    check_access(page)
    page.keyboard.press("Escape")
    expect(result).to_be_focused()
    kept = page.evaluate("() => JSON.stringify({...localStorage})")
    assert "THREE" in kept.upper() and "CREATE USER quiet" in kept and "never to be kept" not in kept
    shop.admin().execute("DROP USER quiet")


def test_the_graph_by_keys_alone(page: Page) -> None:
    visit(page, "#/graph")
    orders, clean = (page.locator(f'[data-node="SHOP.{name}"]') for name in ("RAW.ORDERS", "STAGING.CLEAN_ORDERS"))
    expect(orders).to_be_visible()
    assert page.locator('.node[tabindex="0"]').count() == 1, "one node is on the way of the Tab key, and not all"
    orders.focus()
    page.keyboard.press("ArrowRight")
    expect(clean).to_be_focused()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="CLEAN_ORDERS")
    expect(panel).to_be_visible()
    # Nothing stands behind the panel: the whole graph has moved into what is left.
    edge = panel.bounding_box()
    assert edge is not None
    page.wait_for_function(
        "left => [...document.querySelectorAll('.node')].every(node => node.getBoundingClientRect().right <= left)",
        arg=edge["x"],
    )
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(clean).to_be_focused()


def test_a_broken_connection_is_told_and_mended(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        page.route(_EVENTS, lambda route: route.fulfill(status=401, json={}))
        log_in(page)
        told = page.get_by_text("No connection: things are shown as they were")
        expect(told).to_be_visible()
        # What changes meanwhile is asked for when somebody can be told again.
        shop.admin().execute("CREATE TABLE shop.raw.made_meanwhile (a INT)")
        page.unroute(_EVENTS)
        expect(told).to_have_count(0)
        visit(page, "#/graph")
        expect(page.locator('[data-node="SHOP.RAW.MADE_MEANWHILE"]')).to_be_attached()
        shop.admin().execute("DROP TABLE shop.raw.made_meanwhile")
    with opened(browser, shop.url) as page:
        # As after a restart of the server, which knows of no session.
        page.route(_EVENTS, lambda route: route.fulfill(status=401, json={}))
        log_in(page)
        page.context.clear_cookies()
        expect(page.get_by_role("heading", name="Log in to Snowmelt")).to_be_visible()


def test_a_slow_server_is_asked_one_thing_at_a_time(browser: Browser, shop: Serving) -> None:
    """Pages ask again when something changes, and not while the server still thinks about the answer before."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with opened(browser, shop.url) as page:
        page.clock.install()
        log_in(page)
        page.route(_HOME, hold)
        # What is late is asked for every 20 seconds: here, seven times.
        page.clock.run_for(150_000)
        assert len(held) == 1
        # And once behind it, since there were reasons to.
        with page.expect_request(_HOME):
            held[0].continue_()


def test_a_server_that_is_gone_is_told_and_nothing_is_called_missing(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        log_in(page)
        visit(page, "#/table/SHOP/MARTS/REVENUE")
        expect(page.get_by_role("heading", name="REVENUE")).to_be_visible()
        page.route("**/api/v1/console/statements*", lambda route: route.fulfill(status=408, json={}))
        for tab in ("governance", "quality", "lineage", "travel", "plan"):
            visit(page, f"#/table/SHOP/MARTS/REVENUE/{tab}")
            expect(page.locator("main .error").first).to_contain_text("The server answered 408.")
            for claim in ("No grants", "No contract", "Nothing reads it", "No checks", "does not exist"):
                expect(page.locator("main").get_by_text(claim)).to_have_count(0)
        visit(page, "#/table/SHOP/MARTS/DAILY")
        expect(page.locator("main .error")).to_be_visible()
        expect(page.locator("main").get_by_text("does not exist")).to_have_count(0)


def test_names_in_any_case_are_told_apart(page: Page, shop: Serving) -> None:
    shop.admin().execute_script(
        'CREATE SCHEMA shop."odd.one"; CREATE TABLE shop."odd.one"."orders" AS SELECT 1 AS low; '
        'CREATE TABLE shop."odd.one".ORDERS AS SELECT 2 AS high; '
        'CREATE CONTRACT shop."odd.one".kept FROM TABLE shop."odd.one".ORDERS; '
        'ALTER TABLE shop."odd.one".ORDERS SET CONTRACT = shop."odd.one".kept'
    )
    preview = page.get_by_role("table", name="Preview")
    for name, column in (("orders", "LOW"), ("ORDERS", "HIGH")):
        visit(page, f"#/table/SHOP/odd.one/{name}")
        expect(preview.get_by_role("columnheader").nth(1)).to_contain_text(column)
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    visit(page, "#/table/SHOP/odd.one/orders/governance")
    expect(page.get_by_text("No contract is attached")).to_be_visible()
    page.get_by_role("link", name="Query").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("table", name="Result")).to_contain_text("LOW")
    seen = page.locator(".worksheet:not([hidden])")
    seen.get_by_label("Schema", exact=True).select_option(label="SHOP.odd.one")
    type_sql(page, 'SELECT * FROM "orders"')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(seen.get_by_test_id("summary")).to_contain_text("1 row in")
    shop.admin().execute('DROP SCHEMA shop."odd.one"')


def test_roles_are_granted_and_taken_away(page: Page, shop: Serving) -> None:
    shop.admin().execute_script(f"CREATE ROLE clerk; CREATE USER uma PASSWORD = '{PASSWORD}'")
    visit(page, "#/people")
    page.get_by_role("button", name="UMA").click()
    uma = page.get_by_role("complementary", name="UMA")
    uma.get_by_label("Grant a role").select_option("CLERK")
    uma.get_by_role("button", name="Grant").click()
    expect(uma.get_by_role("listitem")).to_have_text(["CLERKRevoke"])
    check_access(page)
    uma.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("dialog", name="Take the role away?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(uma.get_by_role("listitem")).to_have_count(1)
    uma.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name="Take the role away?").get_by_role("button", name="Take it away").click()
    expect(uma.get_by_role("listitem")).to_have_count(0)
    uma.get_by_role("button", name="Disable").click()
    page.get_by_role("dialog", name="Disable UMA?").get_by_role("button", name="Disable").click()
    expect(uma).to_contain_text("disabled")
    shop.admin().execute_script("DROP USER uma; DROP ROLE clerk")


def test_a_narrow_window_has_everything_in_its_menu(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url, width=420, height=860) as page:
        log_in(page)
        page.get_by_role("button", name="Menu").click()
        expect(page.get_by_role("combobox", name="Role")).to_be_visible()
        check_access(page)
        page.get_by_role("link", name="Queries", exact=True).click()
        expect(page.get_by_role("heading", name="Queries")).to_be_visible()
        expect(page.get_by_role("link", name="Users and roles")).to_be_hidden()
        page.get_by_role("table", name="Queries").locator("tbody button").first.click()
        expect(page.get_by_role("complementary", name="Statement")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
