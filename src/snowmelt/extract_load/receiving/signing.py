"""Whether a request comes from the sender that knows the secret."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from snowmelt.core import errors
from snowmelt.extract_load.endpoints import Endpoint

Signed = Literal["body", "timestamp.body"]
_HEADER = "x-hub-signature-256"
"""Where senders put a signature, unless it is said."""


@dataclass(frozen=True, slots=True)
class SenderSecret:
    """What a sender proves itself with. Shown, it has no secret."""

    secrets: tuple[bytes, ...]
    """The present one, and the one before it for as long as the sender may still use it."""
    auth: str = "hmac"
    """`hmac`: a signature of the body (SHA-256); `token`: the secret itself, as Authorization: Bearer."""
    header: str = _HEADER
    encoding: str = "hex"
    signed: Signed = "body"
    """With `timestamp.body` an old request can't be sent once more by somebody who has read it."""
    timestamp_header: str | None = None
    """Where the time of the signature is; None for `t=…,v1=…` in the header of the signature."""
    tolerance: float = 300

    def __repr__(self) -> str:
        return f"SenderSecret(auth={self.auth!r}, header={self.header!r})"

    @classmethod
    def of(cls, endpoint: Endpoint, name: str) -> SenderSecret:
        """From the options of a connection. Raises where the secret is missing or empty."""
        given = [endpoint.option("secret"), endpoint.option("previous_secret")]
        if not given[0]:
            raise errors.configuration(
                f"Connection {name} has no secret: a receiver takes signed requests only.",
                hint=f"Write secret: ${{{name.upper()}_SECRET}}, and set that variable to what the sender signs with.",
            )
        return cls(
            tuple(secret.encode() for secret in given if secret), endpoint.option("auth") or "hmac",
            (endpoint.option("signature_header") or _HEADER).lower(), endpoint.option("encoding") or "hex",
            "timestamp.body" if endpoint.option("signed") == "timestamp.body" else "body",
            (endpoint.option("timestamp_header") or "").lower() or None, float(endpoint.option("tolerance") or 300),
        )  # fmt: skip

    def proves(self, headers: Mapping[str, str], body: bytes, now: float) -> bool:
        """`headers` by their names in lower case. Takes as long for a wrong secret as for the right one."""
        if self.auth == "token":
            given = headers.get("authorization", "")
            return any(hmac.compare_digest(b"Bearer " + secret, given.encode()) for secret in self.secrets)
        parts = _parts(headers.get(self.header, ""))
        message = body
        if self.signed == "timestamp.body":
            stamp = headers.get(self.timestamp_header, "") if self.timestamp_header else parts.get("t", "")
            if not _is_near(stamp, now, self.tolerance):
                return False
            message = stamp.encode() + b"." + body
        text = parts.get("v1") or parts.get("sha256") or parts.get("", "")
        signature = self._decoded(text)
        expected = [hmac.digest(secret, message, hashlib.sha256) for secret in self.secrets]
        return any(hmac.compare_digest(item, signature) for item in expected)

    def _decoded(self, text: str) -> bytes:
        try:
            return bytes.fromhex(text) if self.encoding == "hex" else base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            return b""


def _parts(text: str) -> dict[str, str]:
    """`sha256=…`, `t=…,v1=…`, or the signature alone, which has no name. Base64 may end with `=` itself."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, mark, value = part.strip().partition("=")
        if mark and name in ("sha256", "t", "v1"):
            found[name] = value
        else:
            found[""] = part.strip()
    return found


def _is_near(stamp: str, now: float, tolerance: float) -> bool:
    return stamp.isascii() and stamp.isdigit() and len(stamp) < 12 and abs(now - int(stamp)) <= tolerance
