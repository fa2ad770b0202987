"""Personal data: found by name and by content, classified, hidden in views, never published unclassified."""

from __future__ import annotations

import json

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.pii.classes import by_name
from snowmelt.govern.pii.classifying import Confidence, classify
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.observing.asking import rows_of


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("EMAIL", "EMAIL"), ("billing_email_address", "EMAIL"), ("EmailAddr", "EMAIL"), ("email_sent", None),
        ("phone_no", "PHONE_NUMBER"), ("headphone", None), ("first_name", "NAME"), ("firstName", "NAME"),
        ("name", None), ("product_name", None), ("dob", "DATE_OF_BIRTH"), ("ip", "IP_ADDRESS"), ("ship", None),
        ("ssn", "NATIONAL_IDENTIFIER"), ("card_number", "PAYMENT_CARD"), ("company", None), ("salary", "SALARY"),
    ],
)  # fmt: skip
def test_names_speak(column: str, expected: str | None) -> None:
    found = by_name(column)
    assert (found.name if found is not None else None) == expected


@pytest.mark.parametrize(
    ("column", "values", "expected", "confidence"),
    [
        ("contact", ["a@b.de", "c.d@example.com", "e@f.org"], "EMAIL", Confidence.HIGH),
        ("c7", ["4111 1111 1111 1111", "5500005555555559"], "PAYMENT_CARD", Confidence.HIGH),
        ("c8", ["DE89370400440532013000", "GB29NWBK60161331926819"], "BANK_ACCOUNT", Confidence.HIGH),
        ("host", ["10.0.0.1", "2001:db8::1"], "IP_ADDRESS", Confidence.HIGH),
        ("tel", ["+49 30 901820", "(555) 555-1234"], "PHONE_NUMBER", Confidence.HIGH),
        ("contact", ["a@b.de", "c@d.de", "ask ann"], "EMAIL", Confidence.MEDIUM),
        ("email", ["yes", "no"], "EMAIL", Confidence.LOW),
        ("first_name", ["Ann"], "NAME", Confidence.MEDIUM),
        ("birth_date", [], "DATE_OF_BIRTH", Confidence.MEDIUM),
    ],
)
def test_values_speak_louder(column: str, values: list[str], expected: str, confidence: Confidence) -> None:
    found = classify(column, values)
    assert found is not None and (found.found.name, found.confidence) == (expected, confidence)


def test_numbers_and_words_are_not_personal() -> None:
    for values in (["1", "2"], ["4111111111111112"], ["3.14"], ["red", "green"], ["2024-01-01"], []):
        assert classify("value", values) is None


@pytest.fixture
def session(opened: Account) -> Session:
    found = opened.session()
    found.execute("CREATE TABLE people (id INT, contact VARCHAR, first_name VARCHAR, city VARCHAR)")
    found.execute(
        "INSERT INTO people VALUES (1, 'ann@example.com', 'Ann', 'Bonn'), (2, 'bob@example.com', 'Bob', NULL)"
    )
    return found


def _classes(session: Session) -> dict[object, tuple[object, object]]:
    rows = rows_of(session, "PII_COLUMNS")
    return {row["COLUMN_NAME"]: (row["SEMANTIC_CATEGORY"], row["STATUS"]) for row in rows}


def test_classify_looks_at_values_and_tags(session: Session) -> None:
    assert _classes(session) == {"FIRST_NAME": ("NAME", "SUSPECTED")}
    answer = session.execute("""CALL SYSTEM$CLASSIFY('people', '{"auto_tag": true}')""").rows()[0][0]
    found = json.loads(answer)["classification_result"]
    assert set(found) == {"CONTACT", "FIRST_NAME"}
    assert found["CONTACT"]["recommendation"]["semantic_category"] == "EMAIL"
    assert found["CONTACT"]["recommendation"]["privacy_category"] == "IDENTIFIER"
    assert _classes(session) == {"CONTACT": ("EMAIL", "CLASSIFIED"), "FIRST_NAME": ("NAME", "CLASSIFIED")}
    session.execute("CALL SYSTEM$SET_PII_CLASS('people', 'contact', NULL)")
    assert _classes(session) == {"FIRST_NAME": ("NAME", "CLASSIFIED")}


def test_a_product_with_unclassified_personal_data_is_not_published(session: Session) -> None:
    create = "CREATE OR REPLACE DATA PRODUCT crm OBJECTS = (people)"
    with pytest.raises(SnowmeltError, match=r"CONTACT \(EMAIL\), FIRST_NAME \(NAME\)") as refused:
        session.execute(create)
    assert refused.value.code == "370031" and "SYSTEM$CLASSIFY" in str(refused.value.hint)
    session.execute(f"{create} PII = ('NAME', 'EMAIL')")
    session.execute("CALL SYSTEM$SET_PII_CLASS('people', 'first_name', 'NONE')")
    with pytest.raises(SnowmeltError, match="CONTACT") as by_content:
        session.execute(create)
    assert "FIRST_NAME" not in str(by_content.value)
    session.execute("CALL SYSTEM$CLASSIFY('people', '{\"auto_tag\": true}')")
    session.execute(create)
    session.execute("CREATE TABLE orders (id INT, customer_email VARCHAR)")
    with pytest.raises(SnowmeltError, match="CUSTOMER_EMAIL"):
        session.execute("ALTER DATA PRODUCT crm SET OBJECTS = (people, orders)")


