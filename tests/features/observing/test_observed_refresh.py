"""A real refresh, seen from all sides: its spans, its metrics, its cost, and one id from ingest to product."""

from __future__ import annotations

import json

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.logs import configure_logging
from snowmelt.features.observing.service import Observing
from snowmelt.observe.tracing import Tracing
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.observing.scraping import scraped, value


@pytest.fixture
def spans(account: Account, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(account, "tracing", Tracing(None, account.data_dir, exporter))
    return exporter


def _tree(found: tuple[ReadableSpan, ...]) -> dict[str, str | None]:
    """Each span's name, and that of the one around it."""
    names = {span.context.span_id: span.name for span in found if span.context is not None}
    return {span.name: names.get(span.parent.span_id) if span.parent is not None else None for span in found}


def test_a_refresh_from_ingest_to_product(account: Account, session: Session, spans: InMemorySpanExporter) -> None:
    # What happens is counted from when somebody asks for it.
    assert account.services[Observing].samples()
    session.execute("CREATE TABLE sales (shop INT, amount INT)")
    session.execute("INSERT INTO sales VALUES (1, 10), (2, 20), (3, 30)")
    session.execute(
        "CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
        "SELECT shop, SUM(amount) AS total FROM sales GROUP BY shop"
    )
    session.execute(
        "CREATE DYNAMIC TABLE top TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS SELECT MAX(total) AS best FROM totals"
    )
    spans.clear()
    written = session.execute("INSERT INTO sales VALUES (3, 5000)").query_id
    configure_logging("INFO", as_json=True)
    with capture_logs() as logs:
        session.execute("ALTER DYNAMIC TABLE top REFRESH")
    refreshed = [entry for entry in logs if entry["event"] == "refreshed"]
    told = {entry["table"].rsplit(".", 1)[-1]: entry["correlation_id"] for entry in refreshed}
    assert told == {"TOTALS": written, "TOP": written}

    account.tracing.flush()
    tree = _tree(spans.get_finished_spans())
    assert tree["wait for the table"] == "refresh" and tree["bind"] == "REFRESH_DYNAMIC_TABLE_AT_REFRESH_VERSION"
    assert tree["read changes"] == "by changes" and tree["apply"] == "by changes"

    found = scraped(account)
    table = {"database": str(session.database), "table": "TOTALS"}
    assert value(found, "snowmelt_refreshes_total", action="INCREMENTAL", state="SUCCEEDED", **table) == 1
    assert value(found, "snowmelt_refresh_rows_total", change="inserted", **table) == 4
    place = {"database": str(session.database), "name": "TOTALS"}
    assert value(found, "snowmelt_freshness_limit_seconds", **place) == 3600
    assert value(found, "snowmelt_freshness_status", **place) == 0

    report = json.loads(session.execute("SELECT SYSTEM$COST_REPORT(1, 'totals')").rows()[0][0])
    (cost,) = report["tables"]
    assert cost["spark_seconds_per_day"] > 0 and cost["cost_per_day"] > 0 and cost["full_cost_per_day"] > 0
    rows = session.execute(
        "SELECT purpose, name FROM TABLE(INFORMATION_SCHEMA.OBJECT_COST_HISTORY(NAME => 'totals'))"
    ).rows()
    assert rows == [("REFRESH", f"{session.database}.PUBLIC.TOTALS")]


def test_the_command_prints_what_tables_cost(tmp_path_factory: pytest.TempPathFactory) -> None:
    shown = CliRunner().invoke(app, ["cost", "--data", str(tmp_path_factory.mktemp("empty") / "data")])
    assert shown.exit_code == 0 and "dynamic table" in shown.output


def test_an_alert_knows_when_it_ran_before(session: Session) -> None:
    session.execute("CREATE TABLE marks (before TIMESTAMP_LTZ, now TIMESTAMP_LTZ, query VARCHAR)")
    last, now = "SNOWFLAKE.ALERT.LAST_SUCCESSFUL_SCHEDULED_TIME()", "SNOWFLAKE.ALERT.SCHEDULED_TIME()"
    session.execute(
        "CREATE ALERT marks SCHEDULE = '1 MINUTE' IF (EXISTS (SELECT 1 WHERE 2 > 1)) THEN "
        f"INSERT INTO marks VALUES ({last}, {now}, SNOWFLAKE.ALERT.GET_CONDITION_QUERY_UUID())"
    )
    for _ in range(2):
        session.execute("EXECUTE ALERT marks")
    history = session.execute(
        "SELECT state, condition_query_id FROM TABLE(INFORMATION_SCHEMA.ALERT_HISTORY(ALERT_NAME => 'marks')) "
        "ORDER BY scheduled_time"
    ).rows()
    first, second = session.execute("SELECT before, now, query FROM marks ORDER BY now").rows()
    assert history == [("TRIGGERED", first[2]), ("TRIGGERED", second[2])]
    assert second[0] == first[1] and first[0] < first[1]
    with pytest.raises(SnowmeltError):
        session.execute(f"SELECT {now}")


def test_freshness_is_a_query(session: Session) -> None:
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("CREATE DATA PRODUCT sales OBJECTS = (orders) FRESHNESS = '10 minutes' AVAILABILITY_TIER = 2")
    session.execute("INSERT INTO orders VALUES (1)")
    place = f"WHERE database_name = '{session.database}'"
    rows = session.execute(
        f"SELECT kind, name, status, limit_sec FROM TABLE(INFORMATION_SCHEMA.FRESHNESS()) {place} ORDER BY name"
    ).rows()
    assert rows == [("TABLE", "ORDERS", "UNKNOWN", None), ("DATA PRODUCT", "SALES", "FRESH", 600)]


def test_a_view_is_looked_into(session: Session) -> None:
    """A view is asked for rows: an expression changes a value, and with it what it gives away."""
    session.execute("CREATE TABLE people (id INT, contact VARCHAR, first_name VARCHAR)")
    session.execute("INSERT INTO people VALUES (1, ' Ann@Example.com', 'Ann'), (2, 'bob@example.com ', 'Bob')")
    session.execute("CREATE VIEW renamed AS SELECT first_name AS f FROM people")
    with pytest.raises(SnowmeltError, match=r"F \(NAME\)"):
        session.execute("CREATE DATA PRODUCT crm OBJECTS = (renamed)")
    session.execute("CREATE VIEW tidy AS SELECT id, LOWER(TRIM(contact)) AS c FROM people")
    session.execute("CREATE VIEW hidden AS SELECT id, SHA2(contact) AS c FROM people")
    with pytest.raises(SnowmeltError, match=r"C \(EMAIL\)"):
        session.execute("CREATE DATA PRODUCT crm OBJECTS = (tidy)")
    session.execute("CREATE DATA PRODUCT crm OBJECTS = (hidden)")
