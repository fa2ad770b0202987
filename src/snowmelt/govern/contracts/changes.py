"""What two versions of a contract differ in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from snowmelt.govern.contracts.model import Contract, DescribedTable, Property


class ChangeKind(StrEnum):
    TABLE_ADDED = "table added"
    TABLE_REMOVED = "table removed"
    COLUMN_ADDED = "column added"
    REQUIRED_COLUMN_ADDED = "required column added"
    COLUMN_REMOVED = "column removed"
    COLUMN_RENAMED = "column renamed"
    TYPE_WIDENED = "type widened"
    TYPE_NARROWED = "type narrowed"
    TYPE_CHANGED = "type changed"
    MADE_REQUIRED = "made required"
    MADE_OPTIONAL = "made optional"
    MADE_UNIQUE = "made unique"
    NO_LONGER_UNIQUE = "no longer unique"
    KEY_ADDED = "primary key added"
    KEY_REMOVED = "primary key removed"
    KEY_CHANGED = "primary key changed"
    LIMIT_TIGHTENED = "limit tightened"
    LIMIT_LOOSENED = "limit loosened"
    LIMIT_CHANGED = "limit changed"
    VALUES_ADDED = "values added"
    VALUES_REMOVED = "values removed"
    REORDERED = "columns reordered"
    ORDER_PROMISED = "order of columns promised"
    ORDER_NOT_PROMISED = "order of columns no longer promised"
    OPENED = "undeclared columns allowed"
    CLOSED = "undeclared columns no longer allowed"
    SERVICE_LEVEL_CHANGED = "service level changed"
    DOCUMENTATION_CHANGED = "documentation changed"


@dataclass(frozen=True, slots=True)
class ContractChange:
    kind: ChangeKind
    table: str | None = None
    column: str | None = None
    old: str | None = None
    new: str | None = None

    def __str__(self) -> str:
        where = f" {self.table}" if self.table is not None else ""
        where += f".{self.column}" if self.column is not None else ""
        if self.old is not None and self.new is not None:
            return f"{self.kind}:{where} from {self.old} to {self.new}"
        said = self.new if self.new is not None else self.old
        return f"{self.kind}:{where}" + (f" ({said})" if said is not None else "")


def changes(old: Contract, new: Contract) -> tuple[ContractChange, ...]:
    """Everything that leads from the one to the other, tables and columns in the order of the documents."""
    return tuple(_contracts(old, new))


def _contracts(old: Contract, new: Contract) -> Iterator[ContractChange]:
    after = {table.name: table for table in new.tables}
    before = {table.name: table for table in old.tables}
    for name, table in before.items():
        if name not in after:
            yield ContractChange(ChangeKind.TABLE_REMOVED, name)
        else:
            yield from _tables(table, after[name], ordered=old.ordered or new.ordered)
    for name in after:
        if name not in before:
            yield ContractChange(ChangeKind.TABLE_ADDED, name)
    if old.ordered != new.ordered:
        yield ContractChange(ChangeKind.ORDER_PROMISED if new.ordered else ChangeKind.ORDER_NOT_PROMISED)
    if old.open != new.open:
        yield ContractChange(ChangeKind.OPENED if new.open else ChangeKind.CLOSED)
    yield from _head(old, new)


def _head(old: Contract, new: Contract) -> Iterator[ContractChange]:
    levels = [[item.model_dump(exclude_none=True) for item in c.document.slaProperties or ()] for c in (old, new)]
    if levels[0] != levels[1]:
        yield ContractChange(ChangeKind.SERVICE_LEVEL_CHANGED)
    about = [c.document.model_dump(exclude={"schema_", "version", "slaProperties"}) for c in (old, new)]
    if about[0] != about[1]:
        yield ContractChange(ChangeKind.DOCUMENTATION_CHANGED)


def _tables(old: DescribedTable, new: DescribedTable, *, ordered: bool) -> Iterator[ContractChange]:
    renamed = _renamed(old.columns, new.columns)
    yield from _properties(new.name, old.columns, new.columns, renamed)
    yield from _keys(old, new, renamed)
    stays = [renamed.get(column.name, column.name) for column in old.columns]
    stays = [name for name in stays if new.find(name) is not None]
    # A column behind all others moves none of them.
    if ordered and [column.name for column in new.columns][: len(stays)] != stays:
        yield ContractChange(ChangeKind.REORDERED, new.name, new=", ".join(column.name for column in new.columns))
    if (old.description, old.tags) != (new.description, new.tags):
        yield ContractChange(ChangeKind.DOCUMENTATION_CHANGED, new.name)


def _renamed(old: Sequence[Property], new: Sequence[Property]) -> dict[str, str]:
    """Old names to new ones, of columns that have the same id under another name."""
    names = {column.name for column in old}, {column.name for column in new}
    by_id = {column.id: column.name for column in new if column.id is not None and column.name not in names[0]}
    gone = [(column.name, by_id.get(column.id)) for column in old if column.name not in names[1] and column.id]
    return {name: renamed for name, renamed in gone if renamed is not None}


def _properties(
    table: str, old: Sequence[Property], new: Sequence[Property], renamed: dict[str, str], inside: str = ""
) -> Iterator[ContractChange]:
    after = {column.name: column for column in new}
    for column in old:
        name = renamed.get(column.name, column.name)
        if name not in after:
            yield ContractChange(ChangeKind.COLUMN_REMOVED, table, inside + column.name)
            continue
        if name != column.name:
            yield ContractChange(ChangeKind.COLUMN_RENAMED, table, inside + column.name, column.name, name)
        yield from _property(table, column, after[name], inside)
    before = {renamed.get(column.name, column.name) for column in old}
    for column in new:
        if column.name not in before:
            kind = ChangeKind.REQUIRED_COLUMN_ADDED if column.required else ChangeKind.COLUMN_ADDED
            yield ContractChange(kind, table, inside + column.name, new=str(column.type))


def _property(table: str, old: Property, new: Property, inside: str) -> Iterator[ContractChange]:
    name = inside + new.name

    def change(kind: ChangeKind, was: object = None, becomes: object = None) -> ContractChange:
        return ContractChange(
            kind, table, name, None if was is None else str(was), None if becomes is None else str(becomes)
        )

    type_kind = _type_kind(old, new)
    if type_kind is not None:
        yield change(type_kind, old.type, new.type)
    if old.required != new.required:
        yield change(ChangeKind.MADE_REQUIRED if new.required else ChangeKind.MADE_OPTIONAL)
    if old.unique != new.unique:
        yield change(ChangeKind.MADE_UNIQUE if new.unique else ChangeKind.NO_LONGER_UNIQUE)
    for limit in sorted({*old.limit, *new.limit}):
        was, becomes = old.limit.get(limit), new.limit.get(limit)
        if was != becomes:
            yield change(_limit_kind(limit, was, becomes), f"{limit} {was}", f"{limit} {becomes}")
    yield from _values(old, new, change)
    about = [(item.description, item.classification, item.tags, item.documentation) for item in (old, new)]
    if about[0] != about[1]:
        yield change(ChangeKind.DOCUMENTATION_CHANGED)
    yield from _properties(table, old.children, new.children, _renamed(old.children, new.children), f"{name}.")
    if old.element is not None and new.element is not None:
        yield from _property(table, old.element, new.element, f"{name}[]")


def _type_kind(old: Property, new: Property) -> ChangeKind | None:
    narrower, wider = new.type.within(old.type), old.type.within(new.type)
    if narrower and wider:
        return None
    if narrower:
        return ChangeKind.TYPE_NARROWED
    return ChangeKind.TYPE_WIDENED if wider else ChangeKind.TYPE_CHANGED


_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")


def _limit_kind(limit: str, old: Any, new: Any) -> ChangeKind:
    if old is None:
        return ChangeKind.LIMIT_TIGHTENED
    if new is None:
        return ChangeKind.LIMIT_LOOSENED
    if limit not in _UPPER + _LOWER or type(old) is not type(new):
        return ChangeKind.LIMIT_CHANGED
    return ChangeKind.LIMIT_LOOSENED if (new > old) == (limit in _UPPER) else ChangeKind.LIMIT_TIGHTENED


def _values(old: Property, new: Property, change: Any) -> Iterator[ContractChange]:
    if old.values is None and new.values is None:
        return
    if old.values is None or new.values is None:
        yield change(ChangeKind.VALUES_REMOVED if old.values is None else ChangeKind.VALUES_ADDED)
        return
    more = [value for value in new.values if value not in old.values]
    fewer = [value for value in old.values if value not in new.values]
    if more:
        yield change(ChangeKind.VALUES_ADDED, None, ", ".join(map(str, more)))
    if fewer:
        yield change(ChangeKind.VALUES_REMOVED, ", ".join(map(str, fewer)))


def _keys(old: DescribedTable, new: DescribedTable, renamed: dict[str, str]) -> Iterator[ContractChange]:
    was, becomes = tuple(renamed.get(name, name) for name in old.key), new.key
    if was == becomes:
        return
    kind = ChangeKind.KEY_CHANGED if was and becomes else ChangeKind.KEY_ADDED if becomes else ChangeKind.KEY_REMOVED
    yield ContractChange(kind, new.name, old=", ".join(was) or None, new=", ".join(becomes) or None)
