"""What one refresh changed, and which rows each change of a source made."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, expect

from tests.serve.callers import PASSWORD, Serving
from tests.serve.console.browser import opened
from tests.serve.console.test_api import Visitor
from tests.serve.console.using import check_access, log_in, picture, visit


def test_a_change_of_a_source_leads_to_the_rows_that_it_made(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        log_in(page)
        visit(page, "#/table/SHOP/MARTS/REVENUE/refreshes")
        page.get_by_role("link", name="Inspect its changes").click()
        source = page.get_by_role("table", name="Changes of SHOP.STAGING.CLEAN_ORDERS")
        expect(source).to_contain_text("19.00")
        expect(page.get_by_role("table", name="Rows that the refresh changed")).to_contain_text("silver")
        check_access(page)
        source.get_by_role("button").first.click()
        made = page.get_by_role("table", name="Rows that the change made")
        expect(made).to_contain_text("DE")
        picture(page, "console-changes")
        check_access(page)


def test_sources_that_a_role_may_not_read_are_not_shown(shop: Serving) -> None:
    refreshes = "shop.INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'SHOP.MARTS.REVENUE')"
    history = f"SELECT query_id FROM TABLE({refreshes}) WHERE refresh_action = 'INCREMENTAL'"
    refresh = shop.admin().execute(history).rows()[0][0]
    rita = Visitor(shop, "rita", PASSWORD)
    call = f"SYSTEM$REFRESH_CHANGES('SHOP.MARTS.REVENUE', '{refresh}'"
    found = json.loads(rita.run(f"SELECT {call})")["rows"][0][0])
    assert (found["sources"], found["hidden_sources"]) == ([], True) and found["rows"]["changes"]
    assert "CLEAN_ORDERS" not in json.dumps(found)
    refused = rita.run(f"SELECT {call}, 'SHOP.STAGING.CLEAN_ORDERS', '0')")
    assert refused["error"]["code"] == "003001"
