"""What clients send: JSON objects, perhaps compressed, within limits."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

from snowmelt.core.errors import SnowmeltError

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request, compressed or not."""
_PIECE = 1 << 20
Body = Mapping[str, Any]


def malformed(detail: str) -> SnowmeltError:
    return SnowmeltError("390189", "08P01", f"The request is malformed: {detail}.")


def too_large() -> SnowmeltError:
    return SnowmeltError(
        "391920", "54000", f"The request is larger than {MAX_BODY >> 20} MB.",
        hint="Send rows in smaller batches, or load them with PUT and COPY INTO.",
    )  # fmt: skip


async def read_body(request: Request) -> Body:
    """The JSON object of a request. Raises when there is none; an empty body is an empty object."""
    raw = await read_bytes(request)
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise malformed("its body is not JSON") from None
    if not isinstance(body, dict):
        raise malformed("its body is not a JSON object")
    return body


async def read_bytes(request: Request) -> bytes:
    """All of a request's body, unpacked. Raises when that is too much."""
    raw = await _limited(request)
    if request.headers.get("content-encoding", "").lower() == "gzip" or raw[:2] == b"\x1f\x8b":
        raw = _unpacked(raw)
    return raw


async def _limited(request: Request) -> bytes:
    pieces = bytearray()
    try:
        async for piece in request.stream():
            pieces += piece
            if len(pieces) > MAX_BODY:
                raise too_large()
    except ClientDisconnect:
        raise malformed("it was not sent completely") from None
    return bytes(pieces)


def _unpacked(raw: bytes) -> bytes:
    """Never more than the limit in memory, whatever the compressed bytes say."""
    unpacking = zlib.decompressobj(wbits=31)
    found = bytearray()
    try:
        while raw and not unpacking.eof:
            found += unpacking.decompress(raw, _PIECE)
            raw = unpacking.unconsumed_tail
            if len(found) > MAX_BODY:
                raise too_large()
    except zlib.error:
        raise malformed("its body is not valid gzip") from None
    if not unpacking.eof:
        raise malformed("its compressed body ends too early")
    return bytes(found)


def text(body: Body, key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) and value else None


def part(body: Body, key: str) -> Body:
    """An object inside the body; an empty one when it is not there or something else."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}
