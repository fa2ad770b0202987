"""The types of a contract's columns, as sets of types that a table may use for them.

A column says a physical type, which is one of Snowflake's with its size, or a logical type alone, which several of
Snowflake's types satisfy. All comparisons are inclusions of these sets: a type that is contained in another promises
more to readers, and asks more of whoever writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snowmelt.core import types
from snowmelt.core.types import DataType, Kind, parse_type

_KINDS: dict[str, frozenset[Kind]] = {
    "string": frozenset({Kind.VARCHAR}),
    "integer": frozenset({Kind.NUMBER}),
    "number": frozenset({Kind.NUMBER, Kind.FLOAT}),
    "boolean": frozenset({Kind.BOOLEAN}),
    "date": frozenset({Kind.DATE}),
    "time": frozenset({Kind.TIME}),
    "timestamp": types.TIMESTAMPS,
    "object": frozenset({Kind.OBJECT, Kind.VARIANT}),
    "array": frozenset({Kind.ARRAY, Kind.VARIANT}),
}
_LOGICAL = {
    Kind.FLOAT: "number", Kind.VARCHAR: "string", Kind.BOOLEAN: "boolean", Kind.DATE: "date",
    Kind.TIME: "time", Kind.TIMESTAMP_NTZ: "timestamp", Kind.TIMESTAMP_LTZ: "timestamp", Kind.TIMESTAMP_TZ: "timestamp",
    Kind.OBJECT: "object", Kind.ARRAY: "array",
}  # fmt: skip
_WIDEST = {
    "string": types.VARCHAR, "integer": types.number(), "number": types.FLOAT, "boolean": types.BOOLEAN,
    "date": types.DATE, "time": types.TIME, "timestamp": types.TIMESTAMP_NTZ, "object": types.OBJECT,
    "array": types.ARRAY,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """At least one of both is there."""

    logical: str | None
    physical: DataType | None = None

    def admits(self, actual: DataType) -> bool:
        """Whether every value of a table's column fits what is declared."""
        if self.physical is not None:
            return _contains(self.physical, actual)
        assert self.logical is not None
        whole = self.logical != "integer" or actual.scale == 0
        return actual.kind in _KINDS[self.logical] and whole

    def within(self, other: DeclaredType) -> bool:
        """Whether every type that satisfies this one satisfies the other too."""
        if self.physical is not None:
            return other.admits(self.physical)
        assert self.logical is not None
        if other.physical is not None:
            # The kinds without a size are one type each, however they are declared.
            return self.concrete in _SIZELESS and _KINDS[self.logical] == {other.physical.kind}
        assert other.logical is not None
        whole = other.logical != "integer" or self.logical == "integer"
        return _KINDS[self.logical] <= _KINDS[other.logical] and whole

    @property
    def concrete(self) -> DataType:
        """The type of a column that is made for it."""
        if self.physical is not None:
            return self.physical
        assert self.logical is not None
        return _WIDEST[self.logical]

    def __str__(self) -> str:
        return str(self.physical) if self.physical is not None else str(self.logical)


_SIZELESS = (types.BOOLEAN, types.DATE)


def _contains(declared: DataType, actual: DataType) -> bool:
    if declared.kind is not actual.kind or (declared.scale or 0) != (actual.scale or 0):
        return False
    return (actual.precision or 0) <= (declared.precision or 0) and (actual.length or 0) <= (declared.length or 0)


def declared_type(logical: str | None, physical: str | None, options: Mapping[str, Any]) -> DeclaredType | None:
    """What a document says; None when that is no type at all."""
    parsed = parse_type(physical) if physical is not None else None
    if parsed is None and logical is None:
        return None
    longest = options.get("maxLength")
    if parsed is None and logical == "string" and isinstance(longest, int) and 1 <= longest <= types.MAX_VARCHAR:
        parsed = types.varchar(longest)
    return DeclaredType(logical, parsed)


def logical_of(type_: DataType) -> str | None:
    """The standard's word for a type; it has none for VARIANT and BINARY."""
    if type_.kind is Kind.NUMBER:
        return "integer" if type_.scale == 0 else "number"
    return _LOGICAL.get(type_.kind)
