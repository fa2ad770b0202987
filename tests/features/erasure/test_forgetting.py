"""A request to forget a person: what is found, what goes, what stays, and the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.erasure.people import EMAIL, files_with, tables_with

SHOP = """
CREATE TABLE customers (id INT PRIMARY KEY, email VARCHAR, name VARCHAR);
INSERT INTO customers VALUES (42, 'ada@example.org', 'Ada'), (7, 'bob@example.org', 'Bob');
UPDATE customers SET name = 'Ada L.' WHERE id = 42;
CREATE TABLE orders (id INT, customer_id INT REFERENCES customers (id), amount INT);
INSERT INTO orders VALUES (1, 42, 10), (42, 7, 20);
CREATE TABLE products (id INT, title VARCHAR);
INSERT INTO products VALUES (42, 'cup'), (43, 'tea');
CREATE TABLE changes (operation VARCHAR, table_name VARCHAR, before VARIANT, after VARIANT, n INT);
INSERT INTO changes SELECT 'INSERT', 'people', NULL, PARSE_JSON('{"id": 42, "city": "London"}'), 1;
INSERT INTO changes SELECT 'DELETE', 'people', PARSE_JSON('{"id": 42, "city": "London"}'), NULL, 2;
INSERT INTO changes SELECT 'INSERT', 'people', NULL, PARSE_JSON('{"id": 7, "city": "Paris"}'), 3;
INSERT INTO changes SELECT 'INSERT', 'invoices', NULL, PARSE_JSON('{"id": 42, "city": "Rome"}'), 4;
CREATE DYNAMIC TABLE people TARGET_LAG = DOWNSTREAM WAREHOUSE = compute_wh AS
  WITH typed AS (
    SELECT COALESCE(after, before):id::INT AS id, after:city::VARCHAR AS city, n
    FROM changes WHERE table_name = 'people'
  )
  SELECT id, city FROM typed QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY n DESC) = 1;
CREATE DYNAMIC TABLE known TARGET_LAG = '1 minute' WAREHOUSE = compute_wh AS
  SELECT c.email, p.city, COUNT(*) AS n, MAX(c.name) AS name
  FROM customers c JOIN people p ON c.id = p.id GROUP BY c.email, p.city;
