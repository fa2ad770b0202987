"""What a query of the lane reads: rows that are given as Arrow, and versions of tables as their files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from snowmelt.engine.model import TableFiles
from snowmelt.engine.quick.scopes import QuickRelation
from snowmelt.engine.quick.types import BIGINT, STRING, VARIANT, NotQuick, SparkType, named, of_arrow
from snowmelt.engine.quick.values import literal
from snowmelt.storage.columns import file_columns, local_path, marked_variants, row_count
from snowmelt.storage.object_caches import OBJECT_CACHES
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW
from snowmelt.storage.rewrite import FILE, ROW

_SCHEME = re.compile(r"[a-z0-9]+:")
_SPECIAL = frozenset("*?[]{}%")
"""Characters that DuckDB reads as patterns, or that are written otherwise in an address."""
_NANOSECONDS, _MICROSECONDS = pa.time64("ns"), pa.time64("us")
_MOST_FILES = 500
_MANY = "VARIANTs of many rows"
_MOST_VARIANTS = 20_000
"""Rows with VARIANTs: what is computed with those takes microseconds each."""
_IN_DDL = re.compile(r"`((?:[^`]|``)*)` ([^`]+?)(?:, (?=`)|\Z)")


_POSITIONS = ["parse_filename(filename)", "file_row_number"]
_ORIGINAL_POSITIONS = [
    f"coalesce(CAST({ORIGIN_FILE} AS VARCHAR), parse_filename(filename))", f"coalesce({ORIGIN_ROW}, file_row_number)",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    type: SparkType
    stored: str | None
    """What it is called in the files; None if it is not there."""


def given_rows(name: str, rows: pa.Table) -> tuple[QuickRelation, pa.Table]:
    """Rows as a relation called `name`, and the table to be known by that name."""
    columns: list[tuple[str, SparkType]] = []
    refused: dict[str, str] = {}
    kept = []
    for index, field in enumerate(rows.schema):
        try:
            type_ = of_arrow(field.type)
            if type_ == VARIANT and rows.num_rows > _MOST_VARIANTS:
                raise NotQuick(_MANY)
            columns.append((field.name, type_))
            kept.append(index)
        except NotQuick as reason:
            refused[field.name] = str(reason)
    for index in kept:
        if rows.schema.field(index).type == _NANOSECONDS:
            # DuckDB has another type for those; nobody here has more than microseconds.
            rows = rows.set_column(index, rows.schema.field(index).name, rows.column(index).cast(_MICROSECONDS))
    narrowed = rows.select(kept).rename_columns([f"c{index}" for index in range(len(kept))])
    return QuickRelation(name, tuple(columns), refused), narrowed


def table_files(table: TableFiles) -> QuickRelation:
    """A version of a table, read from its files."""
    if table.delta_path is not None:
        raise NotQuick("files that only Delta's reader knows")
    if len(table.files) > _MOST_FILES:
        raise NotQuick("a table of many files")
    paths = [_path(uri) for uri in table.files]
    OBJECT_CACHES.all_present(paths)
    stored = _stored_names(table)
    columns, refused = _types(_named(table), stored, paths)
    items = [_Item(name, type_, stored.get(name, name)) for name, type_ in columns]
    present = [file_columns(path) for path in paths]
    source, values, positions = None, ["NULL"] * len(items), ["NULL", "NULL"]
    if paths:
        values, by_name = _as_stored(items, present)
        carried = table.origins and any(ORIGIN_ROW in names for names in present)
        by_name = by_name or (carried and not all(ORIGIN_ROW in names for names in present))
        source = _parquet(paths, by_name=by_name, positions=table.positions)
        positions = _ORIGINAL_POSITIONS if carried else _POSITIONS
    if table.positions:
        items += [_Item(FILE, STRING, None), _Item(ROW, BIGINT, None)]
        values += positions
    texts = [
        f"CAST({value} AS {item.type.duck}) AS c{index}"
        for index, (item, value) in enumerate(zip(items, values, strict=True))
    ]
    end = f"FROM {source}" if source else "WHERE false"
    return QuickRelation(f"(SELECT {', '.join(texts)} {end})", tuple((item.name, item.type) for item in items), refused)


def _stored_names(table: TableFiles) -> dict[str, str | None]:
    """What columns are called in files of another shape than the table has now; None for one that was not there."""
    if table.sources is None:
        return {}
    for column, source in zip(table.columns, table.sources, strict=True):
        if (source.name is None and source.fill != "NULL") or (source.name and source.type.spark != column.type.spark):
            raise NotQuick("files of another shape")
    return {column.name: source.name for column, source in zip(table.columns, table.sources, strict=True)}


def _named(table: TableFiles) -> list[tuple[str, str]]:
    """The columns with their types in Spark's words."""
    if table.ddl is None:
        return [(column.name, column.type.spark) for column in table.columns]
    return [(name.replace("``", "`"), type_) for name, type_ in _IN_DDL.findall(table.ddl)]


