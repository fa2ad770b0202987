"""The API under the page: who gets in, what comes out, and what a role may not know of."""

from __future__ import annotations

import io
import json
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.console.routes import openapi
from tests.serve.callers import ADMIN_PASSWORD, PASSWORD, Serving, until

_API = "/api/v1/console"


class Visitor:
    """A browser, as far as the server sees one."""

    def __init__(self, serving: Serving, user: str = "admin", password: str = ADMIN_PASSWORD) -> None:
        page = {"origin": serving.url, "sec-fetch-site": "same-origin"}
        self.http = httpx.Client(base_url=serving.url + _API, timeout=120, headers=page)
        self.answer = self.http.post("/session", json={"user": user, "password": password})
        self.who: dict[str, Any] = self.answer.json()
        self.http.headers["x-csrf-token"] = self.who.get("csrf", "")

    def run(self, sql: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.http.post("/statements", json={"sql": sql, **more}).json()
        return answer

    def get(self, path: str) -> Any:
        return self.http.get(path).json()


@pytest.fixture(scope="module")
def admin(shop: Serving) -> Visitor:
    return Visitor(shop)


def test_the_page_comes_with_a_strict_policy_and_nothing_from_elsewhere(shop: Serving) -> None:
    page = httpx.get(shop.url)
    policy = page.headers["content-security-policy"]
    assert page.status_code == 200 and '<div id="app">' in page.text
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert nonce in page.text and nonce not in httpx.get(shop.url).text
    assert "http://" not in page.text and "https://" not in page.text
    script = page.text.split('src="')[1].split('"')[0]
    asset = httpx.get(shop.url + script)
    assert asset.headers["content-type"].startswith("text/javascript") and "immutable" in asset.headers["cache-control"]
    assert httpx.get(f"{shop.url}/assets/..%2Findex.html").status_code == 404


def test_a_session_lives_in_a_cookie_that_scripts_and_other_sites_do_not_get(shop: Serving) -> None:
    visitor = Visitor(shop)
    cookie = visitor.answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/api/v1/console" in cookie
    assert visitor.get("/session")["user"] == "ADMIN"
    assert visitor.http.delete("/session").status_code == 200
    assert visitor.http.get("/session").status_code == 401
    assert Visitor(shop, password="wrong").answer.status_code == 401


def test_a_forged_request_is_refused(shop: Serving, admin: Visitor) -> None:
    sql = {"sql": "DROP DATABASE shop"}
    cookies = dict(admin.http.cookies)
    ours = {"origin": shop.url, "sec-fetch-site": "same-origin"}
    for headers in (
        ours,
        {**ours, "x-csrf-token": "guessed"},
        {"origin": "https://evil.example", "x-csrf-token": admin.who["csrf"]},
        {**ours, "sec-fetch-site": "cross-site", "x-csrf-token": admin.who["csrf"]},
        {**ours, "host": "evil.example", "x-csrf-token": admin.who["csrf"]},
    ):
        answer = httpx.post(f"{shop.url}{_API}/statements", json=sql, headers=headers, cookies=cookies)
        assert answer.status_code == 403, headers
    assert httpx.get(shop.url, headers={"sec-fetch-site": "cross-site"}).status_code == 200


def test_a_link_logs_in_once(shop: Serving) -> None:
    link = shop.server.console.visitors.links.issue()
    first, second = (httpx.post(f"{shop.url}{_API}/session", json={"link": link}) for _ in range(2))
    assert (first.status_code, first.json()["user"], second.status_code) == (200, "ADMIN", 401)


def test_a_statement_gives_columns_and_rows(admin: Visitor) -> None:
    found = admin.run("SELECT 1 AS a, 'x' AS b, 12345678901234567890 AS c, 1.50 AS d, NULL AS e")
    assert [column["name"] for column in found["columns"]] == ["A", "B", "C", "D", "E"]
    assert found["rows"] == [[1, "x", "12345678901234567890", "1.50", None]]
    assert found["status"] == "succeeded"


def test_an_error_says_where(admin: Visitor) -> None:
    found = admin.run("SELECT nothing_here", line=7, column=2)
    assert found["status"] == "failed" and "line 7 at position 9" in found["error"]["message"]


def test_results_are_read_piece_by_piece_and_downloaded(shop: Serving, admin: Visitor) -> None:
    values = ", ".join(f"({n}, 'name {n}')" for n in range(3000))
    shop.admin().execute_script(
        f"CREATE TABLE shop.raw.many (n INT, t VARCHAR); INSERT INTO shop.raw.many VALUES {values}"
    )
    found = admin.run("SELECT n, t FROM shop.raw.many ORDER BY n", worksheet="pieces")
    assert found["row_count"] == 3000 and len(found["rows"]) == 500
    rows = admin.get(f"/statements/{found['id']}/rows?offset=2990&limit=100")["rows"]
    assert rows[0][0] == 2990 and len(rows) == 10
    download = f"/statements/{found['id']}/download?format="
    csv = admin.http.get(download + "csv")
    assert csv.headers["content-disposition"].startswith("attachment") and csv.text.count("\n") == 3001
    assert len(json.loads(admin.http.get(download + "json").text)) == 3000
    assert pq.read_table(io.BytesIO(admin.http.get(download + "parquet").content)).num_rows == 3000
    assert admin.http.get(download + "exe").status_code == 400


def test_worksheets_have_sessions_of_their_own(admin: Visitor) -> None:
    admin.run("USE SCHEMA shop.marts", worksheet="one")
    assert admin.run("SELECT CURRENT_SCHEMA()", worksheet="one")["rows"] == [["MARTS"]]
    assert admin.run("SELECT CURRENT_SCHEMA()", worksheet="two")["rows"] == [["PUBLIC"]]
    assert admin.http.delete("/worksheets/one").status_code == 200
    assert admin.run("SELECT CURRENT_SCHEMA()", worksheet="one")["rows"] == [["PUBLIC"]]


def test_the_graph_has_what_stands_how(admin: Visitor) -> None:
    graph = admin.get("/graph")
    nodes = {node["full_name"] + ":" + node["kind"]: node for node in graph["nodes"]}
    assert nodes["SHOP.MARTS.ARCHIVE:DYNAMIC_TABLE"]["state"] == "suspended"
    assert nodes["SHOP.MARTS.PRICE_LIST:DYNAMIC_TABLE"]["state"] == "failed"
    assert nodes["SHOP.MARTS.DAILY:DYNAMIC_TABLE"]["state"] == "late"
    assert nodes["SHOP.STAGING.NOTE_EVENTS:TASK"]["state"] == "suspended"
    assert nodes["SHOP.MARTS.LOW_REVENUE:ALERT"]["state"] == "suspended"
    assert nodes["SHOP.RAW.ORDERS:TABLE"]["rows"] == 9
    pairs = {(edge["source"], edge["target"]) for edge in graph["edges"]}
    assert ("R:SHOP.RAW.ORDERS", "R:SHOP.STAGING.CLEAN_ORDERS") in pairs
    assert ("R:SHOP.RAW.NEW_EVENTS", "TASK:SHOP.STAGING.NOTE_EVENTS") in pairs
    assert ("TASK:SHOP.STAGING.NOTE_EVENTS", "R:SHOP.STAGING.SEEN") in pairs
    assert ("TASK:SHOP.STAGING.NOTE_EVENTS", "TASK:SHOP.STAGING.TRIM_SEEN") in pairs
    assert ("R:SHOP.MARTS.REVENUE", "DATA_PRODUCT:SHOP.MARTS.REVENUE_BY_COUNTRY") in pairs
    assert ("R:SHOP.MARTS.REVENUE", "ALERT:SHOP.MARTS.LOW_REVENUE") in pairs


def test_the_history_has_what_each_stage_took(shop: Serving, admin: Visitor) -> None:
    """Of the plan that ran, in the names of tables, and only for who looks inside: a reader is told of no source."""
    asked = (
        "SELECT details, refresh_action FROM TABLE(shop.INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY("
        "NAME => 'shop.marts.revenue')) WHERE refresh_action = 'INCREMENTAL' ORDER BY data_timestamp"
    )
    first = json.loads(admin.run(asked)["rows"][0][0])
    stages = {one["stage"]: one for one in first["stage_costs"]}
    assert len(stages) == len(first["stage_costs"]) == first["stages"] + 1
    known = {"SHOP.STAGING.CLEAN_ORDERS", "SHOP.STAGING.ACTIVE_CUSTOMERS"}
    for one in stages.values():
        outside = {read.rpartition("__")[0] for read in one["reads"] if read not in stages}
        assert outside <= {*known, "a1"}, one
        assert "t_" not in one["what"]
    last = stages["rows of the table"]
    assert last["rows"] == 2
    ran = [one["ms"] for one in stages.values() if "ms" in one]
    assert sum(ran) <= first["computeTimeMs"] + len(ran), "each rounded up by less than one"
    told = Visitor(shop, "rita", PASSWORD).run(asked)["rows"]
    assert {row[0] for row in told} == {None}


def test_home_counts_the_rows_that_come(shop: Serving, admin: Visitor) -> None:
    """Each row once, when everybody sees it; what a refresh makes is no arrival, and what was rolled back is none."""
    session = shop.admin()
    session.execute("CREATE TABLE shop.raw.arriving (a INT)")

    def arrived() -> dict[str, int]:
        return {table["name"]: table["rows"] for table in admin.get("/home")["ingest"]["tables"]}

    try:
        session.execute("INSERT INTO shop.raw.arriving SELECT 1 FROM TABLE(GENERATOR(ROWCOUNT => 400))")
        session.execute_script("BEGIN; INSERT INTO shop.raw.arriving VALUES (1), (2); ROLLBACK")
        session.execute_script(
            "BEGIN; INSERT INTO shop.raw.arriving VALUES (3); INSERT INTO shop.raw.arriving VALUES (4); COMMIT; "
            "UPDATE shop.raw.arriving SET a = 5 WHERE a = 4"
        )
        until(lambda: arrived().get("SHOP.RAW.ARRIVING") == 403)
        told = admin.get("/home")["ingest"]
        assert sum(told["rows"]) >= 403 and len(told["rows"]) == 60
        assert not any("MARTS" in name for name in arrived())
        assert "ARRIVING" not in Visitor(shop, "rita", PASSWORD).http.get("/home").text
    finally:
        session.execute("DROP TABLE shop.raw.arriving")


def test_home_names_what_is_wrong(admin: Visitor) -> None:
    found = {(problem["severity"], problem["name"]) for problem in admin.get("/home")["problems"]}
    assert {
        ("failed", "SHOP.MARTS.PRICE_LIST"), ("late", "SHOP.MARTS.DAILY"), ("suspended", "SHOP.MARTS.ARCHIVE"),
    } <= found  # fmt: skip


def test_what_a_role_may_not_know_of_is_nowhere(shop: Serving) -> None:
    rita = Visitor(shop, "rita", PASSWORD)
    names = {node["full_name"] for node in rita.get("/graph")["nodes"]}
    assert names == {"SHOP.MARTS.REVENUE"}
    everything = rita.http.get("/graph").text + rita.http.get("/home").text
    assert "CLEAN_ORDERS" not in everything and "PRICE_LIST" not in everything
    assert rita.run("SELECT * FROM shop.raw.orders")["error"]["code"] == "002003"
    assert rita.http.patch("/session", json={"role": "ACCOUNTADMIN"}).status_code == 400


def test_what_a_table_is_made_of_is_for_who_monitors_it(shop: Serving) -> None:
    """The error of a refresh quotes a row of a table that the reader may not see."""
    admin = shop.admin()
    admin.execute_script(
        "CREATE TABLE shop.raw.typed_in (v VARCHAR); INSERT INTO shop.raw.typed_in VALUES ('1');"
        "CREATE DYNAMIC TABLE shop.marts.numbers TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS "
        "SELECT v::INT AS v FROM shop.raw.typed_in; INSERT INTO shop.raw.typed_in VALUES ('a secret');"
    )
    with pytest.raises(SnowmeltError, match="a secret"):
        admin.execute("ALTER DYNAMIC TABLE shop.marts.numbers REFRESH")
    functions = ("DYNAMIC_TABLES", "DYNAMIC_TABLE_REFRESH_HISTORY", "DYNAMIC_TABLE_GRAPH_HISTORY")
    for privilege in ("SELECT", "MONITOR"):
        admin.execute(f"GRANT {privilege} ON DYNAMIC TABLE shop.marts.numbers TO ROLE reader")
        rita = Visitor(shop, "rita", PASSWORD)
        shown = {path: rita.http.get(path).text for path in ("/home", "/graph")}
        for function in functions:
            found = rita.run(f"SELECT * FROM TABLE(shop.INFORMATION_SCHEMA.{function}()) WHERE NAME = 'NUMBERS'")
            assert found["row_count"] > 0
            shown[function] = json.dumps(found["rows"])
        shown["GET_DDL"] = json.dumps(rita.run("SELECT GET_DDL('DYNAMIC_TABLE', 'shop.marts.numbers')"))
        shown["script"] = json.dumps(rita.run("SELECT GET_DDL('SCHEMA', 'shop.marts')"))
        for where, text in shown.items():
            assert "numbers" in text.lower() or where == "script", where
            quotes = "a secret" in text or "typed_in" in text.lower()
            assert quotes is (privilege == "MONITOR"), (privilege, where)
    admin.execute("DROP DYNAMIC TABLE shop.marts.numbers")


def test_a_result_goes_with_the_roles_it_was_made_with(shop: Serving) -> None:
    admin = shop.admin()
    admin.execute_script(
        "CREATE ROLE passing; GRANT ROLE passing TO USER rita; GRANT USAGE ON DATABASE shop TO ROLE passing;"
        "GRANT USAGE ON SCHEMA shop.raw TO ROLE passing; GRANT SELECT ON TABLE shop.raw.orders TO ROLE passing;"
        "GRANT USAGE ON WAREHOUSE compute_wh TO ROLE passing"
    )
    rita = Visitor(shop, "rita", PASSWORD)
    assert rita.http.patch("/session", json={"role": "PASSING"}).status_code == 200
    made = rita.run("SELECT * FROM shop.raw.orders", worksheet="orders")
    addresses = [f"/statements/{made['id']}{more}" for more in ("", "/rows", "/download?format=csv")]
    assert made["row_count"] == 9 and {rita.http.get(address).status_code for address in addresses} == {200}
    admin.execute("REVOKE ROLE passing FROM USER rita")
    assert {rita.http.get(address).status_code for address in addresses} == {404}


def test_one_log_in_leaves_others_their_threads(shop: Serving) -> None:
    rita, other = Visitor(shop, "rita", PASSWORD), Visitor(shop)
    slow = [{"sql": "CALL SYSTEM$WAIT(600)", "wait": 0, **more} for more in ({}, {"worksheet": "one"})]
    started = [rita.http.post("/statements", json=slow[n % 2]) for n in range(220)]
    refused = {answer.status_code for answer in started} - {200}
    assert refused == {503}, "what one log-in may have unfinished is bounded"
    for more in ({}, {"worksheet": "mine"}):
        assert other.run("SELECT 1", wait=25, **more)["status"] == "succeeded"
    assert rita.run("SELECT 1")["error"]["code"] == "370002"
    rita.http.delete("/session")
    until(lambda: all(one.user != "RITA" or one.running is None for one in shop.account.sessions()))


def test_cancelling_what_waits_leaves_what_runs(shop: Serving) -> None:
    rita = Visitor(shop, "rita", PASSWORD)
    first, second = (rita.run("CALL SYSTEM$WAIT(600)", wait=0, worksheet="w")["id"] for _ in range(2))
    until(lambda: any(one.user == "RITA" and one.running is not None for one in shop.account.sessions()))
    rita.http.post(f"/statements/{second}/cancel")
    assert rita.get(f"/statements/{first}?wait=1")["status"] == "running"
    rita.http.post(f"/statements/{first}/cancel")
    until(lambda: {rita.get(f"/statements/{id}?wait=1")["status"] for id in (first, second)} == {"cancelled"})


def test_pages_are_told_that_something_changed_and_never_what(shop: Serving, admin: Visitor) -> None:
    with admin.http.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        assert any("hello" in next(lines) for _ in range(5))
        shop.admin().execute("CREATE TABLE shop.raw.secret_name (a INT)")
        seen: list[str] = []
        until(lambda: seen.append(next(lines)) or "objects" in seen[-1])  # type: ignore[func-returns-value]
    assert not any("secret_name" in line.lower() for line in seen)


def test_every_route_is_documented(shop: Serving) -> None:
    described = {
        (method.upper(), path) for path, methods in openapi()["paths"].items() for method in methods
    }  # fmt: skip
    served = {
        (method, route.path)
        for route in shop.server.console.routes()
        for method in route.methods or () if method != "HEAD" and route.path.startswith(_API)
    }  # fmt: skip
    assert described == served
