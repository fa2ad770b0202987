"""What pages and the prompt show of Spark: how far it is with a statement, and the way to its own page."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.cli.terminal import Terminal
from tests.crash.test_processes import running, serve, small_spark
from tests.serve.console.browser import opened, started
from tests.serve.console.using import log_in, picture, type_sql, visit

_LONG = "SELECT COUNT(DISTINCT HASH(n)) AS n FROM (SELECT SEQ8() AS n FROM TABLE(GENERATOR(ROWCOUNT => 20000000)))"


@pytest.mark.slow
def test_progress_by_stage_and_the_way_to_sparks_page(tmp_path: Path) -> None:
    config = small_spark(tmp_path / "snowmelt.toml")
    with config.open("a") as file:
        file.write('\n"spark.ui.enabled" = "true"\n"spark.ui.port" = "0"\n')
    with running(serve(tmp_path / "data", config)) as server, started() as browser:
        password = server.line(r"User admin, password (\S+) ")[1]
        url = server.line(r"Snowmelt serves \S+ at (http://\S+)")[1]
        with opened(browser, url) as page:
            log_in(page, password=password)
            visit(page, "#/worksheet")
            type_sql(page, _LONG)
            page.keyboard.press("Control+Enter")
            progress = page.get_by_test_id("progress")
            expect(progress).to_have_text(re.compile(r"stage \d+ of \d+, \d+ of \d+ tasks"), timeout=300_000)
            expect(page.get_by_role("progressbar", name="Tasks")).to_be_visible()
            picture(page, "console-progress")
            expect(page.get_by_test_id("summary")).to_contain_text("1 row", timeout=300_000)
            visit(page, "#/queries")
            expect(page.get_by_role("link", name="Spark UI")).to_be_visible()
            page.get_by_label("those of this console").check()
            page.locator("table.list button.mono", has_text="COUNT(DISTINCT HASH(n))").first.click()
            job = page.get_by_role("link", name="Spark job").first.get_attribute("href")
            assert job is not None
            assert "/jobs/job/?id=" in job
            assert httpx.get(job, follow_redirects=True).status_code == 200
        with Terminal("sql", "--data", str(tmp_path / "data"), home=tmp_path) as terminal:
            terminal.see("PUBLIC>")
            terminal.type(f"{_LONG};\r")
            terminal.see(r"running · \d+ s · stage \d+ of \d+, \d+ of \d+ tasks")
            terminal.type("\x03")
            terminal.see("statement was stopped")
