"""SCD type 3 as SQL: the newest values of each key, and of some columns the last one that was another.

Three steps, whatever a table comes by: all records with what orders them, the newest of each key that is still there,
and for each column the last record before it that has another value.
"""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.design.making.clean_tables import (
    Clean,
    column_of,
    in_log,
    named,
    names_of,
    readable,
    typed_columns,
    value_of,
)


def values_before(clean: Clean, previous: Sequence[str]) -> str:
    """Of records, by the change column, or else in the order in which they came."""
    change = clean.table.change_column
    order = value_of("record", column_of(clean.table, change)) if change is not None else "loaded_at"
    columns = typed_columns(clean, "record")
    found = ",\n    ".join([*columns, f"{order} AS _order", "loaded_at"])
    typed = f"typed AS (\n  SELECT\n    {found}\n  FROM {clean.raw}\n)"
    return _query(clean, columns, previous, [typed, _newest(clean, names_of(columns), "typed")])


def values_before_of_readings(clean: Clean, previous: Sequence[str]) -> str:
    """Of readings of the whole: what is not in the newest complete one is gone."""
    columns = typed_columns(clean, "record")
    found = ",\n    ".join([*columns, "reading AS _order", "loaded_at"])
    complete = f"(SELECT MAX(reading) FROM {clean.raw} WHERE record IS NULL)"
    typed = (
        f"typed AS (\n  SELECT\n    {found}\n  FROM {clean.raw}\n"
        f"  WHERE record IS NOT NULL AND reading <= {complete}\n)"
    )
    newest = _newest(clean, names_of(columns), "typed", f"\n  WHERE _order = {complete}")
    return _query(clean, columns, previous, [typed, newest])


def values_before_of_log(clean: Clean, previous: Sequence[str]) -> str:
    """Of a log: what was deleted, or stood before a TRUNCATE, is gone, and still tells what a value was before."""
    columns = typed_columns(clean, "after")
    names = names_of(columns)
    found = ",\n    ".join([
        *columns, "change_number AS _order", "operation AS _operation", "ingested_at AS loaded_at",
    ])  # fmt: skip
    whose = f"table_name = {in_log(clean)}"
    changes = (
        f"changes AS (\n  SELECT\n    {found}\n  FROM {clean.raw}\n"
        f"  WHERE {whose} AND operation <> 'TRUNCATE'{readable(clean, '    ')}\n)"
    )
    typed = "typed AS (\n  SELECT * FROM changes WHERE _operation <> 'DELETE'\n)"
    emptied = f"SELECT COALESCE(MAX(change_number), -1) FROM {clean.raw} WHERE {whose} AND operation = 'TRUNCATE'"
    last = _newest(clean, f"{names}, _operation", "changes", f"\n  WHERE _order > ({emptied})").replace(
        "newest AS", "latest AS", 1
    )
    newest = f"newest AS (\n  SELECT {names}, _order, loaded_at\n  FROM latest\n  WHERE _operation <> 'DELETE'\n)"
    return _query(clean, columns, previous, [changes, typed, last, newest])


def _newest(clean: Clean, names: str, rows: str, where: str = "") -> str:
    first = f"PARTITION BY {clean.keys} ORDER BY _order DESC, loaded_at DESC"
    return (
        f"newest AS (\n  SELECT {names}, _order, loaded_at\n  FROM {rows}{where}\n"
        f"  QUALIFY ROW_NUMBER() OVER ({first}) = 1\n)"
    )


def _query(clean: Clean, columns: list[str], previous: Sequence[str], parts: list[str]) -> str:
    own = [clean.here(key) for key in clean.table.key]
    keys = ", ".join(f"typed.{key}" for key in own)
    same = " AND ".join(f"typed.{key} = newest.{key}" for key in own)
    earlier = f"PARTITION BY {keys} ORDER BY typed._order DESC, typed.loaded_at DESC"
    parts = [*parts, *(
        f"before_{name} AS (\n  SELECT {keys}, typed.{name}\n  FROM typed JOIN newest ON {same}\n"
        f"  WHERE typed.{name} IS DISTINCT FROM newest.{name} AND typed._order <= newest._order\n"
        f"  QUALIFY ROW_NUMBER() OVER ({earlier}) = 1\n)"
        for name in map(named, previous)
    )]  # fmt: skip
    listed = [f"newest.{name}" for name in names_of(columns).split(", ")]
    listed += [f"before_{name}.{name} AS previous_{name}" for name in map(named, previous)]
    joins = "".join(
        f"\nLEFT JOIN before_{name} ON " + " AND ".join(f"before_{name}.{key} = newest.{key}" for key in own)
        for name in map(named, previous)
    )
    query = f"WITH {', '.join(parts)}\nSELECT\n  " + ",\n  ".join([*listed, "newest.loaded_at"])
    return f"CREATE DYNAMIC TABLE {clean.name}{clean.options}\nAS\n{query}\nFROM newest{joins}"
