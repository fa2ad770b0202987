"""Tokens that stand for personal values: the same value has the same token, and without the key nobody finds it out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

PREFIX, _DIGITS = "tok_", 32
LENGTH = len(PREFIX) + _DIGITS
FUNCTION = "snowmelt_pii_token"
"""What it is called in Spark, which is given the function and never the key: a plan shows this name."""


def tokeniser(key: str) -> Callable[[str | None], str | None]:
    """Hashes twice with the key in front, as HMAC does: who can choose values learns nothing about the key.

    The function needs nothing but Python's own modules, since Spark takes it to processes that may have no others.
    """
    prefix, digits = PREFIX, _DIGITS

    def token(value: str | None) -> str | None:
        if value is None:
            return None
        inner = hashlib.sha256((key + value).encode()).hexdigest()
        return prefix + hashlib.sha256((key + inner).encode()).hexdigest()[:digits]

    return token