def _types(
    columns: Sequence[tuple[str, str]], stored: Mapping[str, str | None], paths: Sequence[str]
) -> tuple[list[tuple[str, SparkType]], dict[str, str]]:
    found: list[tuple[str, SparkType]] = []
    refused: dict[str, str] = {}
    if len({name.lower() for name, _ in columns}) < len(columns):
        raise NotQuick("columns whose names differ in case only")
    for name, text in columns:
        try:
            type_ = named(text)
        except NotQuick as reason:
            refused[name] = str(reason)
            continue
        own = stored.get(name, name)
        against = _against_variant(own, paths) if type_ == VARIANT and own is not None else None
        if against is not None or '"' in (own or ""):
            refused[name] = against or "the name of a column"
        else:
            found.append((name, type_))
    return found, refused


def _against_variant(name: str, paths: Sequence[str]) -> str | None:
    """Why a column of VARIANTs is not read here. One that Spark wrote is marked as such, and DuckDB makes values of it
    that have lost which kind of number they are."""
    if sum(map(row_count, paths)) > _MOST_VARIANTS:
        return _MANY
    return "VARIANTs in a file that Spark wrote" if any(name in marked_variants(path) for path in paths) else None


def _as_stored(items: Sequence[_Item], present: Sequence[frozenset[str]]) -> tuple[list[str], bool]:
    """The values of the items, NULL for columns that no file has, and whether the files differ in what they have."""
    everywhere, somewhere = frozenset.intersection(*present), frozenset.union(*present)
    values = [f'"{item.stored}"' if item.stored in somewhere else "NULL" for item in items]
    return values, any(item.stored in somewhere and item.stored not in everywhere for item in items)


def _parquet(paths: Sequence[str], *, by_name: bool, positions: bool) -> str:
    options = ["hive_partitioning = false"]
    if by_name:
        options.append("union_by_name = true")
    if positions:
        options += ["filename = true", "file_row_number = true"]
    return f"read_parquet([{', '.join(map(literal, paths))}], {', '.join(options)})"


def _path(uri: str) -> str:
    path = local_path(uri)
    if _SCHEME.match(path) or _SPECIAL & set(path):
        raise NotQuick("files that are not on a local disk")
    return path


def relations(
    tables: Sequence[TableFiles], inputs: Mapping[str, pa.Table], names: frozenset[str]
) -> tuple[dict[str, QuickRelation], dict[str, pa.Table]]:
    """What the names in a query stand for, and the rows that have to be known by names of ours."""
    found: dict[str, QuickRelation] = {}
    given: dict[str, pa.Table] = {}
    for table in tables:
        if table.reference in names:
            found[table.reference] = table_files(table)
    for name, rows in inputs.items():
        if name in names:
            own = f"i{len(given)}"
            found[name], given[own] = given_rows(own, rows)
    return found, given
