"""Notes on bound trees: what a node's value is, for whoever takes the tree apart again.

Spark needs none of it. Incremental maintenance does: it must know which columns can't be compared, which values move
with the clock, and which differ each time they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from sqlglot import exp

from snowmelt.core.types import DataType

_NOTE = "snowmelt"


@dataclass(frozen=True, slots=True)
class Note:
    type: DataType | None = None
    volatile: str | None = None
    """The function that gives another value each time."""
    clock: Callable[[datetime], exp.Expr] | None = None
    """What the node is at another instant."""
    sorts: bool = False
    """Of a call that lists rows: the list is sorted behind it, so the order in which rows come counts for nothing."""
    position: tuple[int, int] | None = None
    """Line and position in the user's statement; noted for what may stand in the way of an incremental refresh."""

    def __deepcopy__(self, memo: object) -> Note:
        return self


_NOTHING = Note()


def note_of(node: exp.Expr) -> Note:
    meta = node._meta
    return meta.get(_NOTE, _NOTHING) if meta else _NOTHING


def typed(node: exp.Expr, type_: DataType) -> exp.Expr:
    """The node with its type noted. Copies share their notes, so a new one is put in place."""
    return _noted(node, replace(note_of(node), type=type_))


def sorted_list(node: exp.Expr) -> exp.Expr:
    return _noted(node, replace(note_of(node), sorts=True))


def volatile(node: exp.Expr, name: str) -> exp.Expr:
    return _noted(node, replace(note_of(node), volatile=name))


def clocked(node: exp.Expr, at: Callable[[datetime], exp.Expr]) -> exp.Expr:
    return _noted(node, replace(note_of(node), clock=at))


def note_position(node: exp.Expr, line: int, position: int) -> exp.Expr:
    return _noted(node, replace(note_of(node), position=(line, position)))


def _noted(node: exp.Expr, note: Note) -> exp.Expr:
    node._meta = {**(node._meta or {}), _NOTE: note}
    return node
