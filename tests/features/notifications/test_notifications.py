"""Messages through real servers of our own: SMTP and a webhook. Rules: dedup, silence, escalation."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MailHandler

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import AlertRuleSettings, NotificationSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.notifications.rules import AlertRules
from snowmelt.features.observing.service import Observing
from snowmelt.observe.alerting import Series, evaluate, silence
from snowmelt.observe.meters import COUNTED_HERE
from snowmelt.observe.notifying import Message, MessageSeverity, send
from snowmelt.runtime.account import Account
from snowmelt.state.observing_model import AlertStanding
from tests.features.observing.asking import rows_of

START = datetime(2024, 5, 1, 12, tzinfo=UTC)


class _Mails(MailHandler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def handle_message(self, message: Any) -> None:
        self.found.append(message)


@pytest.fixture
def mails(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    handler = _Mails()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Controller(handler, hostname="127.0.0.1", port=port)
    server.start()
    monkeypatch.setenv("OPS_MAIL", f"mailto://127.0.0.1:{port}?from=snowmelt@example.com")
    yield handler.found
    server.stop()


@pytest.fixture
def posts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OPS_HOOK", f"json://127.0.0.1:{server.server_address[1]}/hook")
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


RULE = AlertRuleSettings(
    name="late", metric="snowmelt_freshness_status", labels={"kind": "DATA PRODUCT"}, above=1, severity="critical",
    for_seconds=60, repeat_seconds=3600, channels=("hook",), escalate_seconds=1800, escalate_to=("mail",),
)  # fmt: skip
CHANNELS = {
    "hook": NotificationSettings(url_env="OPS_HOOK"),
    "mail": NotificationSettings(url_env="OPS_MAIL", allowed_recipients=("boss@example.com", "ops@example.com")),
    "off": NotificationSettings(url_env="OPS_HOOK", enabled=False),
    "unset": NotificationSettings(url_env="NO_SUCH_VARIABLE"),
}


@pytest.fixture
def notifying(tmp_path: Path, clock: ManualClock) -> Iterator[Account]:
    settings = Settings(notifications=CHANNELS, alert_rules=(RULE,))
    with open_account(tmp_path / "data", settings=settings, clock=clock) as account:
        yield account


def test_send_email(notifying: Account, mails: list[Any]) -> None:
    session = notifying.session()
    call = "CALL SYSTEM$SEND_EMAIL('mail', 'ops@example.com, boss@example.com', 'Late', 'Orders are late.')"
    assert session.execute(call).rows() == [(True,)]
    assert {mail["to"] for mail in mails} == {"ops@example.com", "boss@example.com"}
    assert mails[0]["subject"] == "Late" and "Orders are late." in str(mails[0])
    (sent,) = rows_of(session, "NOTIFICATION_HISTORY")
    assert (sent["INTEGRATION_NAME"], sent["STATUS"], sent["SUBJECT"]) == ("mail", "SUCCESS", "Late")


def test_send_notification_to_a_webhook(notifying: Account, posts: list[dict[str, Any]]) -> None:
    session = notifying.session()
    session.execute(
        """CALL SYSTEM$SEND_SNOWFLAKE_NOTIFICATION('{"text/plain": "Hello"}', '{"HOOK": {"subject": "Greeting"}}')"""
    )
    assert [(post["title"], post["message"]) for post in posts] == [("Greeting", "Hello")]


def test_messages_as_values(notifying: Account, mails: list[Any]) -> None:
    notifying.session().execute(
        """CALL SYSTEM$SEND_SNOWFLAKE_NOTIFICATION(SNOWFLAKE.NOTIFICATION.TEXT_HTML('<b>Hello</b>'),
           SNOWFLAKE.NOTIFICATION.EMAIL_INTEGRATION_CONFIG('mail', 'Greeting', '["ops@example.com"]'))"""
    )
    assert [(mail["to"], mail["subject"]) for mail in mails] == [("ops@example.com", "Greeting")]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("SYSTEM$SEND_EMAIL('mail', 'spy@example.org', 'a', 'b')", "allowed recipients"),
        ("SYSTEM$SEND_EMAIL('hook', 'ops@example.com', 'a', 'b')", "Only channels of e-mail"),
        ("SYSTEM$SEND_EMAIL('off', 'ops@example.com', 'a', 'b')", "disabled"),
        ("SYSTEM$SEND_EMAIL('unset', 'ops@example.com', 'a', 'b')", "NO_SUCH_VARIABLE is not set"),
        ("SYSTEM$SEND_EMAIL('nowhere', 'ops@example.com', 'a', 'b')", "does not exist"),
        ("SYSTEM$SEND_EMAIL('mail', 'ops@example.com', 'a', 'b', 'text/latin')", "mime_type"),
        ("SYSTEM$SEND_SNOWFLAKE_NOTIFICATION('hello', '{}')", "notification"),
    ],
)
def test_messages_that_do_not_leave(
    notifying: Account, mails: list[Any], posts: list[dict[str, Any]], call: str, said: str
) -> None:
    with pytest.raises(SnowmeltError, match=said):
        notifying.session().execute(f"CALL {call}")
    assert not mails and not posts


def test_who_may_not_run_alerts_may_not_send(notifying: Account) -> None:
    stranger = notifying.session(user="ANN", role="PUBLIC")
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        stranger.execute("CALL SYSTEM$SEND_EMAIL('mail', 'ops@example.com', 'a', 'b')")
    assert rows_of(stranger, "NOTIFICATION_HISTORY") == []


def test_a_query_sends_nothing(notifying: Account, mails: list[Any]) -> None:
    with pytest.raises(SnowmeltError, match="Write CALL"):
        notifying.session().execute("SELECT SYSTEM$SEND_EMAIL('mail', 'ops@example.com', 'a', 'b')")
    assert not mails


def test_a_late_product_is_told_once_then_escalated_then_resolved(
    notifying: Account, clock: ManualClock, posts: list[dict[str, Any]], mails: list[Any]
) -> None:
    session = notifying.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("CREATE DATA PRODUCT sales OBJECTS = (orders) FRESHNESS = '10 minutes'")
    session.execute("INSERT INTO orders VALUES (1)")
    notifying.services[Observing].check()
    clock.advance(timedelta(minutes=11))
    notifying.services[Observing].check()
    assert not posts, "it must hold for a minute"
    for _ in range(3):
        clock.advance(timedelta(minutes=2))
        notifying.services[Observing].check()
    assert [post["title"] for post in posts] == ["[critical] late"]
    assert "name=SALES" in posts[0]["message"] and posts[0]["type"] == "failure"
    assert [row["STATE"] for row in rows_of(session, "ALERT_RULE_STATUS")] == ["FIRING"]
    clock.advance(timedelta(minutes=30))
    notifying.services[Observing].check()
    assert [mail["subject"] for mail in mails] == ["[escalated] late"]
    session.execute("INSERT INTO orders VALUES (2)")
    notifying.services[Observing].check()
    assert posts[-1]["title"] == "[resolved] late" and rows_of(session, "ALERT_RULE_STATUS") == []


def test_a_silenced_rule_says_nothing(notifying: Account, clock: ManualClock, posts: list[dict[str, Any]]) -> None:
    session = notifying.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("CREATE DATA PRODUCT sales OBJECTS = (orders) FRESHNESS = '10 minutes'")
    session.execute("INSERT INTO orders VALUES (1)")
    session.execute("CALL SYSTEM$SILENCE_ALERT_RULE('late', 20)")
    clock.advance(timedelta(minutes=11))
    for _ in range(2):
        notifying.services[Observing].check()
        clock.advance(timedelta(minutes=2))
    assert not posts
    clock.advance(timedelta(minutes=10))
    notifying.services[Observing].check()
    assert [post["title"] for post in posts] == ["[critical] late"]
    with pytest.raises(SnowmeltError, match="does not exist"):
        session.execute("CALL SYSTEM$SILENCE_ALERT_RULE('never', 20)")


def test_a_rule_on_a_query(tmp_path: Path, clock: ManualClock, posts: list[dict[str, Any]], mails: list[Any]) -> None:
    """The same as for metrics: told once, escalated, silent when asked, resolved. A query that fails clears nothing."""
    rule = AlertRuleSettings(
        name="broken", sql="SHOW TABLES LIKE 'BROKEN%'", severity="warning", channels=("hook",), every_seconds=60,
        escalate_seconds=600, escalate_to=("mail",), summary="Something is broken",
    )  # fmt: skip
    settings = Settings(notifications=CHANNELS, alert_rules=(rule,))
    with open_account(tmp_path / "data", settings=settings, clock=clock) as account:
        session = account.session()

        def looked(minutes: int) -> list[str]:
            clock.advance(timedelta(minutes=minutes))
            account.services[Observing].check()
            account.services[AlertRules].conditions.wait()
            account.services[Observing].check()
            return [post["title"] for post in posts]

        assert looked(1) == []
        session.execute("CREATE TABLE broken_orders (a INT)")
        assert looked(2) == ["[warning] broken"] and "Something is broken: rows of broken is 1" in posts[0]["message"]
        assert looked(2) == ["[warning] broken"]
        assert looked(10) == ["[warning] broken"] and [mail["subject"] for mail in mails] == ["[escalated] broken"]
        session.execute("CALL SYSTEM$SILENCE_ALERT_RULE('broken', 60)")
        session.execute("DROP TABLE broken_orders")
        assert looked(2)[-1] == "[resolved] broken"
        session.execute("CREATE TABLE broken_again (a INT)")
        assert looked(2)[-1] == "[resolved] broken", "it is silent"
        looked(60)
        assert [mail["subject"] for mail in mails] == ["[escalated] broken", "[resolved] broken", "[escalated] broken"]
        assert looked(1)[-1] == "[escalated] broken", "those who were to hear of it first have not heard yet"


def test_a_rule_on_a_query_that_fails_is_not_over(
    tmp_path: Path, clock: ManualClock, posts: list[dict[str, Any]]
) -> None:
    rule = AlertRuleSettings(name="r", sql="SHOW TABLES IN SCHEMA shop", channels=("hook",), every_seconds=1)
    settings = Settings(notifications=CHANNELS, alert_rules=(rule,))
    with open_account(tmp_path / "data", settings=settings, clock=clock) as account:
        session = account.session()
        session.execute_script("CREATE SCHEMA shop; CREATE TABLE t (a INT)")
        for statement in ("SELECT 1", "DROP SCHEMA shop"):
            session.execute(statement)
            for _ in range(2):
                account.services[Observing].check()
                account.services[AlertRules].conditions.wait()
                clock.advance(timedelta(minutes=1))
        assert [post["title"] for post in posts] == ["[warning] r"]


def test_a_restart_says_nothing_until_the_query_has_a_result(
    tmp_path: Path, clock: ManualClock, posts: list[dict[str, Any]]
) -> None:
    """What fired before goes on firing, unheard, until the query says otherwise; a new rule is unknown."""
    rules = tuple(
        AlertRuleSettings(name=name, sql=f"SHOW TABLES LIKE '{name.upper()}'", channels=("hook",), every_seconds=1)
        for name in ("broken", "mended", "unknown")
    )
    settings = Settings(notifications=CHANNELS, alert_rules=rules[:2])

    def looked(account: Account) -> list[str]:
        account.services[Observing].check()
        clock.advance(timedelta(minutes=1))
        return [post["title"] for post in posts]

    with open_account(tmp_path / "data", settings=settings, clock=clock) as account:
        session = account.session()
        session.execute_script("CREATE TABLE broken (a INT); CREATE TABLE mended (a INT)")
        looked(account)
        account.services[AlertRules].conditions.wait()
        assert looked(account) == ["[warning] broken", "[warning] mended"]
        session.execute("DROP TABLE mended")
        account.services[AlertRules].conditions.wait()
    posts.clear()
    settings = Settings(notifications=CHANNELS, alert_rules=rules)
    with open_account(tmp_path / "data", settings=settings, clock=clock) as account:
        session = account.session()
        states = {row["RULE_NAME"]: row["STATE"] for row in rows_of(session, "ALERT_RULE_STATUS")}
        assert states == dict.fromkeys(("broken", "mended", "unknown"), "UNKNOWN")
        assert looked(account) == [], "no query has a result yet"
        account.services[AlertRules].conditions.wait()
        assert looked(account) == ["[resolved] mended"]
        states = {row["RULE_NAME"]: row["STATE"] for row in rows_of(session, "ALERT_RULE_STATUS")}
        assert states == {"broken": "FIRING"}


def test_a_counter_that_begins_with_the_process_resolves_nothing() -> None:
    rule = AlertRuleSettings(name="failing", metric="snowmelt_queries_total", above=5, channels=("hook",))
    labels = {"type": "SELECT", "status": "FAILED"}
    first = evaluate([rule], [Series("snowmelt_queries_total", labels, 6)], {}, START)
    (told,) = first.tell
    assert told.after is not None
    before = {told.key: told.after}
    restarted = evaluate([rule], [], before, START, COUNTED_HERE)
    assert not restarted.tell and not restarted.gone and "snowmelt_queries_total" in COUNTED_HERE
    again = evaluate([rule], [Series("snowmelt_queries_total", labels, 0)], before, START, COUNTED_HERE)
    assert [item.message.title for item in again.tell] == ["[resolved] failing"]


def test_a_channel_that_is_down_costs_the_others_nothing(
    tmp_path: Path, clock: ManualClock, posts: list[dict[str, Any]], mails: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was reached hears it once; whoever was not, as soon as that works again."""
    rule = AlertRuleSettings(name="r", sql="SHOW TABLES LIKE 'BROKEN'", channels=("hook", "mail"), every_seconds=1)
    settings = Settings(notifications=CHANNELS, alert_rules=(rule,))
    working = os.environ["OPS_MAIL"]
    with open_account(tmp_path / "data", settings=settings, clock=clock) as account:

        def looked(address: str) -> tuple[list[str], list[str]]:
            monkeypatch.setenv("OPS_MAIL", address)
            posts.clear()
            mails.clear()
            for _ in range(3):
                clock.advance(timedelta(minutes=1))
                account.services[Observing].check()
                account.services[AlertRules].conditions.wait()
            return [post["title"] for post in posts], [mail["subject"] for mail in mails]

        down = "mailto://127.0.0.1:1?from=snowmelt@example.com"
        account.session().execute("CREATE TABLE broken (a INT)")
        assert looked(down) == (["[warning] r"], [])
        assert looked(down) == ([], [])
        assert looked(working) == ([], ["[warning] r"])
        assert looked(working) == ([], [])
        account.session().execute("DROP TABLE broken")
        assert looked(down) == (["[resolved] r"], [])
        account.session().execute("CREATE TABLE broken (a INT)")
        assert looked(working) == (["[warning] r"], ["[resolved] r", "[warning] r"])


