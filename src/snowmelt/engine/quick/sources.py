"""What a query of the lane reads: rows that are given as Arrow, and versions of tables as their files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from snowmelt.engine.model import TableFiles
from snowmelt.engine.quick.queries import Relation
from snowmelt.engine.quick.types import VARIANT, NotQuick, SparkType, named, of_arrow
from snowmelt.engine.quick.values import literal
from snowmelt.storage.columns import file_columns, local_path
from snowmelt.storage.rewrite import FILE, ROW

_SCHEME = re.compile(r"[a-z0-9]+:")
_SPECIAL = frozenset("*?[]{}%")
"""Characters that DuckDB reads as patterns, or that are written otherwise in an address."""
_MOST_FILES = 500
_IN_DDL = re.compile(r"`((?:[^`]|``)*)` ([^`]+?)(?:, (?=`)|\Z)")


def given_rows(name: str, rows: pa.Table) -> tuple[Relation, pa.Table]:
    """Rows as a relation called `name`, and the table to be known by that name."""
    columns: list[tuple[str, SparkType]] = []
    refused: dict[str, str] = {}
    kept = []
    for index, field in enumerate(rows.schema):
        try:
            columns.append((field.name, of_arrow(field.type)))
            kept.append(index)
        except NotQuick as reason:
            refused[field.name] = str(reason)
    narrowed = rows.select(kept).rename_columns([f"c{index}" for index in range(len(kept))])
    return Relation(name, tuple(columns), refused), narrowed


def table_files(table: TableFiles) -> Relation:
    """A version of a table, read from its files."""
    if table.delta_path is not None or table.sources is not None or table.origins:
        raise NotQuick("files that only Spark reads")
    if len(table.files) > _MOST_FILES:
        raise NotQuick("a table of many files")
    columns, refused = _types(_named(table))
    items = [(name, type_, f'"{name}"') for name, type_ in columns]
    if table.positions:
        items += [(FILE, named("STRING"), "parse_filename(filename)"), (ROW, named("BIGINT"), "file_row_number")]
    paths = [_path(uri) for uri in table.files]
    if not paths:
        source = None
    else:
        items, by_name = _as_stored(items, paths, {name for name, _ in columns})
        source = _parquet(paths, by_name=by_name, positions=table.positions)
    values = ", ".join(
        f"CAST({found if source else 'NULL'} AS {type_.duck}) AS c{index}"
        for index, (_, type_, found) in enumerate(items)
    )
    end = f"FROM {source}" if source else "WHERE false"
    return Relation(f"(SELECT {values} {end})", tuple((name, type_) for name, type_, _ in items), refused)


def _named(table: TableFiles) -> list[tuple[str, str]]:
    """The columns with their types in Spark's words."""
    if table.ddl is None:
        return [(column.name, column.type.spark) for column in table.columns]
    return [(name.replace("``", "`"), type_) for name, type_ in _IN_DDL.findall(table.ddl)]


def _types(columns: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, SparkType]], dict[str, str]]:
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
        if type_ == VARIANT or '"' in name:
            refused[name] = f"a column of type {text} in a file"
        else:
            found.append((name, type_))
    return found, refused


def _as_stored(
    items: list[tuple[str, SparkType, str]], paths: Sequence[str], stored: set[str]
) -> tuple[list[tuple[str, SparkType, str]], bool]:
    """The items with NULL for columns that no file has, and whether the files differ in what they have."""
    present = [file_columns(path) for path in paths]
    everywhere, somewhere = frozenset.intersection(*present), frozenset.union(*present)
    lacking = stored - everywhere
    nowhere = stored - somewhere
    return [(name, type_, "NULL" if name in nowhere else sql) for name, type_, sql in items], bool(lacking - nowhere)


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
) -> tuple[dict[str, Relation], dict[str, pa.Table]]:
    """What the names in a query stand for, and the rows that have to be known by names of ours."""
    found: dict[str, Relation] = {}
    given: dict[str, pa.Table] = {}
    for table in tables:
        if table.reference in names:
            found[table.reference] = table_files(table)
    for name, rows in inputs.items():
        if name in names:
            own = f"i{len(given)}"
            found[name], given[own] = given_rows(own, rows)
    return found, given
