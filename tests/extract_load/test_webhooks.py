"""Webhooks: what is answered with 2xx is here, once; what is not signed, or too large, is not taken."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snowmelt
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import DEAD_LETTERS_DDL, RAW_DDL, FollowSchema, SchemaPolicy
from snowmelt.extract_load.endpoints import endpoint_of
from snowmelt.extract_load.noting import SETTLED_LETTERS_DDL
from snowmelt.extract_load.receiving.receiver import receiving
from snowmelt.extract_load.receiving.signing import SenderSecret
from tests.extract_load import hooks
from tests.extract_load.hooks import FIELDS, SECRET, flow, post, signed
from tests.extract_load.loading import records, rows
from tests.support.ports import free_port
from tests.support.waiting import DEADLINE, wait_until

ANYWHERE = "127.0.0.1:0"


def order(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": number, "name": f"n{number}", "amount": "1.50", **changes}


@pytest.fixture
def account(connection: snowmelt.Connection) -> snowmelt.Connection:
    connection.execute(f"CREATE TABLE settled_letters {SETTLED_LETTERS_DDL}")
    return connection


def ids(tmp_path: Path) -> list[int]:
    return sorted(record["id"] for record in records(tmp_path / "data"))


def test_an_event_is_landed_once_however_often_it_comes(account: snowmelt.Connection, tmp_path: Path) -> None:
    with receiving(account, [flow(ANYWHERE)], "letters", "run") as receiver:
        at = f"{receiver.addresses[0]}/orders"
        answer = post(at, order(1))
        assert (answer.status_code, answer.json()) == (200, {"received": 1, "new": 1})
        assert ids(tmp_path) == [1], "before the answer"
        assert post(at, order(1)).json() == {"received": 1, "new": 0}
        assert post(at, [order(2), order(1), order(2)]).json() == {"received": 3, "new": 1}
        result = receiver.result("orders")
        assert (result.rows, result.rejected) == (2, 0)
        with ThreadPoolExecutor(8) as senders:
            answers = list(senders.map(lambda number: post(at, order(3 + number % 20)), range(60)))
        assert {answer.status_code for answer in answers} == {200}
        assert sum(answer.json()["new"] for answer in answers) == 20
        assert receiver.result("orders").batches < 20, "what waits is one commit"
    with receiving(account, [flow(ANYWHERE)], "letters", "run") as receiver:
        assert post(f"{receiver.addresses[0]}/orders", [order(1), order(22)]).json()["new"] == 0, "also after a start"
    assert ids(tmp_path) == list(range(1, 23))


def test_what_cannot_be_read_is_a_dead_letter_and_answered(account: snowmelt.Connection, tmp_path: Path) -> None:
    """A repeat would not mend it. New columns are told; personal data is not in an id."""
    bad = [b"\xff no JSON", b"[1]", json.dumps({"id": None, "name": "x"}).encode()]
    for _ in range(2):
        with receiving(account, [flow(ANYWHERE)], "letters", "run") as receiver:
            at = f"{receiver.addresses[0]}/orders"
            assert [post(at, body).status_code for body in bad] == [200] * 3
            assert post(at, order(5, note="new")).status_code == 200
            found = receiver.result("orders")
            changes = [str(change) for change in found.column_changes]
            assert changes in (["column note is new (VARCHAR)"], [])
    letters = rows(tmp_path / "data", "letters")
    assert len(letters) == 3 and len({letter["SOURCE_POSITION"] for letter in letters}) == 3
    assert {letter["FLOW"] for letter in letters} == {"orders"}
    hidden = replace(flow(ANYWHERE), protected=("id",))
    (first, again) = (hidden.events({}, b'{"id": 7}')[0].id for _ in range(2))
    assert first == again and first not in ("7", hashlib.sha256(b"7").hexdigest()), "by a key"
    by_header = flow(ANYWHERE, {"id_header": "X-Delivery"})
    assert [item.id for item in by_header.events({"x-delivery": "d1"}, b'[{"a": 1}, {"a": 1}]')] == ["d1#0", "d1#1"]


def test_strangers_and_too_large_bodies_are_refused(account: snowmelt.Connection, tmp_path: Path) -> None:
    body = json.dumps(order(1)).encode()
    with receiving(account, [flow(ANYWHERE, max_bytes="200")], "letters", "run") as receiver:
        at = f"{receiver.addresses[0]}/orders"
        strangers = [{"X-Other": "1"}, signed(body, "wrong"), signed(body + b" "), {"X-Hub-Signature-256": "sha256=zz"}]
        assert [post(at, body, **headers).status_code for headers in strangers] == [401] * 4
        large = json.dumps(order(1, name="n" * 300)).encode()
        assert post(at, large).status_code == 413
        chunked = httpx.post(at, content=iter([large[:100], large[100:]]), headers=signed(large))
        assert chunked.status_code == 413
        assert post(f"{receiver.addresses[0]}/others", body).status_code == 404
        assert httpx.get(at).status_code == 405
        assert httpx.get(f"{receiver.addresses[0]}/-/health").json() == {"receives": True}
        assert SECRET not in repr(SenderSecret((SECRET.encode(),)))
    assert ids(tmp_path) == []
    unsigned = endpoint_of("shop", {"kind": "webhook", "address": ANYWHERE})
    with pytest.raises(SnowmeltError, match="has no secret"):
        SenderSecret.of(unsigned, "shop")


def test_a_receiver_that_cannot_commit_says_so(account: snowmelt.Connection, tmp_path: Path) -> None:
    """The sender comes again; one event that can't be landed keeps no other out."""
    frozen = replace(flow(ANYWHERE), transformer=lambda: FollowSchema(FIELDS, SchemaPolicy.FREEZE))
    with receiving(account, [frozen], "letters", "run") as receiver:
        at = f"{receiver.addresses[0]}/orders"
        sent = [order(number, **({"note": "new"} if number % 3 == 0 else {})) for number in range(1, 10)]
        with ThreadPoolExecutor(9) as senders:
            answers = list(senders.map(lambda document: post(at, document), sent))
        assert [answer.status_code for answer in answers] == [200, 200, 503] * 3
        assert answers[2].headers["Retry-After"] and "note" not in answers[2].text
        assert [str(change) for change in receiver.result("orders").column_changes] == ["column note is new (VARCHAR)"]
    assert ids(tmp_path) == [1, 2, 4, 5, 7, 8]


