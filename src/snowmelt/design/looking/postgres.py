"""Facts from a PostgreSQL database: columns, keys, rows, rates, change columns, what identifies a row in its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from snowmelt.core import errors
from snowmelt.design.looking.columns import looks_like_change, looks_personal
from snowmelt.design.requirements.model import DescribedColumn, Table
from snowmelt.extract_load.addresses import engine_of

_IDENTITIES = {"d": "default", "f": "full", "i": "index", "n": "nothing"}
_TYPES = {
    "smallint": "NUMBER(38,0)", "integer": "NUMBER(38,0)", "bigint": "NUMBER(38,0)", "boolean": "BOOLEAN",
    "real": "FLOAT", "double precision": "FLOAT", "date": "DATE", "timestamp without time zone": "TIMESTAMP_NTZ",
    "timestamp with time zone": "TIMESTAMP_LTZ", "time without time zone": "TIME", "json": "VARIANT",
    "jsonb": "VARIANT", "bytea": "BINARY", "ARRAY": "ARRAY",
}  # fmt: skip
_HOUR = 3600
_TIMES = ("TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "DATE", "NUMBER(38,0)")
_TABLES = """
SELECT c.oid, n.nspname || '.' || c.relname AS name, c.relreplident AS identity,
       CASE WHEN c.reltuples < 0 THEN coalesce(s.n_live_tup, 0) ELSE c.reltuples END::bigint AS rows,
       pg_total_relation_size(c.oid) AS size,
       coalesce(s.n_tup_ins + s.n_tup_upd + s.n_tup_del, 0) AS changes, coalesce(s.n_tup_del, 0) AS deletes,
       extract(epoch FROM now() - coalesce(d.stats_reset, pg_postmaster_start_time())) AS seconds
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
LEFT JOIN pg_stat_database d ON d.datname = current_database()
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY 2
"""
_COLUMNS = """
SELECT column_name AS name, data_type AS type, numeric_precision AS precision, numeric_scale AS scale,
       is_nullable = 'YES' AS nullable
FROM information_schema.columns WHERE table_schema || '.' || table_name = :name ORDER BY ordinal_position
"""
_KEY = """
SELECT a.attname AS name FROM pg_index i
JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place) ON true
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
WHERE i.indrelid = :oid AND i.indisprimary ORDER BY k.place
"""


def look_at_database(address: str, tables: Sequence[str] = ()) -> list[Table]:
    """All tables, or those that are named. Reads the catalog and statistics alone, so that it is no burden."""
    with _connected(address) as connection:
        rows = _rows(connection, _TABLES)
        found = {str(row["name"]): row for row in rows}
        missing = [name for name in tables if name not in found]
        if missing:
            raise errors.configuration(
                f"The database has no table {', '.join(missing)}.", hint="Write tables as schema.table."
            )
        return [_table(connection, found[name]) for name in (tables or found)]


@contextmanager
def _connected(address: str) -> Iterator[Connection]:
    engine = engine_of(address, "snowmelt design")
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        shown = str(error.orig or error).strip().splitlines()[0]
        raise errors.configuration(f"{engine.url.render_as_string()} can't be queried: {shown}") from None


def _table(connection: Connection, row: Mapping[str, Any]) -> Table:
    columns = tuple(_column(found) for found in _rows(connection, _COLUMNS, name=row["name"]))
    key = tuple(str(found["name"]) for found in _rows(connection, _KEY, oid=row["oid"]))
    seconds = float(row["seconds"] or 0)
    # A database that was filled a moment ago has no rate yet: what it counted is how it was filled.
    rate = float(row["changes"]) / seconds if seconds >= _HOUR else None
    identity = _IDENTITIES[str(row["identity"])]
    return Table.model_validate({
        "name": row["name"], "columns": columns, "key": key, "rows": int(row["rows"]), "size": float(row["size"]),
        "changes_per_second": round(rate, 4) if rate is not None else None, "deletes": int(row["deletes"]) > 0,
        # The default is the primary key: without one there is nothing.
        "replica_identity": "nothing" if identity == "default" and not key else identity,
        "change_column": next(
            (column.name for column in columns if looks_like_change(column.name) and column.type in _TIMES), None
        ),
    })  # fmt: skip


def _column(row: Mapping[str, Any]) -> DescribedColumn:
    kind = str(row["type"])
    type_ = _TYPES.get(kind, "VARCHAR")
    if kind == "numeric" and row["precision"] is not None and row["precision"] <= 38:
        type_ = f"NUMBER({row['precision']},{row['scale'] or 0})"
    name = str(row["name"])
    return DescribedColumn(name=name, type=type_, nullable=bool(row["nullable"]), pii=looks_personal(name))


def _rows(connection: Connection, query: str, **values: Any) -> list[Mapping[str, Any]]:
    return [dict(row) for row in connection.execute(text(query), values).mappings()]
