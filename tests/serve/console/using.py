"""What a person does with the page: logs in, goes to pages, types SQL; and what every page is held to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.serve.callers import ADMIN_PASSWORD

_ROOT = Path(__file__).parents[3]
_AXE = _ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = "SNOWMELT_PICTURES"
"""Set, the tests write docs/images anew."""
_SERIOUS = frozenset({"serious", "critical"})
expect.set_options(timeout=180_000)


def log_in(page: Page, user: str = "admin", password: str = ADMIN_PASSWORD) -> None:
    page.goto("/")
    page.get_by_label("User").fill(user)
    page.get_by_label("Password", exact=True).last.fill(password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def visit(page: Page, address: str) -> None:
    page.evaluate("address => { location.hash = address; }", address)


def picture(page: Page, name: str) -> None:
    if os.environ.get(PICTURES):
        page.wait_for_timeout(400)
        # Hiding the caret would need a style that the page's policy refuses.
        page.screenshot(path=_ROOT / "docs" / "images" / f"{name}.png", caret="initial")


def check_access(page: Page) -> None:
    """axe-core finds nothing serious."""
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    bad = [
        f"{one['id']}: {node['target']} {node['failureSummary'][:160]}"
        for one in found["violations"] if one["impact"] in _SERIOUS
        for node in one["nodes"][:3]
    ]  # fmt: skip
    assert not bad, bad


def type_sql(page: Page, sql: str) -> None:
    """Instead of what the worksheet that is seen has."""
    page.get_by_role("textbox", name="SQL").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(sql)
