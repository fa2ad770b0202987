"""How the columns of a source differ from those that are known: new, missing, renamed, or of another type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import types as kinds
from sqlalchemy.types import TypeEngine

from snowmelt.extract_load.kinds import FLOATS, NUMBERS, fits, number_size, type_head, type_of

Difference = Literal["new", "missing", "renamed", "retyped"]
_FLEXIBLE = ("VARCHAR", "TEXT", "STRING", "CHAR", "VARIANT")
"""Types that hold anything."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str = "VARCHAR"
    """As SQL writes it here."""
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One difference."""

    column: str
    difference: Difference
    expected: str = ""
    """The type that is known; for a renamed column its known name."""
    found: str = ""
    """The type of the source; for a renamed column its name there."""
    count: int = 1
    """Records in which it was seen."""

    def __str__(self) -> str:
        match self.difference:
            case "new":
                return f"column {self.column} is new ({self.found})"
            case "missing":
                return f"column {self.column} is missing"
            case "renamed":
                return f"column {self.expected} is called {self.found} now, it seems"
        return f"column {self.column} holds {self.found} instead of {self.expected}"


class SeenColumns:
    """What the records of a run had, held against the columns that are known."""

    def __init__(self, fields: Iterable[Field]) -> None:
        self._fields = {field.name.lower(): field for field in fields}
        self._records = 0
        self._seen: set[str] = set()
        self._new: dict[str, tuple[Any, int]] = {}
        self._retyped: dict[str, ColumnChange] = {}

    @property
    def any(self) -> bool:
        return self._records > 0

    def records(self, names: Iterable[str], count: int = 1) -> None:
        """So many records had these names."""
        self._records += count
        self._seen.update(name.lower() for name in names)

    def new(self, name: str, sample: Any, count: int = 1) -> None:
        before, seen = self._new.get(name, (None, 0))
        self._new[name] = (sample if before is None else before, seen + count)

    def retyped(self, field: Field, found: str) -> None:
        known = self._retyped.get(field.name, ColumnChange(field.name, "retyped", field.type, found, 0))
        self._retyped[field.name] = replace(known, count=known.count + 1)

    def changes(self) -> list[ColumnChange]:
        """A field that some records leave out is no change; one that all of them do is."""
        gone = [field for name, field in self._fields.items() if self._records and name not in self._seen]
        new = [ColumnChange(name, "new", "", type_of(value), count) for name, (value, count) in self._new.items()]
        missing = [ColumnChange(field.name, "missing", field.type, "", self._records) for field in gone]
        if len(gone) == 1 and len(new) == 1 and _could_be(self._new[new[0].column][0], gone[0].type):
            renamed = ColumnChange(gone[0].name, "renamed", gone[0].name, new[0].column, new[0].count)
            return [renamed, *self._retyped.values()]
        return [*new, *missing, *self._retyped.values()]


def _could_be(value: Any, sql_type: str) -> bool:
    return value is not None and fits(value, sql_type)


# -- what a database says of its table --------------------------------------------------------------------------------


def compare_columns(known: Sequence[Field], found: Sequence[tuple[str, TypeEngine[Any]]]) -> list[ColumnChange]:
    """Before any row is read: the columns that a database's catalog has."""
    there = {name.lower(): (name, kind) for name, kind in found}
    expected = {field.name.lower(): field for field in known}
    gone = [field for name, field in expected.items() if name not in there]
    new = [item for name, item in there.items() if name not in expected]
    retyped = [
        ColumnChange(field.name, "retyped", field.type, _shown(there[name][1]))
        for name, field in expected.items()
        if name in there and not _holds(field.type, there[name][1])
    ]
    if len(gone) == 1 and len(new) == 1 and _holds(gone[0].type, new[0][1]):
        return [ColumnChange(gone[0].name, "renamed", gone[0].name, new[0][0]), *retyped]
    added = [ColumnChange(name, "new", "", _shown(kind)) for name, kind in new]
    return [*added, *(ColumnChange(field.name, "missing", field.type) for field in gone), *retyped]


def _shown(kind: TypeEngine[Any]) -> str:
    return str(kind).lower()


def _holds(sql_type: str, kind: TypeEngine[Any]) -> bool:
    """Whether values of the source's type surely fit the known one; yes where nobody can say."""
    head = type_head(sql_type)
    if head in _FLEXIBLE:
        return True
    if head in NUMBERS or head in FLOATS:
        return isinstance(kind, kinds.Integer | kinds.Numeric) and _is_wide_enough(sql_type, kind)
    wanted = _KINDS.get(head)
    return wanted is None or isinstance(kind, wanted)


def _is_wide_enough(sql_type: str, kind: TypeEngine[Any]) -> bool:
    size = number_size(sql_type)
    if size is None or not isinstance(kind, kinds.Numeric) or kind.precision is None or not kind.asdecimal:
        return True
    scale = kind.scale or 0
    return scale <= size[1] and kind.precision - scale <= size[0] - size[1]


_KINDS: dict[str, Any] = {
    "BOOLEAN": kinds.Boolean, "DATE": kinds.Date, "TIME": kinds.Time, "BINARY": kinds.LargeBinary,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ", "DATETIME"), (kinds.DateTime, kinds.Date)
    ),
}  # fmt: skip
