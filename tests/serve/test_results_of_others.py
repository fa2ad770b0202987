"""Results are for the user who asked, with the roles that asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.runtime.session import Session
from tests.serve.callers import Serving, SnowflakeCaller, until

ASK = "SHOW PARAMETERS LIKE 'TIMEZONE'"


@pytest.fixture(scope="module")
def admin(serving: Serving) -> Iterator[Session]:
    session = serving.admin()
    session.execute_script(
        "CREATE USER other PASSWORD = 'correct horse battery'; GRANT ROLE analyst TO USER other;"
        "GRANT ROLE sysadmin TO USER other"
    )
    yield session
    session.close()


@pytest.fixture(scope="module")
def wide(serving: Serving, admin: Session) -> SnowflakeCaller:
    """Ann with SYSADMIN and all her other roles."""
    return SnowflakeCaller(serving, role="SYSADMIN")


@pytest.fixture(scope="module")
def narrow(serving: Serving, admin: Session) -> SnowflakeCaller:
    """Ann with a token for ANALYST alone."""
    token = str(admin.execute("ALTER USER ann ADD PAT n ROLE_RESTRICTION = 'ANALYST'").rows()[0][1])
    return SnowflakeCaller(serving, PASSWORD=token)


def _fetches(caller: SnowflakeCaller, query_id: str) -> dict[str, bool]:
    return {
        "result": bool(caller.get(f"/queries/{query_id}/result")["success"]),
        "status": bool(caller.get(f"/monitoring/queries/{query_id}")["data"]["queries"]),
        "described": not isinstance(caller.run(f"DESCRIBE RESULT '{query_id}'"), str),
    }


ALL = {"result": True, "status": True, "described": True}
NONE = dict.fromkeys(ALL, False)


def _ask(caller: SnowflakeCaller, sql: str = ASK, **more: Any) -> str:
    answer = caller.send(sql, **more)
    assert answer["success"], answer
    return str(answer["data"]["queryId"])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_narrower_session_of_the_same_user_gets_nothing(
    wide: SnowflakeCaller, narrow: SnowflakeCaller, asynchronous: bool
) -> None:
    query_id = _ask(wide, asyncExec=asynchronous)
    until(lambda: wide.get(f"/queries/{query_id}/result").get("code") is None)
    assert _fetches(wide, query_id) == ALL
    assert _fetches(narrow, query_id) == NONE
    assert _fetches(wide, _ask(narrow)) == ALL, "who has all the roles of the one that asked"


def test_secondary_roles_count(serving: Serving, wide: SnowflakeCaller, narrow: SnowflakeCaller) -> None:
    """With the role ANALYST, but the rights of all others besides."""
    mixed = SnowflakeCaller(serving, role="ANALYST")
    query_id = _ask(mixed)
    assert _fetches(mixed, query_id) == ALL
    assert _fetches(wide, query_id) == ALL
    assert _fetches(narrow, query_id)["result"] is False


def test_another_user_gets_nothing_with_the_same_roles(serving: Serving, wide: SnowflakeCaller) -> None:
    other = SnowflakeCaller(serving, "other", role="SYSADMIN")
    assert _fetches(other, _ask(wide)) == NONE


def test_a_session_gets_what_it_asked_for_after_it_changed_its_role(serving: Serving) -> None:
    caller = SnowflakeCaller(serving, role="SYSADMIN")
    caller.run("USE SECONDARY ROLES NONE")
    query_id = _ask(caller)
    caller.run("USE ROLE analyst")
    assert caller.get(f"/queries/{query_id}/result")["success"] is True
    assert isinstance(caller.run(f"DESCRIBE RESULT '{query_id}'"), str), "RESULT_SCAN asks the roles in use"
    several = caller.send(f"USE ROLE sysadmin; {ASK}; USE ROLE analyst", parameters={"MULTI_STATEMENT_COUNT": 3})
    for child in several["data"]["resultIds"].split(","):
        assert caller.get(f"/queries/{child}/result")["success"] is True


def test_a_revoked_role_takes_its_results_along(serving: Serving, admin: Session) -> None:
    admin.execute("CREATE ROLE passing")
    admin.execute("GRANT ROLE passing TO USER other")
    caller = SnowflakeCaller(serving, "other", role="PASSING")
    caller.run("USE SECONDARY ROLES NONE")
    query_id = _ask(caller)
    admin.execute("REVOKE ROLE passing FROM USER other")
    assert _fetches(caller, query_id) == NONE


def test_a_narrower_session_stops_nothing(serving: Serving, wide: SnowflakeCaller, narrow: SnowflakeCaller) -> None:
    other = SnowflakeCaller(serving, "other", role="SYSADMIN")
    query_id = _ask(wide, "CALL SYSTEM$WAIT(240)", asyncExec=True)
    until(lambda: any(s.running is not None and s.running.query_id == query_id for s in serving.account.sessions()))
    for caller in (narrow, other):
        caller.post(f"/queries/{query_id}/abort-request", json={})
        assert caller.run(f"CALL SYSTEM$CANCEL_QUERY('{query_id}')") == "000605"
        assert wide.get(f"/monitoring/queries/{query_id}")["data"]["queries"][0]["status"] == "RUNNING"
    wide.post(f"/queries/{query_id}/abort-request", json={})
    until(lambda: wide.get(f"/queries/{query_id}/result")["code"] == "000604")
