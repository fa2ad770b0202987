"""Playbooks and backfills from the page: step by step with checkpoints, with progress, resumed and undone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.serve.callers import PASSWORD, Serving, until
from tests.serve.console.browser import opened
from tests.serve.console.test_api import Visitor
from tests.serve.console.using import check_access, log_in, picture, visit


@pytest.fixture(scope="module")
def workshop(shop: Serving) -> Iterator[Serving]:
    """A schema of its own: other tests look at the shop's."""
    shop.admin().execute_script(
        "CREATE SCHEMA shop.workshop; CREATE TABLE shop.workshop.items (id INT, price INT); "
        "INSERT INTO shop.workshop.items VALUES (1, 10), (2, -1), (3, -1), (4, 40); "
        "CREATE TABLE shop.workshop.right_prices (id INT, price INT); "
        "INSERT INTO shop.workshop.right_prices VALUES (1, 10), (2, 20), (3, 30), (4, 40)"
    )
    yield shop
    shop.admin().execute("DROP SCHEMA shop.workshop")


def _ended(visitor: Visitor, path: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    until(lambda: found.append(visitor.get(path)) or not found[-1]["working"])  # type: ignore[func-returns-value]
    return found[-1]


def test_a_playbook_stops_at_its_checkpoint_and_goes_on_with_the_answer(workshop: Serving) -> None:
    visitor = Visitor(workshop)
    inputs = {"table": "shop.workshop.items", "column": "currency", "type": "VARCHAR", "fill": "'EUR'"}
    begun = visitor.http.post("/runs", json={"playbook": "add-column-safely", "inputs": inputs}).json()
    path = f"/runs/{begun['run']}"
    found = _ended(visitor, path)
    while found["question"] is not None:
        assert found["status"] == "waiting" and "approve" in found["question"]["options"]
        # Nothing is answered for anybody: it waits with the same question.
        visitor.http.post(path, json={"action": "resume"})
        assert _ended(visitor, path)["question"] == found["question"]
        visitor.http.post(path, json={"decision": "approve"})
        found = _ended(visitor, path)
    assert found["status"] == "finished", found
    assert (["ROWS_NOW", "WITH_A_VALUE"], [[4, 4]]) in [
        (line.get("columns"), line.get("rows")) for line in found["lines"]
    ]
    rows = visitor.run("SELECT DISTINCT currency FROM shop.workshop.items")["rows"]
    assert rows == [["EUR"]]
    # What others began is nobody's business, not even that it exists.
    rita = Visitor(workshop, "rita", PASSWORD)
    assert rita.get("/playbooks")["runs"] == [] and rita.http.get(path).status_code == 400
    assert rita.http.post(path, json={"action": "abort"}).status_code == 400


def test_a_run_has_the_rights_of_who_began_it(workshop: Serving) -> None:
    rita = Visitor(workshop, "rita", PASSWORD)
    assert rita.http.patch("/session", json={"database": "SHOP", "schema": "MARTS"}).status_code == 200
    inputs = {"table": "shop.workshop.items", "column": "colour", "type": "VARCHAR"}
    begun = rita.http.post("/runs", json={"playbook": "add-column-safely", "inputs": inputs}).json()
    found = _ended(rita, f"/runs/{begun['run']}")
    assert found["status"] == "failed" and "does not exist" in found["problem"]


def test_a_playbook_is_never_a_file_of_the_server(workshop: Serving) -> None:
    visitor = Visitor(workshop)
    for name in ("/etc/passwd", "../state.db", "docs/x.md"):
        answer = visitor.http.post("/runs", json={"playbook": name})
        assert answer.status_code == 400 and answer.json()["error"]["code"] == "002003", name


def test_a_backfill_is_estimated_run_and_undone_over_the_api(workshop: Serving) -> None:
    visitor = Visitor(workshop)
    request = {
        "table": "shop.workshop.items", "source": "shop.workshop.right_prices", "column": "id", "start": "1",
        "end": "5", "query": "", "chunk": "2",
    }  # fmt: skip
    if visitor.run("SHOW COLUMNS LIKE 'currency' IN TABLE shop.workshop.items")["row_count"]:
        visitor.run("ALTER TABLE shop.workshop.items DROP COLUMN currency")
    plan = visitor.http.post("/backfills/plan", json=request).json()
    assert (plan["rows_now"], plan["rows_then"], plan["chunks"]) == (4, 4, 2), plan
    run = visitor.http.post("/backfills", json=request).json()["run"]

    def standing() -> dict[str, Any]:
        return next(item for item in visitor.get("/backfills")["runs"] if item["run"] == run)

    until(lambda: not standing()["working"])
    assert (standing()["state"], standing()["done"]) == ("finished", 2), standing()
    prices = "SELECT price FROM shop.workshop.items ORDER BY id"
    assert visitor.run(prices)["rows"] == [[10], [20], [30], [40]]
    visitor.http.post(f"/backfills/{run}", json={"action": "undo"})
    until(lambda: not standing()["working"])
    assert standing()["state"] == "undone"
    assert visitor.run(prices)["rows"] == [[10], [-1], [-1], [40]]


def test_a_playbook_and_a_backfill_in_the_browser(browser: Browser, workshop: Serving) -> None:
    workshop.admin().execute("CREATE TABLE shop.workshop.goods AS SELECT id, price FROM shop.workshop.right_prices")
    with opened(browser, workshop.url) as page:
        log_in(page)
        visit(page, "#/playbooks")
        page.get_by_role("link", name="add-column-safely", exact=True).click()
        check_access(page)
        page.get_by_role("textbox", name=re.compile(r"^table\b")).fill("shop.workshop.goods")
        page.get_by_role("textbox", name=re.compile(r"^column\b")).fill("currency")
        page.get_by_role("textbox", name=re.compile(r"^type\b")).fill("VARCHAR")
        page.get_by_role("textbox", name=re.compile(r"^fill\b")).fill("'EUR'")
        page.get_by_role("button", name="Run", exact=True).click()
        checkpoint = page.get_by_role("group", name="Checkpoint")
        state = page.locator(".head .badge")
        expect(checkpoint.or_(state.get_by_text("finished"))).to_be_visible()
        picture(page, "console-playbook")
        check_access(page)
        while state.inner_text() != "finished":
            checkpoint.get_by_role("button", name="approve").click()
            expect(checkpoint).to_be_hidden()
            expect(checkpoint.or_(state.get_by_text("finished"))).to_be_visible()
        visit(page, "#/backfills")
        for label, text in (
            ("Table to mend", "shop.workshop.right_prices"), ("From table", "shop.workshop.goods"), ("Column of", "id"),
            ("Start", "1"), ("End the first", "4"),
        ):  # fmt: skip
            page.get_by_role("textbox", name=label).fill(text)
        page.get_by_role("button", name="What would it do?").click()
        expect(page.get_by_text("Rows replaced")).to_be_visible()
        page.get_by_role("button", name="Begin").click()
        progress = page.get_by_role("progressbar", name="Progress of SHOP.WORKSHOP.RIGHT_PRICES")
        expect(progress).to_have_attribute("aria-valuenow", "1")
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        picture(page, "console-backfill")
        check_access(page)
