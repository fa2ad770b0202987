"""Facts from a MySQL or MariaDB database: columns, keys, rows, and columns that change with their row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text

from snowmelt.core import errors
from snowmelt.design.looking.columns import looks_like_change, looks_personal
from snowmelt.design.requirements.model import DescribedColumn, Table
from snowmelt.extract_load.addresses import database_errors, mysql_engine_of

_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), "NUMBER(38,0)"),
    **dict.fromkeys(("float", "double"), "FLOAT"), "date": "DATE", "time": "TIME", "json": "VARIANT",
    **dict.fromkeys(("datetime", "timestamp"), "TIMESTAMP_NTZ"),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit"), "BINARY"),
}  # fmt: skip
_TIMES = ("TIMESTAMP_NTZ", "NUMBER(38,0)")
_TABLES = """
SELECT table_schema AS owner, table_name AS name, table_rows AS counted, data_length + index_length AS size,
       table_schema = DATABASE() AS own
FROM information_schema.tables
WHERE table_type = 'BASE TABLE'
  AND table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT column_name AS name, data_type AS type, numeric_precision AS digits, numeric_scale AS scale,
       is_nullable = 'YES' AS optional, extra LIKE '%on update%' AS follows
FROM information_schema.columns WHERE table_schema = :owner AND table_name = :name ORDER BY ordinal_position
"""
_KEY = """
SELECT column_name AS name FROM information_schema.key_column_usage
WHERE table_schema = :owner AND table_name = :name AND constraint_name = 'PRIMARY' ORDER BY ordinal_position
"""


def look_at_mysql(address: str, tables: Sequence[str] = ()) -> list[Table]:
    """All tables of the database, or those that are named. Reads the catalog alone, so that it is no burden."""
    with _connected(address) as connection:
        rows = _rows(connection, _TABLES)
        found = {f"{row['owner']}.{row['name']}": row for row in rows}
        found |= {str(row["name"]): row for row in rows if row["own"]}
        missing = [name for name in tables if name not in found]
        if missing:
            raise errors.configuration(
                f"The database has no table {', '.join(missing)}.", hint="Write table, or database.table."
            )
        wanted = tables or [str(row["name"]) for row in rows if row["own"]]
        return [_table(connection, name, found[name]) for name in wanted]


@contextmanager
def _connected(address: str) -> Iterator[Connection]:
    engine = mysql_engine_of(address)
    with database_errors(engine), engine.connect() as connection:
        yield connection


def _table(connection: Connection, name: str, row: Mapping[str, Any]) -> Table:
    where = {"owner": row["owner"], "name": row["name"]}
    described = _rows(connection, _COLUMNS, **where)
    columns = tuple(map(_column, described))
    follows = {str(item["name"]) for item in described if item["follows"]}
    changing = [column.name for column in columns if column.type in _TIMES]
    change = next((item for item in changing if item in follows), None)
    return Table.model_validate({
        "name": name, "columns": columns, "key": tuple(str(item["name"]) for item in _rows(connection, _KEY, **where)),
        "rows": int(row["counted"] or 0), "size": float(row["size"] or 0),
        "change_column": change or next((item for item in changing if looks_like_change(item)), None),
    })  # fmt: skip


def _column(row: Mapping[str, Any]) -> DescribedColumn:
    kind = str(row["type"]).lower()
    type_ = _TYPES.get(kind, "VARCHAR")
    if kind == "decimal":
        type_ = f"NUMBER({row['digits']},{row['scale'] or 0})" if int(row["digits"]) <= 38 else "VARCHAR"
    name = str(row["name"])
    return DescribedColumn(name=name, type=type_, nullable=bool(row["optional"]), pii=looks_personal(name))


def _rows(connection: Connection, query: str, **values: Any) -> list[Mapping[str, Any]]:
    return [dict(row) for row in connection.execute(text(query), values).mappings()]
