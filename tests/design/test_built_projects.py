"""Built projects at work: their own `make lint test`, and real data that arrives exactly, also after `kill -9`."""

from __future__ import annotations

import copy
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.design.building import PROJECTS, built, killed_in_the_middle, made, queried, started
from tests.extract_load.web import Web
from tests.support.postgres import empty_schema
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_passes_its_own_lint_and_tests(name: str, tmp_path: Path) -> None:
    """With strict mypy, and Spark: cut off in the middle, then twice, and the numbers are exact."""
    made(built(PROJECTS[name], tmp_path), "lint", "test", seconds=1400)


# -- real data --------------------------------------------------------------------------------------------------------


def smaller_batches(project: str, rows: int, /, **table: Any) -> dict[str, Any]:
    given: dict[str, Any] = copy.deepcopy(PROJECTS[project])
    first = given["sources"][0]["tables"][0]
    first.update(table)
    first["options"] = {**first.get("options", {}), "batch_rows": rows}
    return given


def test_files_become_versions_exactly(tmp_path: Path) -> None:
    """files -> Snowmelt, scd_type_2: every version of a customer, whatever was killed when."""
    project = built(PROJECTS["files_scd"], tmp_path)
    incoming = project / "incoming"
    incoming.mkdir()
    for day in range(1, 9):
        _drop_customers(incoming, day, *([",nowhere,0,2024-01-01T00:00:00"] if day == 5 else []))
    killed_in_the_middle(project, batches=3)
    counts = ("SELECT COUNT(*) FROM raw_customers", "SELECT COUNT(*) FROM dead_letters")
    assert queried(project, _VERSIONS, *counts, runs=2) == [*_expected_versions(range(1, 9)), "40", "1"]
    _drop_customers(incoming, 9)
    assert queried(project, _VERSIONS, *counts, runs=2) == [*_expected_versions(range(1, 10)), "45", "1"]


def _drop_customers(incoming: Path, day: int, *more: str) -> None:
    lines = [f"{key},city {(day + key) // 3},0{key},2024-01-0{day}T00:00:00" for key in range(1, 6)]
    text = "\n".join(["id,city,phone,changed_at", *lines, *more]) + "\n"
    (incoming / f"customers_{day}.csv").write_text(text, encoding="utf-8")


_VERSIONS = (
    "SELECT id, city, TO_VARCHAR(valid_from, 'YYYY-MM-DD'), COALESCE(TO_VARCHAR(valid_to, 'YYYY-MM-DD'), 'now'), "
    "phone FROM stg_customers ORDER BY id, valid_from"
)


def _expected_versions(days: range) -> list[str]:
    found = []
    for key in range(1, 6):
        cities = [(day, f"city {(day + key) // 3}") for day in days]
        begins = [cities[0], *(now for before, now in pairwise(cities) if before[1] != now[1])]
        ends = [f"2024-01-0{day}" for day, _ in begins[1:]] + ["now"]
        found += [
            f"{key},{city},2024-01-0{day},{end},***" for (day, city), end in zip(begins, ends, strict=True)
        ]  # fmt: skip
    return found


def test_postgres_is_followed_by_its_watermark(tmp_path: Path, postgres_url: str) -> None:
    """postgres -> Snowmelt, merge: sums are those of the source, after a kill, after changes, and after nothing."""
    url = empty_schema(postgres_url)
    project = built(smaller_batches("postgres_snowmelt", 100, name="orders"), tmp_path)
    with psycopg.connect(url, autocommit=True) as source:
        source.execute(
            "CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount NUMERIC(12,2), updated_at TIMESTAMP)"
        )
        source.execute(
            "INSERT INTO orders SELECT i, 'c' || i % 7, i * 1.25, TIMESTAMP '2024-01-01' + i * INTERVAL '1 second' "
            "FROM generate_series(1, 1500) AS i"
        )
        killed_in_the_middle(project, batches=4, SHOP_URL=url)
        queries = ("SELECT customer, revenue, orders FROM revenue ORDER BY customer", "SELECT COUNT(*) FROM raw_orders")
        assert queried(project, *queries, runs=2, SHOP_URL=url) == [*_sums(source), "1500"]
        source.execute("UPDATE orders SET amount = amount + 1, updated_at = TIMESTAMP '2024-02-01' WHERE id % 5 = 0")
        source.execute(
            "INSERT INTO orders SELECT 2000 + i, 'new', 2, TIMESTAMP '2024-02-02' FROM generate_series(1, 9) i"
        )
        assert queried(project, *queries, runs=2, SHOP_URL=url) == [*_sums(source), "1809"]
    metrics = (project / "data" / "metrics" / "orders_merge.prom").read_text(encoding="utf-8")
    assert 'snowmelt_pipeline_rows{flow="orders",pipeline="orders_merge"} 0.0' in metrics


