"""The addresses in a statement: what leads out of the account.

An option that holds one is annotated with an `Outside` behind its reader, and so is a URL in place of a stage.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, cast, get_type_hints

from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.options import Outside


@dataclass(frozen=True, slots=True)
class OutsideAddress:
    option: str
    kind: Outside
    value: Any


def addresses(statement: Statement) -> Iterator[OutsideAddress]:
    """All of them, however deep they stand in the statement."""
    yield from _inside(statement)


def _inside(item: Any) -> Iterator[OutsideAddress]:
    if isinstance(item, tuple):
        for each in item:
            yield from _inside(each)
    elif is_dataclass(item) and not isinstance(item, type):
        marked = marks(type(item))
        for each in fields(item):
            value = getattr(item, each.name)
            if value is not None and each.name in marked:
                yield OutsideAddress(each.name.upper(), marked[each.name], value)
            else:
                yield from _inside(value)


def marks(model: type[Any]) -> dict[str, Outside]:
    """Which fields of a class hold addresses."""
    return _marks(cast("Hashable", model))


@cache
def _marks(model: Any) -> dict[str, Outside]:
    found: dict[str, Outside] = {}
    if not any("Annotated" in str(each.type) for each in fields(model)):
        return found
    for name, hint in get_type_hints(model, include_extras=True).items():
        marked = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Outside)]
        if marked:
            found[name] = marked[0]
    return found
