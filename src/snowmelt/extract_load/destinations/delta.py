"""Delta tables elsewhere: rows and the number of their batch are one commit, and the number says the place."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.destinations.base import Loader, LoadStrategy, Staging, require_strategy
from snowmelt.extract_load.destinations.iceberg import IcebergMetadata
from snowmelt.extract_load.destinations.typing import lossless, typed_table, with_inferred
from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.problems import shown
from snowmelt.extract_load.records import Batch, Rows
from snowmelt.extract_load.schemas import SchemaDriftError
from snowmelt.extract_load.stores.opening import open_store

_STRATEGIES = (LoadStrategy.APPEND, LoadStrategy.OVERWRITE, LoadStrategy.UPSERT)


class DeltaLoader(Loader):
    """append, overwrite and upsert (by key).

    A commit has a `txn` action with the flow and a number; which place that number is stands in a file beside the
    table that was written before: without the commit it says nothing. Iceberg's metadata follow each commit.
    """

    def __init__(
        self, address: str | Path, table: str, flow: str, run_id: str, *, strategy: LoadStrategy = LoadStrategy.APPEND,
        key: Sequence[str] = (), fields: Sequence[Field] = (), settings: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        require_strategy(strategy, _STRATEGIES, "A Delta table")
        if strategy is LoadStrategy.UPSERT and not key:
            raise ValueError("upsert needs a key")
        self.flow, self.run_id, self.strategy = flow, run_id, strategy
        self.key, self.fields = tuple(key), tuple(fields)
        local = isinstance(address, Path) or "://" not in address
        self._address = str(Path(address).absolute() / table) if local else f"{str(address).rstrip('/')}/{table}"
        self._options = delta_options(settings or {})
        self._store = open_store(address, settings)
        self._iceberg = IcebergMetadata(self._address, settings)
        self._places = f"{table}/_snowmelt/{flow}"
        self._staging = Staging(f"Table {table}")
        self._number, self._place = self._committed()
        # A run that was killed behind its commit did not come to this.
        self._follow()

    def place(self) -> str | None:
        return self._place

    def load(self, batch: Batch, loaded_at: str) -> int:
        if batch.place == self._place:
            return 0
        taken = self._staging.taken(batch, whole=self.strategy is LoadStrategy.OVERWRITE)
        rows = self._rows(taken) if taken is not None else None
        if taken is None or rows is None:
            return 0
        # A number of our own: another run of the flow at the same time must not name its place by it.
        number = max(self._number + 1, time.time_ns())
        self._write_place(number, batch.place, loaded_at)
        self._commit(rows, number)
        behind, self._number, self._place = self._number, number, batch.place
        # Whatever fails from here on, the batch counts.
        self._store.remove(f"{self._places}/{behind}.json")
        self._follow()
        return len(taken)

    def _follow(self) -> None:
        table = self._table()
        if table is not None:
            self._iceberg.follow(table)

    def _rows(self, taken: Rows) -> pa.Table | None:
        """None if neither rows nor fields nor a table tell the columns: then there is nothing to make."""
        fields = with_inferred(self.fields, taken)
        if fields:
            rows = typed_table(fields, taken)
            return _last_of_each(rows, self.key) if self.strategy is LoadStrategy.UPSERT else rows
        present = self._table()
        return None if present is None else _schema(present).empty_table()

    def _table(self) -> DeltaTable | None:
        with self._errors():
            try:
                return DeltaTable(self._address, storage_options=self._options)
            except TableNotFoundError:
                return None

    def _commit(self, rows: pa.Table, number: int) -> None:
        properties = CommitProperties(
            custom_metadata={"snowmelt.run_id": self.run_id, "snowmelt.flow": self.flow},
            app_transactions=[Transaction(self.flow, number)],
        )
        mode: Literal["append", "overwrite"] = "overwrite" if self.strategy is LoadStrategy.OVERWRITE else "append"
        present = self._table() if mode == "append" else None
        if present is not None:
            rows = _as_there(rows, _schema(present))
        with self._errors():
            if present is not None and rows.num_rows and self.strategy is LoadStrategy.UPSERT:
                self._upsert(present, rows, properties)
                return
            if self.strategy is LoadStrategy.UPSERT:
                rows = _as_merges_write(rows)
            write_deltalake(
                self._address, rows, mode=mode, schema_mode="overwrite" if mode == "overwrite" else "merge",
                storage_options=self._options, commit_properties=properties,
            )  # fmt: skip

    def _upsert(self, table: DeltaTable, rows: pa.Table, properties: CommitProperties) -> None:
        same = " AND ".join(f't."{name}" = s."{name}"' for name in self.key)
        merge = table.merge(
            rows, same, source_alias="s", target_alias="t", merge_schema=True, commit_properties=properties
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def _committed(self) -> tuple[int, str | None]:
        """The number, and the place that it names."""
        table = self._table()
        number = 0 if table is None else table.transaction_version(self.flow) or 0
        if not number:
            return 0, None
        with self._store.local(f"{self._places}/{number}.json") as path:
            return number, str(json.loads(path.read_text(encoding="utf-8"))["place"])

    def _write_place(self, number: int, place: str, loaded_at: str) -> None:
        content = {"place": place, "run_id": self.run_id, "loaded_at": loaded_at}
        self._store.put_text(json.dumps(content), f"{self._places}/{number}.json")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except CommitFailedError:
            self._number, self._place = self._committed()
            raise SnowmeltError(
                "000625", "40001", f"Somebody else wrote {shown(self._address)} at the same time.",
                hint="Run one at a time; this one goes on from what is committed.", transient=True,
            ) from None  # fmt: skip
        except (DeltaError, OSError) as error:
            raise SnowmeltError(
                "370024", "58030", f"{shown(self._address)} can't be written: {str(error).splitlines()[0]}.",
                hint="The batch was not loaded. Check the address and what the credentials allow.",
            ) from None  # fmt: skip

    def close(self) -> None:
        self._iceberg.close()
        self._store.close()


def delta_options(settings: Mapping[str, str]) -> dict[str, str] | None:
    """What delta-rs calls the settings of a store; all else it finds in the environment, as the store does."""
    names = {
        "region": "AWS_REGION", "endpoint": "AWS_ENDPOINT_URL", "access_key": "AWS_ACCESS_KEY_ID",
        "secret_key": "AWS_SECRET_ACCESS_KEY", "session_token": "AWS_SESSION_TOKEN",
    }  # fmt: skip
    found = {names[name]: value for name, value in settings.items() if name in names}
    if found.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        found["AWS_ALLOW_HTTP"] = "true"
    return found or None


def _schema(table: DeltaTable) -> pa.Schema:
    """From the log alone: a dataset would list every file for it."""
    return pa.schema(table.schema().to_arrow())


def _as_there(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Columns of the types that they have in the table. Left to delta-rs, 3 would become TRUE, and a time its day."""
    for index, field in enumerate(rows.schema):
        there = schema.field(field.name).type if field.name in schema.names else field.type
        if there == field.type:
            continue
        made = lossless(rows.column(index), there)
        if made is None:
            raise SchemaDriftError(f"column {field.name} is {there} in the table and comes as {field.type}")
        rows = rows.set_column(index, pa.field(field.name, there, field.nullable), made)
    return rows


def _as_merges_write(rows: pa.Table) -> pa.Table:
    """Text of the type that MERGE notes in its files: PyIceberg can't put files together that note different ones."""
    text = {pa.string(): pa.string_view()}
    return rows.cast(pa.schema([field.with_type(text.get(field.type, field.type)) for field in rows.schema]))


def _last_of_each(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The last of the rows with each key: MERGE takes one."""
    values = zip(*[rows[name].to_pylist() for name in key], strict=True)
    last = {value: index for index, value in enumerate(values)}
    return rows.take(pa.array(sorted(last.values()), pa.int64()))
