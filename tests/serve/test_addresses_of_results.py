"""Addresses of results and files hold a secret: they end with the session that got them, and with time."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import httpx
import pytest

from snowmelt.runtime.session import Session
from tests.serve.callers import PASSWORD, Serving, SnowflakeCaller


@pytest.fixture
def admin(serving: Serving) -> Iterator[Session]:
    session = serving.admin()
    session.execute_script(
        f"CREATE OR REPLACE USER uploader PASSWORD = '{PASSWORD}' DEFAULT_ROLE = sender;"
        "CREATE OR REPLACE ROLE sender; CREATE OR REPLACE ROLE lent; GRANT ROLE lent TO ROLE sender;"
        "GRANT ROLE sender TO USER uploader; GRANT ROLE sysadmin TO USER uploader"
    )
    yield session
    session.close()


def _address(caller: SnowflakeCaller, name: str = "a.txt") -> str:
    answer = caller.send(f"PUT file:///tmp/{name} @~ AUTO_COMPRESS = FALSE")
    assert answer["success"], answer
    return str(answer["data"]["stageInfo"]["presignedUrl"])


def _chunk(caller: SnowflakeCaller) -> str:
    """Of a result that is too large for one answer, which no Spark has to compute."""
    several = ", ".join(f"V{n} = '{'x' * 250}'" for n in range(300))
    names, values = zip(*(item.split(" = ") for item in several.split(", ")), strict=True)
    for start in range(0, 1200, 300):
        shown = [f"{name}_{start}" for name in names]
        assert not isinstance(caller.run(f"SET ({', '.join(shown)}) = ({', '.join(values)})"), str)
    answer = caller.send("SHOW VARIABLES")
    return str(answer["data"]["chunks"][0]["url"])


def _part_of_a_kept_result(caller: SnowflakeCaller) -> str:
    """The address that somebody gets who asks for a result once more."""
    _chunk(caller)
    query_id = caller.send("SHOW VARIABLES")["data"]["queryId"]
    return str(caller.get(f"/queries/{query_id}/result")["data"]["chunks"][0]["url"])


KINDS: dict[str, Callable[[SnowflakeCaller], str]] = {"file": _address, "chunk": _chunk, "kept": _part_of_a_kept_result}
ENDINGS = [
    "ALTER USER uploader SET DISABLED = TRUE",
    "ALTER USER uploader SET PASSWORD = 'something else'",
    "DROP USER uploader",
    "REVOKE ROLE sender FROM USER uploader",
    "REVOKE ROLE lent FROM ROLE sender",
    "DROP ROLE sender",
    "close",
    "time",
]


@pytest.mark.parametrize(
    ("kind", "ending"),
    [(kind, ending) for kind in KINDS for ending in ENDINGS if kind != "kept" or ending.startswith("REVOKE")],
)
def test_an_address_ends_with_its_session(
    serving: Serving, admin: Session, kind: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ending == "time":
        monkeypatch.setattr("snowmelt.serve.protocol.addresses.GOOD_SECONDS", 0.0)
        monkeypatch.setattr("snowmelt.serve.protocol.parts._GOOD_SECONDS", 0.0)
    caller = SnowflakeCaller(serving, "uploader")
    address = KINDS[kind](caller)

    def use() -> int:
        if kind != "file":
            return httpx.get(address).status_code
        return httpx.put(address, content=b"text").status_code

    if ending == "close":
        assert use() == 200
        caller.post("/session?delete=true")
    elif ending != "time":
        assert kind == "file" or use() == 200
        admin.execute(ending)
    assert use() == 404


def test_another_role_in_use_takes_no_address_away(serving: Serving, admin: Session) -> None:
    caller = SnowflakeCaller(serving, "uploader")
    caller.run("USE SECONDARY ROLES NONE")
    address = _chunk(caller)
    caller.run("USE ROLE sysadmin")
    assert httpx.get(address).status_code == 200
    admin.execute("REVOKE ROLE sysadmin FROM USER uploader")
    assert httpx.get(address).status_code == 200, "a role that the result was not computed with"


@pytest.mark.parametrize("ending", ["REVOKE ROLE sender FROM USER uploader", "REVOKE ROLE lent FROM ROLE sender"])
def test_a_request_that_is_repeated_gets_no_rows_of_a_role_that_is_gone(
    serving: Serving, admin: Session, ending: str
) -> None:
    caller = SnowflakeCaller(serving, "uploader")
    request = f"/queries/v1/query-request?requestId={uuid.uuid4()}"
    asked = {"sqlText": "SHOW PARAMETERS LIKE 'TIMEZONE'"}
    first = caller.post(request, json=asked)
    assert caller.post(request, json=asked) == first
    admin.execute(ending)
    again = caller.post(request, json=asked)
    assert (again["success"], again["code"]) == (False, "000709")


def test_a_file_that_comes_in_while_the_role_goes_is_not_kept(serving: Serving, admin: Session) -> None:
    caller = SnowflakeCaller(serving, "uploader")
    address = _address(caller, "half.txt")

    def content() -> Iterator[bytes]:
        yield b"the first half, "
        admin.execute("REVOKE ROLE sender FROM USER uploader")
        yield b"and the second"

    assert httpx.put(address, content=content()).status_code == 404
    assert caller.run("LIST @~/half.txt") == []
