"""`snowmelt backfill` as a user calls it, on a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from snowmelt.runtime.session import Session
from tests.playbooks.conftest import Command
from tests.playbooks.shop import objects

RANGE = ("--column", "day", "--start", "2026-01-02", "--end", "2026-01-05")


@pytest.fixture
def sales(session: Session) -> str:
    """Ten days of sales, of which some are wrong; the right ones are beside them."""
    for statement in (
        "CREATE TABLE sales (day DATE, shop INT, amount INT)",
        "INSERT INTO sales SELECT DATEADD(day, SEQ4(), '2026-01-01'::DATE), 1, 10 FROM TABLE(GENERATOR(ROWCOUNT=>10))",
        "INSERT INTO sales VALUES (NULL, 1, 7), ('2026-01-03', 1, 10)",
        "CREATE TABLE right_sales AS SELECT day, shop, amount + 1 AS amount FROM sales WHERE day <> '2026-01-03'",
        "CREATE DYNAMIC TABLE by_shop TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS "
        "SELECT shop, SUM(amount) AS total, COUNT(*) AS n FROM sales GROUP BY shop",
        "CREATE DYNAMIC TABLE total TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH AS "
        "SELECT SUM(total) AS t FROM by_shop",
    ):
        session.execute(statement)
    return f"{session.database}.PUBLIC.SALES"


def rows(session: Session, query: str = "SELECT * FROM sales ORDER BY ALL") -> list[tuple[Any, ...]]:
    return session.execute(query.replace("ORDER BY ALL", "ORDER BY 1, 2, 3")).rows()


def run_of(result: Result) -> str:
    found = re.search(r"^backfill (\S+)", result.stdout, re.MULTILINE)
    assert found is not None, result.output
    return found[1]


def right(session: Session) -> list[tuple[Any, ...]]:
    inside = "day >= '2026-01-02' AND day < '2026-01-05'"
    return rows(
        session,
        f"SELECT * FROM (SELECT * FROM right_sales WHERE {inside} UNION ALL "
        f"SELECT * FROM sales WHERE NOT COALESCE({inside}, FALSE)) ORDER BY ALL",
    )


def test_a_range_is_replaced_undone_and_accepted(snowmelt: Command, session: Session, sales: str) -> None:
    source = f"{session.database}.PUBLIC.RIGHT_SALES"
    before, expected, there = rows(session), right(session), objects(session)
    dry = snowmelt("backfill", sales, "--from", source, *RANGE, "--chunk", "1 day", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert re.search(r"rows replaced +4\b", dry.stdout) and re.search(r"\bby +2\b", dry.stdout)
    assert re.search(r"chunks +3\b", dry.stdout) and "assumed" in dry.stdout
    assert "PUBLIC.TOTAL" in dry.stdout
    assert (rows(session), objects(session)) == (before, there)

    done = snowmelt("backfill", sales, "--from", source, *RANGE, "--chunk", "1 day")
    assert done.exit_code == 0, done.output
    assert rows(session) == expected
    assert session.execute("SELECT t FROM total").rows()[0][0] == sum(row[2] for row in expected), "downstream followed"
    assert len(objects(session) - there) == 1, "the old version"
    run = run_of(done)

    session.execute("INSERT INTO sales VALUES ('2026-02-01', 2, 99)")
    undone = snowmelt("backfill", "--undo", run)
    assert undone.exit_code == 0, undone.output
    session.execute("DELETE FROM sales WHERE shop = 2")
    assert (rows(session), objects(session)) == (before, there), "what others wrote outside stays, until they remove it"

    again = snowmelt("backfill", sales, "--from", source, *RANGE, "--chunk-rows", "1")
    assert again.exit_code == 0, again.output
    assert "measured on 3 chunks of this table" in again.stdout
    assert rows(session) == expected
    accepted = snowmelt("backfill", "--accept", run_of(again))
    assert accepted.exit_code == 0, accepted.output
    assert objects(session) == there
    refused = snowmelt("backfill", "--undo", run_of(again))
    assert refused.exit_code == 1 and "is accepted" in refused.stderr
    assert "accepted" in snowmelt("backfill", "--status").stdout


@pytest.mark.slow
def test_keys_from_a_query(snowmelt: Command, session: Session, sales: str, tmp_path: Path) -> None:
    query = tmp_path / "q.sql"
    query.write_text(f"SELECT day, 5 AS shop, 1 AS amount FROM {sales} WHERE day = '2026-01-09' -- one row\n;")
    keys = tmp_path / "keys"
    keys.write_text("5\n")
    done = snowmelt(
        "backfill", sales, "--query", str(query), "--column", "shop", "--keys-file", str(keys), "--no-refresh"
    )
    assert done.exit_code == 0, done.output
    assert session.execute("SELECT COUNT(*), MAX(amount) FROM sales WHERE shop = 5").rows() == [(1, 1)]


@pytest.mark.slow
def test_a_range_comes_back_from_the_past(snowmelt: Command, session: Session, sales: str) -> None:
    before = rows(session)
    moment = session.execute("SELECT TO_VARCHAR(CURRENT_TIMESTAMP(), 'YYYY-MM-DD HH24:MI:SS.FF6 TZHTZM')").rows()[0][0]
    session.execute("DELETE FROM sales WHERE day >= '2026-01-02' AND day < '2026-01-05'")
    done = snowmelt("backfill", sales, "--from", sales, "--at", str(moment), *RANGE, "--no-refresh")
    assert done.exit_code == 0, done.output
    assert rows(session) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["TIMESTAMP_LTZ", "TIMESTAMP_TZ"])
def test_instants_are_those_of_the_session_or_of_their_own_zone(
    kind: str, snowmelt: Command, session: Session
) -> None:  # fmt: skip
    hour = f"DATEADD(hour, SEQ4(), '2026-01-01 00:00:00'::{kind})"
    session.execute(f"CREATE TABLE calls AS SELECT {hour} AS at, 1 AS n FROM TABLE(GENERATOR(ROWCOUNT => 10))")
    session.execute("CREATE TABLE right_calls AS SELECT at, n + 1 AS n FROM calls")
    home = f"{session.database}.PUBLIC"
    start, end = session.execute(
        "SELECT TO_VARCHAR('2026-01-01 07:00:00'::TIMESTAMP_LTZ, 'YYYY-MM-DD HH24:MI:SSTZH:TZM'), '2026-01-01 09:00:00'"
    ).rows()[0]
    for ends in (("2026-01-01 02:00:00", "2026-01-01 05:00:00"), (str(start), str(end))):
        asked = ("--from", f"{home}.RIGHT_CALLS", "--column", "at", "--start", ends[0], "--end", ends[1])
        done = snowmelt("backfill", f"{home}.CALLS", *asked, "--chunk-rows", "1")
        assert done.exit_code == 0, done.output
    counted = session.execute("SELECT n FROM calls ORDER BY at").rows()
    assert [row[0] for row in counted] == [1, 1, 2, 2, 2, 1, 1, 2, 2, 1]


@pytest.mark.slow
def test_what_is_refused(snowmelt: Command, session: Session, sales: str) -> None:
    there = objects(session)

    def refused(*arguments: str) -> str:
        result = snowmelt("backfill", *arguments)
        assert result.exit_code == 1, result.output
        return " ".join(result.stderr.split())

    home = f"{session.database}.PUBLIC"
    source = ("--from", f"{home}.RIGHT_SALES")
    assert "is a dynamic table" in refused(f"{home}.TOTAL", *source, *RANGE)
    assert "does not exist" in refused(f"{home}.NOTHING", *source, *RANGE)
    assert "no column 'week'" in refused(sales, *source, "--column", "week", "--start", "1", "--end", "2")
    assert "range is empty" in refused(
        sales, *source, "--column", "day", "--start", "2026-01-02", "--end", "2026-01-02"
    )
    assert "The range is missing" in refused(sales, *source, "--column", "day")
    assert "--from TABLE or --query" in refused(sales, *RANGE)
    session.execute("CREATE VIEW narrow AS SELECT day, shop FROM sales")
    assert "AMOUNT" in refused(sales, "--from", f"{home}.NARROW", *RANGE)
    session.execute("CREATE STREAM sales_changes ON TABLE sales")
    assert "count them twice" in refused(sales, *source, *RANGE)
    assert objects(session) - there == {("VIEWS", "NARROW"), ("STREAMS", "SALES_CHANGES")}
    followed = snowmelt("backfill", sales, *source, *RANGE, "--streams", "follow", "--no-refresh")
    assert followed.exit_code == 0, followed.output
    assert snowmelt("backfill").exit_code == 2
