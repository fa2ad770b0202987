"""Tables of PostgreSQL. Rows and the place are one transaction, in which nobody else writes for the same flow."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Engine,
    MetaData,
    Table,
    Text,
    delete,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import insert

from snowmelt.core.errors import SnowmeltError
from snowmelt.pipeline.addresses import engine_of, told
from snowmelt.pipeline.destinations.base import Loader, LoadStrategy, Staging, require_strategy
from snowmelt.pipeline.destinations.typing import with_inferred
from snowmelt.pipeline.records import Batch, Record
from snowmelt.pipeline.schemas import Field, SchemaDriftError, type_head

_STRATEGIES = (LoadStrategy.APPEND, LoadStrategy.OVERWRITE, LoadStrategy.UPSERT, LoadStrategy.MERGE)
_PLACES = "snowmelt_places"
_TYPES = {
    "FLOAT": "double precision", "DOUBLE": "double precision", "REAL": "double precision", "BOOLEAN": "boolean",
    "DATE": "date", "TIME": "time", "DATETIME": "timestamp", "TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp",
    "TIMESTAMP_TZ": "timestamptz", "TIMESTAMP_LTZ": "timestamptz", "VARIANT": "jsonb", "OBJECT": "jsonb",
    "ARRAY": "jsonb", "BINARY": "bytea",
}  # fmt: skip


class PostgresLoader(Loader):
    """append, upsert (by key), and of a source that is read as a whole also overwrite and merge (upsert, and delete
    what is gone). A table that is not there is made from the fields, or from what the first batch looks like."""

    def __init__(
        self, address: str, table: str, flow: str, run_id: str, *, strategy: LoadStrategy = LoadStrategy.UPSERT,
        key: Sequence[str] = (), fields: Sequence[Field] = (),
    ) -> None:  # fmt: skip
        require_strategy(strategy, _STRATEGIES, "A PostgreSQL table")
        if strategy in (LoadStrategy.UPSERT, LoadStrategy.MERGE) and not key:
            raise ValueError(f"{strategy} needs a key")
        self.table, self.flow, self.run_id = table, flow, run_id
        self.strategy, self.key, self.fields = strategy, tuple(key), tuple(fields)
        self._engine: Engine = engine_of(address, "snowmelt pipeline")
        schema, _, self._name = table.rpartition(".")
        self._schema = schema or None
        self._places = Table(
            _PLACES, MetaData(), Column("flow", Text, primary_key=True), Column("place", Text, nullable=False),
            Column("run_id", Text, nullable=False), Column("loaded_at", DateTime(timezone=True), nullable=False),
            schema=self._schema,
        )  # fmt: skip
        with told(self._engine), self._engine.begin() as connection:
            self._places.create(connection, checkfirst=True)
            self._place = self._read_place(connection)
        self._staging = Staging(f"Table {table}")

    def place(self) -> str | None:
        return self._place

    def load(self, batch: Batch, loaded_at: str) -> int:
        if batch.place == self._place:
            return 0
        records = self._staging.taken(batch, whole=self.strategy in (LoadStrategy.OVERWRITE, LoadStrategy.MERGE))
        if records is None:
            return 0
        with told(self._engine), self._engine.begin() as connection:
            self._take_turn(connection)
            self._write(connection, records)
            row = {"flow": self.flow, "place": batch.place, "run_id": self.run_id, "loaded_at": loaded_at}
            put = insert(self._places).values(row)
            others = {name: put.excluded[name] for name in row if name != "flow"}
            connection.execute(put.on_conflict_do_update(index_elements=["flow"], set_=others))
        self._place = batch.place
        return len(records)

    def _take_turn(self, connection: Connection) -> None:
        """Another run of the same flow waits here, and then sees that it is not where it thought."""
        lock = select(func.pg_advisory_xact_lock(func.hashtextextended(f"snowmelt {self.flow}", 0)))
        connection.execute(lock)
        if self._read_place(connection) != self._place:
            self._place = self._read_place(connection)
            raise SnowmeltError(
                "000625", "40001", f"Another run of {self.flow} loaded {self.table} at the same time.",
                hint="Run one at a time; this one goes on from where the other got.", transient=True,
            )  # fmt: skip

    def _read_place(self, connection: Connection) -> str | None:
        found = select(self._places.c.place).where(self._places.c.flow == self.flow)
        place: str | None = connection.execute(found).scalar_one_or_none()
        return place

    def _write(self, connection: Connection, records: list[Record]) -> None:
        if not records and self.strategy in (LoadStrategy.APPEND, LoadStrategy.UPSERT):
            return
        if not inspect(connection).has_table(self._name, self._schema):
            fields = with_inferred(self.fields, records)
            if not fields:
                return
            self._create(connection, fields)
        table = self._table(connection)
        rows = [_row(table, record) for record in records]
        if self.strategy is LoadStrategy.OVERWRITE:
            connection.execute(delete(table))
        elif self.strategy is LoadStrategy.MERGE:
            self._delete_gone(connection, table, rows)
        if rows:
            names = sorted({name for row in rows for name in row})
            connection.execute(self._put(table, names), [{name: row.get(name) for name in names} for row in rows])

    def _table(self, connection: Connection) -> Table:
        """Columns without their types: values are sent as text, and the server reads them as its column's type."""
        found = inspect(connection).get_columns(self._name, self._schema)
        return Table(self._name, MetaData(), *[Column(item["name"]) for item in found], schema=self._schema)

    def _put(self, table: Table, names: Sequence[str]) -> Any:
        put = insert(table)
        if self.strategy not in (LoadStrategy.UPSERT, LoadStrategy.MERGE):
            return put
        changed = {name: put.excluded[name] for name in names if name not in self.key}
        if not changed:
            return put.on_conflict_do_nothing()
        return put.on_conflict_do_update(index_elements=list(self.key), set_=changed)

    def _delete_gone(self, connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
        quote = connection.dialect.identifier_preparer.quote
        key = ", ".join(map(quote, self.key))
        make = f"CREATE TEMPORARY TABLE snowmelt_kept ON COMMIT DROP AS SELECT {key} FROM {self._quoted(quote)} LIMIT 0"
        connection.execute(text(make))
        kept = Table("snowmelt_kept", MetaData(), *[Column(name) for name in self.key])
        if rows:
            connection.execute(kept.insert(), [{name: row[name] for name in self.key} for row in rows])
        same = [table.c[name] == kept.c[name] for name in self.key]
        connection.execute(delete(table).where(~select(kept).where(*same).exists()))

    def _quoted(self, quote: Callable[[str], str]) -> str:
        return f"{quote(self._schema)}.{quote(self._name)}" if self._schema else quote(self._name)

    def _create(self, connection: Connection, fields: Sequence[Field]) -> None:
        quote = connection.dialect.identifier_preparer.quote
        columns = [
            f"{quote(field.name)} {postgres_type(field.type)}{'' if field.nullable else ' NOT NULL'}"
            for field in fields
        ]
        if self.strategy in (LoadStrategy.UPSERT, LoadStrategy.MERGE):
            columns.append(f"PRIMARY KEY ({', '.join(map(quote, self.key))})")
        connection.execute(text(f"CREATE TABLE {self._quoted(quote)} ({', '.join(columns)})"))

    def close(self) -> None:
        self._engine.dispose()


def postgres_type(sql_type: str) -> str:
    head = type_head(sql_type)
    if head in ("NUMBER", "DECIMAL", "NUMERIC"):
        return f"numeric{sql_type[len(head) :]}"
    if head in ("INT", "INTEGER", "BIGINT", "SMALLINT"):
        return head.lower()
    return _TYPES.get(head, "text")


def _row(table: Table, record: Record) -> dict[str, Any]:
    unknown = [name for name in record if name not in table.c]
    if unknown:
        raise SchemaDriftError(f"column {', '.join(unknown)} is new, and table {table.name} has none of that name")
    return {name: _as_text(value) for name, value in record.items()}


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
