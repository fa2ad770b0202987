"""Python that users wrote, as the binder and the engine name it: by its content."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from snowmelt.core.types import DataType

PREFIX = "snowmelt_python_"
"""Begins the name of such a function in Spark and in the quick lane. A plan shows it, and never the code."""
QUICK_STEADY, QUICK_VOLATILE = "u_steady_python", "u_volatile_python"
"""What the quick lane calls instead, with the name as an argument."""
STEADY, VOLATILE = "i", "v"
"""Follows the prefix: whether equal arguments give equal values."""

Shape = Literal["scalar", "table", "aggregate"]


@dataclass(frozen=True)
class UserCode:
    """One function's code with all that running it needs. Calls take an array of texts and give a text."""

    shape: Shape
    immutable: bool
    spec: str
    """As JSON, for the process that runs it."""

    @cached_property
    def name(self) -> str:
        # Spark takes no volatile function in a lateral join, where it computes one once for each row anyway.
        steady = self.immutable or self.shape == "table"
        return f"{PREFIX}{STEADY if steady else VOLATILE}{hashlib.sha256(self.spec.encode()).hexdigest()[:32]}"

    @property
    def is_steady(self) -> bool:
        """Whether the engine may take equal calls for one."""
        return self.name.startswith(PREFIX + STEADY)


def user_code(
    *, body: str, handler: str, shape: Shape, arguments: Sequence[tuple[str, DataType]],
    returns: Sequence[DataType], immutable: bool, strict: bool, zone: str, seconds: float,
) -> UserCode:  # fmt: skip
    """`zone` is the session's time zone, which TIMESTAMP_LTZ values have in Python."""
    spec = {
        "body": body,
        "handler": handler,
        "shape": shape,
        "arguments": [{"name": name, **described_type(type_)} for name, type_ in arguments],
        "returns": [described_type(type_) for type_ in returns],
        "strict": strict,
        "zone": zone,
        "seconds": seconds,
    }
    return UserCode(shape, immutable, json.dumps(spec, sort_keys=True))


def described_type(type_: DataType) -> dict[str, Any]:
    """A type, as the process that runs code reads it."""
    return {"kind": str(type_.kind), "precision": type_.precision or 38, "scale": type_.scale or 0}


class KnownCode:
    """What an engine may be asked to run. Nothing is forgotten: plans that name it are kept as long as the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_name: dict[str, UserCode] = {}

    def know(self, code: UserCode) -> None:
        with self._lock:
            self._by_name.setdefault(code.name, code)

    def __iter__(self) -> Iterator[UserCode]:
        with self._lock:
            return iter(list(self._by_name.values()))

    def __getitem__(self, name: str) -> UserCode:
        with self._lock:
            return self._by_name[name]
