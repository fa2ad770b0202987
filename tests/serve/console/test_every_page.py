"""Every page in every form: narrow, dark, and as a role sees it that may do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serve.callers import PASSWORD, Serving
from tests.serve.console.browser import opened
from tests.serve.console.using import check_access, log_in, visit

_SOURCES = Path(__file__).parents[3] / "console" / "src"
_TABLE = "#/table/SHOP/MARTS/REVENUE"
_TABS = ("refreshes", "changes", "plan", "whatif", "lineage", "quality", "cost", "travel", "governance")
PAGES = (
    "#/home", "#/graph", "#/graph?select=R%3ASHOP.MARTS.REVENUE", "#/tables", _TABLE,
    *(f"{_TABLE}/{tab}" for tab in _TABS), "#/worksheet", "#/design", "#/tasks?of=SHOP.STAGING.NOTE_EVENTS",
    "#/connectors", "#/channels", "#/alerts", "#/products", "#/queries", "#/playbooks",
    "#/playbooks/add-column-safely", "#/backfills", "#/people", "#/people/user/RITA", "#/people/role/READER",
    "#/table/SHOP/RAW/ORDERS", "#/table/SHOP/RAW/NEW_EVENTS", "#/table/SHOP/MARTS/GOLD_REVENUE", "#/nothing-like-that",
)  # fmt: skip
_WIDER = (
    "() => [...document.querySelectorAll('main > *, .content > *, .card')]"
    ".filter(e => e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.className)"
)


def _settled(page: Page, address: str) -> None:
    """The page is there, and what it asked for, too."""
    visit(page, address)
    expect(page.locator("main h1").or_(page.locator("main .empty strong")).first).to_be_attached()
    expect(page.locator("main .spinner:visible")).to_have_count(0)


def test_every_page_that_the_page_has_is_looked_at() -> None:
    """A page that is new stands in the list above before it lands."""
    index = (_SOURCES / "pages" / "index.tsx").read_text(encoding="utf-8")
    known = {line.split(":")[0].strip() for line in index.splitlines() if ": async () => (await import(" in line}
    looked = {address.removeprefix("#/").partition("?")[0].partition("/")[0] for address in PAGES}
    assert len(known) > 10 and known | {"home", "worksheet"} <= looked
    table = (_SOURCES / "pages" / "table.tsx").read_text(encoding="utf-8")
    assert all(f'["{tab}", "' in table for tab in _TABS)


def test_narrow_pages_are_in_order_and_do_not_move_sideways(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url, width=390, height=800) as page:
        log_in(page)
        for address in PAGES:
            _settled(page, address)
            expect(page.locator("main .error")).to_have_count(0)
            assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), address
            assert page.evaluate(_WIDER) == [], address


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_everybody_can_use_every_page(browser: Browser, shop: Serving, scheme: str, width: int) -> None:
    with opened(browser, shop.url, scheme=scheme, width=width) as page:
        log_in(page)
        for address in PAGES:
            _settled(page, address)
            check_access(page)


def test_a_role_with_nothing_finds_every_page_in_order(browser: Browser, shop: Serving) -> None:
    """Nothing is shown, nothing breaks, and no page turns for ever."""
    shop.admin().execute_script(f"CREATE USER nobody PASSWORD = '{PASSWORD}'")
    with opened(browser, shop.url) as page:
        log_in(page, "nobody", PASSWORD)
        for address in PAGES:
            _settled(page, address)
            shown = page.locator("main").inner_text()
            for hidden in ("CLEAN_ORDERS", "PRICE_LIST", "CUSTOMER_360", "NOTE_EVENTS", "REVENUE_BY_COUNTRY", "RITA"):
                assert hidden in address or hidden not in shown, (address, hidden)
    shop.admin().execute("DROP USER nobody")
