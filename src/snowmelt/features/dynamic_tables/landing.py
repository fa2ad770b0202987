"""The events of a stream, kept: reading a stream uses its rows up, and a dimension needs all of them again and again.

Beside a dimension FROM STREAM there are a table of the dimension's name and `__EVENTS`, which only grows, and a task of
the same name that appends to it what the stream has. Both go when the dimension is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, literal, quote
from snowmelt.core.types import TIMESTAMP_LTZ, TIMESTAMPS, DataType, Kind
from snowmelt.features.streams.definitions import STREAM, StreamMode
from snowmelt.features.streams.offsets import definition_of
from snowmelt.features.tasks import changing as tasks
from snowmelt.features.tasks.definitions import TASK
from snowmelt.features.tasks.statements import CreateTask, TaskOptions
from snowmelt.runtime import tables
from snowmelt.runtime.rights.enforcement import authorise
from snowmelt.sql.scd import Dimension, EventColumn, probe_of
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.columns import ColumnSpec
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.warehouses import Resume
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import RELATIONS, CatalogObject, Column, ObjectKind, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

LANDED_AT = "METADATA$LANDED_AT"
_SUFFIX = "__EVENTS"
_ROW_ID = "METADATA$ROW_ID"
_DELETION = "METADATA$ACTION = 'DELETE'"
_SECONDS_BETWEEN = 10
"""The least that tasks started by streams take."""


def landing_of(table: CatalogObject | None) -> ObjectName | None:
    """The name of the table and of the task that belong to a dimension."""
    definition = table.definition if table is not None else None
    dynamic = definition.dynamic if isinstance(definition, TableDefinition) else None
    if table is None or dynamic is None or dynamic.dimension is None or dynamic.dimension.landing is None:
        return None
    return ObjectName(table.name.database, table.name.schema, dynamic.dimension.landing)


def _seen_from(schema: SchemaName, name: ObjectName) -> str:
    """The name, as short as it can be, so that it stays right if the schema is renamed or cloned."""
    return quote(name.name) if name.parent == schema else str(name)


class EventLanding:
    """The events of a stream, for a dimension of that name: those of the one that is there, if it has any."""

    def __init__(self, run: Run, name: ObjectName, dimension: Dimension, present: CatalogObject | None) -> None:
        assert dimension.stream is not None
        self.run = run
        self.stream = run.object_name(dimension.stream)
        kept = landing_of(present)
        self.is_new = kept is None
        self.name = kept or ObjectName(name.database, name.schema, name.name + _SUFFIX)
        self.dimension = replace(dimension, landing=self.name.name)
        self._ref = NameRef((self.name.database, self.name.schema, self.name.name))

    @cached_property
    def _columns(self) -> list[EventColumn]:
        rows = self.run.bind_query(SqlText(f"SELECT * FROM {self.stream}"))
        return [EventColumn(item.name, item.type) for item in rows.columns if item.name != _ROW_ID]

    @property
    def _kept_columns(self) -> list[EventColumn]:
        return [*self._columns, EventColumn(LANDED_AT, TIMESTAMP_LTZ)]

    def check(self) -> None:
        """Before anything is made: the names are free, or what has them is this dimension's and fits."""
        if not self.is_new:
            self._check_fits()
            return
        with self.run.state.read() as state:
            taken = any(state.catalog.find(self.name, kinds) is not None for kinds in (RELATIONS, [TASK]))
        if taken:
            raise errors.already_exists(str(self.name))

    def create(self, warehouse: NameRef | None) -> None:
        """The table, where there is none, and the task, not started yet. Nothing brings events back, so they stay."""
        if self.is_new:
            self._create_table()
        task = self._task(warehouse)
        authorise(self.run, task)
        tasks.create(self.run, task)

    def _create_table(self) -> None:
        specs = tuple(ColumnSpec(column.name, SqlText(str(column.type))) for column in self._kept_columns)
        statement = CreateTable(self._ref, columns=specs)
        authorise(self.run, statement)
        definition = tables.definition_of(self.run, self.name, statement)
        table = tables.new_table(self.run, self.name, statement, definition)
        tables.publish(self.run, table, tables.create_storage(self.run, table), replacing=False)

    def _check_fits(self) -> None:
        kept = self.run.find_table(self._ref).definition
        assert isinstance(kept, TableDefinition)
        if _kinds(kept.columns) != _kinds(self._kept_columns):
            raise errors.compilation(
                "002026", "42601", f"SCD table: the events kept in {self.name} have other columns than the stream.",
                hint="Change that table as the stream's source was changed, or DROP DYNAMIC TABLE and create it anew.",
            )  # fmt: skip

    def _task(self, warehouse: NameRef | None) -> CreateTask:
        names = ", ".join(quote(column.name) for column in self._columns)
        stream, kept = (_seen_from(self.name.parent, name) for name in (self.stream, self.name))
        return CreateTask(
            self._ref,
            or_replace=not self.is_new,
            options=TaskOptions(warehouse=warehouse, user_task_minimum_trigger_interval_in_seconds=_SECONDS_BETWEEN),
            when=SqlText(f"SYSTEM$STREAM_HAS_DATA({literal(stream)})"),
            body=SqlText(
                f"INSERT INTO {kept} ({names}, {LANDED_AT}) SELECT {names}, CURRENT_TIMESTAMP() FROM {stream}"
            ),
        )

    def start(self) -> None:
        """First of all for what the stream has now."""
        tasks.alter(self.run, self._ref, Resume(), if_exists=False)

    def remove(self) -> None:
        """Drops what was made for a dimension that could not be created."""
        with self.run.state.begin() as state:
            _drop(state, self.name)

    def events(self) -> tuple[Dimension, str]:
        """The dimension in terms of the events that were kept, and where these are.

        In the order of arrival, the deletion and the insertion of one window are the row before and the row after. In
        an order of the rows' own, the row before an update says nothing; a deletion shows the row as it was, so that it
        gets its place from when it arrived.
        """
        dimension = self.dimension
        session = self.run.session
        kept = _seen_from(SchemaName(session.database or "", session.schema or ""), self.name)
        deletion = _DELETION if dimension.delete_when is None else f"{_DELETION} OR ({dimension.delete_when})"
        if not dimension.sequence:
            arrival = (LANDED_AT, "METADATA$ACTION = 'INSERT'")
            return replace(dimension, sequence=arrival, delete_when=deletion), kept
        first, *others = dimension.sequence
        source = f"(SELECT * FROM {kept} WHERE NOT (METADATA$ISUPDATE AND {_DELETION}))"
        if self._deletes():
            type_ = self._type_of_order(source)
            first = f"IFF({_DELETION}, GREATEST(CAST({LANDED_AT} AS {type_}), {first}), {first})"
        return replace(dimension, sequence=(first, *others), delete_when=deletion), source

    def _deletes(self) -> bool:
        with self.run.state.read() as state:
            stream = state.catalog.find(self.stream, [STREAM], self.run.session.id)
        return stream is None or definition_of(stream).mode is StreamMode.DEFAULT

    def _type_of_order(self, source: str) -> DataType:
        type_ = self.run.bind_query(SqlText(probe_of(self.dimension, source))).columns[-1].type
        if type_.kind not in TIMESTAMPS:
            raise errors.compilation(
                "001003", "42000",
                f"SCD table: SEQUENCE BY gives {type_}, but a row that the stream shows as deleted has no such value.",
                hint="Leave SEQUENCE BY out (order of arrival), order by a TIMESTAMP, or use an APPEND_ONLY stream.",
            )  # fmt: skip
        return type_


def _kinds(columns: Iterable[EventColumn | Column]) -> list[tuple[str, Kind]]:
    return [(column.name, column.type.kind) for column in columns]


def dropped(state: StateTransaction, dimension: CatalogObject) -> None:
    """With the dimension go the events that were kept for it, if it is they that it reads."""
    name = landing_of(dimension)
    if name is None:
        return
    events = state.catalog.find(name, [ObjectKind.TABLE])
    read = {item.object_id for item in state.dynamic.require(dimension.id).dependencies}
    if events is not None and events.id in read:
        _drop(state, name)


def restored(state: StateTransaction, dimension: CatalogObject) -> None:
    """With the dimension its events come back; the task is suspended, as every task that begins."""
    name = landing_of(dimension)
    for kind in (ObjectKind.TABLE, TASK):
        if name is not None and state.catalog.find(name, [kind]) is None:
            state.catalog.undrop(name, kind)


def _drop(state: StateTransaction, name: ObjectName) -> None:
    task = state.catalog.find(name, [TASK])
    if task is not None:
        tasks.dropped(state, task)
    for item in (task, state.catalog.find(name, [ObjectKind.TABLE])):
        if item is not None:
            state.catalog.drop(item.id, state.now)
