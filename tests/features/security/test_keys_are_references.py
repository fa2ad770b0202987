"""The key of PII_TOKEN is in no text that Spark gets, plans, shows or logs, and tokens are what they always were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.session import plan_with_sizes
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


def token(account: Account, value: str) -> str:
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    key = account.token_key
    return "tok_" + digest(key + digest(key + value))[:32]


@pytest.fixture(scope="module")
def session(account: Account) -> Iterator[Session]:
    opened = account.session()
    opened.execute_script(
        "CREATE DATABASE keyed; CREATE TABLE people (id INT, email VARCHAR); "
        "INSERT INTO people VALUES (1, 'ann@example.com'), (2, 'Zoë'), (3, NULL), (4, '')"
    )
    yield opened
    opened.execute_script("USE DATABASE snowmelt; DROP DATABASE keyed")
    opened.close()


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts that Spark was given, and its plans of them."""
    found: list[str] = []
    plain = SparkSession.sql

    def watched(self: SparkSession, text: str) -> DataFrame:
        frame = plain(self, text)
        found.extend((text, plan_with_sizes(frame)))
        return frame

    monkeypatch.setattr(SparkSession, "sql", watched)
    return found


def test_tokens_are_what_they_were_and_spark_is_not_given_the_key(
    account: Account, session: Session, given: list[str]
) -> None:
    rows = session.execute("SELECT email, PII_TOKEN(email) FROM people ORDER BY id").rows()
    assert rows == [
        (value, None if value is None else token(account, value)) for value in ("ann@example.com", "Zoë", None, "")
    ]
    # In joins, groups and conditions, and in what is written.
    joined = session.execute(
        "SELECT COUNT(DISTINCT PII_TOKEN(a.email)) "
        "FROM people a JOIN people b ON PII_TOKEN(a.email) = PII_TOKEN(b.email)"
    )
    assert joined.rows() == [(3,)]
    session.execute("CREATE TABLE hidden AS SELECT id, PII_TOKEN(email) AS email FROM people")
    session.execute("UPDATE hidden SET email = PII_TOKEN(email) WHERE email = PII_TOKEN('Zoë')")
    assert session.execute("SELECT email FROM hidden WHERE id = 2").rows() == [(token(account, token(account, "Zoë")),)]
    assert any("snowmelt_pii_token" in text for text in given)
    assert not any(account.token_key in text for text in given)


def test_a_constant_has_the_same_token(account: Account, session: Session, given: list[str]) -> None:
    assert session.execute("SELECT PII_TOKEN('it''s \\\\ Zoë')").rows() == [(token(account, "it's \\ Zoë"),)]
    assert not any(account.token_key in text for text in given)


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN SELECT PII_TOKEN(email) FROM people", "EXPLAIN USING JSON SELECT PII_TOKEN(email) FROM people",
        "EXPLAIN USING TEXT SELECT PII_TOKEN(email) FROM people", "EXPLAIN SELECT PII_TOKEN('a')",
        "EXPLAIN DYNAMIC TABLE AS SELECT PII_TOKEN(email) AS t, COUNT(*) AS n FROM people GROUP BY 1",
    ],
)  # fmt: skip
def test_explain_shows_no_key_and_no_place_of_files(account: Account, session: Session, sql: str) -> None:
    text = str(session.execute(sql).rows())
    for hidden in (account.token_key, str(account.data_dir), account.store.root.uri):
        assert hidden not in text


def test_errors_quote_no_key(account: Account, session: Session) -> None:
    with pytest.raises(SnowmeltError) as failed:
        session.execute("SELECT PII_TOKEN(email)::INT FROM people")
    assert account.token_key not in f"{failed.value} {failed.value.__cause__}"
