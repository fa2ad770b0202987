"""A secret in any secret position of any text, cut anywhere: it is shown nowhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights.redaction import redacted, secrets_in, without
from tests.support.secrets import ADDRESSES, HEADS, MARKER, WORDS, WRITTEN

_GAP = st.sampled_from([" ", "\n", "\t ", " /* c */ ", " -- c\n", "/**/", " /* it's */ "])


@st.composite
def _statements(draw: st.DrawFn) -> str:
    gap = lambda: draw(_GAP)  # noqa: E731
    written = draw(st.sampled_from(WRITTEN))
    assignment = f"{draw(st.sampled_from(WORDS))}{gap()}{draw(st.sampled_from(['=', '=>']))}{gap()}{written}"
    inner = f"{draw(st.sampled_from(HEADS))}{gap()}{assignment}{gap()}COMMENT = 'end'"
    shape = draw(st.sampled_from(["plain", "immediate", "dollars", "comment", "url", "userinfo", "encrypt"]))
    text = {
        "plain": inner,
        "immediate": "EXECUTE IMMEDIATE '" + inner.replace("\\", "\\\\").replace("'", "''") + "'",
        "dollars": f"CREATE PROCEDURE p() AS $$ BEGIN {inner.replace('$$', chr(39))}; END $$",
        "comment": f"SELECT 1 /* {assignment.replace('/*', '').replace('*/', '').replace('--', '')} */",
        "url": f"CREATE STAGE s URL{gap()}= '{ADDRESSES[0]}'",
        "userinfo": f"COPY INTO t FROM '{ADDRESSES[1]}'",
        "encrypt": f"SELECT ENCRYPT(a,{gap()}'{MARKER}')",
    }[shape]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@settings(max_examples=400, deadline=None)
@example(f"ALTER USER a SET PASSWORD /*x*/ = '{MARKER}'")
@example(f"ALTER USER a SET PASSWORD -- x\n = $${MARKER}")
@example(f"CREATE STAGE s CREDENTIALS = (AWS_KEY_ID = '{MARKER}' AWS_SECRET_KEY = '{MARKER}")
@example(f"ALTER USER a SET PASSWORD = 'x' || '{MARKER}'")
@example(f"ALTER USER a SET PASSWORD = {MARKER}")
@example(f"COPY INTO t FROM 's3://user:{MARKER}")
@given(_statements())
def test_no_marked_secret_is_left(text: str) -> None:
    shown = redacted(text)
    assert MARKER not in shown
    if MARKER in text:
        assert any(MARKER in secret for secret in secrets_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT password FROM t WHERE name = 'x'", "ALTER USER a UNSET PASSWORD", "SELECT 'token' AS a, 'b' AS c",
        "ALTER USER a SET MUST_CHANGE_PASSWORD_SOON = TRUE", "CREATE CONNECTOR c PASSWORD_ENV = 'X' SECRET_FILE = '/f'",
        "SELECT key, value FROM t WHERE key = 'a'", "COPY INTO t FROM 's3://bucket/x?y=1'",
        "SELECT * FROM t -- password",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with open_account(tmp_path_factory.mktemp("redacted") / "data", settings=Settings()) as opened:
        yield opened


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(f"ALTER USER ann SET PASSWORD = '{MARKER * 5}")
@given(_statements().filter(lambda text: not text.lstrip().upper().startswith(("SELECT", "COPY"))))
def test_neither_history_nor_errors_show_a_secret(account: Account, text: str) -> None:
    session = account.session()
    try:
        session.execute(text)
    except SnowmeltError as error:
        assert MARKER not in f"{error} {error.hint}"
    kept = account.journal.list(1, session.id)
    assert MARKER not in "".join(record.model_dump_json() for record in kept)
    session.close()


_MANY = 100_000
_LONG = {
    "words in a comment": "-- " + "PASSWORD " * (_MANY // 9),
    "a long literal": f"SELECT 'KEY {'a' * _MANY}'",
    "open calls": "SELECT " + "TOKEN(" * (_MANY // 6),
    "open variables": "SELECT " + "TOKEN=$" * (_MANY // 7),
    "assignments": "TOKEN = " * (_MANY // 8),
    "open comments": "/*" * (_MANY // 2) + " KEY",
    "comments in comments": "-- " * 40 + "1TOKEN='abcdef'",
    "many comments in comments": "-- " * (_MANY // 3) + "1TOKEN='abcdef'",
    "quotes": "SELECT '" + "''" * (_MANY // 2) + " KEY",
    "addresses": "SELECT '" + "a://b:c:" * (_MANY // 8) + "'",
    "a long name": "SELECT KEY" + "_" * _MANY,
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", _LONG)
def test_every_text_is_read_in_proportion_to_its_length(name: str) -> None:
    """Each took minutes to years when it was looked at again from many places. Here a limit of minutes is enough."""
    shown = redacted(_LONG[name])
    assert "abcdef" not in shown
    without(_LONG[name], secrets_in(_LONG[name]))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("length", [4, 5, 6, 7, 200_000])
def test_messages_hide_secrets_of_every_length(length: int) -> None:
    secret = ("s3cr€t-" * length)[:length]
    shown = without(f"unexpected '{secret}'.", secrets_in(f"ALTER USER a SET PASSWORD = '{secret}'"))
    assert shown == "unexpected '***'."
