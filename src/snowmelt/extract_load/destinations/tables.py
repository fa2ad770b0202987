"""Tables of Snowmelt from queries, by five strategies, each in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core.names import quote
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.destinations.base import LoadStrategy


class SqlLoader:
    """Brings a table to what a query gives, in one transaction."""

    def __init__(self, connection: SqlConnection) -> None:
        self.connection = connection

    def load(
        self, strategy: LoadStrategy, target: str, query: str, columns: Sequence[str], key: Sequence[str] = ()
    ) -> None:
        self.connection.execute("BEGIN")
        try:
            for statement in load_statements(strategy, target, query, columns, key):
                self.connection.execute(statement)
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")


def load_statements(
    strategy: LoadStrategy, target: str, query: str, columns: Sequence[str], key: Sequence[str] = ()
) -> list[str]:
    """What a strategy means in SQL.

    merge also deletes what the query no longer gives; upsert never deletes. scd_type_2 takes a table that has
    VALID_FROM, VALID_TO and IS_CURRENT beside the columns.
    """
    if strategy not in (LoadStrategy.APPEND, LoadStrategy.OVERWRITE) and not key:
        raise ValueError(f"{strategy} needs a key")
    names = [quote(name.upper()) for name in columns]
    listed = ", ".join(names)
    match strategy:
        case LoadStrategy.APPEND:
            return [f"INSERT INTO {target} ({listed}) {query}"]
        case LoadStrategy.OVERWRITE:
            return [f"INSERT OVERWRITE INTO {target} ({listed}) {query}"]
        case LoadStrategy.UPSERT:
            return [_merge(target, query, names, _names(key))]
        case LoadStrategy.MERGE:
            same = " AND ".join(f"t.{name} = s.{name}" for name in _names(key))
            gone = f"DELETE FROM {target} AS t WHERE NOT EXISTS (SELECT 1 FROM ({query}) AS s WHERE {same})"
            return [_merge(target, query, names, _names(key)), gone]
        case LoadStrategy.SCD_TYPE_2:
            return _versions(target, query, names, _names(key))


def _names(key: Sequence[str]) -> list[str]:
    return [quote(name.upper()) for name in key]


def _merge(target: str, query: str, names: list[str], key: list[str]) -> str:
    same = " AND ".join(f"t.{name} = s.{name}" for name in key)
    others = [name for name in names if name not in key]
    update = ", ".join(f"{name} = s.{name}" for name in others)
    changed = f" WHEN MATCHED THEN UPDATE SET {update}" if others else ""
    values = ", ".join(f"s.{name}" for name in names)
    return (
        f"MERGE INTO {target} AS t USING ({query}) AS s ON {same}{changed}"
        f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})"
    )


def _versions(target: str, query: str, names: list[str], key: list[str]) -> list[str]:
    same = " AND ".join(f"t.{name} = s.{name}" for name in key)
    others = [name for name in names if name not in key]
    differs = " OR ".join(f"t.{name} IS DISTINCT FROM s.{name}" for name in others) or "FALSE"
    close = (
        f"UPDATE {target} AS t SET valid_to = CURRENT_TIMESTAMP(), is_current = FALSE FROM ({query}) AS s "
        f"WHERE {same} AND t.is_current AND ({differs})"
    )
    listed = ", ".join(names)
    values = ", ".join(f"s.{name}" for name in names)
    known = f"SELECT 1 FROM {target} AS t WHERE {same} AND t.is_current"
    add = (
        f"INSERT INTO {target} ({listed}, valid_from, valid_to, is_current) "
        f"SELECT {values}, CURRENT_TIMESTAMP(), NULL, TRUE FROM ({query}) AS s WHERE NOT EXISTS ({known})"
    )
    return [close, add]
