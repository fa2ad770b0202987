"""Shapes, slowly changing dimensions, final days and retention as SQL that runs: rows in, and the right rows out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import snowmelt
from snowmelt.design.building.project import project_files
from snowmelt.design.deciding import decide
from snowmelt.design.making.designing import design
from snowmelt.design.model import StageKind
from snowmelt.design.requirements.model import Requirements
from snowmelt.sql.tokens import split_statements

pytestmark = pytest.mark.slow
SITUATIONS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "decisions.yaml").read_text(encoding="utf-8")
)["situations"]  # fmt: skip
Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[snowmelt.Connection]:
    with snowmelt.connect(tmp_path_factory.mktemp("account")) as opened:
        yield opened


def _made(connection: snowmelt.Connection, schema: str, given: dict[str, Any], **records: list[dict[str, Any]]) -> Ask:
    """Definitions of the built project in a schema of their own, over raw records that came in this order."""
    wanted = Requirements.model_validate(given)
    made = design(wanted, decide(wanted))
    files = project_files(made)
    connection.execute(f"CREATE SCHEMA {schema}")
    connection.execute(f"USE SCHEMA {schema}")
    statements = [statement.text for path in sorted(files) if path.startswith(("sql/staging", "sql/transformations"))
                  for statement in split_statements(files[path])]  # fmt: skip
    for text in (text for text in statements if text.startswith("CREATE TABLE")):
        connection.execute(text)
    for table, rows in records.items():
        for second, row in enumerate(rows):
            connection.execute(
                f"INSERT INTO raw_{table} SELECT PARSE_JSON($${json.dumps(row)}$$), 'file', 'run', "
                f"'2024-01-01 00:00:{second:02}'::TIMESTAMP_LTZ"
            )
    for text in (text for text in statements if not text.startswith("CREATE TABLE")):
        connection.execute(text)
    # Tables begin without rows, so that no gate is passed by: a run refreshes them in their order.
    for stage in made.stages:
        if stage.kind is not StageKind.TABLE:
            connection.execute(f"ALTER DYNAMIC TABLE {stage.name} REFRESH")
    return lambda query: connection.execute(query).fetchall()


ORDERS = [
    {"id": "1", "customer_id": "7", "amount": 5, "at": "2024-01-01"},
    {"id": "2", "customer_id": "8", "amount": 2, "at": "2024-01-01"},
]
CUSTOMERS = [
    {"id": "7", "city": "Bern", "country_id": "c", "at": "2024-01-01"},
    {"id": "8", "city": "Graz", "country_id": "a", "at": "2024-01-01"},
    {"id": "7", "city": "Chur", "country_id": "c", "at": "2024-01-02"},
]
COUNTRIES = [
    {"id": "c", "country": "Switzerland", "at": "2024-01-01"},
    {"id": "a", "country": "Austria", "at": "2024-01-01"},
]


def _related(connection: snowmelt.Connection, shape: str) -> Ask:
    given = {**SITUATIONS["related"], "shape": shape}
    return _made(connection, shape, given, orders=ORDERS, customers=CUSTOMERS, countries=COUNTRIES)


def test_a_star_has_flat_dimensions(connection: snowmelt.Connection) -> None:
    ask = _related(connection, "star")
    query = (
        "SELECT SUM(f.amount), d.countries_country FROM fact_orders f JOIN dim_customers d ON d.id = f.customer_id "
        "GROUP BY 2 ORDER BY 2"
    )
    assert [(int(total), name) for total, name in ask(query)] == [(2, "Austria"), (5, "Switzerland")]


def test_a_snowflake_has_dimensions_of_dimensions(connection: snowmelt.Connection) -> None:
    ask = _related(connection, "snowflake")
    query = (
        "SELECT c.country FROM fact_orders f JOIN dim_customers d ON d.id = f.customer_id "
        "JOIN dim_countries c ON c.id = d.country_id ORDER BY f.id"
    )
    assert ask(query) == [("Switzerland",), ("Austria",)]


def test_one_big_table_has_all_of_it(connection: snowmelt.Connection) -> None:
    ask = _related(connection, "one_big_table")
    assert ask("SELECT id, customers_city, countries_country FROM obt_orders ORDER BY id") == [
        ("1", "Chur", "Switzerland"), ("2", "Graz", "Austria"),
    ]  # fmt: skip


def test_a_vault_keeps_every_version(connection: snowmelt.Connection) -> None:
    ask = _related(connection, "vault")
    query = (
        "SELECT h.id, s.city, s.load_end_date IS NULL FROM hub_customers h JOIN sat_customers s USING (customers_hk) "
        "ORDER BY h.id, s.load_date"
    )
    assert ask(query) == [("7", "Bern", False), ("7", "Chur", True), ("8", "Graz", True)]
    joined = (
        "SELECT o.id, c.id FROM link_orders_customers l JOIN hub_orders o USING (orders_hk) "
        "JOIN hub_customers c USING (customers_hk) ORDER BY 1"
    )
    assert ask(joined) == [("1", "7"), ("2", "8")]


VERSIONS = [
    {"id": 1, "city": "Bern", "amount": 1, "changed_at": "2024-01-01"},
    {"id": 1, "city": "Chur", "amount": 1, "changed_at": "2024-01-02"},
    {"id": 1, "city": "Chur", "amount": 2, "changed_at": "2024-01-03"},
    {"id": 2, "city": "Graz", "amount": 1, "changed_at": "2024-01-01"},
]


def test_scd_type_3_has_the_last_value_that_was_another(connection: snowmelt.Connection) -> None:
    sink = {"name": "dim", "kind": "snowmelt", "load": "scd_type_3", "previous": ["city"]}
    given = {**SITUATIONS["plain"], "transformations": [], "sinks": [sink]}
    ask = _made(connection, "scd3", given, customers=VERSIONS)
    query = "SELECT id, city, previous_city, amount FROM stg_customers ORDER BY id"
    assert [(int(i), c, p, int(a)) for i, c, p, a in ask(query)] == [(1, "Chur", "Bern", 2), (2, "Graz", None, 1)]
    connection.execute(
        'INSERT INTO raw_customers SELECT PARSE_JSON(\'{"id": 2, "city": "Linz", "amount": 1, '
        "\"changed_at\": \"2024-01-05\"}'), 'file', 'run', '2024-01-09'::TIMESTAMP_LTZ"
    )
    connection.execute("ALTER DYNAMIC TABLE stg_customers REFRESH")
    assert ask("SELECT city, previous_city FROM stg_customers WHERE id = 2") == [("Linz", "Graz")]


def _with_previous(name: str) -> dict[str, Any]:
    sink = {"name": "dim", "kind": "snowmelt", "load": "scd_type_3", "previous": ["city"]}
    return {**SITUATIONS[name], "transformations": [], "sinks": [sink]}


_PREVIOUS = "SELECT id, city, previous_city FROM stg_customers ORDER BY id"


def test_scd_type_3_of_readings_of_the_whole(connection: snowmelt.Connection) -> None:
    """Gone rows are gone, and a reading that is not complete yet says nothing."""
    ask = _made(connection, "scd3_whole", _with_previous("unchanging"))

    def read(reading: int, *rows: tuple[int, str], complete: bool = True) -> None:
        for number, city in rows:
            _insert(connection, "raw_customers", reading, f'PARSE_JSON(\'{{"id": {number}, "city": "{city}"}}\')')
        if complete:
            _insert(connection, "raw_customers", reading, "NULL")
        connection.execute("ALTER DYNAMIC TABLE stg_customers REFRESH")

    read(1, (1, "Bern"), (2, "Graz"))
    assert ask(_PREVIOUS) == [(1, "Bern", None), (2, "Graz", None)]
    read(2, (1, "Chur"), (2, "Graz"))
    read(3, (1, "Chur"))
    assert ask(_PREVIOUS) == [(1, "Chur", "Bern")]
    read(4, (1, "Wien"), complete=False)
    assert ask(_PREVIOUS) == [(1, "Chur", "Bern")]
    read(4, (2, "Linz"))
    assert ask(_PREVIOUS) == [(1, "Wien", "Chur"), (2, "Linz", "Graz")]


def _insert(connection: snowmelt.Connection, table: str, reading: int, record: str) -> None:
    columns = f"{table} (record, origin, run_id, loaded_at, reading)"
    connection.execute(f"INSERT INTO {columns} SELECT {record}, 'db', 'run', CURRENT_TIMESTAMP(), {reading}")


def test_scd_type_3_of_a_log(connection: snowmelt.Connection) -> None:
    """Deleted rows and those before a TRUNCATE are gone; a value from before is still a value from before."""
    ask = _made(connection, "scd3_log", {**_with_previous("unchanging"), "recipe": "cdc"})
    number = 0

    def change(operation: str, key: int = 0, city: str = "") -> None:
        nonlocal number
        number += 1
        row = f'PARSE_JSON(\'{{"id": {key}, "city": "{city}", "amount": "1"}}\')' if key else "NULL"
        before, after = (row, "NULL") if operation == "DELETE" else ("NULL", row)
        connection.execute(
            "INSERT INTO raw_db_changes (change_number, operation, table_name, before, after, ts_ms, ingested_at) "
            f"SELECT {number}, '{operation}', 'public.customers', {before}, {after}, {number}, CURRENT_TIMESTAMP()"
        )

    for operation, key, city in (("READ", 1, "Bern"), ("READ", 2, "Graz"), ("UPDATE", 1, "Chur"), ("INSERT", 3, "Ulm")):
        change(operation, key, city)
    connection.execute("ALTER DYNAMIC TABLE stg_customers REFRESH")
    assert ask(_PREVIOUS) == [(1, "Chur", "Bern"), (2, "Graz", None), (3, "Ulm", None)]
    change("DELETE", 3, "Ulm")
    change("UPDATE", 1, "Wien")
    connection.execute("ALTER DYNAMIC TABLE stg_customers REFRESH")
    assert ask(_PREVIOUS) == [(1, "Wien", "Chur"), (2, "Graz", None)]
    change("TRUNCATE")
    change("READ", 2, "Linz")
    connection.execute("ALTER DYNAMIC TABLE stg_customers REFRESH")
    assert ask(_PREVIOUS) == [(2, "Linz", "Graz")]


def test_scd_type_1_has_the_newest_values(connection: snowmelt.Connection) -> None:
    sink = {"name": "dim", "kind": "snowmelt", "load": "scd_type_1"}
    given = {**SITUATIONS["plain"], "transformations": [], "sinks": [sink]}
    ask = _made(connection, "scd1", given, customers=VERSIONS[::-1])
    assert ask("SELECT city FROM stg_customers ORDER BY id") == [("Chur",), ("Graz",)]


def test_days_are_final_when_nothing_can_come_any_more(connection: snowmelt.Connection) -> None:
    sql = "SELECT changed_at::DATE AS day, SUM(amount) AS revenue FROM stg_customers GROUP BY changed_at::DATE"
    daily = {"name": "daily", "key": ["day"], "day": "day", "description": "One row a day.", "sql": sql}
    given = {**SITUATIONS["plain"], "lateness": "2 days", "transformations": [daily]}
    late = [{"id": 9, "city": "x", "amount": 1, "changed_at": "2099-01-01"}]
    ask = _made(connection, "final", given, customers=[*VERSIONS, *late])
    assert len(ask("SELECT day FROM daily")) == 3
    assert [str(day) for (day,) in ask("SELECT day FROM daily_final ORDER BY day")] == ["2024-01-01", "2024-01-03"]


def test_what_may_not_be_kept_goes_from_all_tables(connection: snowmelt.Connection) -> None:
    given = {**SITUATIONS["plain"], "retention": "365 days"}
    ask = _made(connection, "kept", given, customers=VERSIONS)
    files = project_files(design(wanted := Requirements.model_validate(given), decide(wanted)))
    connection.execute("INSERT INTO raw_customers SELECT PARSE_JSON('{\"id\": 5, \"city\": \"Wien\", \"amount\": 3, "
                       "\"changed_at\": \"2024-01-01\"}'), 'file', 'run', CURRENT_TIMESTAMP()")  # fmt: skip
    for statement in split_statements(files["sql/_retention/retention.sql"]):
        connection.execute(statement.text)
    for table in ("stg_customers", "cities"):
        connection.execute(f"ALTER DYNAMIC TABLE {table} REFRESH")
    assert ask("SELECT city FROM cities") == [("Wien",)]
