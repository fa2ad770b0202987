"""What clients send: JSON objects, perhaps compressed, within limits."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from snowmelt.core.errors import SnowmeltError

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request, compressed or not."""
_PIECE = 1 << 20
LIMIT = "snowmelt.most_bytes"
"""Where a request says how large its body may be, packed or not, if not MAX_BODY."""
_AT_ONCE = 256 * 1024
"""Bytes that are unpacked and parsed right here; more of them would keep everybody else waiting."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PLAIN = frozenset({"", "identity"})
Body = Mapping[str, Any]


def malformed(detail: str) -> SnowmeltError:
    return SnowmeltError("390189", "08P01", f"The request is malformed: {detail}.")


def too_large(most: int = MAX_BODY) -> SnowmeltError:
    return SnowmeltError(
        "391920", "54000", f"The request is larger than {max(1, most >> 20)} MB.",
        hint="Send rows in smaller batches, or load them with PUT and COPY INTO.",
    )  # fmt: skip


async def read_body(request: Request) -> Body:
    """The JSON object of a request. Raises when there is none; an empty body is an empty object."""
    raw = await read_bytes(request)
    return await run_in_threadpool(parsed, raw) if len(raw) > _AT_ONCE else parsed(raw)


def parsed(raw: bytes) -> Body:
    """The JSON object in the bytes. Raises when they are none, or hold text that no other system could store."""
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise malformed("its body is not JSON") from None
    if not isinstance(body, dict):
        raise malformed("its body is not a JSON object")
    if _SURROGATE.search(raw) is not None:
        _refuse_lone_surrogates(body)
    return body


def _refuse_lone_surrogates(body: Body) -> None:
    """Half of a surrogate pair is no character: it can't be encoded, hashed or stored."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise malformed("its text has half of a surrogate pair") from None
    except RecursionError:
        raise malformed("its body is nested too deeply") from None


async def read_bytes(request: Request) -> bytes:
    """All of a request's body, unpacked. Raises when that is too much."""
    most = int(request.scope.get(LIMIT, MAX_BODY))
    raw = await _limited(request, most)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in _PLAIN and encoding != "gzip":
        raise malformed(f"its encoding is '{encoding[:40]}', and only gzip is understood")
    if encoding == "gzip" or raw[:2] == b"\x1f\x8b":
        raw = await run_in_threadpool(_unpacked, raw, most)
    return raw


async def _limited(request: Request, most: int) -> bytes:
    pieces = bytearray()
    try:
        async for piece in request.stream():
            pieces += piece
            if len(pieces) > most:
                raise too_large(most)
    except ClientDisconnect:
        raise malformed("it was not sent completely") from None
    return bytes(pieces)


def _unpacked(raw: bytes, most: int) -> bytes:
    """Never more than the limit in memory, whatever the compressed bytes say."""
    unpacking = zlib.decompressobj(wbits=31)
    found = bytearray()
    try:
        while raw and not unpacking.eof:
            found += unpacking.decompress(raw, _PIECE)
            raw = unpacking.unconsumed_tail
            if len(found) > most:
                raise too_large(most)
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
