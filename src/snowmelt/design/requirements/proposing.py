"""The right word next to a wrong one, for fields and for values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel

_NEAR = 0.6
_QUOTED = re.compile(r"'([^']+)'")
_SAME = {
    "postgresql": "postgres", "mariadb": "mysql", "rest": "api", "http": "api", "folder": "files",
    "realtime": "STREAMING", "stream": "STREAMING", "daily": "BATCH", "obt": "one_big_table", "scd2": "scd_type_2",
    "scd1": "scd_type_1", "scd3": "scd_type_3", "encrypt": "hash", "anonymize": "hash", "remove": "drop",
}  # fmt: skip
"""What people call some values, by what they are called here."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of the known words that was probably meant."""
    words = {item.lower(): item for item in known}
    same = _SAME.get(word.lower())
    if same is not None and same.lower() in words:
        return words[same.lower()]
    found = difflib.get_close_matches(word.lower(), words, n=1, cutoff=_NEAR)
    return words[found[0]] if found else None


def proposal(problem: Any, model: type[BaseModel]) -> str | None:
    """The nearest known field or value for a problem that pydantic found, if there is one."""
    if problem["type"] == "extra_forbidden":
        return nearest(str(problem["loc"][-1]), _fields(model, problem["loc"][:-1]))
    if problem["type"] in ("enum", "literal_error") and isinstance(problem["input"], str):
        return nearest(problem["input"], _QUOTED.findall(problem["ctx"]["expected"]))
    return None


def _fields(model: type[BaseModel], path: Sequence[object]) -> list[str]:
    """The names of the fields that the part of the file at the path may have."""
    for part in path:
        field = model.model_fields.get(str(part))
        inside = next(models_in(field.annotation), None) if field is not None else None
        model = inside or model
    return list(model.model_fields)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)
