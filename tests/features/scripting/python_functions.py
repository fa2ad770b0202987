"""What tests of functions in Python share."""

from __future__ import annotations

import json
from typing import Any

from snowmelt.core.types import parse_type
from snowmelt.core.user_code import UserCode, user_code

TYPES = [
    ("INT", "7", "int 7"),
    ("NUMBER(38,0)", "12345678901234567890123456789012345678", "int 12345678901234567890123456789012345678"),
    ("NUMBER(5,2)", "1.5", "Decimal 1.50"),
    ("FLOAT", "0.1", "float 0.1"),
    ("VARCHAR", "'ä ''x'''", "str ä 'x'"),
    ("BOOLEAN", "FALSE", "bool False"),
    ("DATE", "'2024-02-29'", "date 2024-02-29"),
    ("TIME", "'10:11:12'", "time 10:11:12"),
    ("TIMESTAMP_NTZ", "'2024-02-29 10:11:12.5'", "datetime 2024-02-29 10:11:12.500000"),
    ("INT", "NULL", "NoneType None"),
]
"""A type, a value of it in SQL, and what it is in Python."""


def python_code(body: str, *, returns: str = "INT", seconds: float = 10.0) -> UserCode:
    """A scalar function `f` of one integer."""
    argument, result = parse_type("INT"), parse_type(returns)
    assert argument is not None
    assert result is not None
    return user_code(
        body=body, handler="f", shape="scalar", arguments=[("X", argument)], returns=[result], immutable=True,
        strict=False, zone="UTC", seconds=seconds,
    )  # fmt: skip


def described(code: UserCode) -> dict[str, Any]:
    found = json.loads(code.spec)
    assert isinstance(found, dict)
    return found
