"""Tables of PostgreSQL. Rows and the place are one transaction, in which nobody else writes for the same flow."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Engine,
    LargeBinary,
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
from snowmelt.extract_load.addresses import database_errors, engine_of
from snowmelt.extract_load.columns import text_of
from snowmelt.extract_load.destinations.base import Loader, LoadStrategy, Staging, require_strategy
from snowmelt.extract_load.destinations.typing import names_of, with_inferred
from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.kinds import type_head
from snowmelt.extract_load.records import Batch, Rows
from snowmelt.extract_load.schemas import SchemaDriftError

_STRATEGIES = (LoadStrategy.APPEND, LoadStrategy.OVERWRITE, LoadStrategy.UPSERT, LoadStrategy.MERGE)
_PLACES = "snowmelt_places"
_INCOMING, _NUMBER = "snowmelt_incoming", "snowmelt_number"
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
        with database_errors(self._engine), self._engine.begin() as connection:
            self._places.create(connection, checkfirst=True)
            self._place = self._read_place(connection)
        self._staging = Staging(f"Table {table}")

    def place(self) -> str | None:
        return self._place

    def load(self, batch: Batch, loaded_at: str) -> int:
        if batch.place == self._place:
            return 0
        rows = self._staging.taken(batch, whole=self.strategy in (LoadStrategy.OVERWRITE, LoadStrategy.MERGE))
        if rows is None:
            return 0
        with database_errors(self._engine), self._engine.begin() as connection:
            self._take_turn(connection)
            self._write(connection, rows)
            row = {"flow": self.flow, "place": batch.place, "run_id": self.run_id, "loaded_at": loaded_at}
            put = insert(self._places).values(row)
            others = {name: put.excluded[name] for name in row if name != "flow"}
            connection.execute(put.on_conflict_do_update(index_elements=["flow"], set_=others))
        self._place = batch.place
        return len(rows)

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

    def _write(self, connection: Connection, rows: Rows) -> None:
        if not len(rows) and self.strategy in (LoadStrategy.APPEND, LoadStrategy.UPSERT):
            return
        if not inspect(connection).has_table(self._name, self._schema):
            fields = with_inferred(self.fields, rows)
            if not fields:
                return
            self._create(connection, fields)
        table = self._table(connection)
        texts = _texts(table, rows)
        if self.strategy in (LoadStrategy.UPSERT, LoadStrategy.MERGE):
            self._put(connection, table, texts)
            return
        if self.strategy is LoadStrategy.OVERWRITE:
            connection.execute(delete(table))
        self._copy(connection, table, texts)

    def _table(self, connection: Connection) -> Table:
        found = inspect(connection).get_columns(self._name, self._schema)
        return Table(self._name, MetaData(), *[Column(i["name"], i["type"]) for i in found], schema=self._schema)

    def _copy(self, connection: Connection, table: Table, texts: pa.Table) -> None:
        """Values are sent as text, and the server reads them as its column's type."""
        if not texts.num_columns:
            return
        quote = connection.dialect.identifier_preparer.quote
        where = connection.dialect.identifier_preparer.format_table(table)
        statement = f"COPY {where} ({', '.join(map(quote, texts.column_names))}) FROM STDIN (FORMAT csv)"
        content = io.BytesIO()
        # Every value in quotes, and NULL as nothing at all, which is how COPY tells it from text that is empty.
        pa.csv.write_csv(texts, content, pa.csv.WriteOptions(include_header=False, quoting_style="all_valid"))
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            copy.write(content.getbuffer())

    def _put(self, connection: Connection, table: Table, texts: pa.Table) -> None:
        """Writes rows by way of a temporary table of this transaction. The last row with a key counts."""
        incoming = self._incoming(connection, texts)
        if self.strategy is LoadStrategy.MERGE:
            here = [table.c[name] == incoming.c[name] for name in self.key]
            connection.execute(delete(table).where(~select(incoming).where(*here).exists()))
        names = texts.column_names
        if not names:
            return
        later = incoming.alias("later")
        same = [later.c[name] == incoming.c[name] for name in self.key]
        repeated = select(later).where(*same, later.c[_NUMBER] > incoming.c[_NUMBER]).exists()
        rows = select(*[incoming.c[name] for name in names]).where(~repeated)
        put = insert(table).from_select(names, rows)
        changed = {name: put.excluded[name] for name in names if name not in self.key}
        connection.execute(
            put.on_conflict_do_update(index_elements=list(self.key), set_=changed)
            if changed
            else put.on_conflict_do_nothing()
        )

    def _incoming(self, connection: Connection, texts: pa.Table) -> Table:
        quote = connection.dialect.identifier_preparer.quote
        names = texts.column_names or list(self.key)
        connection.execute(text(
            f"CREATE TEMPORARY TABLE {_INCOMING} ON COMMIT DROP AS SELECT {', '.join(map(quote, names))}, "
            f"0::bigint AS {_NUMBER} FROM {self._quoted(quote)} LIMIT 0"
        ))  # fmt: skip
        incoming = Table(_INCOMING, MetaData(), *[Column(name) for name in [*names, _NUMBER]])
        if texts.num_columns:
            numbers = pa.array(range(texts.num_rows)).cast(pa.string())
            self._copy(connection, incoming, texts.append_column(_NUMBER, numbers))
        return incoming

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


def _texts(table: Table, rows: Rows) -> pa.Table:
    """The columns of all rows as text, which the server reads as its column's type."""
    names = names_of(rows)
    unknown = [name for name in names if name not in table.c]
    if unknown:
        raise SchemaDriftError(f"column {', '.join(unknown)} is new, and table {table.name} has none of that name")
    return pa.table({name: _text_column(rows, name, table.c[name]) for name in names})


def _text_column(rows: Rows, name: str, target: Column[Any]) -> Any:
    if not rows.columnar:
        return pa.array([_as_text(value) for value in rows.values(name)], pa.string())
    column, field = rows.table.column(name), rows.table.schema.field(name)
    made = text_of(column, field)
    is_bytes = pa.types.is_binary(field.type) and isinstance(target.type, LargeBinary)
    return pc.binary_join_element_wise("\\x", made, "") if is_bytes else made


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