CREATE VIEW emails AS SELECT email FROM customers;
CREATE TABLE backup CLONE customers;
CREATE TABLE gone AS SELECT * FROM customers;
DROP TABLE gone;
CREATE TABLE gone_clone CLONE backup;
DROP TABLE gone_clone;
CREATE TABLE dead_letters (flow VARCHAR, reason VARCHAR, record VARIANT);
INSERT INTO dead_letters SELECT 'people', 'no city', PARSE_JSON('{"id": 42, "mail": "ada@example.org"}');
INSERT INTO dead_letters SELECT 'people', 'no city', PARSE_JSON('{"id": 8}');
CREATE TABLE tickets (id INT, body VARCHAR);
INSERT INTO tickets VALUES (1, 'Please answer ADA@example.org and bob@example.org'), (2, 'All well');
CREATE STREAM customer_changes ON TABLE customers;
"""
ASKED = {"columns": {"customers.id": 42, "people.id": 42}, "reason": "asked on 18 November"}


def ask(session: Session, function: str, request: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(session.execute(f"CALL {function}(?)", [json.dumps(request)]).rows()[0][0])
    return answer


def places(answer: dict[str, Any], part: str = "found") -> dict[tuple[str, str], int]:
    return {
        (each["location"], each["name"].rpartition(".")[2]): each["rows"] + each["mentions"] for each in answer[part]
    }


def test_a_look_changes_nothing_and_names_every_place(account: Account, session: Session) -> None:
    session.execute_script(SHOP)
    found = places(ask(session, "SYSTEM$FIND_PERSON", ASKED))
    assert {name: rows for (kind, name), rows in found.items() if kind in ("table", "dynamic table")} == {
        "BACKUP": 1, "CHANGES": 2, "CUSTOMERS": 1, "DEAD_LETTERS": 1, "KNOWN": 1, "ORDERS": 1, "PEOPLE": 1,
        "TICKETS": 1,
    }  # fmt: skip
    assert {name for kind, name in found if kind == "dropped table"} == {"GONE", "GONE_CLONE"}
    assert {name for kind, name in found if kind == "old versions"} >= {"CUSTOMERS", "BACKUP", "KNOWN", "DEAD_LETTERS"}
    assert ("state store", "histories") in found
    assert session.execute("SELECT COUNT(*) FROM customers").rows() == [(2,)]
    assert session.execute("SELECT SYSTEM$ERASURES()").rows() == [("[]",)]


def test_forgotten_everywhere_and_nobody_else(account: Account, session: Session, tmp_path: Path) -> None:
    session.execute_script(SHOP)
    record = ask(session, "SYSTEM$FORGET_PERSON", ASKED)
    assert (record["state"], record["left"]) == ("DONE", [])
    account.journal.flush()
    account.state.rewrite()
    assert list(files_with(tmp_path, EMAIL)) == []
    assert tables_with(session, EMAIL) == []
    rows = {
        name: session.execute(f"SELECT * FROM {name} ORDER BY 1").rows()
        for name in ("customers", "backup", "orders", "products")
    }
    assert rows["customers"] == rows["backup"] == [(7, "bob@example.org", "Bob")]
    assert rows["orders"] == [(42, 7, 20)]
    assert rows["products"] == [(42, "cup"), (43, "tea")]
    assert session.execute("SELECT n FROM changes ORDER BY n").rows() == [(3,), (4,)]
    assert session.execute("SELECT id FROM people").rows() == [(7,)]
    assert session.execute("SELECT record:id::INT FROM dead_letters").rows() == [(8,)]
    assert session.execute("SELECT body FROM tickets ORDER BY id").rows() == [
        ("Please answer [erased] and bob@example.org",), ("All well",),
    ]  # fmt: skip
    for name in ("people", "known"):
        assert json.loads(session.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{name}')").rows()[0][0])["equal"]


def test_what_was_is_gone_too(account: Account, session: Session, tmp_path: Path) -> None:
    session.execute_script(SHOP)
    ((before,),) = session.execute("SELECT CURRENT_TIMESTAMP()::VARCHAR").rows()
    then = f"SELECT * FROM customers AT(TIMESTAMP => '{before}'::TIMESTAMP_LTZ)"
    assert len(session.execute(then).rows()) == 2
    ask(session, "SYSTEM$FORGET_PERSON", ASKED)
    with pytest.raises(SnowmeltError, match="Time travel data is not available"):
        session.execute(then)
    with pytest.raises(SnowmeltError, match="did not exist or was purged"):
        session.execute("UNDROP TABLE gone")
    assert session.execute("SELECT * FROM customer_changes").rows() == []
    session.execute("INSERT INTO customers VALUES (9, 'eve@example.org', 'Eve')")
    assert [row[0] for row in session.execute("SELECT id FROM customer_changes").rows()] == [9]
    texts = repr(session.execute("SELECT query_text FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY())").rows())
    assert EMAIL not in texts
    assert "[erased]" in texts


def test_the_record_says_what_and_not_who(account: Account, session: Session, tmp_path: Path) -> None:
    session.execute_script(SHOP)
    session.execute(f"CALL SYSTEM$FORGET_PERSON('{json.dumps(ASKED)}')")
    (record,) = json.loads(session.execute("SELECT SYSTEM$ERASURES()").rows()[0][0])
    assert (record["state"], record["asked_by"], record["reason"]) == ("DONE", "ADMIN", "asked on 18 November")
    assert record["request"] is None
    assert record["searched"]["tables"] == 9
    (kept,) = (tmp_path / "erasures").glob("*.json")
    assert "CUSTOMERS.ID" not in kept.read_text().upper()
    assert json.loads(kept.read_text())["identifiers"] == []
    texts = [
        row[0] for row in session.execute("SELECT query_text FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY())").rows()
    ]
    assert "CALL SYSTEM$FORGET_PERSON('***')" in texts


def test_a_stream_with_more_to_give_is_named_and_waited_for(account: Account, session: Session) -> None:
    """Its rows must not be lost: somebody has to consume them, and what the consumer wrote is found as well."""
    session.execute_script(SHOP)
    session.execute("CREATE TABLE seen (id INT, email VARCHAR)")
    session.execute("INSERT INTO customers VALUES (9, 'eve@example.org', 'Eve')")
    record = ask(session, "SYSTEM$FORGET_PERSON", ASKED)
    assert record["state"] == "INCOMPLETE"
    assert any(
        "stream SNOWMELT.PUBLIC.CUSTOMER_CHANGES needs an older version" in each["how"] for each in record["left"]
    )
    session.execute("INSERT INTO seen SELECT id, email FROM customer_changes")
    assert sorted(session.execute("SELECT id FROM seen").rows()) == [(9,), (42,)]
    (record,) = json.loads(session.execute("CALL SYSTEM$RESUME_ERASURES()").rows()[0][0])
    assert (record["state"], record["left"]) == ("DONE", [])
    assert session.execute("SELECT id FROM seen").rows() == [(9,)]


def test_what_must_be_kept_by_law_stays_and_is_said(account: Account, session: Session) -> None:
    session.execute_script(SHOP)
    request = {**ASKED, "keep": {"SNOWMELT.PUBLIC.ORDERS": "tax law, ten years"}}
    record = ask(session, "SYSTEM$FORGET_PERSON", request)
    assert record["state"] == "DONE"
    assert record["kept"] == {"SNOWMELT.PUBLIC.ORDERS": "tax law, ten years"}
    assert places(record, "left")[("table", "ORDERS")] == 1
    assert session.execute("SELECT COUNT(*) FROM orders").rows() == [(2,)]
    assert session.execute("SELECT COUNT(*) FROM customers").rows() == [(1,)]


def test_a_table_that_others_fill_too_is_left_and_named(account: Account, session: Session) -> None:
    session.execute_script(SHOP)
    session.execute("CREATE TABLE suppliers AS SELECT 42 AS id, 'Tea & Co' AS name")
    session.execute("CREATE TABLE parties AS SELECT id, name FROM customers UNION ALL SELECT id, name FROM suppliers")
    found = ask(session, "SYSTEM$FIND_PERSON", ASKED)
    (unclear,) = [each for each in found["found"] if each["name"].endswith("PARTIES") and not each["rows"]]
    assert "also filled from SNOWMELT.PUBLIC.SUPPLIERS" in unclear["how"]
    ask(session, "SYSTEM$FORGET_PERSON", {**ASKED, "conditions": {"parties": "id = 42 AND name LIKE 'Ada%'"}})
    assert session.execute("SELECT name FROM parties ORDER BY 1").rows() == [("Bob",), ("Tea & Co",)]
    assert session.execute("SELECT COUNT(*) FROM suppliers").rows() == [(1,)]


def test_an_address_that_two_people_share_names_neither(account: Account, session: Session) -> None:
    session.execute_script(SHOP)
    session.execute("INSERT INTO customers VALUES (43, 'ada@example.org', 'Her sister')")
    session.execute("CREATE TABLE letters AS SELECT 43 AS writer, 'ada@example.org' AS email")
    assert ask(session, "SYSTEM$FORGET_PERSON", ASKED)["state"] in ("DONE", "INCOMPLETE")
    assert session.execute("SELECT id FROM customers ORDER BY 1").rows() == [(7,), (43,)]
    assert session.execute("SELECT COUNT(*) FROM letters").rows() == [(1,)]


def test_pseudonyms_are_the_person_as_well(account: Account, session: Session) -> None:
    session.execute_script(SHOP)
    session.execute("CREATE TABLE hashed AS SELECT SHA2(email, 256) AS h, PII_TOKEN(email) AS t FROM customers")
    assert ask(session, "SYSTEM$FORGET_PERSON", ASKED)["state"] == "DONE"
    assert session.execute("SELECT COUNT(*) FROM hashed").rows() == [(1,)]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "Expected columns with values, values, or conditions"),
        ({"columns": {"customers.nr": 1}}, "Column 'customers.nr' does not exist"),
        ({"columns": {"nobody.id": 1}}, "NOBODY"),
        ({"columns": {"id": 1}}, "Expected table.column"),
        ({"who": "ada@example.org"}, "a JSON object with columns, values, conditions, keep"),
    ],
)
def test_a_wrong_request_is_refused_without_repeating_it(
    account: Account, session: Session, request_: dict[str, Any], message: str
) -> None:
    session.execute("CREATE TABLE customers (id INT)")
    with pytest.raises(SnowmeltError) as raised:
        ask(session, "SYSTEM$FORGET_PERSON", request_)
    assert message in str(raised.value)
    assert EMAIL not in str(raised.value)


def test_only_who_manages_the_account_may(account: Account, session: Session) -> None:
    session.execute("CREATE ROLE reader")
    other = account.session(role="READER")
    for call in ("SYSTEM$FIND_PERSON('{}')", "SYSTEM$FORGET_PERSON('{}')", "SYSTEM$RESUME_ERASURES()"):
        with pytest.raises(SnowmeltError, match="Insufficient privileges"):
            other.execute(f"CALL {call}")
