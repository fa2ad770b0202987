"""The latest row of each key out of documents: a refresh by insertions reads what came and the table's state alone."""

from __future__ import annotations

import json
import random

import pytest

from snowmelt.runtime.session import Session

EVENTS = """
    SELECT COALESCE(after, before):id::NUMBER AS id, after:name::VARCHAR AS name, after:price::NUMBER(10, 2) AS price,
      after:at::TIMESTAMP_LTZ AS at, operation, number
    FROM raw_changes WHERE table_name = 'wanted'
"""
TABLES = {
    "current_rows": (
        "CREATE SCD TYPE 1 TABLE current_rows KEY (id) SEQUENCE BY number DELETE WHEN operation = 'DELETE'"
        f" TARGET_LAG = '1 day' REFRESH_MODE = INCREMENTAL FROM ({EVENTS})"
    ),
    "newest": (
        "CREATE DYNAMIC TABLE newest TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL AS"
        f" SELECT id, name, price, at FROM ({EVENTS})"
        " QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY number DESC) = 1"
    ),
}


def _change(rnd: random.Random, number: int) -> str:
    operation = rnd.choice(("INSERT", "UPDATE", "UPDATE", "DELETE"))
    table = rnd.choice(("wanted", "wanted", "other"))
    row = {
        "id": rnd.randint(1, 6), "name": rnd.choice((None, "a", "b")), "price": rnd.randint(0, 999) / 100,
        "at": f"2026-01-0{rnd.randint(1, 9)} 10:00:00",
    }  # fmt: skip
    text = f"PARSE_JSON('{json.dumps(row)}')"
    before, after = (text, "NULL") if operation == "DELETE" else ("NULL", text)
    return f"SELECT {number}, '{operation}', '{table}', {before}, {after}"


def _assert_equal(session: Session, table: str) -> None:
    told = json.loads(session.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{table}')").rows()[0][0])
    assert told["equal"], told


def _read(session: Session, table: str) -> set[str]:
    """What the stages of the last refresh read."""
    (details,) = session.execute(
        "SELECT details FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME_PREFIX => 'TEST_'))"
        f" WHERE name = '{table.upper()}' AND refresh_action = 'INCREMENTAL' ORDER BY refresh_end_time DESC LIMIT 1"
    ).rows()
    return {name for stage in json.loads(details[0])["stage_costs"] for name in stage["reads"]}


@pytest.mark.parametrize("table", TABLES)
def test_a_refresh_reads_what_came_and_what_was_first(session: Session, table: str) -> None:
    rnd = random.Random(table)
    session.execute(
        "CREATE TABLE raw_changes (number INT, operation VARCHAR, table_name VARCHAR, before VARIANT, after VARIANT)"
    )
    number = 0

    def land(count: int) -> None:
        nonlocal number
        rows = [_change(rnd, number + index) for index in range(count)]
        number += count
        session.execute(f"INSERT INTO raw_changes {' UNION ALL '.join(rows)}")

    land(12)
    session.execute(TABLES[table])
    for _ in range(3):
        land(4)
        session.execute(f"ALTER DYNAMIC TABLE {table} REFRESH")
    _assert_equal(session, table)
    read = _read(session, table)
    assert read
    assert not any(name.endswith(("RAW_CHANGES__old", "RAW_CHANGES__new")) for name in read), read
    session.execute("DELETE FROM raw_changes WHERE number % 5 = 1")
    land(3)
    session.execute("UPDATE raw_changes SET number = number + 100 WHERE number % 7 = 2")
    session.execute(f"ALTER DYNAMIC TABLE {table} REFRESH")
    _assert_equal(session, table)
