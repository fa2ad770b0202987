"""A sender of webhooks, and a receiver in a process of its own that ends by SIGKILL at the nth step of a commit."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

import httpx

import snowmelt
from snowmelt.extract_load import Chain, Field, FollowSchema, Transformer
from snowmelt.extract_load.endpoints import endpoint_of
from snowmelt.extract_load.receiving.receiver import ReceivedFlow, receiving
from snowmelt.ingest.channels.channel import Channel
from tests.extract_load.child import STEPS, Killer

SECRET = "it is hush-hush"
FIELDS = [Field("id", "NUMBER(38,0)", nullable=False), Field("name"), Field("amount", "NUMBER(12,2)")]


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"}


def post(address: str, document: Any, **headers: str) -> httpx.Response:
    """Signed, unless there are headers."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return httpx.post(address, content=body, headers=headers or signed(body), timeout=60)


def flow(address: str, options: Mapping[str, Any] | None = None, **connection: str) -> ReceivedFlow:
    entry = {"kind": "webhook", "address": address, "secret": "${HOOK}", **connection}
    endpoint = endpoint_of("shop", entry, {"HOOK": SECRET, "OLD": "the one before"})
    return ReceivedFlow(
        "orders", "shop", endpoint, "orders", "raw", transformer, options=options or {"event_id": "id"}
    )  # fmt: skip


def transformer() -> Transformer:
    return Chain(FollowSchema(FIELDS))


def main(folder: str, address: str, at: int) -> None:
    killer = Killer(at)
    for name in STEPS[Channel]:
        setattr(Channel, name, killer.around(getattr(Channel, name)))
    connection = snowmelt.connect(Path(folder) / "data")
    with receiving(connection, [flow(address)], "letters", "run"):
        Event().wait()
