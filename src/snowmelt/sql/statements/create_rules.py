"""How a kind of object is created, as the entry of the parser has to know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from snowmelt.sql.statements.base import ObjectType, Statement
from snowmelt.sql.statements.cursor import TokenCursor


@dataclass(frozen=True, slots=True)
class CreateHead:
    """`CREATE [OR REPLACE | OR ALTER] [modifiers] KIND`, already read."""

    kind: ObjectType
    or_replace: bool = False
    or_alter: bool = False
    modifiers: frozenset[str] = frozenset()

    @property
    def temporary(self) -> bool:
        return not self.modifiers.isdisjoint({"TEMP", "TEMPORARY", "VOLATILE"})

    @property
    def transient(self) -> bool:
        return "TRANSIENT" in self.modifiers

    @property
    def secure(self) -> bool:
        return "SECURE" in self.modifiers


@dataclass(frozen=True, slots=True)
class CreateRule:
    """How a kind of object is created: its parser, and the words that may stand before the kind."""

    parse: Callable[[TokenCursor, CreateHead], Statement]
    modifiers: frozenset[str] = frozenset()
    or_alter: bool = False
