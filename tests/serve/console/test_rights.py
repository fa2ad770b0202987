"""What a role may not know of, no route tells: what is there and hidden is answered as what is not there.

Every route of openapi.json stands in the table below, so that a new one fails until it says what it could tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.serve.console.routes import openapi
from tests.serve.callers import PASSWORD, Serving
from tests.serve.console.test_api import Visitor

HIDDEN, MISSING = "VAULT", "TRUNK"
"""A schema that is there, and one that is not; roles and warehouses are called after them."""
_WORDS = ("hush_column", "hush_value", "hush_total")
_STATEMENTS = (
    "SELECT * FROM shop.{0}.secrets", "DESCRIBE TABLE shop.{0}.secrets", "SHOW TABLES IN SCHEMA shop.{0}",
    "SHOW DYNAMIC TABLES LIKE 'totals' IN SCHEMA shop.{0}", "SHOW GRANTS ON TABLE shop.{0}.secrets",
    "SHOW QUALITY CHECKS IN TABLE shop.{0}.secrets", "SHOW COLUMNS IN TABLE shop.{0}.secrets",
    "SELECT GET_DDL('TABLE', 'shop.{0}.totals', TRUE)", "SELECT SYSTEM$LINEAGE('shop.{0}.totals')",
    "SELECT * FROM TABLE(SNOWFLAKE.CORE.GET_LINEAGE('shop.{0}.totals', 'TABLE', 'UPSTREAM', 5))",
    "SELECT SYSTEM$CHECK_DYNAMIC_TABLE('shop.{0}.totals')", "SELECT SYSTEM$REFRESH_CHANGES('shop.{0}.totals', 'x')",
    "SELECT SYSTEM$COST_REPORT(7, 'shop.{0}.totals')", "EXPLAIN DYNAMIC TABLE shop.{0}.totals",
    "EXPLAIN DYNAMIC TABLE AS SELECT * FROM shop.{0}.secrets", "ALTER DYNAMIC TABLE shop.{0}.totals REFRESH",
    "SELECT * FROM TABLE(shop.INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'shop.{0}.totals'))",
    "SELECT * FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY()) WHERE query_text ILIKE '%shop.{0}.secrets%' AND FALSE",
    "SHOW ROLES LIKE '{0}_ROLE'", "SHOW WAREHOUSES LIKE '{0}_WH'",
)  # fmt: skip
_BACKFILL = {"table": "shop.{0}.secrets", "source": "shop.{0}.secrets", "column": "id", "start": "1", "end": "2"}
_BODIES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("get", "/openapi.json"): [{}], ("get", "/session"): [{}], ("get", "/graph"): [{}], ("get", "/home"): [{}],
    ("get", "/spark"): [{}],
    ("post", "/session"): [{"user": "{0}", "password": "x"}],
    ("patch", "/session"): [{"role": "{0}_ROLE"}, {"warehouse": "{0}_WH"}, {"schema": "{0}"}, {"database": "{0}"}],
    ("post", "/statements"): [{"sql": sql, "wait": 25} for sql in _STATEMENTS],
    ("post", "/statements/split"): [{"sql": "SELECT 1; SELECT 2"}],
    ("get", "/statements/{id}"): [{}], ("get", "/statements/{id}/rows"): [{}],
    ("get", "/statements/{id}/download"): [{}], ("post", "/statements/{id}/cancel"): [{}],
    ("post", "/design"): [{"description": "move {0} from postgres to a table"}],
    ("post", "/design/archive"): [{"state": {}}],
    ("get", "/playbooks"): [{}], ("get", "/playbooks/{name}"): [{}], ("get", "/runs/{name}"): [{}],
    ("post", "/runs"): [{"playbook": "add-column-safely"}], ("post", "/runs/{name}"): [{"action": "abort"}],
    ("get", "/backfills"): [{}], ("post", "/backfills"): [_BACKFILL], ("post", "/backfills/plan"): [_BACKFILL],
    ("post", "/backfills/{name}"): [{"action": "undo"}], ("delete", "/worksheets/{name}"): [{}],
}  # fmt: skip
_ELSEWHERE = {("get", "/events"), ("delete", "/session")}
"""A stream that names nothing, which test_api looks at, and the end of the session."""
_CHANGING = re.compile(r'"(id|query_id|elapsed_ms|now|start|run)": ?("[^"]*"|[\d.]+),?')


@pytest.fixture(scope="module")
def hidden(shop: Serving) -> Iterator[dict[str, str]]:
    """Ids of what the administrator has: a statement, a run, a backfill."""
    shop.admin().execute_script(
        f"CREATE SCHEMA shop.{HIDDEN}; CREATE TABLE shop.{HIDDEN}.secrets (id INT, hush_column VARCHAR); "
        f"INSERT INTO shop.{HIDDEN}.secrets VALUES (1, 'hush_value'); CREATE ROLE {HIDDEN}_ROLE; "
        f"CREATE WAREHOUSE {HIDDEN}_WH; CREATE DYNAMIC TABLE shop.{HIDDEN}.totals TARGET_LAG = '1 hour' "
        f"WAREHOUSE = compute_wh AS SELECT COUNT(*) AS hush_total FROM shop.{HIDDEN}.secrets"
    )
    admin = Visitor(shop)
    ran = admin.run(f"SELECT * FROM shop.{HIDDEN}.secrets", worksheet="hers", rows=0)
    inputs = {"table": f"shop.{HIDDEN}.secrets", "column": "c", "type": "INT"}
    begun = admin.http.post("/runs", json={"playbook": "add-column-safely", "inputs": inputs}).json()
    yield {"id": ran["id"], "name": begun["run"]}
    shop.admin().execute_script(f"DROP SCHEMA shop.{HIDDEN}; DROP ROLE {HIDDEN}_ROLE; DROP WAREHOUSE {HIDDEN}_WH")


def test_every_route_is_in_the_table() -> None:
    known = {(method, path.removeprefix("/api/v1/console")) for path, of in openapi()["paths"].items() for method in of}
    assert known == _BODIES.keys() | _ELSEWHERE


@pytest.mark.parametrize("route", sorted(_BODIES), ids=" ".join)
def test_hidden_is_as_missing(shop: Serving, hidden: dict[str, str], route: tuple[str, str]) -> None:
    method, path = route
    rita = Visitor(shop, "rita", PASSWORD)
    for body in _BODIES[route]:
        told = []
        for name, ids in ((HIDDEN, hidden), (MISSING, {key: value[:-4] + "ffff" for key, value in hidden.items()})):
            sent = {key: value.format(name) if isinstance(value, str) else value for key, value in body.items()}
            filled = re.sub(r"{(\w+)}", lambda match, ids=ids: ids[match.group(1)], path)
            answer = rita.http.request(method, filled, json=None if method == "get" else sent)
            assert not any(word in answer.text.lower() for word in _WORDS), (body, answer.text)
            names = sent != body or filled != path
            told.append((answer.status_code, _plain(answer.text, name, ids) if names else None))
        assert told[0] == told[1], body


def _plain(text: str, name: str, ids: dict[str, str]) -> str:
    """Without what was asked for, and what is different each time."""
    for one in (*ids.values(), name.lower(), name):
        text = text.replace(one, "…")
    return _CHANGING.sub("", re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.+]+Z?", "then", text))
