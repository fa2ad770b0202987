"""Built projects whose sources commit late, change columns and hold bad values: in the end rows are the source's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from tests.design.building import PROJECTS, built, environment, killed_in_the_middle, queried
from tests.design.driving import driving
from tests.design.test_built_projects import smaller_batches
from tests.support.postgres import empty_schema

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]


def called(project: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    package = next((project / "src").iterdir()).name
    return subprocess.run(
        [sys.executable, "-m", package, *command], cwd=project, env=environment(project, **variables), timeout=900,
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def rows_of(source: Source, query: str) -> list[str]:
    return [",".join("" if value is None else str(value) for value in row) for row in source.execute(query.encode())]


ROWS = "SELECT id, customer, amount, updated_at FROM {} ORDER BY id"
SEEN = (
    "SELECT flow, column_name, difference FROM schema_changes WHERE ended_at IS NULL ORDER BY 2, 3",
    "SELECT repaired, breaches FROM reconciliations ORDER BY checked_at DESC LIMIT 1",
)  # fmt: skip


def test_late_commits_behind_a_watermark_are_found(tmp_path: Path, postgres_url: str) -> None:
    """Killed in the middle; then rows are committed behind the place, near it and far, and columns come and change."""
    url = empty_schema(postgres_url)
    project = built(smaller_batches("postgres_snowmelt", 100, name="orders"), tmp_path)
    with psycopg.connect(url, autocommit=True) as source:
        source.execute(
            "CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount NUMERIC(12,2), updated_at TIMESTAMP)"
        )
        source.execute(
            "INSERT INTO orders SELECT i, 'c' || i % 7, i * 1.25, TIMESTAMP '2024-01-01' + i * INTERVAL '1 minute' "
            "FROM generate_series(1, 600) AS i"
        )
        killed_in_the_middle(project, batches=2, SHOP_URL=url)
        found = queried(project, ROWS.format("stg_orders"), SEEN[1], runs=1, SHOP_URL=url)
        assert found == [*rows_of(source, ROWS.format("orders")), "0,0"]
        source.execute("INSERT INTO orders VALUES (9001, 'near', 1, TIMESTAMP '2024-01-01 09:55:30')")
        source.execute("INSERT INTO orders VALUES (9002, 'far', 2, TIMESTAMP '2024-01-01 00:10:30')")
        source.execute("ALTER TABLE orders ADD COLUMN note TEXT")
        source.execute("INSERT INTO orders VALUES (9003, 'new', 3, TIMESTAMP '2024-01-02', 'hello')")
        near = "SELECT LISTAGG(id, ' ') WITHIN GROUP (ORDER BY id) FROM stg_orders WHERE id > 9000"
        found = queried(project, near, SEEN[0], runs=1, SHOP_URL=url)
        assert found == ["9001 9003", "orders,note,new"], "the far one is the hole that the specification states"
        done = called(project, "reconcile", SHOP_URL=url)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert "rows were committed late" in done.stdout + done.stderr
        found = queried(project, ROWS.format("stg_orders"), SEEN[1], SHOP_URL=url)
        assert found == [*rows_of(source, ROWS.format("orders")), "1,0"]
    assert 'snowmelt_pipeline_schema_changes{flow="orders",pipeline="orders_merge"} 1.0' in _metrics(project)
    specification = (project / "data-pipeline-spec.md").read_text(encoding="utf-8")
    assert "more than 10 minutes later than its change column says" in specification


def test_a_sink_that_somebody_changed_is_told(tmp_path: Path, postgres_url: str) -> None:
    """In the first pass that looks, and in each one until it is mended; `make reconcile` looks at once."""
    source_url, sink_url = empty_schema(postgres_url), empty_schema(postgres_url)
    given = smaller_batches("postgres_snowmelt", 100, name="orders")
    mart = {"name": "mart", "kind": "postgres", "connection": "MART_URL", "key": ["customer"], "load": "upsert"}
    project = built({**given, "name": "sent_orders", "sinks": [mart]}, tmp_path)
    variables = {"SHOP_URL": source_url, "MART_URL": sink_url}
    with psycopg.connect(source_url, autocommit=True) as source, psycopg.connect(sink_url, autocommit=True) as sink:
        source.execute(
            "CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount NUMERIC(12,2), updated_at TIMESTAMP)"
        )
        source.execute(
            "INSERT INTO orders SELECT i, 'c' || i % 7, i, TIMESTAMP '2024-01-01' FROM generate_series(1, 50) i"
        )
        with driving(project, **variables) as driver:
            assert driver.call("run") == 0
            assert driver.rows(
                "SELECT breaches, source_rows, table_rows FROM reconciliations WHERE flow = 'mart_revenue'"
            ) == [[("0", "7", "7")]]
            sink.execute("UPDATE revenue SET revenue = 1 WHERE customer = 'c1'")
            assert driver.call("run") == 0, "it is not due"
            assert driver.call("reconcile") == 1
            assert "mart: revenue is not as revenue here" in driver.told()
            assert driver.call("run") == 1, "until it is mended"
            sink.execute(
                "UPDATE revenue SET revenue = (SELECT SUM(n) FROM generate_series(1, 50, 7) n) WHERE customer = 'c1'"
            )
            assert driver.call("run") == 0
    assert 'snowmelt_pipeline_reconciliation_differences{flow="mart_revenue"' in _metrics(project)


def _metrics(project: Path) -> str:
    return next((project / "data" / "metrics").glob("*.prom")).read_text(encoding="utf-8")


LOG = {
    **PROJECTS["postgres_log_snowmelt"], "name": "payments_log", "sinks": [{"name": "mart", "kind": "snowmelt"}],
    "sources": [{"name": "shop", "kind": "postgres", "connection": "SHOP_URL", "tables": [
        {"name": "public.payments", "key": ["id"], "replica_identity": "full", "columns": [
            {"name": "id", "type": "NUMBER(38,0)"}, {"name": "amount", "type": "NUMBER(12,2)"}, {"name": "state"}]}]}],
}  # fmt: skip
PAYMENTS = "SELECT id, amount, state FROM {} ORDER BY id"


def test_a_bad_value_in_a_log_stops_nothing(tmp_path: Path) -> None:
    """A column becomes text and holds a word: a dead letter, which is mended and replayed; the rest goes on."""
    project = built(LOG, tmp_path)
    with EmbeddedPostgres(LOGICAL_REPLICATION) as server, psycopg.connect(server.url(), autocommit=True) as source:
        variables = {"SHOP_URL": server.url()}
        source.execute("CREATE TABLE payments (id int PRIMARY KEY, amount numeric(12,2), state text)")
        source.execute("ALTER TABLE payments REPLICA IDENTITY FULL")
        source.execute("INSERT INTO payments SELECT i, i, 'paid' FROM generate_series(1, 50) i")
        found = queried(project, PAYMENTS.format("stg_payments"), runs=1, **variables)
        assert found == rows_of(source, PAYMENTS.format("payments"))
        source.execute("ALTER TABLE payments ALTER COLUMN amount TYPE text")
        source.execute("INSERT INTO payments VALUES (51, '51.00', 'paid'), (52, 'many', 'paid'), (53, '53.00', 'open')")
        done = called(project, "run", **variables)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert "changes were set aside" in done.stdout + done.stderr
        letters = "SELECT flow, origin, record:amount::VARCHAR FROM dead_letters"
        there = "SELECT LISTAGG(id, ' ') WITHIN GROUP (ORDER BY id) FROM stg_payments WHERE id > 50"
        changed = "SELECT column_name, difference FROM schema_changes WHERE ended_at IS NULL"
        found = queried(project, letters, there, changed)
        assert found == ["shop,public.payments,many", "51 53", "amount,retyped"]
        queried(project, "UPDATE dead_letters SET record = OBJECT_INSERT(record, 'amount', '52.00', TRUE)::VARIANT")
        source.execute("UPDATE payments SET amount = '52.00' WHERE id = 52")
        done = called(project, "letters", "replay", "--by", "a test", **variables)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        settled = "SELECT settled, settled_by FROM settled_letters"
        open_ = "SELECT COUNT(*) FROM dead_letters"
        found = queried(project, PAYMENTS.format("stg_payments"), open_, settled, runs=1, **variables)
        assert found == [*rows_of(source, PAYMENTS.format("payments")), "0", "replayed,a test"]