STRIPED = SenderSecret((b"new", b"old"), header="signature", signed="timestamp.body", tolerance=60)


@given(st.binary(max_size=40), st.integers(-200, 200), st.sampled_from([b"new", b"old", b"stolen"]), st.booleans())
def test_a_signature_holds_for_its_body_its_time_and_its_secrets(
    body: bytes, age: int, secret: bytes, changed: bool
) -> None:
    now = 1_700_000_000
    stamp = str(now - age)
    digest = hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256)
    sent = body + b"!" if changed else body
    right = secret != b"stolen" and abs(age) <= 60 and not changed
    assert STRIPED.proves({"signature": f"t={stamp},v1={digest.hexdigest()}"}, sent, now) is right
    plain = SenderSecret((b"new", b"old"), encoding="base64")
    text = base64.b64encode(hmac.new(secret, body, hashlib.sha256).digest()).decode()
    assert plain.proves({"x-hub-signature-256": text}, sent, now) is (secret != b"stolen" and not changed)
    token = SenderSecret((b"new", b"old"), auth="token")
    assert token.proves({"authorization": f"Bearer {secret.decode()}"}, sent, now) is (secret != b"stolen")


@pytest.mark.slow
def test_killed_between_receipt_and_answer(tmp_path: Path) -> None:
    """SIGKILL before and behind every step of a commit: each event is there once, and whatever was answered is."""
    with snowmelt.connect(tmp_path / "data") as connection:
        connection.execute(f"CREATE TABLE raw {RAW_DDL}")
        connection.execute(f"CREATE TABLE letters {DEAD_LETTERS_DDL}")
        connection.execute(f"CREATE TABLE settled_letters {SETTLED_LETTERS_DDL}")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.extract_load.hooks"])
    answered: list[int | None] = []
    step, survived = 0, False
    while not survived:
        step += 1
        address = f"127.0.0.1:{free_port()}"
        process = context.Process(target=hooks.main, args=(str(tmp_path), address, step))
        process.start()
        _until_it_listens(address)
        # The event that was not answered before comes again first, as its sender would have it.
        sent = [order(step - 1)] if step > 1 else []
        survived = _answered([*sent, order(step), {"id": None, "name": f"bad {step}"}], address, answered)
        process.kill()
        process.join(DEADLINE)
        assert process.exitcode == -signal.SIGKILL
    assert step > 12, "every step of three commits"
    found = [record["id"] for record in records(tmp_path / "data")]
    assert len(found) == len(set(found)) and set(found) >= {item for item in answered if item is not None}
    letters = [row["SOURCE_POSITION"] for row in rows(tmp_path / "data", "letters")]
    assert len(letters) == len(set(letters)) and letters


def _answered(sent: list[dict[str, Any]], address: str, answered: list[int | None]) -> bool:
    """Whether all of them were, and the receiver is there still."""
    for document in sent:
        try:
            answer = post(f"http://{address}/orders", document)
        except httpx.HTTPError:
            return False
        assert answer.status_code == 200
        answered.append(document["id"])
    return True


def _until_it_listens(address: str) -> None:
    def listens() -> bool:
        try:
            return httpx.get(f"http://{address}/-/health", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    wait_until(listens, "it listens")