# -- the rule itself --------------------------------------------------------------------------------------------------


def _after(before: dict[str, AlertStanding], value: float, minutes: int) -> tuple[dict[str, AlertStanding], list[str]]:
    """The standings and the titles of what is said, when everything that is said arrives."""
    series = [Series(RULE.source, {"kind": "DATA PRODUCT", "name": "P"}, value)]
    verdict = evaluate([RULE], series, before, START + timedelta(minutes=minutes))
    after = {**{key: item for key, item in before.items() if key == item.rule}, **verdict.standings}
    after |= {tell.key: tell.after for tell in verdict.tell if tell.after is not None}
    return after, [tell.message.title for tell in verdict.tell]


def test_dedup_repeats_after_its_time() -> None:
    known: dict[str, AlertStanding] = {}
    said: dict[int, list[str]] = {}
    for minutes in (0, 1, 5, 20, 32, 59, 95):
        known, titles = _after(known, 2, minutes)
        said[minutes] = titles
    assert said == {0: [], 1: ["[critical] late"], 5: [], 20: [], 32: ["[escalated] late"], 59: [],
                    95: ["[critical] late"]}  # fmt: skip
    assert _after(known, 0, 96)[1] == ["[resolved] late"]


def test_what_was_never_told_is_not_resolved() -> None:
    known, _ = _after({}, 2, 0)
    assert _after(known, 0, 1) == ({}, [])


