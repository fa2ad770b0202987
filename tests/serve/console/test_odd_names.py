"""Names that hold quotes, dots, slashes, percent signs and HTML: every page shows them, and none of them acts."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from snowmelt.accounts import open_account
from snowmelt.core.names import ObjectName
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.serve.callers import ADMIN_PASSWORD, Serving, served
from tests.serve.console.browser import opened
from tests.serve.console.using import log_in, visit

_DATABASE, _SCHEMA = 'odd "db" <script>alert(1)</script>', "sch.ema/ü 'x'"
_RAW, _SUM, _TASK = (
    ObjectName(_DATABASE, _SCHEMA, name)
    for name in ('tab "le" <img src=x onerror=alert(1)>', 'dyn%20/?#&."ü', "ta'sk \"<i>")
)
_USER, _ROLE = "us'er \"<u>", 'ro"le <u>'
_LONG = "A_NAME_" + "THAT_GOES_ON_" * 12 + "AND_ENDS"
_SETUP = f"""
CREATE DATABASE "{_DATABASE.replace('"', '""')}"; CREATE SCHEMA {_RAW.parent}; USE SCHEMA {_RAW.parent};
CREATE TABLE {_RAW} (id INT, "te xt" VARCHAR) CHANGE_TRACKING = TRUE;
INSERT INTO {_RAW} VALUES (1, '<script>alert(2)</script>'), (2, NULL);
CREATE DYNAMIC TABLE {_SUM} TARGET_LAG = '1 day' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS
  SELECT "te xt", COUNT(*) AS "n n" FROM {_RAW} GROUP BY 1;
INSERT INTO {_RAW} VALUES (3, 'x'); ALTER DYNAMIC TABLE {_SUM} REFRESH;
ALTER TABLE {_RAW} ADD QUALITY CHECK "che""ck" AS NOT_NULL ("te xt") SEVERITY = WARN;
INSERT INTO {_RAW} VALUES (4, NULL);
CREATE TASK {_TASK} WAREHOUSE = compute_wh WHEN 1 = 1 AS SELECT 1;
CREATE TABLE {_LONG} (id INT);
CREATE ROLE "ro""le <u>"; CREATE USER "us'er ""<u>" PASSWORD = 'correct horse battery';
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with open_account(tmp_path_factory.mktemp("odd")) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        account.session().execute_script(_SETUP)
        with served(HttpServer(account, credentials, hosts=())) as serving:
            yield serving


def _address(name: ObjectName, tab: str = "overview") -> str:
    return "#/table/" + "/".join(quote(part, safe="") for part in (name.database, name.schema, name.name, tab))


def test_they_are_shown_as_they_are_on_every_page(browser: Browser, odd: Serving) -> None:
    with opened(browser, odd.url) as page:
        page.on("dialog", lambda _: pytest.fail("a name was run as a script"))
        log_in(page)
        main, errors = page.locator("main"), page.locator("main .error")
        # From what needs attention to the cause, by the name.
        page.get_by_role("link", name=_RAW.name).first.click()
        expect(page.get_by_role("heading", name=_RAW.name)).to_be_visible()
        expect(main).to_contain_text('che"ck')
        for name, tab, text in (
            (_RAW, "overview", "<script>alert(2)</script>"), (_RAW, "travel", "insert"),
            (_SUM, "refreshes", "This refresh"), (_SUM, "changes", "Rows of"),
            (_SUM, "plan", "How a refresh is computed"), (_SUM, "whatif", "COUNT(*)"),
            (_SUM, "cost", "credits"), (_SUM, "governance", "OWNERSHIP"),
        ):  # fmt: skip
            visit(page, _address(name, tab))
            expect(main).to_contain_text(text)
            expect(page.locator("main .spinner:visible")).to_have_count(0)
            expect(errors).to_have_count(0)
        visit(page, "#/graph")
        page.get_by_role("button", name=_RAW.name).first.click()
        expect(page.get_by_role("complementary", name=_RAW.name)).to_be_visible()
        visit(page, "#/tasks")
        expect(main).to_contain_text("when there is something to do")
        page.get_by_role("button", name=_TASK.name).click()
        expect(page.get_by_text("It has not run yet")).to_be_visible()
        for kind, who in (("user", _USER), ("role", _ROLE)):
            visit(page, f"#/people/{kind}/{quote(who, safe='')}")
            expect(page.get_by_role("complementary", name=who)).to_be_visible()
        expect(errors).to_have_count(0)


def test_a_long_name_breaks_and_moves_nothing(browser: Browser, odd: Serving) -> None:
    with opened(browser, odd.url, width=390, height=800) as page:
        log_in(page)
        visit(page, _address(ObjectName(_DATABASE, _SCHEMA, _LONG)))
        heading = page.get_by_role("heading", name=_LONG)
        expect(heading).to_be_visible()
        assert heading.evaluate("e => e.scrollWidth <= e.clientWidth && e.getBoundingClientRect().right <= innerWidth")


def test_what_is_not_there_is_said(browser: Browser, odd: Serving) -> None:
    with opened(browser, odd.url) as page:
        log_in(page)
        for address in ("#/people/user/NOBODY", "#/tasks?of=NO.SUCH.TASK", "#/table/NO/SUCH/ONE", "#/playbooks/none"):
            visit(page, address)
            expect(page.get_by_text("does not exist")).to_be_visible()
