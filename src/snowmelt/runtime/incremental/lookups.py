"""Rows of a source by key, found in its files without an engine.

A refresh meets a few rows of large tables. Reading the key columns and then only what matches takes a fraction of what
a Spark job takes that reads everything, and what it gives is small enough for plans over small inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import conjuncts
from snowmelt.ivm.rendering import Lookup
from snowmelt.runtime.rewriting.narrowing import simple_conditions
from snowmelt.runtime.staged_rows import needs_file
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.grouping import grouped
from snowmelt.storage.probe import Among, Condition, search_files
from snowmelt.storage.snapshot import DataFile
from snowmelt.storage.table import DeltaStore

_MOST_BYTES = 4 * 1024 * 1024 * 1024
_MOST_KEYS = 500_000
_MOST_ROWS = 1_000_000
_SMALL_ROWS = 20_000
_SMALL_BYTES = 4 * 1024 * 1024
_SEARCHED = {Kind.NUMBER, Kind.VARCHAR, Kind.DATE, Kind.BOOLEAN, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_LTZ, Kind.BINARY}


KnownConditions = dict[int, list[Condition]]
"""What storage can test of the conditions of a plan's look-ups, by their identity: whoever keeps it keeps the plan."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Files in which rows can be found by key."""

    files: tuple[DataFile, ...]
    schema: pa.Schema
    location: str

    def whole(self, names: Sequence[str]) -> pa.Table | None:
        """All rows, if they are few."""
        if sum(file.size for file in self.files) > _SMALL_BYTES:
            return None
        found = search_files(self.files, self.schema, [], names, _SMALL_ROWS)
        return found.select(list(names)) if found is not None else None


@dataclass(frozen=True, slots=True)
class LookupSide:
    """One version of a source that a plan reads."""

    table: CatalogObject
    version: int
    plain: bool
    """Its files have the columns that the table has today."""
    names: tuple[str, ...]
    """The columns that the plan reads."""

    def searched(self, store: DeltaStore, keys: Sequence[str] = ()) -> Searched | None:
        definition = self.table.definition
        assert isinstance(definition, TableDefinition)
        columns = {column.name: column for column in definition.columns}
        if not self.plain or not store.root.is_readable(definition.location):
            return None
        if any(needs_file(columns[name]) or columns[name].type.is_semi_structured for name in self.names):
            return None
        if any(columns[name].type.kind not in _SEARCHED for name in keys):
            return None
        files = store.files(definition.location, self.version)
        if not files.plain or files.total_bytes > _MOST_BYTES:
            return None
        return Searched(files.files, files.metadata.arrow_schema, definition.location)


class Lookups:
    """`sides` and `states` by what plans call them. `known` are conditions of the same plan, from refreshes before."""

    def __init__(
        self, store: DeltaStore, sides: Mapping[str, LookupSide], states: Mapping[str, Searched],
        known: KnownConditions | None = None,
    ) -> None:  # fmt: skip
        self._known = {} if known is None else known
        self._store = store
        self._sides = sides
        self._states = states

    def find(self, lookup: Lookup, keys: pa.Table) -> pa.Table | None:
        """The rows that the lookup asks for, under the ids of its columns; None when that is not for us to do."""
        searched = self._searched(lookup)
        wanted = _distinct(keys, lookup, searched.schema) if searched is not None else None
        if searched is None or wanted is None or wanted.num_rows > _MOST_KEYS:
            return None
        conditions: list[Condition] = [Among.of(name, wanted.column(name)) for name in wanted.column_names]
        if id(lookup) not in self._known:
            self._known[id(lookup)] = self._simple(lookup)
        conditions += self._known[id(lookup)]
        names = list(dict.fromkeys([*(name for _, name in lookup.columns), *wanted.column_names]))
        found = search_files(searched.files, searched.schema, conditions, names, _MOST_ROWS)
        if found is None:
            return None
        if wanted.num_columns > 1:
            found = _exactly(found, wanted)
        return pa.table({id_: found.column(name) for id_, name in lookup.columns})

    def whole(self, source: str) -> pa.Table | None:
        """All rows of a source, if they are few enough to be given with each query that reads them."""
        state, side = self._states.get(source), self._sides.get(source)
        if state is not None:
            return state.whole(state.schema.names)
        searched = side.searched(self._store) if side is not None else None
        return searched.whole(side.names) if side is not None and searched is not None else None

    def _simple(self, lookup: Lookup) -> list[Condition]:
        side = self._sides.get(lookup.source)
        if side is None or not lookup.conditions:
            return []
        assert isinstance(side.table.definition, TableDefinition)
        types = {column.name: column.type for column in side.table.definition.columns}
        trees = [one for condition in lookup.conditions for one in conjuncts(condition)]
        return simple_conditions(trees, dict(lookup.columns), types)

    def _searched(self, lookup: Lookup) -> Searched | None:
        state = self._states.get(lookup.source)
        if state is not None:
            return state if all(_comparable(state.schema.field(name).type) for name, _ in lookup.pairs) else None
        side = self._sides.get(lookup.source)
        return side.searched(self._store, [name for name, _ in lookup.pairs]) if side is not None else None


def _comparable(type_: pa.DataType) -> bool:
    return not pa.types.is_nested(type_) and not pa.types.is_floating(type_)


def _distinct(keys: pa.Table, lookup: Lookup, schema: pa.Schema) -> pa.Table | None:
    """The keys under the names and in the types of the table's columns."""
    try:
        columns = {own: keys.column(theirs).cast(schema.field(own).type) for own, theirs in lookup.pairs}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return grouped(pa.table(columns), list(columns)).aggregate([])


def _exactly(found: pa.Table, wanted: pa.Table) -> pa.Table:
    """Those that have all of a key, not one part of this and another of that."""
    chosen = set(zip(*(wanted.column(name).to_pylist() for name in wanted.column_names), strict=True))
    rows = zip(*(found.column(name).to_pylist() for name in wanted.column_names), strict=True)
    indexes = [index for index, row in enumerate(rows) if row in chosen]
    return found.take(pa.array(indexes, pa.int64()))
