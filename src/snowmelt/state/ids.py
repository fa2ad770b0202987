"""Identifiers of everything the state store keeps."""

from __future__ import annotations

from uuid import uuid4


def new_id() -> str:
    """A fresh identifier: 20 hexadecimal digits, safe in a file name and in a Delta commit tag.

    Fewer would do for objects, but transactions are many: 76 random bits keep even billions of them apart.
    """
    return uuid4().hex[:20]