def test_silence_ends_by_itself() -> None:
    wish = silence("late", START + timedelta(minutes=10), START)
    known = {wish.key: wish}
    known, _ = _after(known, 2, 0)
    known, titles = _after(known, 2, 5)
    assert titles == []
    assert _after(known, 2, 11)[1] == ["[critical] late"]


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ops", "hooks.slack.com"),
        ("workflows://prod-1.westeurope.logic.azure.com:443/0123456789abcdef/signature", "logic.azure.com"),
        ("pagerduty://0123456789abcdef0123@0123456789abcdef0123456789abcdef", "pagerduty.com"),
        ("json://hooks.example.com/alerts", "hooks.example.com"),
    ],
    ids=["slack", "teams", "pagerduty", "webhook"],
)  # fmt: skip
def test_every_kind_of_channel_sends_to_its_own_place(address: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need an account elsewhere: what would leave, and for where."""
    sent: list[tuple[str, str]] = []

    def post(_: Any, method: str, url: str, **options: Any) -> requests.Response:
        body = options.get("data") or json.dumps(options.get("json"))
        sent.append((url, body if isinstance(body, str) else body.decode()))
        answer = requests.Response()
        answer.status_code, answer._content = 202 if "pagerduty" in url else 200, b"ok"
        return answer

    monkeypatch.setattr(requests.Session, "request", post)
    assert send(address, Message("Late", "Orders are late", MessageSeverity.CRITICAL)) is None
    ((url, body),) = sent
    assert host in url and "Orders are late" in body
