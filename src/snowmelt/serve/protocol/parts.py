"""Parts of large results, on disk until they are fetched or the session ends."""

from __future__ import annotations

import base64
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from snowmelt.runtime.results import Result
from snowmelt.runtime.wire.json_rows import chunk_text, json_rows
from snowmelt.runtime.wire.rowtypes import in_named_units, may_be_arrow, row_type
from snowmelt.serve.protocol.addresses import AddressHolder
from snowmelt.serve.protocol.arrow_rows import ArrowLayout

_FIRST = 256 * 1024
"""Bytes of rows that travel with the answer."""
_PART = 4 * 1024 * 1024
_GOOD_SECONDS = 6 * 3600.0
"""How long an address is good for, as Snowflake's are."""
_MOST_ROWS = 200_000
"""Rows of a part, whatever their size."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a client wants its rows, and where it reaches this server."""

    arrow: bool
    base_url: str
    owner: str
    """The session whose end removes what lies on disk."""
    named_units: bool = False
    """Whether the client knows times only in seconds, milli-, micro- and nanoseconds: ADBC takes a TIME(4) for
    milliseconds, and gives another time."""


class ResultParts:
    """Writes parts, and finds them by the secret in their address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        self._by_owner: dict[str, list[str]] = {}
        self._holders: dict[str, tuple[AddressHolder, float]] = {}
        """By secret, who it was given to, and until when it is good."""
        self._lock = threading.Lock()

    def rendered(self, result: Result, delivery: Delivery, roles: frozenset[str]) -> dict[str, Any]:
        """The rows as the answer holds them: some in it, the others by address, for who has the roles."""
        arrow = delivery.arrow and may_be_arrow(result.statement_type)
        if arrow and delivery.named_units:
            result = replace(result, columns=in_named_units(result.columns))
        body: dict[str, Any] = {
            "rowtype": [row_type(column) for column in result.columns],
            "queryResultFormat": "arrow" if arrow else "json",
            "total": result.row_count,
            "returned": result.row_count,
        }
        pieces = pieces_of(result)
        first = next(pieces)
        layout = ArrowLayout.of(result) if arrow else None
        if layout is not None:
            stream = layout.stream(first) if result.row_count else b""
            body["rowsetBase64"] = base64.b64encode(stream).decode("ascii")
        else:
            body["rowset"] = json_rows(result.columns, first, result.json_indent)
        if first.num_rows < result.row_count:
            body |= {"chunks": self._write(result, pieces, delivery, roles, layout), "chunkHeaders": {}, "qrmk": ""}
        return body

    def _write(
        self, result: Result, pieces: Iterator[pa.Table], delivery: Delivery, roles: frozenset[str],
        layout: ArrowLayout | None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        secret, keep = self.folder_for(AddressHolder(delivery.owner, roles))
        chunks = []
        for number, piece in enumerate(pieces):
            if layout is not None:
                content = layout.stream(piece)
            else:
                content = chunk_text(json_rows(result.columns, piece, result.json_indent))
            keep(number, content)
            chunks.append(
                {
                    "url": f"{delivery.base_url}/results/{secret}/{number}",
                    "rowCount": piece.num_rows,
                    "uncompressedSize": len(content),
                    "compressedSize": len(content),
                }
            )
        return chunks

    def folder_for(self, holder: AddressHolder) -> tuple[str, Callable[[int, bytes], object]]:
        """A secret, and what keeps parts that are found by it, for as long as the holder's session goes on."""
        secret = secrets.token_urlsafe(24)
        folder = self._folder / secret
        folder.mkdir(parents=True)
        with self._lock:
            self._by_owner.setdefault(holder.session_id, []).append(secret)
            self._holders[secret] = holder, time.monotonic() + _GOOD_SECONDS
        return secret, lambda number, content: (folder / str(number)).write_bytes(content)

    def holder_of(self, secret: str) -> AddressHolder | None:
        """Who an address was given to, while it is good."""
        with self._lock:
            holder, until = self._holders.get(secret, (None, 0.0))
        return holder if until > time.monotonic() else None

    def find(self, secret: str, number: str) -> Path | None:
        if self.holder_of(secret) is None or not number.isascii() or not number.isdigit() or len(number) > 9:
            return None
        path = self._folder / secret / str(int(number))
        return path if path.is_file() else None

    def remove(self, owner: str) -> None:
        with self._lock:
            secrets_of = self._by_owner.pop(owner, [])
            for secret in secrets_of:
                self._holders.pop(secret, None)
        for folder in (owner, *secrets_of):
            shutil.rmtree(self._folder / folder, ignore_errors=True)


def pieces_of(result: Result) -> Iterator[pa.Table]:
    """The rows in slices: first what fits into the answer, then parts of even size. Always at least one."""
    if not result.row_count:
        yield result.data
        return
    width = max(1, result.bytes // result.row_count)
    size = min(max(1, _PART // width), _MOST_ROWS)
    first = min(max(1, _FIRST // width), _MOST_ROWS)
    yield from result.slices(result.row_count if result.bytes <= _FIRST else first, size)