def _sums(source: psycopg.Connection[Any]) -> list[str]:
    rows = source.execute(
        "SELECT customer, SUM(amount)::TEXT, COUNT(*) FROM orders GROUP BY customer ORDER BY customer"
    )
    return [",".join(map(str, row)) for row in rows]


def test_an_api_arrives_in_postgres(tmp_path: Path, postgres_url: str) -> None:
    """REST -> PostgreSQL, upsert: personal data hashed on the way, dead letters kept, the sink exact."""
    web = Web()
    url = empty_schema(postgres_url)
    web.allowed = lambda headers, _: headers.get("authorization") == "Bearer secret"
    given = smaller_batches("rest_postgres", 50, name="orders", change_column="changed_at")
    table = given["sources"][0]["tables"][0]
    table["options"] = {"paging": "page", "page_size": 50, "batch_rows": 50, "since_parameter": "since"}
    table["columns"][3]["name"] = "changed_at"
    project = built({**given, "transformations": [
        {"name": "cities", "key": ["city"], "sql": "SELECT city, COUNT(*) AS contacts FROM stg_orders GROUP BY city"}
    ]}, tmp_path)  # fmt: skip
    web.items = [_contact(number, f"city {number % 4}", 1) for number in range(1, 401)]
    web.items.append({**_contact(0, "nowhere", 1), "id": None})
    variables = {"CRM_URL": web.address, "CRM_TOKEN": "secret", "MART_URL": url}
    try:
        killed_in_the_middle(project, batches=2, **variables)
        queries = (
            "SELECT COUNT(*), COUNT(DISTINCT record:id::INT) FROM raw_orders", "SELECT COUNT(*) FROM dead_letters",
            "SELECT COUNT(*) FROM raw_orders WHERE record:email::VARCHAR LIKE '%@%'",
        )  # fmt: skip
        assert queried(project, *queries, runs=2, **variables) == ["400,400", "1", "0"]
        with psycopg.connect(url, autocommit=True) as sink:
            assert _cities(sink) == [(f"city {number}", 100) for number in range(4)]
            web.items += [_contact(1, "city 3", 2), _contact(500, "city 9", 2)]
            assert queried(project, *queries, runs=2, **variables) == ["402,401", "1", "0"]
            assert _cities(sink) == [("city 0", 100), ("city 1", 99), ("city 2", 100), ("city 3", 101), ("city 9", 1)]
    finally:
        web.close()


