"""Lineage of definitions and of statements, through SQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest import StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.lineage.conftest import Ask, edges


def test_what_depends_on_a_table(pipeline: Session, ask: Ask) -> None:
    assert edges(ask(pipeline, "orders", "DOWNSTREAM")) == {
        "ORDERS -> ACTIVE",
        "ORDERS -> CHANGES",
        "ACTIVE -> TOTALS",
        "TOTALS -> BY_REGION",
    }


def test_what_a_column_is_made_of(pipeline: Session, ask: Ask) -> None:
    found = ask(pipeline, "by_region.total")
    assert edges(found) == {
        "TOTALS.TOTAL -> BY_REGION.TOTAL",
        "ACTIVE.GROSS -> TOTALS.TOTAL",
        "ORDERS.AMOUNT -> ACTIVE.GROSS",
    }
    assert [(edge["distance"], edge["influences"]) for edge in found["edges"]] == [
        (1, ["IDENTITY"]),
        (2, ["AGGREGATION"]),
        (3, ["TRANSFORMATION"]),
    ]
    assert [edge["process"]["type"] for edge in found["edges"]] == ["TASK", "DYNAMIC_TABLE", "VIEW"]


def test_impact_of_a_column_includes_the_rows_it_decides(pipeline: Session, ask: Ask) -> None:
    found = ask(pipeline, "orders.status", "DOWNSTREAM")
    assert edges(found) == {"ORDERS.STATUS -> ACTIVE", "ORDERS.STATUS -> CHANGES.STATUS"}
    assert found["edges"][0]["influences"] == ["FILTER"]


def test_columns_that_a_channel_fills(pipeline: Session, ask: Ask) -> None:
    with StreamingIngestClient("test", connection=pipeline) as client:
        client.open_channel("FEED", "orders")
        found = ask(pipeline, "active.gross")
    assert "FEED.AMOUNT -> ORDERS.AMOUNT" in edges(found)
    assert found["edges"][-1]["process"] == {"type": "CHANNEL", "name": "FEED", "query_id": None}


def test_a_merge_in_a_task_before_it_ever_ran(pipeline: Session, ask: Ask) -> None:
    pipeline.execute(
        """CREATE TASK fold WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS
           MERGE INTO by_region t USING (SELECT status, SUM(amount) AS a FROM changes GROUP BY status) s
           ON t.region = s.status
           WHEN MATCHED THEN UPDATE SET total = t.total + s.a
           WHEN NOT MATCHED THEN INSERT (region, total) VALUES (status, a)"""
    )
    assert {"CHANGES.AMOUNT -> BY_REGION.TOTAL", "ORDERS.AMOUNT -> CHANGES.AMOUNT"} <= edges(
        ask(pipeline, "by_region.total")
    )
    assert "CHANGES.STATUS -> BY_REGION.REGION" in edges(ask(pipeline, "by_region.region"))


def test_the_statements_of_a_script_in_a_task(pipeline: Session, ask: Ask) -> None:
    pipeline.execute("CREATE TABLE names (name VARCHAR)")
    pipeline.execute(
        """CREATE TASK script WAREHOUSE = compute_wh SCHEDULE = '60 minutes' AS
           BEGIN
             LET x INT := 1;
             IF (x > 0) THEN
               INSERT INTO names SELECT UPPER(name) FROM customers;
             END IF;
           END"""
    )
    assert edges(ask(pipeline, "names.name")) == {"CUSTOMERS.NAME -> NAMES.NAME"}


def test_a_replaced_source_keeps_its_lineage_and_a_renamed_one_too(pipeline: Session, ask: Ask) -> None:
    pipeline.execute("CREATE OR REPLACE TABLE customers (id INT, name VARCHAR, region VARCHAR, more INT)")
    assert "CUSTOMERS.REGION -> TOTALS.REGION" in edges(ask(pipeline, "totals.region"))
    pipeline.execute("CREATE VIEW named AS SELECT name FROM customers")
    pipeline.execute("ALTER VIEW named RENAME TO renamed")
    assert edges(ask(pipeline, "renamed.name")) == {"CUSTOMERS.NAME -> RENAMED.NAME"}


def test_a_column_keeps_its_lineage_under_another_name(pipeline: Session, ask: Ask) -> None:
    pipeline.execute("CREATE TABLE copied AS SELECT name AS n, UPPER(region) AS r FROM customers")
    pipeline.execute("CREATE VIEW shown AS SELECT * FROM customers")
    pipeline.execute('ALTER TABLE copied RENAME COLUMN n TO "the name"')
    assert edges(ask(pipeline, 'copied."the name"')) == {"CUSTOMERS.NAME -> COPIED.the name"}
    pipeline.execute("ALTER TABLE customers RENAME COLUMN name TO called")
    assert edges(ask(pipeline, "customers.called", "DOWNSTREAM")) == {
        "CUSTOMERS.CALLED -> COPIED.the name", "CUSTOMERS.CALLED -> SHOWN.NAME",
    }  # fmt: skip


def test_a_column_that_is_gone_leads_nowhere(pipeline: Session, ask: Ask) -> None:
    pipeline.execute("CREATE TABLE copied AS SELECT name, region FROM customers")
    pipeline.execute("ALTER TABLE copied DROP COLUMN region")
    assert not any("COPIED" in edge for edge in edges(ask(pipeline, "customers.region", "DOWNSTREAM")))
    assert "CUSTOMERS.NAME -> COPIED.NAME" in edges(ask(pipeline, "customers.name", "DOWNSTREAM"))


def test_what_comes_back_has_its_lineage_again(pipeline: Session, ask: Ask) -> None:
    pipeline.execute("DROP TABLE orders")
    assert edges(ask(pipeline, "active.gross")) == set()
    pipeline.execute("UNDROP TABLE orders")
    assert "ORDERS.AMOUNT -> ACTIVE.GROSS" in edges(ask(pipeline, "active.gross"))


def test_a_load_is_known_once_it_commits(pipeline: Session, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,3.5,ok\n", encoding="utf-8")
    pipeline.execute(f"CREATE STAGE files URL = 'file://{tmp_path}/'")
    load = "COPY INTO orders FROM @files FILE_FORMAT = (TYPE = CSV)"
    for statement in ("BEGIN", load, "ROLLBACK"):
        pipeline.execute(statement)
    assert edges(ask(pipeline, "orders")) == set()
    pipeline.execute(load)
    found = ask(pipeline, "orders")
    assert edges(found) == {"FILES -> ORDERS"}
    assert found["edges"][0]["process"]["query_id"] is not None
    assert "FILES -> ORDERS" in edges(ask(pipeline, "by_region"))
    assert edges(ask(pipeline, "orders.amount")) == {"FILES.$3 -> ORDERS.AMOUNT"}
    assert "FILES.$3 -> ORDERS.AMOUNT" in edges(ask(pipeline, "totals.total"))


def test_a_load_by_names_knows_the_names(pipeline: Session, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"name": "ada", "id": 7}\n', encoding="utf-8")
    pipeline.execute(f"CREATE STAGE people URL = 'file://{tmp_path}/'")
    load = "COPY INTO customers FROM @people FILE_FORMAT = (TYPE = JSON) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
    pipeline.execute(load)
    assert edges(ask(pipeline, "customers.name")) == {"PEOPLE.NAME -> CUSTOMERS.NAME"}


def test_a_load_with_a_query_knows_the_fields(pipeline: Session, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("7,ada,north\n", encoding="utf-8")
    pipeline.execute(f"CREATE STAGE people URL = 'file://{tmp_path}/'")
    pipeline.execute(
        "COPY INTO customers (id, name) FROM (SELECT $1, UPPER($2) FROM @people/b.csv) FILE_FORMAT = (TYPE = CSV)"
    )
    assert edges(ask(pipeline, "customers.name")) == {"PEOPLE.$2 -> CUSTOMERS.NAME"}


def test_roles_see_what_they_may_know_of(pipeline: Session, own_account: Account, ask: Ask) -> None:
    for statement in (
        "CREATE ROLE reader",
        "CREATE USER reader",
        "GRANT ROLE reader TO USER reader",
        f"GRANT USAGE ON DATABASE {pipeline.database} TO ROLE reader",
        f"GRANT USAGE ON SCHEMA {pipeline.database}.public TO ROLE reader",
        "GRANT SELECT ON TABLE orders TO ROLE reader",
        "GRANT SELECT ON VIEW active TO ROLE reader",
    ):
        pipeline.execute(statement)
    reader = own_account.session(user="READER", role="READER", database=pipeline.database)
    assert edges(ask(reader, "orders", "DOWNSTREAM")) == {"ORDERS -> ACTIVE"}
    with pytest.raises(SnowmeltError, match="does not exist or not authorized"):
        ask(reader, "totals")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'missing'", "does not exist"),
        ("'orders.missing'", "does not exist"),
        ("'orders', 'SIDEWAYS'", "SIDEWAYS"),
    ],
)
def test_what_is_asked_wrongly_is_said(pipeline: Session, call: str, message: str) -> None:
    with pytest.raises(SnowmeltError, match=message):
        pipeline.execute(f"SELECT SYSTEM$LINEAGE({call})")
