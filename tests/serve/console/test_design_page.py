"""A pipeline is designed in the browser: described, asked about, decided, drawn and built."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Browser, Page, expect

from tests.serve.callers import Serving
from tests.serve.console.browser import opened
from tests.serve.console.test_api import Visitor
from tests.serve.console.using import check_access, log_in, picture, visit

_DESCRIPTION = (
    "Move orders and customers from our shop's PostgreSQL to a revenue table, fresh within five minutes; "
    "emails must not be readable"
)
_APPROVAL = "J. Doe, data protection, for the shop's reports"


def _answer_all(page: Page) -> None:
    """Takes every proposal, and approves what wants somebody's name."""
    question = page.locator(".talk [aria-live]")
    given = page.locator(".said.mine")
    while "Anything to change?" not in question.inner_text():
        before = given.count()
        proposal = page.get_by_role("button", name="Take the proposal")
        if proposal.count():
            proposal.click()
        else:
            page.get_by_label("Answer", exact=True).fill(_APPROVAL)
            page.get_by_role("button", name="Answer", exact=True).click()
        expect(given).to_have_count(before + 1)


def test_a_description_becomes_a_project(browser: Browser, shop: Serving) -> None:
    with opened(browser, shop.url) as page:
        log_in(page)
        visit(page, "#/design")
        page.get_by_label("Description").fill(_DESCRIPTION)
        page.get_by_role("button", name="Begin").click()
        expect(page.get_by_text("from “must not be readable”")).to_be_visible()
        check_access(page)
        _answer_all(page)
        expect(page.locator('[data-drawn^="shop"]')).to_be_visible()
        expect(page.locator(".decisions").last).to_contain_text("mode")
        picture(page, "console-design")
        check_access(page)
        # A reload asks nothing twice.
        page.reload()
        expect(page.get_by_role("heading", name="Summary")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Build and download").click()
        with zipfile.ZipFile(Path(download.value.path())) as archive:
            paths = {name.partition("/")[2] for name in archive.namelist()}
        assert {"README.md", "Makefile", "pyproject.toml", "design/design.md", "design/requirements.yaml"} <= paths
        answers = page.locator(".said.mine")
        count = answers.count()
        page.get_by_role("button", name="Take back").click()
        expect(answers).to_have_count(count - 1)


def test_the_conversation_over_the_api(shop: Serving) -> None:
    visitor = Visitor(shop)

    def step(**body: Any) -> dict[str, Any]:
        found: dict[str, Any] = visitor.http.post("/design", json=body).json()
        return found

    begun = step(description=_DESCRIPTION)
    assert begun["question"]["topic"].startswith("columns") and begun["decisions"]
    assert all(item["reason"] and item["rule"] for item in begun["decisions"])
    for state in (None, {"nothing": "of ours"}, []):
        assert visitor.http.post("/design", json={"state": state}).status_code == 400
    early = visitor.http.post("/design/archive", json={"state": begun["state"]})
    assert early.status_code == 400 and "no design yet" in early.json()["error"]["message"]
    found = begun
    while "summary" not in found:
        proposal = found["question"]["proposal"]
        found = step(state=found["state"], answer=_APPROVAL if proposal is None else proposal)
    first, second = (visitor.http.post("/design/archive", json={"state": found["state"]}) for _ in range(2))
    assert first.headers["content-type"] == "application/zip" and first.content == second.content
    with zipfile.ZipFile(io.BytesIO(first.content)) as archive:
        design = next(name for name in archive.namelist() if name.endswith("/design/design.yaml"))
        assert yaml.safe_load(archive.read(design))["name"] == found["name"]
