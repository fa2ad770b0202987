"""A contract as the rest works with it: what its document says about tables and their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from open_data_contract_standard.model import OpenDataContractStandard

from snowmelt.core.types import DataType
from snowmelt.govern.contracts.types import DeclaredType
from snowmelt.govern.contracts.versions import Version


class Compatibility(StrEnum):
    """Who is protected from a new version of the same major number.

    By inclusion: under BACKWARD all that satisfies the new version satisfies the old one; under FORWARD the other way
    round. Schema registries name the same two from the other end: their FORWARD is BACKWARD here.
    """

    BACKWARD = "BACKWARD"
    """Readers of the version before can read this one."""
    FORWARD = "FORWARD"
    """What was written for the version before satisfies the new one."""
    FULL = "FULL"
    """Both."""
    NONE = "NONE"
    """Nobody."""


@dataclass(frozen=True, slots=True)
class Property:
    """A column, or something inside of one."""

    name: str
    """A column's as the table has it; inside of a column as the document spells it."""
    type: DeclaredType
    required: bool = False
    unique: bool = False
    key_position: int | None = None
    """Its position in the primary key, from 1."""
    limits: tuple[tuple[str, Any], ...] = ()
    """minimum, maxLength, pattern, …, in order of their names."""
    values: tuple[Any, ...] | None = None
    """The only values there are."""
    id: str | None = None
    """What stays when the name changes."""
    description: str | None = None
    classification: str | None = None
    tags: tuple[str, ...] = ()
    documentation: tuple[tuple[str, Any], ...] = ()
    """All the rest that the document says about it."""
    children: tuple[Property, ...] = ()
    element: Property | None = None
    """What an array holds."""

    @property
    def limit(self) -> dict[str, Any]:
        return dict(self.limits)


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table that a contract describes."""

    name: str
    """As the catalog has it."""
    columns: tuple[Property, ...]
    description: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        keyed = [column for column in self.columns if column.key_position is not None]
        return tuple(column.name for column in sorted(keyed, key=lambda column: column.key_position or 0))

    def find(self, name: str) -> Property | None:
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True)
class Contract:
    id: str
    name: str
    version: Version
    status: str
    tables: tuple[DescribedTable, ...]
    text: str
    """The document, as written."""
    document: OpenDataContractStandard
    compatibility: Compatibility | None = None
    """What the document asks for; None when it says nothing."""
    ordered: bool = False
    """Whether the order of columns is promised too."""
    open: bool = False
    """Whether a table may have columns that are not declared."""

    def table(self, name: str) -> DescribedTable | None:
        """What is said about a table: under its name, or what there is when that is only one."""
        found = next((table for table in self.tables if table.name == name), None)
        return found or (self.tables[0] if len(self.tables) == 1 else None)

    def named_columns(self) -> Iterator[tuple[DescribedTable, Property]]:
        for table in self.tables:
            for column in table.columns:
                yield table, column


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column that a table has, or would have."""

    name: str
    type: DataType
    nullable: bool = True
    comment: str | None = None
