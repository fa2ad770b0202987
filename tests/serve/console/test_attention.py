"""What Home says that somebody should look at, and that its links lead to where the cause is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from snowmelt.serve.console import overview
from tests.serve.callers import Serving
from tests.serve.console.test_api import Visitor
from tests.serve.console.using import check_access, visit

_REFRESHES = 10


@pytest.fixture(scope="module")
def trouble(shop: Serving) -> Iterator[Serving]:
    session = shop.admin()
    session.execute_script(
        "CREATE SCHEMA shop.trouble; USE SCHEMA shop.trouble; "
        "CREATE TASK breaks WAREHOUSE = compute_wh SCHEDULE = '60 minutes' SUSPEND_TASK_AFTER_NUM_FAILURES = 1 "
        "AS SELECT 1 / 0; "
        "CREATE TASK rests WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS SELECT 1; ALTER TASK rests RESUME; "
        "ALTER TASK rests SUSPEND; CREATE TASK untouched WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS SELECT 1; "
        "CREATE CONNECTOR still TYPE = POSTGRES HOST = '127.0.0.1' PORT = 9 DATABASE = 'd' USER = 'u' "
        "TABLES = ('public.a') TARGET = RAW RAW_TABLE = still_changes; ALTER CONNECTOR still PAUSE; "
        "CREATE TABLE paid (id INT, amount INT); "
        "ALTER TABLE paid ADD QUALITY CHECK positive AS RANGE (amount) MIN = 0 ON_FAILURE = QUARANTINE; "
        "INSERT INTO paid VALUES (1, 5), (2, -5)"
    )
    session.execute("ALTER TASK breaks RESUME")
    with suppress(SnowmeltError):
        session.execute("EXECUTE TASK breaks")
    _make_costly(session)
    with pytest.MonkeyPatch.context() as patch:
        # On a quick machine what could be saved is next to nothing.
        patch.setattr(overview, "_WORTH_SAVING", 0.0)
        yield shop
    shop.admin().execute_script("DROP SCHEMA shop.trouble; DROP WAREHOUSE giant")


def _make_costly(session: Session) -> None:
    """A table that a giant warehouse refreshes again and again, although few of its rows change."""
    session.execute_script(
        "CREATE TABLE many AS SELECT SEQ4() AS id, 1 AS n FROM TABLE(GENERATOR(ROWCOUNT => 2000)); "
        "ALTER TABLE many SET CHANGE_TRACKING = TRUE; CREATE WAREHOUSE giant WAREHOUSE_SIZE = '6X-LARGE'; "
        "CREATE DYNAMIC TABLE wasteful TARGET_LAG = '4 hours' WAREHOUSE = giant REFRESH_MODE = INCREMENTAL AS "
        "SELECT id, n + 1 AS n FROM many"
    )
    for number in range(_REFRESHES):
        session.execute(f"INSERT INTO many VALUES ({-1 - number}, 0)")
        session.execute("ALTER DYNAMIC TABLE wasteful REFRESH")


def test_home_tells_of_all_that_needs_somebody(trouble: Serving) -> None:
    told = {
        problem["name"].rpartition(".")[2]: (problem["severity"], problem["title"], problem["detail"])
        for problem in Visitor(trouble).get("/home")["problems"] if ".TROUBLE." in problem["name"]
    }  # fmt: skip
    assert told.keys() == {"BREAKS", "RESTS", "STILL", "PAID", "WASTEFUL"}
    assert told["BREAKS"][:2] == ("failed", "Failed too often, and was suspended")
    assert "Division by zero" in told["BREAKS"][2]
    assert told["RESTS"] == ("suspended", "Suspended", "A user suspended it.")
    assert told["STILL"][:2] == ("suspended", "Paused")
    assert told["PAID"][:2] == ("quarantined", "Check POSITIVE does not hold")
    assert told["WASTEFUL"][:2] == ("costly", "Costs more than it needs to")
    assert told["WASTEFUL"][2].startswith(("Lag: ", "Mode: "))


def test_a_problem_leads_to_where_its_cause_is_shown(page: Page, trouble: Serving) -> None:
    causes = (
        ("PRICE_LIST", "Refreshes", "This refresh"), ("PAID", "Quality", "Quarantine"),
        ("WASTEFUL", "Cost", "What would make it cheaper"), ("BREAKS", None, "Division by zero"),
    )  # fmt: skip
    check_access(page)
    for name, part, shown in causes:
        visit(page, "#/home")
        page.locator(".problems").get_by_role("link", name=name).first.click()
        expect(page.locator("main").get_by_text(shown).first).to_be_visible()
        if part is not None:
            expect(page.get_by_role("link", name=part, exact=True)).to_have_attribute("aria-current", "page")
    assert trouble.port