def test_rows_that_are_gone_from_a_whole_are_gone_here(tmp_path: Path) -> None:
    """An API without a change column: clean tables are its newest whole; raw ones keep every reading of it."""
    web = Web()
    columns = [{"name": "id", "type": "NUMBER(38,0)"}, {"name": "city"}]
    tables = [
        {"name": "orders", "key": ["id"], "columns": columns,
         "options": {"paging": "page", "page_size": 100, "batch_rows": 50}},
        {"name": "offset", "columns": columns,
         "options": {"paging": "offset", "records": "data.items", "page_size": 100, "batch_rows": 50}},
        {"name": "next", "key": ["id"], "columns": columns, "options": {"paging": "next"}},
    ]  # fmt: skip
    project = built({
        "name": "wholes", "owner": "web", "latency": "1 hour", "volume": {"per_day": "1 MB"}, "pii": {"present": False},
        "sources": [{"name": "crm", "kind": "api", "connection": "CRM_URL", "tables": tables}],
        "sinks": [{"name": "now", "kind": "snowmelt", "reads": ["stg_orders", "stg_offset"]},
                  {"name": "ever", "kind": "snowmelt", "load": "scd_type_2", "reads": ["stg_next"]}],
    }, tmp_path)  # fmt: skip
    variables = {"CRM_URL": web.address}
    queries = (
        "SELECT id, city FROM stg_orders ORDER BY id", "SELECT id, city FROM stg_offset ORDER BY id",
        "SELECT id, city FROM stg_next WHERE is_current ORDER BY id",
    )  # fmt: skip
    try:
        web.items = [{"id": number, "city": f"city {number}"} for number in range(300)]
        killed_in_the_middle(project, batches=3, **variables)
        # What was half read is another by now: the half must not be seen, and must not be in the way.
        web.items = [{**item, "city": "moved"} for item in web.items[100:]]
        expected = [f"{item['id']},{item['city']}" for item in web.items]
        assert queried(project, *queries, runs=2, **variables) == expected * 3
        first = web.items
        web.items = [*web.items[:50], {"id": 1, "city": "new"}]
        made(project, "run", **variables)
        web.items = []
        versions = "SELECT is_current, COUNT(*) FROM stg_next GROUP BY is_current ORDER BY 1"
        assert queried(project, *queries, versions, runs=1, **variables) == ["False,201"]
        web.items = first
        kept = "SELECT MAX(reading), COUNT_IF(record IS NULL), COUNT(DISTINCT record:id) FROM raw_orders"
        assert queried(project, *queries, versions, kept, runs=2, **variables) == [
            *expected * 3, "False,201", "True,200", "5,4,300",
        ]  # fmt: skip
    finally:
        web.close()


def test_a_model_is_sent_to_an_api(tmp_path: Path) -> None:
    """Snowmelt -> REST: each version of each row once, under the names and values of the application."""
    web = Web()
    web.allowed = lambda headers, _: headers.get("authorization") == "Bearer secret"
    web.judge = lambda record: 422 if record["score"] < 0 else 200
    project = built(PROJECTS["model_api"], tmp_path)
    variables = {"CRM_URL": web.address, "CRM_TOKEN": "secret"}
    queried(
        project, "CREATE TABLE customer_scores (customer_id INT, grade VARCHAR, score FLOAT)",
        "INSERT INTO customer_scores SELECT n, IFF(n % 2 = 0, 'A', 'B'), n / 2 FROM "
        "(SELECT ROW_NUMBER() OVER (ORDER BY SEQ4()) AS n FROM TABLE(GENERATOR(ROWCOUNT => 500)))",
        "INSERT INTO customer_scores VALUES (1001, 'C', 1), (1002, 'A', -1)",
    )  # fmt: skip
    expected = {
        f"/contacts/{n}": {"externalId": n, "tier": "Silver" if n % 2 else "Gold", "score": n / 2}
        for n in range(1, 501)
    }  # fmt: skip
    letters = "SELECT reason FROM dead_letters ORDER BY record:customer_id::INT"
    reasons = ["the sink answers 422: no such tier", '"grade has the value C, for which the sink has none"']
    try:
        command = (sys.executable, "-m", "scores_to_crm", "run")
        with started(project, *command, **variables):
            wait_until(lambda: len(web.deliveries) >= 250, "half of them are sent")
        assert len(web.taken) < 500, "it must be in the middle"
        assert sorted(queried(project, letters, runs=2, **variables)) == sorted(reasons)
        assert dict(web.taken.values()) == expected and len(web.taken) == 500
        assert len(web.deliveries) - len(set(web.deliveries)) <= 200, "only what was not committed came again"
        count = len(web.deliveries)
        queried(project, "UPDATE customer_scores SET grade = 'B' WHERE customer_id <= 10", runs=0)
        queried(project, runs=2, **variables)
        assert len(web.deliveries) == count + 5, "those of grade A"
        assert [body["externalId"] for _, body in list(web.taken.values())[500:]] == [2, 4, 6, 8, 10]
    finally:
        web.close()


def _contact(number: int, city: str, day: int) -> dict[str, Any]:
    stamp = f"2024-01-0{day}T00:{number // 60:02}:{number % 60:02}+00:00"
    return {"id": number, "email": f"p{number}@example.org", "city": city, "changed_at": stamp}


def _cities(sink: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return list(sink.execute("SELECT city, contacts FROM cities ORDER BY city"))