def test_another_name_hides_nothing(session: Session) -> None:
    """What nobody's eyes may see by oversight is found under whatever name, and however it came there."""
    session.execute("CREATE VIEW shown AS SELECT first_name AS a FROM people")
    options = "TARGET_LAG = '1 day' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE"
    session.execute(f"CREATE DYNAMIC TABLE copied {options} AS SELECT a AS b FROM shown")
    with pytest.raises(SnowmeltError, match=r"B \(NAME\)") as refused:
        session.execute("CREATE DATA PRODUCT crm OBJECTS = (copied)")
    assert refused.value.code == "370031"
    session.execute("CALL SYSTEM$SET_PII_CLASS('people', 'first_name', 'NONE')")
    session.execute("CREATE DATA PRODUCT crm OBJECTS = (copied)")


def test_a_view_hides_what_is_personal(session: Session) -> None:
    session.execute("CALL SYSTEM$CLASSIFY('people', '{\"auto_tag\": true}')")
    strategies = '{"EMAIL": "TOKENISE", "*": "DROP"}'
    text = session.execute(f"SELECT SYSTEM$PII_VIEW('people', 'safe', '{strategies}')").rows()[0][0]
    session.execute(text)
    described = [row[0] for row in session.execute("DESCRIBE VIEW safe").rows()]
    assert described == ["ID", "CONTACT", "CITY"] and "PII_TOKEN" in text
    assert session.account.token_key not in session.execute("SELECT GET_DDL('VIEW', 'safe')").rows()[0][0]
    masked = session.execute("SELECT SYSTEM$PII_VIEW('people', 'safe')").rows()[0][0]
    assert "'*'" in masked and "FIRST_NAME" in masked


def test_classes_are_tags(session: Session) -> None:
    def tag(name: str, column: str) -> object:
        return session.execute(f"SELECT SYSTEM$GET_TAG('{name}', 'people.{column}', 'COLUMN')").rows()[0][0]

    assert tag("SNOWFLAKE.CORE.SEMANTIC_CATEGORY", "contact") is None
    session.execute("CALL SYSTEM$CLASSIFY('people', '{\"auto_tag\": true}')")
    session.execute("CALL SYSTEM$SET_PII_CLASS('people', 'city', 'NONE')")
    assert tag("snowflake.core.semantic_category", "contact") == "EMAIL"
    assert tag("SNOWFLAKE.CORE.PRIVACY_CATEGORY", "contact") == "IDENTIFIER"
    assert tag("SNOWFLAKE.CORE.PRIVACY_CATEGORY", "city") is None
    with pytest.raises(SnowmeltError, match="does not exist"):
        tag("other", "contact")
    found = rows_of(session, "TAG_REFERENCES_ALL_COLUMNS", object_name="people", object_domain="TABLE")
    assert [(row["COLUMN_NAME"], row["TAG_NAME"], row["TAG_VALUE"]) for row in found] == [
        ("CONTACT", "SEMANTIC_CATEGORY", "EMAIL"), ("CONTACT", "PRIVACY_CATEGORY", "IDENTIFIER"),
        ("FIRST_NAME", "SEMANTIC_CATEGORY", "NAME"), ("FIRST_NAME", "PRIVACY_CATEGORY", "IDENTIFIER"),
    ]  # fmt: skip


def test_what_is_said_of_a_column_goes_with_it(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE people (contact VARCHAR, first_name VARCHAR)")
    session.execute("CALL SYSTEM$SET_PII_CLASS('people', 'contact', 'EMAIL')")
    session.execute("CALL SYSTEM$SET_PII_STRATEGY('people', 'contact', 'HASH')")
    session.execute("ALTER TABLE people RENAME COLUMN contact TO mail_to")
    session.execute("CREATE OR REPLACE TABLE people (mail_to VARCHAR, other VARCHAR)")
    (row,) = rows_of(session, "PII_COLUMNS")
    assert (row["COLUMN_NAME"], row["SEMANTIC_CATEGORY"], row["AT_INGEST"]) == ("MAIL_TO", "EMAIL", "HASH")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("SYSTEM$SET_PII_CLASS('people', 'nothing', 'EMAIL')", "NOTHING|nothing"),
        ("SYSTEM$SET_PII_CLASS('people', 'city', 'SHOE_SIZE')", "SHOE_SIZE"),
        ("SYSTEM$SET_PII_STRATEGY('people', 'city', 'SHRED')", "SHRED"),
        ("SYSTEM$SET_PII_STRATEGY('people', 'id', 'HASH')", "column ID"),
        ("SYSTEM$CLASSIFY('nowhere')", "does not exist"),
        ("SYSTEM$CLASSIFY('people', '{\"sample_count\": -1}')", "sample_count"),
        ("SYSTEM$CLASSIFY('people', 'now')", "options"),
    ],
)
def test_what_is_refused(session: Session, call: str, said: str) -> None:
    with pytest.raises(SnowmeltError, match=said):
        session.execute(f"CALL {call}")


def test_who_may_not_read_may_not_classify(session: Session) -> None:
    session.execute("GRANT USAGE ON DATABASE snowmelt TO ROLE public")
    session.execute("GRANT USAGE ON SCHEMA public TO ROLE public")
    session.execute("GRANT REFERENCES ON TABLE people TO ROLE public")
    stranger = session.account.session(user="ANN", role="PUBLIC")
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        stranger.execute("CALL SYSTEM$CLASSIFY('people')")
