"""Identifiers of everything the state store keeps."""

from __future__ import annotations

import os
import random
import time
from uuid import UUID, uuid4

_VERSION, _VARIANT = 7 << 76, 2 << 62
_KEPT = ~((0xF << 76) | (0x3 << 62))
_chance = random.Random()
"""For ids that are no secrets: asking the system for random bytes gives Python's lock away, and waits for it again."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_chance.seed)


def new_id() -> str:
    """A fresh identifier: 20 hexadecimal digits, safe in a file name and in a Delta commit tag.

    Fewer would do for objects, but transactions are many: 76 random bits keep even billions of them apart.
    """
    return uuid4().hex[:20]


def new_query_id() -> str:
    """The id of a statement, which begins with the time, as Snowflake's do (a UUID of version 7).

    An index over such ids grows at its end. Ids in no order would each change another page of it, so that a statement
    would cost the more the longer the history is.
    """
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | _chance.getrandbits(80)
    return str(UUID(int=number & _KEPT | _VERSION | _VARIANT))
