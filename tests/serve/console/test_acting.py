"""What is done from pages: from a node of the graph, and beside lists of tasks, alerts, connectors and queries."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from snowmelt.ingest import StreamingIngestClient
from tests.serve.callers import Serving
from tests.serve.console.using import check_access, picture, type_sql, visit
from tests.support.waiting import DEADLINE


@pytest.fixture(scope="module")
def yard(shop: Serving) -> Iterator[Serving]:
    """A schema of its own: what is suspended and dropped here, no other test looks at."""
    shop.admin().execute_script(
        "CREATE SCHEMA shop.yard; USE SCHEMA shop.yard; CREATE TABLE parts (id INT, n INT) CHANGE_TRACKING = TRUE; "
        "INSERT INTO parts VALUES (1, 10), (2, 20); "
        "CREATE DYNAMIC TABLE stock TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS SELECT SUM(n) AS n FROM parts; "
        "CREATE TASK count_parts WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS SELECT COUNT(*) FROM parts; "
        "CREATE ALERT no_parts WAREHOUSE = compute_wh SCHEDULE = '60 minutes' "
        "IF (EXISTS (SELECT 1 FROM parts WHERE n < 0)) THEN INSERT INTO parts VALUES (0, 0); "
        "CREATE CONNECTOR warehouse TYPE = POSTGRES HOST = '127.0.0.1' PORT = 9 DATABASE = 'd' USER = 'u' "
        "TABLES = ('public.a') TARGET = RAW RAW_TABLE = parts_changes"
    )
    yield shop
    shop.admin().execute("DROP SCHEMA shop.yard")


def _node(page: Page, name: str) -> Locator:
    return page.locator(f'[data-node="SHOP.YARD.{name}"]')


def test_everything_that_a_node_offers(page: Page, yard: Serving) -> None:
    visit(page, "#/graph")
    page.get_by_label("Schema", exact=True).select_option("SHOP.YARD")
    _node(page, "STOCK").click()
    panel = page.get_by_role("complementary", name="STOCK", exact=True)
    yard.admin().execute("INSERT INTO shop.yard.parts VALUES (3, 30)")
    panel.get_by_role("button", name="Refresh").click()
    # Changes move over the edge to what they changed, and its rows stand on the node.
    expect(page.locator(".edge.flow").first).to_be_attached()
    expect(_node(page, "STOCK")).to_contain_text("+1")
    panel.get_by_role("button", name="Suspend").click()
    expect(_node(page, "STOCK")).to_have_class(re.compile("suspended"))
    expect(panel.get_by_role("button", name="Suspend")).to_have_count(0)
    panel.get_by_role("button", name="Resume").click()
    expect(_node(page, "STOCK")).not_to_have_class(re.compile("suspended"))
    panel.get_by_role("button", name="Prove").click()
    expect(page.get_by_role("dialog", name="Proof of STOCK")).to_contain_text("equal")
    page.keyboard.press("Escape")
    panel.get_by_role("link", name="Lineage of its columns").click()
    page.get_by_role("combobox", name="Column").select_option("N")
    expect(page.get_by_role("group", name="Lineage of N").locator('[data-drawn="N"]')).to_have_count(2)
    page.go_back()
    search = page.get_by_label("Search the graph")
    search.fill("count_p")
    search.press("Enter")
    task = page.get_by_role("complementary", name="COUNT_PARTS")
    task.get_by_role("button", name="Run now").click()
    expect(_node(page, "COUNT_PARTS")).to_contain_text("last run succeeded")


@pytest.mark.parametrize(("address", "name"), [("tasks", "COUNT_PARTS"), ("alerts", "NO_PARTS")])
def test_a_task_and_an_alert_are_run_and_resumed_beside_their_list(
    page: Page, yard: Serving, address: str, name: str
) -> None:
    visit(page, f"#/{address}?of=SHOP.YARD.{name}")
    beside = page.get_by_role("complementary", name=name)
    beside.get_by_role("button", name="Run now").click()
    expect(beside.get_by_role("table").locator("tbody tr").first).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name=name))
    for button, state in (("Resume", "started"), ("Suspend", "suspended")):
        beside.get_by_role("button", name=button).click()
        expect(row).to_contain_text(state)
    check_access(page)


def test_a_connector_is_paused_and_resumed(page: Page, yard: Serving) -> None:
    visit(page, "#/connectors")
    page.get_by_role("button", name="WAREHOUSE").click()
    beside = page.get_by_role("complementary", name="WAREHOUSE")
    expect(beside).to_contain_text("public.a")
    beside.get_by_role("button", name="Pause").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="WAREHOUSE"))
    expect(row).to_contain_text("paused")
    picture(page, "console-connectors")
    check_access(page)
    beside.get_by_role("button", name="Resume").click()
    expect(row).not_to_contain_text("paused")


def test_a_channel_shows_what_it_committed(page: Page, yard: Serving) -> None:
    yard.admin().execute("CREATE TABLE shop.yard.readings (id INT, value FLOAT)")
    session = yard.account.session(database="SHOP", schema="YARD")
    with StreamingIngestClient("sensors", connection=session) as client:
        channel = client.open_channel("roof", "readings")
        channel.append_rows([{"id": n, "value": n / 2} for n in range(250)], end_offset_token="250")
        assert channel.wait_for_commit("250", DEADLINE)
    visit(page, "#/graph")
    page.get_by_label("Schema", exact=True).select_option("SHOP.YARD")
    page.locator('.node[data-id="CHANNEL:SHOP.YARD.READINGS.roof"]').click()
    page.get_by_role("complementary", name="roof").get_by_role("link", name="Open").click()
    beside = page.get_by_role("complementary", name="roof")
    expect(beside.get_by_label("What it committed")).to_contain_text("250")
    picture(page, "console-channels")
    check_access(page)
    beside.get_by_role("link", name="Open its table").click()
    expect(page.get_by_role("heading", name="READINGS")).to_be_visible()


def test_a_running_query_is_cancelled(page: Page) -> None:
    visit(page, "#/worksheet")
    type_sql(page, "CALL SYSTEM$WAIT(600)")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    visit(page, "#/queries")
    page.get_by_label("those of this console").check()
    row = page.get_by_role("row").filter(has_text="SYSTEM$WAIT").first
    expect(row).to_contain_text("running")
    check_access(page)
    row.get_by_role("button", name="Cancel").click()
    expect(row).to_contain_text("failed")
    visit(page, "#/worksheet")
    expect(page.get_by_role("alert")).to_contain_text("cancel")
