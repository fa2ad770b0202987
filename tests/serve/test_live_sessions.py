"""A session lasts as long as what it was opened with, and has the rights that its user has now: at both doors."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from snowmelt.runtime.rights.credentials import fingerprint, public_key
from snowmelt.runtime.session import Session
from tests.serve.callers import DOORS, PASSWORD, Caller, Serving, SnowflakeCaller, until
from tests.support.waiting import DEADLINE

GONE = "390111"
ASK = "SHOW PARAMETERS LIKE 'TIMEZONE'"


class User:
    """One that each test has for itself."""

    def __init__(self, serving: Serving, admin: Session) -> None:
        self.name = f"U_{uuid.uuid4().hex[:8]}".upper()
        self.serving, self.admin = serving, admin
        admin.execute(f"CREATE USER {self.name} PASSWORD = '{PASSWORD}' DEFAULT_ROLE = sysadmin")
        admin.execute(f"GRANT ROLE sysadmin TO USER {self.name}")

    def sql(self, text: str) -> Any:
        return self.admin.execute(text.format(user=self.name)).rows()

    def token(self, options: str = "") -> str:
        return str(self.sql(f"ALTER USER {{user}} ADD PAT t {options}")[0][1])

    def by_password(self, door: str) -> Caller:
        caller: Caller = DOORS[door](self.serving, self.name)
        assert isinstance(caller.run(ASK), list)
        return caller

    def by_token(self, door: str, token: str) -> Caller:
        given = {"PASSWORD": token} if door == "snowflake" else {"password": token}
        caller: Caller = DOORS[door](self.serving, self.name, **given)
        assert isinstance(caller.run(ASK), list)
        return caller


@pytest.fixture
def user(serving: Serving) -> Iterator[User]:
    admin = serving.admin()
    yield User(serving, admin)
    admin.close()


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER USER {user} SET DISABLED = TRUE",
        "ALTER USER {user} SET PASSWORD = 'something else'",
        "ALTER USER {user} UNSET PASSWORD",
        "DROP USER {user}",
        f"CREATE OR REPLACE USER {{user}} PASSWORD = '{PASSWORD}'",
    ],
)
def test_what_ends_the_sessions_of_a_password(user: User, door: str, statement: str) -> None:
    caller = user.by_password(door)
    user.sql(statement)
    assert caller.run(ASK) == GONE
    if isinstance(caller, SnowflakeCaller):
        assert caller.post("/session/heartbeat")["code"] == GONE
        assert caller.get("/queries/x/result")["code"] == GONE
        master = {"authorization": f'Snowflake Token="{caller.answer["data"]["masterToken"]}"'}
        renewed = caller.http.post("/session/token-request", json={}, headers=master).json()
        assert renewed["code"] in (GONE, "390114")
    until(lambda: all(session.user != user.name for session in user.serving.account.sessions()))


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER USER {user} SET DISABLED = TRUE",
        "ALTER USER {user} REMOVE PAT t",
        "ALTER USER {user} ROTATE PAT t",
        "ALTER USER {user} MODIFY PAT t SET DISABLED = TRUE",
    ],
)
def test_what_ends_the_sessions_of_a_token(user: User, door: str, statement: str) -> None:
    caller = user.by_token(door, user.token())
    user.sql("ALTER USER {user} SET PASSWORD = 'has nothing to do with it'")
    assert isinstance(caller.run(ASK), list)
    user.sql(statement)
    assert caller.run(ASK) == GONE


def test_a_key_that_is_replaced_ends_its_sessions(user: User) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(serialization.Encoding.PEM, kind).decode()
    user.sql(f"ALTER USER {{user}} SET RSA_PUBLIC_KEY = '{public}'")
    subject, now = f"SNOWMELT.{user.name}", datetime.now(UTC)
    claims = {
        "iss": f"{subject}.{fingerprint(public_key(public))}", "sub": subject, "iat": now,
        "exp": now + timedelta(minutes=5),
    }  # fmt: skip
    signed = jwt.encode(claims, key, algorithm="RS256")
    caller = SnowflakeCaller(user.serving, user.name, AUTHENTICATOR="SNOWFLAKE_JWT", TOKEN=signed)
    assert isinstance(caller.run(ASK), list)
    user.sql(f"ALTER USER {{user}} SET RSA_PUBLIC_KEY_2 = '{public}'")
    user.sql("ALTER USER {user} UNSET RSA_PUBLIC_KEY")
    assert isinstance(caller.run(ASK), list), "the same key is still the user's"
    user.sql("ALTER USER {user} UNSET RSA_PUBLIC_KEY_2")
    assert caller.run(ASK) == GONE


def test_a_revoked_role_narrows_the_next_statement(user: User, door: str) -> None:
    caller = user.by_password(door)
    name = f"D_{user.name}"
    assert not isinstance(caller.run(f"CREATE DATABASE {name}"), str)
    user.sql("REVOKE ROLE sysadmin FROM USER {user}")
    assert caller.run(f"CREATE DATABASE {name}_2") == "003001"
    assert caller.run("USE ROLE sysadmin") == "002043"
    assert caller.run(f"DROP DATABASE {name}") == "002003"
    user.sql("GRANT ROLE sysadmin TO USER {user}")
    assert not isinstance(caller.run("USE ROLE sysadmin"), str)
    user.sql(f"DROP DATABASE {name}")


def test_a_token_for_a_role_ends_with_it(user: User, door: str) -> None:
    caller = user.by_token(door, user.token("ROLE_RESTRICTION = 'SYSADMIN'"))
    user.sql("REVOKE ROLE sysadmin FROM USER {user}")
    assert caller.run(ASK) == GONE


def test_who_chooses_another_password_goes_on_where_that_was_done(user: User, door: str) -> None:
    here, there = user.by_password(door), user.by_password(door)
    assert not isinstance(here.run("ALTER USER SET PASSWORD = 'chosen anew'"), str)
    assert isinstance(here.run(ASK), list)
    assert there.run(ASK) == GONE


def test_a_statement_that_runs_is_ended(user: User, door: str) -> None:
    caller = user.by_password(door)
    answers: list[Any] = []
    running = threading.Thread(target=lambda: answers.append(caller.run("CALL SYSTEM$WAIT(240)")))
    running.start()
    until(lambda: any(s.user == user.name and s.running is not None for s in user.serving.account.sessions()))
    user.sql("ALTER USER {user} SET DISABLED = TRUE")
    running.join(DEADLINE)
    assert answers == ["000604"]
    assert caller.run(ASK) == GONE


def test_channels_end_with_the_session(user: User) -> None:
    caller = user.by_password("own")
    user.sql("ALTER USER {user} SET DISABLED = TRUE")
    answer = caller.http.post("/api/v1/channels", json={"channel": "c", "table": "t"}, headers=caller.headers)  # type: ignore[attr-defined]
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, GONE)
