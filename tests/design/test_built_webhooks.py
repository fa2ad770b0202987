"""A built project that listens: killed while events come, and in the end it has each that its sender sent, once."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.design.building import PROJECTS, Streamed, built, queried, streaming
from tests.support.ports import free_port
from tests.support.postgres import empty_schema
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
SECRET = "only-two-know-it"


class Sender:
    """Sends each event until it is answered with 2xx, as those who send webhooks do; and some of them once more."""

    def __init__(self, address: str) -> None:
        self.address = f"http://{address}/payments"
        self.sent: dict[int, dict[str, Any]] = {}
        self.answered = 0
        self.tries = 0

    def send(self, event: dict[str, Any]) -> None:
        body = json.dumps(event).encode()
        wait_until(lambda: self._try(body), "it is answered")
        self.answered += 1

    def pay(self, number: int, **more: Any) -> None:
        day = 1 + number % 5
        event = {
            "event": f"evt_{number}", "payment": number, "email": f"p{number}@example.org", "amount": f"{number}.50",
            "created_at": f"2024-01-0{day}T00:00:00", **more,
        }  # fmt: skip
        self.sent[number] = event
        self.send(event)
        if number % 10 == 0:
            self.send(event)

    def _try(self, body: bytes) -> bool:
        self.tries += 1
        stamp = str(int(time.time()))
        signature = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {"Payment-Signature": f"t={stamp},v1={signature}"}
        try:
            return httpx.post(self.address, content=body, headers=headers, timeout=60).is_success
        except httpx.HTTPError:
            return False


def test_events_arrive_once_whatever_is_killed(tmp_path: Path, postgres_url: str) -> None:
    """Killed between events; then a late one, a new column, one that is bad, and repeats of what was answered."""
    url, listen = empty_schema(postgres_url), f"127.0.0.1:{free_port()}"
    project = built(PROJECTS["webhook_postgres"], tmp_path)
    variables = {"PSP_LISTEN": listen, "PSP_SECRET": SECRET, "MART_URL": url, "SNOWMELT_TOKEN_KEY": "k" * 40}
    sender = Sender(listen)
    with ThreadPoolExecutor(1) as pool:
        with streaming(project, **variables) as stream:
            _listens(stream)
            sending = pool.submit(lambda: [sender.pay(number) for number in range(1, 301)])
            wait_until(lambda: sender.answered >= 100, "a third is answered")
            stream.end(signal.SIGKILL)
        assert not sending.done() and sender.answered < 300, "it must be in the middle"
        with streaming(project, **variables) as stream:
            _listens(stream)
            sending.result()
            sender.pay(301, created_at="2023-12-31T00:00:00")
            sender.pay(302, note="new")
            sender.send({"event": "evt_bad", "amount": 1})
            sender.pay(7)
            unsigned = httpx.post(sender.address, content=b"{}", timeout=60)
            assert unsigned.status_code == 401
            wait_until(lambda: _published(url) == 302, lambda: stream.told()[-4000:])
    rows = "SELECT payment, amount, TO_VARCHAR(created_at, 'YYYY-MM-DD') FROM stg_payments ORDER BY payment"
    found = queried(
        project, rows, "SELECT COUNT(*), COUNT(DISTINCT record:event::VARCHAR) FROM raw_payments",
        "SELECT COUNT(*) FROM raw_payments WHERE TO_JSON(record) LIKE '%@%'", "SELECT COUNT(*) FROM dead_letters",
        "SELECT column_name, difference FROM schema_changes WHERE ended_at IS NULL", **variables,
    )  # fmt: skip
    expected = [
        f"{number},{event['amount']},{event['created_at'][:10]}" for number, event in sorted(sender.sent.items())
    ]
    assert found == [*expected, "302,302", "0", "1", "note,new"]
    with psycopg.connect(url) as sink:
        days = sink.execute("SELECT day::TEXT, payments, amount::TEXT FROM daily ORDER BY day").fetchall()
    assert [row[0] for row in days] == sorted({event["created_at"][:10] for event in sender.sent.values()})
    assert sum(row[1] for row in days) == 302 and sum(float(row[2]) for row in days) == sum(
        float(event["amount"]) for event in sender.sent.values()
    )
    _assert_no_secret(project)


def _published(url: str) -> int:
    with psycopg.connect(url) as sink:
        if sink.execute("SELECT to_regclass('daily')").fetchone() == (None,):
            return 0
        found = sink.execute("SELECT COALESCE(SUM(payments), 0) FROM daily").fetchone()
    assert found is not None
    return int(found[0])


def _listens(stream: Streamed) -> None:
    stream.wait(lambda events: any(event["event"] == "receives" for event in events))


def _assert_no_secret(project: Path) -> None:
    for folder, _, names in os.walk(project):
        for name in names:
            assert SECRET.encode() not in (Path(folder) / name).read_bytes(), name
