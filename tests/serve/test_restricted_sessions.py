"""A session of a token for one role gets no way in that is wider, by whatever statement."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.features.security.restricted import HARMLESS_OPTIONS, LOGIN_OPTIONS
from snowmelt.features.security.statements import UserOptions
from snowmelt.runtime.session import Session
from tests.serve.callers import DOORS, Caller, Serving

DENIED = {"003001", "002043", "002140", "390189", "000002"}
KEY = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0/Iz"
    "W7yWR7QkrmBL7jTKEn5u+qKhbwKfBstIs+bMY2Zkp18gnTxKLxoS2tFczGkPLPgizskuemMghRniWaoLcyehkd3qqGElvW/VDL5AaWTg0nLV"
    "kjRo9z+40RQzuVaE8AkAFmxZzow3x+VJYKdjykkJ0iT9wCS0DRTXu269V264Vf/3jvredZiKRkgwlL9xNAwxXFg0x/XFw005UWVRIkdgcKWT"
    "jpBP2dPwVZ4WWC+9aGVd+Gyn1o0CLelf4rEjGoXbAAEgAqeGUxrcIlbjXfbcmwIDAQAB"
)
OPTIONS = {
    "PASSWORD": "'chosen by the thief'", "LOGIN_NAME": "thief", "MUST_CHANGE_PASSWORD": "TRUE", "DISABLED": "FALSE",
    "MINS_TO_UNLOCK": "0", "DEFAULT_ROLE": "accountadmin", "DEFAULT_SECONDARY_ROLES": "('ALL')",
    "RSA_PUBLIC_KEY": f"'{KEY}'", "RSA_PUBLIC_KEY_2": f"'{KEY}'", "TYPE": "SERVICE",
    "NETWORK_POLICY": "from_anywhere",
}  # fmt: skip
SETS = [f"ALTER USER {{name}} SET {option} = {value}" for option, value in OPTIONS.items()]
UNSETS = [f"ALTER USER {{name}} UNSET {option}" for option in OPTIONS]
TOKENS = [
    "ALTER USER {name} ADD PAT wider",
    "ALTER USER {name} ADD PROGRAMMATIC ACCESS TOKEN wider ROLE_RESTRICTION = 'ACCOUNTADMIN'",
    "ALTER USER {name} ADD PAT as_wide ROLE_RESTRICTION = 'USERADMIN'",
    "ALTER USER {name} ROTATE PAT wide",
    "ALTER USER {name} MODIFY PAT wide SET DISABLED = FALSE",
    "ALTER USER {name} MODIFY PAT wide RENAME TO w2",
    "ALTER USER {name} REMOVE PAT wide",
    "ALTER USER {name} RENAME TO somebody",
    "CREATE OR REPLACE USER {name} PASSWORD = 'chosen by the thief'",
]


def test_every_option_of_users_is_known_to_open_doors_or_not_to() -> None:
    fields = {field.name.upper() for field in dataclasses.fields(UserOptions)}
    assert fields == LOGIN_OPTIONS | HARMLESS_OPTIONS and not LOGIN_OPTIONS & HARMLESS_OPTIONS
    assert set(OPTIONS) == LOGIN_OPTIONS


@pytest.fixture(scope="module")
def admin(serving: Serving) -> Iterator[Session]:
    """The user rita has ACCOUNTADMIN, and a token for USERADMIN alone, which owns her, the user wanda and others."""
    session = serving.admin()
    session.execute_script(
        "CREATE USER rita PASSWORD = 'correct horse battery'; GRANT ROLE accountadmin TO USER rita;"
        "GRANT ROLE useradmin TO USER rita; GRANT OWNERSHIP ON USER rita TO ROLE useradmin;"
        "CREATE USER wanda; GRANT ROLE accountadmin TO USER wanda; GRANT OWNERSHIP ON USER wanda TO ROLE useradmin;"
        "ALTER USER rita ADD PAT wide; ALTER USER wanda ADD PAT wide;"
        "CREATE DATABASE shop; GRANT ALL PRIVILEGES ON DATABASE shop TO ROLE useradmin;"
        "GRANT ALL PRIVILEGES ON SCHEMA shop.public TO ROLE useradmin; GRANT EXECUTE TASK ON ACCOUNT TO ROLE useradmin;"
        "GRANT USAGE ON WAREHOUSE compute_wh TO ROLE useradmin;"
        "CREATE NETWORK POLICY from_anywhere ALLOWED_IP_LIST = ('0.0.0.0/0');"
        "GRANT OWNERSHIP ON NETWORK POLICY from_anywhere TO ROLE useradmin"
    )
    yield session
    session.close()


@pytest.fixture(scope="module", params=DOORS)
def caller(request: pytest.FixtureRequest, serving: Serving, admin: Session) -> Caller:
    name = f"narrow_{request.param}"
    token = str(admin.execute(f"ALTER USER rita ADD PAT {name} ROLE_RESTRICTION = 'USERADMIN'").rows()[0][1])
    given = {"PASSWORD": token} if request.param == "snowflake" else {"password": token}
    made: Caller = DOORS[request.param](serving, "rita", **given)
    assert not isinstance(made.run("USE SCHEMA shop.public"), str)
    return made


@pytest.mark.parametrize("statement", [*SETS, *UNSETS, *TOKENS])
@pytest.mark.parametrize("name", ["rita", "wanda"])
def test_no_way_in_is_changed_of_its_own_user_or_of_a_wider_one(caller: Caller, statement: str, name: str) -> None:
    """Though the role owns both users, and could do it in a session of its own."""
    assert caller.run(statement.format(name=name)) in DENIED


@pytest.mark.parametrize("statement", [text for text in [*SETS, *UNSETS, *TOKENS[:7]] if "DISABLED = F" not in text])
def test_nor_without_a_name_or_inside_a_script(caller: Caller, statement: str) -> None:
    nameless = statement.format(name="").replace("  ", " ")
    assert caller.run(nameless) in DENIED
    quoted = nameless.replace("'", "''")
    assert caller.run(f"EXECUTE IMMEDIATE '{quoted}'") in DENIED


@pytest.mark.parametrize(
    "statement",
    [
        "USE ROLE accountadmin", "USE SECONDARY ROLES ALL", "USE SECONDARY ROLES accountadmin", "USE ROLE public",
        "EXECUTE IMMEDIATE 'USE ROLE accountadmin'", "GRANT ROLE accountadmin TO ROLE useradmin",
        "GRANT ROLE accountadmin TO USER rita", "DROP USER rita",
    ],
)  # fmt: skip
def test_it_does_not_leave_its_role(caller: Caller, statement: str) -> None:
    assert caller.run(statement) in DENIED
    assert caller.run("SHOW PARAMETERS LIKE 'TIMEZONE'") != "390111"


def test_what_is_narrower_may_be_made(caller: Caller, admin: Session) -> None:
    for statement in (
        "CREATE USER plain PASSWORD = 'a fine password'",
        "ALTER USER plain SET PASSWORD = 'another fine one'",
        "ALTER USER plain ADD PAT own",
        "ALTER USER rita SET DEFAULT_WAREHOUSE = compute_wh COMMENT = 'harmless'",
        "DROP USER plain",
    ):
        assert not isinstance(caller.run(statement), str), statement


def test_a_procedure_of_somebody_else_changes_no_login_of_its_caller(serving: Serving, admin: Session) -> None:
    """It runs with its owner's rights: what it says of `the user` is not the caller's own wish."""
    author = serving.account.session(user="ANN", role="SYSADMIN", database="SHOP", schema="PUBLIC")
    admin.execute_script(
        "GRANT ALL PRIVILEGES ON DATABASE shop TO ROLE sysadmin; GRANT ALL ON SCHEMA shop.public TO ROLE sysadmin"
    )
    author.execute(
        "CREATE PROCEDURE steal() RETURNS VARCHAR LANGUAGE SQL AS "
        "'BEGIN ALTER USER SET PASSWORD = ''of the author''; RETURN ''done''; END'"
    )
    victim = DOORS["own"](serving, "admin", password="of the first start")
    assert victim.run("CALL shop.public.steal()") in DENIED


@pytest.mark.parametrize("body", ["USE ROLE accountadmin", "BEGIN USE ROLE accountadmin; RETURN 1; END"])
def test_what_the_system_runs_keeps_to_its_owners_roles(serving: Serving, admin: Session, body: str) -> None:
    """A task runs as the system, which has no roles of its own to choose from."""
    task: Any = serving.account.session(user="SYSTEM", role="USERADMIN", database="SHOP", schema="PUBLIC")
    with pytest.raises(Exception, match="002043"):
        task.execute(body)
    with pytest.raises(Exception, match="002043"):
        task.execute("USE SECONDARY ROLES accountadmin")
    assert task.role == "USERADMIN"
