"""Logging in, and that nothing secret is ever shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights.attempts import FAILURES
from snowmelt.runtime.rights.authentication import Authenticator, RefusedLoginError
from snowmelt.runtime.rights.credentials import fingerprint, public_key
from snowmelt.runtime.session import Session

PASSWORD = "correct horse battery"


class _Clock:
    def __init__(self) -> None:
        self.instant = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self.instant += timedelta(milliseconds=1)
        return self.instant


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: _Clock) -> Iterator[Account]:
    """An account without Spark: nothing here needs it."""
    with open_account(tmp_path / "data", clock=clock) as account:
        yield account


@pytest.fixture
def admin(opened: Account) -> Session:
    session = opened.session()
    session.execute("CREATE ROLE analyst")
    session.execute(
        f"CREATE USER ann PASSWORD = '{PASSWORD}' DEFAULT_ROLE = analyst DEFAULT_NAMESPACE = snowmelt.public "
        "DEFAULT_WAREHOUSE = compute_wh"
    )
    session.execute("GRANT ROLE analyst TO USER ann")
    return session


@pytest.fixture
def authenticator(opened: Account) -> Authenticator:
    return Authenticator(opened)


def _code(authenticator: Authenticator, user: str = "ann", **secrets: str) -> str | None:
    try:
        authenticator.login(user, **secrets)  # type: ignore[arg-type]
    except SnowmeltError as error:
        return error.code
    return None


def _pause(authenticator: Authenticator, user: str = "ann", **secrets: str) -> float:
    """How long the answer to a failure is to be kept back."""
    with pytest.raises(RefusedLoginError) as refused:
        authenticator.login(user, **secrets)  # type: ignore[arg-type]
    return refused.value.pause


# -- passwords ---------------------------------------------------------------------------------------------------------


def test_a_password_gives_the_user_with_all_defaults(admin: Session, authenticator: Authenticator) -> None:
    identity = authenticator.login("Ann", password=PASSWORD)
    assert (identity.user, identity.role, identity.secondary_roles) == ("ANN", "ANALYST", ("ALL",))
    assert (identity.warehouse, identity.database, identity.schema) == ("COMPUTE_WH", "SNOWMELT", "PUBLIC")


def test_wrong_ones_say_the_same_whatever_is_wrong(admin: Session, authenticator: Authenticator) -> None:
    admin.execute("CREATE USER keyless")
    for user, password in (("ann", "wrong"), ("nobody", PASSWORD), ("keyless", ""), ("", "")):
        assert _code(authenticator, user, password=password) == "390100"


def test_failures_in_a_row_take_longer_and_lock_the_user_for_a_while(
    admin: Session, authenticator: Authenticator, clock: _Clock
) -> None:
    """Of a name that nobody has, too: nobody learns from the answers who exists."""
    for user in ("ann", "nobody"):
        pauses = [_pause(authenticator, user, password="wrong") for _ in range(FAILURES)]
        assert pauses == sorted(pauses) and 0 < pauses[0] < pauses[-1] <= 2
        assert _code(authenticator, user, password=PASSWORD) == "390102"
    clock.instant += timedelta(minutes=16)
    assert _code(authenticator, "nobody", password=PASSWORD) == "390100"
    assert _code(authenticator, password=PASSWORD) is None


def test_an_administrator_unlocks(admin: Session, authenticator: Authenticator) -> None:
    for _ in range(FAILURES):
        _code(authenticator, password="wrong")
    admin.execute("ALTER USER ann SET MINS_TO_UNLOCK = 0")
    assert _code(authenticator, password=PASSWORD) is None


def test_a_disabled_user_is_told_only_with_the_right_password(admin: Session, authenticator: Authenticator) -> None:
    admin.execute("ALTER USER ann SET DISABLED = TRUE")
    assert _code(authenticator, password="wrong") == "390100"
    assert _code(authenticator, password=PASSWORD) == "390101"


def test_a_role_that_the_user_does_not_have_is_refused(admin: Session, authenticator: Authenticator) -> None:
    assert _code(authenticator, password=PASSWORD, role="ACCOUNTADMIN") == "390189"
    assert authenticator.login("ann", password=PASSWORD, role="PUBLIC").role == "PUBLIC"


def test_a_default_role_that_was_revoked_leaves_public(admin: Session, authenticator: Authenticator) -> None:
    admin.execute("REVOKE ROLE analyst FROM USER ann")
    assert authenticator.login("ann", password=PASSWORD).role == "PUBLIC"


def test_the_password_of_the_data_directory_is_the_administrators_until_there_is_another(
    admin: Session, opened: Account
) -> None:
    authenticator = Authenticator(opened, admin_password=lambda user, given: given == "first")
    assert authenticator.login("admin", password="first").role == "ACCOUNTADMIN"
    admin.execute(f"ALTER USER admin SET PASSWORD = '{PASSWORD}'")
    assert _code(authenticator, "admin", password="first") == "390100"
    assert _code(authenticator, "admin", password=PASSWORD) is None


def test_a_short_password_is_refused(admin: Session) -> None:
    with pytest.raises(SnowmeltError, match="003002"):
        admin.execute("ALTER USER ann SET PASSWORD = 'short'")


def test_failures_of_an_address_are_slow_whatever_names_it_tries(admin: Session, authenticator: Authenticator) -> None:
    pauses = [_pause(authenticator, f"u{n}", token="x", client="192.0.2.1") for n in range(30)]
    assert pauses == sorted(pauses) and pauses[-1] > 10 * pauses[0]
    assert _pause(authenticator, "other", token="x", client="192.0.2.2") == pauses[0]


def test_guesses_at_the_same_time_are_counted_before_they_are_compared(
    admin: Session, authenticator: Authenticator
) -> None:
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda n: _code(authenticator, password=f"guess {n}"), range(32)))
    assert sorted(codes) == ["390100"] * FAILURES + ["390102"] * (32 - FAILURES)  # type: ignore[type-var]


def test_many_good_ones_at_the_same_time_are_no_guesses(admin: Session, authenticator: Authenticator) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda _: _code(authenticator, password=PASSWORD), range(16))) == [None] * 16


def test_nobody_can_lock_a_user_out_of_where_they_log_in(
    admin: Session, authenticator: Authenticator, clock: _Clock
) -> None:
    home, elsewhere = "198.51.100.7", "192.0.2.1"
    assert _code(authenticator, password=PASSWORD, client=home) is None
    for _ in range(3):
        for _ in range(FAILURES):
            _code(authenticator, password="wrong", client=elsewhere)
        assert _code(authenticator, password=PASSWORD, client=elsewhere) == "390102"
        assert _code(authenticator, password=PASSWORD, client=home) is None
    for _ in range(2 * FAILURES):
        assert _code(authenticator, password="wrong", client=home) in ("390100", "390102")
    assert _code(authenticator, password=PASSWORD, client=home) == "390102", "trust is spent by guessing"
    admin.execute("ALTER USER ann SET MINS_TO_UNLOCK = 0")
    assert _code(authenticator, password=PASSWORD, client=home) is None
    admin.execute("ALTER USER ann SET MINS_TO_UNLOCK = 10")
    assert _code(authenticator, password=PASSWORD, client=home) == "390102", "an administrator locks for everywhere"


def test_what_is_remembered_of_failures_is_bounded(authenticator: Authenticator) -> None:
    for number in range(25_000):
        authenticator.attempts.failed(f"U{number}", f"a{number}")
    assert authenticator.attempts.kept() <= 10_000


# -- key pairs ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _public(key: rsa.RSAPrivateKey) -> str:
    pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    return pem.decode()


def _jwt(key: rsa.RSAPrivateKey, clock: _Clock, **changes: object) -> str:
    mark = fingerprint(public_key(_public(key)))
    claims = {
        "iss": f"SNOWMELT.ANN.{mark}", "sub": "SNOWMELT.ANN", "iat": clock.instant,
        "exp": clock.instant + timedelta(minutes=59), **changes,
    }  # fmt: skip
    return jwt.encode(claims, key, algorithm="RS256")


def test_a_token_signed_with_the_users_key_logs_in(
    admin: Session, authenticator: Authenticator, key: rsa.RSAPrivateKey, clock: _Clock
) -> None:
    admin.execute(f"ALTER USER ann SET RSA_PUBLIC_KEY = '{_public(key)}'")
    assert authenticator.login("ann", jwt=_jwt(key, clock)).user == "ANN"


def test_any_other_token_does_not(
    admin: Session, authenticator: Authenticator, key: rsa.RSAPrivateKey, clock: _Clock
) -> None:
    admin.execute(f"ALTER USER ann SET RSA_PUBLIC_KEY = '{_public(key)}'")
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    mark = fingerprint(public_key(_public(key)))
    hour = timedelta(hours=1)
    bad = [
        "", "a.b.c",
        _jwt(other, clock),
        _jwt(other, clock, iss=f"SNOWMELT.ANN.{mark}"),
        _jwt(key, clock, exp=clock.instant - hour),
        _jwt(key, clock, iat=clock.instant - 2 * hour, exp=clock.instant + hour),
        _jwt(key, clock, iat=clock.instant + hour, exp=clock.instant + 2 * hour),
        _jwt(key, clock, sub="SNOWMELT.ADMIN", iss=f"SNOWMELT.ADMIN.{mark}"),
        _jwt(key, clock, iss="SNOWMELT.ANN"),
        jwt.encode({"sub": "SNOWMELT.ANN", "iss": f"SNOWMELT.ANN.{mark}"}, None, algorithm="none"),
        jwt.encode({"sub": "SNOWMELT.ANN", "iss": f"SNOWMELT.ANN.{mark}"}, "x" * 32, algorithm="HS256"),
    ]  # fmt: skip
    assert [_code(authenticator, jwt=token) for token in bad] == ["390144"] * len(bad)


def test_the_second_key_works_while_the_first_is_replaced(
    admin: Session, authenticator: Authenticator, key: rsa.RSAPrivateKey, clock: _Clock
) -> None:
    admin.execute(f"ALTER USER ann SET RSA_PUBLIC_KEY_2 = '{_public(key)}'")
    assert _code(authenticator, jwt=_jwt(key, clock)) is None
    admin.execute("ALTER USER ann UNSET RSA_PUBLIC_KEY_2")
    assert _code(authenticator, jwt=_jwt(key, clock)) == "390144"


@pytest.mark.parametrize("given", ["nonsense", "", "MIIB", "-----BEGIN PUBLIC KEY-----"])
def test_what_is_no_key_is_refused(admin: Session, given: str) -> None:
    with pytest.raises(SnowmeltError, match="390199"):
        admin.execute(f"ALTER USER ann SET RSA_PUBLIC_KEY = '{given}'")


# -- tokens ------------------------------------------------------------------------------------------------------------


def _token(session: Session, options: str = "", name: str = "t1") -> str:
    rows = session.execute(f"ALTER USER ann ADD PROGRAMMATIC ACCESS TOKEN {name} {options}").rows()
    assert rows[0][0] == name.upper()
    return str(rows[0][1])


def test_a_token_logs_in_also_as_the_password(admin: Session, authenticator: Authenticator) -> None:
    token = _token(admin)
    assert authenticator.login("ann", token=token).user == "ANN"
    assert authenticator.login("ann", password=token).role == "ANALYST"
    assert _code(authenticator, "admin", token=token) == "394400"


def test_a_token_may_be_restricted_to_a_role(admin: Session, opened: Account, authenticator: Authenticator) -> None:
    admin.execute("GRANT ROLE sysadmin TO USER ann")
    token = _token(admin, "ROLE_RESTRICTION = 'ANALYST'")
    identity = authenticator.login("ann", token=token)
    assert (identity.role, identity.secondary_roles) == ("ANALYST", ())
    assert identity.role_restriction == "ANALYST"
    assert _code(authenticator, token=token, role="SYSADMIN") == "390189"
    session = opened.session(user=identity.user, role=identity.role, role_restriction=identity.role_restriction)
    for way_out in ("USE ROLE sysadmin", "USE SECONDARY ROLES ALL", "USE SECONDARY ROLES sysadmin"):
        with pytest.raises(SnowmeltError, match="002043"):
            session.execute(way_out)


def test_a_token_ends(admin: Session, authenticator: Authenticator, clock: _Clock) -> None:
    token = _token(admin, "DAYS_TO_EXPIRY = 1")
    clock.instant += timedelta(days=1, seconds=1)
    assert _code(authenticator, token=token) == "394400"


def test_a_token_can_be_disabled_rotated_and_removed(admin: Session, authenticator: Authenticator) -> None:
    token = _token(admin)
    admin.execute("ALTER USER ann MODIFY PAT t1 SET DISABLED = TRUE")
    assert _code(authenticator, token=token) == "394400"
    admin.execute("ALTER USER ann MODIFY PAT t1 SET DISABLED = FALSE")
    newer = str(admin.execute("ALTER USER ann ROTATE PAT t1").rows()[0][1])
    assert [_code(authenticator, token=each) for each in (token, newer)] == ["394400", None]
    admin.execute("ALTER USER ann REMOVE PAT t1")
    assert _code(authenticator, token=newer) == "394400"


def test_users_make_tokens_for_themselves_alone(admin: Session, opened: Account) -> None:
    own = opened.session(user="ANN", role="ANALYST")
    assert _token(own)
    with pytest.raises(SnowmeltError, match="003001"):
        own.execute("ALTER USER admin ADD PAT sneaky")


# -- the log -----------------------------------------------------------------------------------------------------------


def test_logins_grants_and_denials_are_in_the_audit_log(
    admin: Session, opened: Account, authenticator: Authenticator
) -> None:
    _code(authenticator, password="wrong")
    _code(authenticator, password=PASSWORD)
    own = opened.session(user="ANN", role="ANALYST")
    with pytest.raises(SnowmeltError):
        own.execute("CREATE DATABASE d")
    with opened.state.read() as state:
        events = [(event.kind, event.user, event.succeeded) for event in state.audit.list(100)]
    assert events[:3] == [("DENIED", "ANN", False), ("LOGIN", "ANN", True), ("LOGIN", "ANN", False)]
    assert ("GRANT", "ADMIN", True) in events and ("USER", "ADMIN", True) in events


def test_no_secret_is_kept_or_shown_anywhere(
    admin: Session, opened: Account, authenticator: Authenticator, key: rsa.RSAPrivateKey,
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """All texts that hold a secret, well formed and not; then everything that anybody can look at."""
    caplog.set_level(logging.DEBUG)
    secret, public = "s3cr3t-of-ann-1234", _public(key)
    body = public.splitlines()[1]
    token = _token(admin)
    texts = [
        f"ALTER USER ann SET PASSWORD = '{secret}'",
        f"alter user ann set password='{secret}' nonsense",
        f"ALTER USER ann SET PASSWORD = '{secret}",
        f"ALTER USER ann SET PASSWORD = {secret}",
        f'CREATE USER carl PASSWORD = "{secret}"',
        f"CREATE USER dora PASSWORD='{secret}' LOGIN_NAME = admin",
        f"EXECUTE IMMEDIATE 'ALTER USER ann SET PASSWORD = ''{secret}'''",
        f"EXECUTE IMMEDIATE $$ALTER USER ann SET PASSWORD = '{secret}'$$",
        f"ALTER USER ann SET RSA_PUBLIC_KEY = '{public}'",
        f"ALTER USER ann SET RSA_PUBLIC_KEY = '{public}' RSA_PUBLIC_KEY_2 = 'broken'",
    ]
    shown: list[object] = []
    for text in texts:
        try:
            shown.append(admin.execute(text).rows())
        except SnowmeltError as error:
            shown.append(str(error))
    _code(authenticator, password=secret + "x")
    _code(authenticator, token=token + "x")
    looks = ("SHOW USERS", "DESCRIBE USER ann", "SHOW USER PATS FOR USER ann", "SHOW GRANTS TO USER ann")
    shown += [admin.execute(text).rows() for text in looks]
    opened.journal.flush()
    with opened.state.read() as state:
        shown += [event.model_dump_json() for event in state.audit.list(1000)]
    shown += [query.model_dump_json() for query in opened.journal.list(1000)]
    logged = capsys.readouterr()
    everything = json.dumps([str(item) for item in shown]) + caplog.text + logged.out + logged.err
    for hidden in (secret, token, PASSWORD, body):
        assert hidden not in everything
    kept = b"".join(path.read_bytes() for path in opened.data_dir.glob("state.db*"))
    for hidden in (secret, token, PASSWORD):
        assert hidden.encode() not in kept


def test_the_result_with_a_new_token_can_not_be_scanned_again(admin: Session, opened: Account) -> None:
    result = admin.execute("ALTER USER ann ADD PAT once")
    assert opened.results.get(result.query_id, "ADMIN", {"ACCOUNTADMIN"}) is None
