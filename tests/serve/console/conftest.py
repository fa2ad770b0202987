"""A server with a small shop, without Spark: everything here is small enough for the quick lane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from snowmelt.accounts import open_account
from snowmelt.runtime.session import Session
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.serve.callers import ADMIN_PASSWORD, Serving, served
from tests.serve.console.browser import opened, started
from tests.serve.console.pipeline import build
from tests.serve.console.using import log_in
from tests.support.waiting import wait_until


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with open_account(tmp_path_factory.mktemp("console")) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        server = HttpServer(account, credentials, hosts=())
        # Behind the server, which counts the rows that come.
        build(account.session())
        wait_until(lambda: _is_late(account.session()), "a table with a lag of two seconds that nobody refreshes")
        with served(server) as serving:
            yield serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


@pytest.fixture
def page(browser: Browser, shop: Serving) -> Iterator[Page]:
    """The administrator's, after the log-in."""
    with opened(browser, shop.url) as found:
        log_in(found)
        yield found


def _is_late(session: Session) -> bool:
    asked = "SELECT status FROM TABLE(INFORMATION_SCHEMA.FRESHNESS()) WHERE name = 'DAILY'"
    return session.execute(asked).rows() == [("BREACHED",)]
