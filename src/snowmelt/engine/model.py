"""What work for Spark is made of. Nothing here needs Spark itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from snowmelt.core.types import DataType
from snowmelt.state.model import Column

_FEW_FILES = 1_000
_FEW_ROWS = 50_000
_FEW_LOOKUPS = 2_000_000
"""How many times a row's file may be looked up among the files."""


class Lane(StrEnum):
    """Which of Spark's settings fit the work."""

    LIGHT = "light"
    """Small inputs: no adaptive execution, one shuffle partition, no code generation."""
    HEAVY = "heavy"
    TINY = "tiny"
    """Nothing but a few rows that are given with the query: all of it is one task, and nothing is compiled."""
    CHANGES = "changes"
    """A few rows joined to whole tables, as in incremental refreshes."""
    NARROW = "narrow"
    """Chosen by the engine itself for what may take very long: it leaves slots of Spark's to others."""


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """Where a column is found in files that were written when the table had another shape."""

    name: str | None
    """As it was called then; None when it was not there."""
    type: DataType
    """As it was then."""
    fill: str = "NULL"
    """Spark SQL for what rows of that time have in a column that was not there."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """One version of a table, as the files that hold it."""

    reference: str
    """The name of its temporary view; it names the version too, so that a view never changes."""
    columns: tuple[Column, ...]
    files: tuple[str, ...]
    bytes: int
    """The size of all files together. Which lane a query takes, and what engines are found to need, goes by it."""
    delta_path: str | None = None
    """Set when only Delta's own reader will do (column mapping, type widening); then `version` counts."""
    version: int = 0
    positions: bool = False
    """Adds `__file` and `__row`, which tell rows apart: the file's name, and the place in it where Spark knows that."""
    origins: bool = False
    """With `positions`: those where a row was born, in files that carry them. See `storage.origins`."""
    ddl: str | None = None
    """The columns as Spark writes them, for files of ours that are no table's."""
    sources: tuple[ColumnSource, ...] | None = None
    """One for each column when the files have another shape than the table has now."""
    in_order: bool = False
    """Whether rows should come in the order of the files, where Spark's plan allows it. For few rows only."""


def are_few(files: int, rows: int | None) -> bool:
    """Whether reading the rows of files in their order takes next to no time."""
    return 1 < files <= _FEW_FILES and rows is not None and rows <= _FEW_ROWS and files * rows <= _FEW_LOOKUPS


@dataclass(frozen=True, slots=True)
class FrameColumn:
    name: str
    """As the function's DataFrame has it."""
    type: DataType
    nested: bool = False
    """A struct, a map or an array of Spark's, which becomes a VARIANT by way of JSON."""


@dataclass(frozen=True, slots=True)
class FrameView:
    """What a function returned, as a view in `global_temp`."""

    name: str
    columns: tuple[FrameColumn, ...]
