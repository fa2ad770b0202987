"""From where clients may come: at every way into a server, when they log in and with all that they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snowmelt.assistants.at_server import mount_assistants
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.rights.network import admits
from snowmelt.state.access_model import NetworkPolicy
from tests.serve.callers import PASSWORD, Serving

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"
REFUSED = "390422"


@pytest.fixture(scope="module")
def token(serving: Serving) -> str:
    mount_assistants(serving.server)
    return str(serving.admin().execute("ALTER USER ann ADD PAT anywhere").rows()[0][1])


@pytest.fixture(autouse=True)
def policies(serving: Serving) -> Iterator[None]:
    serving.admin().execute_script(
        f"CREATE NETWORK POLICY here ALLOWED_IP_LIST = ('127.0.0.0/24') BLOCKED_IP_LIST = ('{ELSEWHERE}');"
        f"CREATE NETWORK POLICY elsewhere ALLOWED_IP_LIST = ('{ELSEWHERE}', '2001:db8::/32')"
    )
    yield
    serving.admin().execute_script(
        "ALTER ACCOUNT UNSET NETWORK_POLICY; ALTER USER ann UNSET NETWORK_POLICY;"
        "DROP NETWORK POLICY IF EXISTS here; DROP NETWORK POLICY IF EXISTS elsewhere"
    )


class Client:
    """Every way in, from one address of this machine."""

    def __init__(self, serving: Serving, token: str, address: str) -> None:
        transport = httpx.HTTPTransport(local_address=address)
        page = {"origin": serving.url, "sec-fetch-site": "same-origin"}
        self.http = httpx.Client(base_url=serving.url, timeout=120, transport=transport)
        self.page = httpx.Client(
            base_url=serving.url, timeout=120, transport=httpx.HTTPTransport(local_address=address), headers=page
        )
        self.token = token

    def protocol(self) -> dict[str, Any]:
        data = {"LOGIN_NAME": "ann", "PASSWORD": PASSWORD, "CLIENT_APP_ID": "test"}
        answer: dict[str, Any] = self.http.post("/session/v1/login-request", json={"data": data}).json()
        return answer

    def ways(self) -> dict[str, str]:
        """What each way answers, as text."""
        bearer = {"authorization": f"Bearer {self.token}"}
        called = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        login = {"user": "ann", "password": PASSWORD}
        return {
            "protocol": str(self.protocol()),
            "own": self.http.post("/api/v1/sessions", json=login).text,
            "console": self.page.post("/api/v1/console/session", json=login).text,
            "sql api": self.http.post("/api/v2/statements", json={"statement": "SELECT 1"}, headers=bearer).text,
            "assistants": self.http.post(
                "/mcp", json=called, headers={**bearer, "accept": "application/json, text/event-stream"}
            ).text,
        }

    def close(self) -> None:
        self.http.close()
        self.page.close()


Come = Callable[[str], Client]


@pytest.fixture
def come(serving: Serving, token: str) -> Iterator[Come]:
    """A client that comes from an address."""
    opened: list[Client] = []

    def client(address: str) -> Client:
        opened.append(Client(serving, token, address))
        return opened[-1]

    yield client
    for one in opened:
        one.close()


def _refused(answers: dict[str, str]) -> set[str]:
    return {way for way, text in answers.items() if "is not allowed to access" in text}


@pytest.mark.parametrize(
    "level", ["ALTER USER ann SET NETWORK_POLICY = here", "ALTER ACCOUNT SET NETWORK_POLICY = here"]
)
def test_every_way_in_asks(serving: Serving, come: Come, level: str) -> None:
    here, elsewhere = come(HERE), come(ELSEWHERE)
    assert _refused(here.ways()) == _refused(elsewhere.ways()) == set()
    serving.admin().execute(level)
    answers = elsewhere.ways()
    assert _refused(answers) == set(answers), answers
    assert REFUSED in answers["protocol"]
    assert _refused(here.ways()) == set()


def test_what_was_given_out_is_worth_nothing_elsewhere(serving: Serving, come: Come) -> None:
    here, elsewhere = come(HERE), come(ELSEWHERE)
    session = here.protocol()["data"]["token"]
    own = here.http.post("/api/v1/sessions", json={"user": "ann", "password": PASSWORD}).json()["token"]
    serving.admin().execute("ALTER USER ann SET NETWORK_POLICY = here")
    asked: dict[str, Any] = {
        "params": {"requestId": "1"}, "json": {"sqlText": "SELECT 1"},
        "headers": {"authorization": f'Snowflake Token="{session}"'},
    }  # fmt: skip
    assert elsewhere.http.post("/queries/v1/query-request", **asked).json()["code"] == REFUSED
    assert here.http.post("/queries/v1/query-request", **asked).json()["success"]
    with_own: dict[str, Any] = {"json": {"sql": "SELECT 1"}, "headers": {"authorization": f"Bearer {own}"}}
    assert "is not allowed" in elsewhere.http.post("/api/v1/statements", **with_own).text
    assert "is not allowed" not in here.http.post("/api/v1/statements", **with_own).text


def test_a_policy_ends_what_was_opened_before_it(serving: Serving, come: Come) -> None:
    elsewhere = come(ELSEWHERE)
    session = elsewhere.protocol()["data"]["token"]
    serving.admin().execute("ALTER ACCOUNT SET NETWORK_POLICY = here")
    headers = {"authorization": f'Snowflake Token="{session}"'}
    answer = elsewhere.http.post("/queries/v1/query-request", json={"sqlText": "SELECT 1"}, headers=headers).json()
    assert answer["code"] == REFUSED
    serving.admin().execute("ALTER NETWORK POLICY here UNSET BLOCKED_IP_LIST")
    answer = elsewhere.http.post("/queries/v1/query-request", json={"sqlText": "SELECT 1"}, headers=headers).json()
    assert answer["success"], answer


def test_nobody_locks_themselves_out(serving: Serving, come: Come) -> None:
    serving.admin().execute("GRANT ROLE accountadmin TO USER ann")
    here = come(HERE)
    session = here.protocol()["data"]["token"]
    headers = {"authorization": f'Snowflake Token="{session}"'}

    def run(sql: str) -> dict[str, Any]:
        answer: dict[str, Any] = here.http.post(
            "/queries/v1/query-request", json={"sqlText": sql}, headers=headers
        ).json()
        return answer

    assert run("USE ROLE accountadmin")["success"]
    answer = run("ALTER ACCOUNT SET NETWORK_POLICY = elsewhere")
    assert answer["code"] == "001059" and HERE in answer["message"]
    assert run("ALTER ACCOUNT SET NETWORK_POLICY = here")["success"]
    assert run(f"ALTER NETWORK POLICY here SET BLOCKED_IP_LIST = ('{HERE}')")["code"] == "001059"
    assert run("SELECT 1")["success"]
    serving.admin().execute("REVOKE ROLE accountadmin FROM USER ann")


def test_what_can_not_be(serving: Serving) -> None:
    admin = serving.admin()
    for sql, code in {
        "CREATE NETWORK POLICY here": "002002",
        "CREATE NETWORK POLICY wrong ALLOWED_IP_LIST = ('10.0.0.300')": "001008",
        "CREATE NETWORK POLICY wrong ALLOWED_NETWORK_RULE_LIST = ('r')": "000002",
        "ALTER USER ann SET NETWORK_POLICY = missing": "002003",
        "ALTER ACCOUNT SET NETWORK_POLICY = missing": "002003",
        "ALTER SESSION SET NETWORK_POLICY = here": "001423",
        "DROP NETWORK POLICY missing": "002003",
    }.items():
        with pytest.raises(SnowmeltError) as caught:
            admin.execute(sql)
        assert caught.value.code == code, (sql, caught.value)
    admin.execute("ALTER USER ann SET NETWORK_POLICY = here")
    with pytest.raises(SnowmeltError, match="attached to user ANN"):
        admin.execute("DROP NETWORK POLICY here")
    admin.execute("ALTER NETWORK POLICY here RENAME TO renamed")
    assert "RENAMED" in str(admin.execute("DESCRIBE USER ann").rows())
    admin.execute("ALTER NETWORK POLICY renamed RENAME TO here")
    assert admin.execute("DESCRIBE NETWORK POLICY here").rows() == [
        ("ALLOWED_IP_LIST", "127.0.0.0/24"), ("BLOCKED_IP_LIST", ELSEWHERE)
    ]  # fmt: skip
    shown = {row[1]: row[3:5] for row in admin.execute("SHOW NETWORK POLICIES").rows()}
    assert shown == {"HERE": (1, 1), "ELSEWHERE": (2, 0)}


def test_who_does_not_manage_rights_sees_none(serving: Serving) -> None:
    session = serving.account.session(user="ANN", role="ANALYST")
    assert session.execute("SHOW NETWORK POLICIES").rows() == []
    for sql in (
        "DESCRIBE NETWORK POLICY here",
        "ALTER NETWORK POLICY here SET COMMENT = 'x'",
        "DROP NETWORK POLICY here",
    ):
        with pytest.raises(SnowmeltError):
            session.execute(sql)
    session.close()


_ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@given(_ADDRESSES, st.lists(_ADDRESSES, max_size=3), st.lists(_ADDRESSES, max_size=3), st.integers(0, 32))
def test_blocked_counts_more_than_allowed(address: Any, allowed: list[Any], blocked: list[Any], bits: int) -> None:
    ranges = [tuple(f"{one}/{bits}" for one in each) for each in (allowed, blocked)]
    policy = NetworkPolicy(name="P", owner="R", allowed=ranges[0], blocked=ranges[1], created_on=LONG_AGO)

    def within(entries: tuple[str, ...]) -> bool:
        networks = [ip_network(entry, strict=False) for entry in entries]
        return any(ip_address(str(address)) in network for network in networks if network.version == address.version)

    if getattr(address, "ipv4_mapped", None) is None:
        assert admits(policy, str(address)) == (not within(ranges[1]) and (not ranges[0] or within(ranges[0])))


def test_an_address_in_another_spelling_is_the_same() -> None:
    policy = NetworkPolicy(name="P", owner="R", allowed=("10.0.0.1",), created_on=LONG_AGO)
    assert admits(policy, "::ffff:10.0.0.1") and not admits(policy, "::ffff:10.0.0.2")
    assert not admits(policy, "") and not admits(policy, "testclient")
    assert admits(None, "")
