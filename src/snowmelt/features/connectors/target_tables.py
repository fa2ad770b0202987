"""The tables that a connector writes: made when they are missing, and following the source's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.names import ObjectName
from snowmelt.core.types import DataType, Kind
from snowmelt.features.connectors.definitions import ConnectorDefinition, Deletes, MirroredTable
from snowmelt.ingest.cdc.mirror_columns import CHANGED_AT, DELETED, POSITION
from snowmelt.ingest.cdc.shapes import CapturedColumn, CapturedShape, folded
from snowmelt.runtime import dispatch, drifts
from snowmelt.runtime.run import Run
from snowmelt.sql.statements.alter_table import AddColumn, AlterTable, DropColumn, SetType
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.columns import ColumnSpec, PrimaryKey
from snowmelt.sql.statements.tables import CreateTable, TableOptions
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, Column, ObjectKind, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_RAW_COLUMNS = (
    ("OPERATION", types.VARCHAR), ("TABLE_NAME", types.VARCHAR), ("BEFORE", types.VARIANT), ("AFTER", types.VARIANT),
    ("TS_MS", types.INTEGER), ("INGESTED_AT", types.TIMESTAMP_LTZ), ("CHANGE_NUMBER", types.INTEGER),
    ("RECORD_KEY", types.VARIANT), ("SOURCE_LSN", types.INTEGER), ("SOURCE_TRANSACTION", types.INTEGER),
    ("SOURCE_SEQUENCE", types.VARCHAR), ("SNAPSHOT", types.VARCHAR),
)  # fmt: skip
_DEAD_LETTER_COLUMNS = (
    ("CONNECTOR", types.VARCHAR), ("REASON", types.VARCHAR), ("TOPIC", types.VARCHAR), ("RECORD_KEY", types.VARCHAR),
    ("RECORD", types.VARCHAR), ("INGESTED_AT", types.TIMESTAMP_LTZ),
)  # fmt: skip


class TargetTables:
    """Finds, makes and alters tables with the rights of the connector's owner."""

    def __init__(self, account: Account, connector: CatalogObject) -> None:
        self._account = account
        self._connector = connector
        assert isinstance(connector.definition, ConnectorDefinition)
        self._definition = connector.definition

    def raw(self) -> CatalogObject:
        assert self._definition.raw_table is not None
        return self._present(self._definition.raw_table, _RAW_COLUMNS)

    def dead_letters(self) -> CatalogObject:
        return self._present(self._definition.dead_letters, _DEAD_LETTER_COLUMNS)

    def mirror(self, table_id: str) -> CatalogObject:
        """A mirror that was made before. Raises when somebody dropped it."""
        with self._account.state.read() as state:
            found = state.catalog.by_id(table_id)
        if found is None or found.dropped_on is not None:
            name = str(found.name) if found is not None else table_id
            raise errors.connector_stopped(
                f"The mirror {name} is gone.", hint="UNDROP it, or create the connector again. Then resume it."
            )
        return found

    def new_mirror(self, shape: CapturedShape) -> CatalogObject:
        """The mirror of a table that had none. One that is there already, from an earlier connector, is taken on."""
        name = self.mirror_name(shape.table)
        found = self._find(name)
        if found is None:
            columns = [_spec(column.target_name, column.type) for column in shape.columns]
            columns += [_spec(column, type_) for column, type_ in self._own_columns()]
            key = PrimaryKey(None, False, tuple(folded(column) for column in shape.key))
            self._create(name, columns, (key,) if shape.key else ())
            found = self._find(name)
        assert found is not None
        return found

    def mirror_of(self, shape: CapturedShape, known: MirroredTable | None) -> CatalogObject:
        """The table's mirror with the columns of this shape; made when there is none."""
        found = self.new_mirror(shape) if known is None else self.mirror(known.table_id)
        return self.follow(found, shape)[0]

    def find_mirror(self, table: str) -> CatalogObject | None:
        return self._find(self.mirror_name(table))

    def mirror_name(self, table: str) -> ObjectName:
        """The mirror's name: the table's own, with its schema in front if two schemas have a table of that name."""
        assert self._definition.mirror_schema is not None
        schema, _, name = table.partition(".")
        often = Counter(other.partition(".")[2] for other in self._definition.tables)
        bare = folded(name) if often[name] <= 1 else f"{folded(schema)}_{folded(name)}"
        return ObjectName(self._definition.mirror_schema.database, self._definition.mirror_schema.name, bare)

    def follow(self, mirror: CatalogObject, shape: CapturedShape) -> tuple[CatalogObject, bool]:
        """The mirror with the source's columns, and whether its rows have to be read anew to fill them.

        New columns are added, gone ones dropped, wider types taken on. What can't be converted is dropped and added.
        """
        present = {column.name: column for column in _definition(mirror).columns}
        own = dict(self._own_columns())
        wanted = {column.target_name: column for column in shape.columns}
        again = False
        actions: list[Any] = [DropColumn(name) for name in present if name not in wanted and name not in own]
        for name, column in wanted.items():
            if name not in present:
                actions.append(AddColumn(_added(column)))
            elif present[name].type != column.type:
                changed, lossless = _retyped(present[name], column)
                actions += changed
                again = again or not lossless
        actions += [AddColumn(_spec(name, type_)) for name, type_ in own.items() if name not in present]
        for action in actions:
            self._execute(AlterTable(_reference(mirror.name), (action,)))
        found = self._find(mirror.name) if actions else mirror
        assert found is not None
        if actions:
            drift = drifts.of_mirror(_definition(mirror).columns, _definition(found).columns)
            with self._account.state.begin() as state:
                drifts.note(state, found, f"{shape.table} of {self._connector.name}", drift)
        return found, again

    def _own_columns(self) -> Sequence[tuple[str, DataType]]:
        soft = self._definition.deletes is Deletes.SOFT
        own = [(POSITION, types.INTEGER), (CHANGED_AT, types.TIMESTAMP_LTZ)]
        return [*own, *([(DELETED, types.BOOLEAN)] if soft else [])]

    def _present(self, name: ObjectName, columns: Sequence[tuple[str, DataType]]) -> CatalogObject:
        found = self._find(name)
        if found is None:
            self._create(name, [_spec(column, type_) for column, type_ in columns], ())
            found = self._find(name)
        assert found is not None
        return found

    def _find(self, name: ObjectName) -> CatalogObject | None:
        with self._account.state.read() as state:
            return state.catalog.find(name, [ObjectKind.TABLE])

    def _create(self, name: ObjectName, columns: Sequence[ColumnSpec], constraints: tuple[PrimaryKey, ...]) -> None:
        self._execute(
            CreateTable(
                _reference(name),
                columns=tuple(columns),
                constraints=constraints,
                options=TableOptions(comment=f"Written by the connector {self._connector.name}"),
            )
        )

    def _execute(self, statement: CreateTable | AlterTable) -> None:
        name = self._connector.name
        session = self._account.session(
            user="SYSTEM", role=self._connector.owner, database=name.database, schema=name.schema
        )
        session.acts_as_owner = True
        try:
            dispatch.execute(Run(session, SqlText(f"-- by the connector {name}")), statement)
        finally:
            session.close()


def _definition(table: CatalogObject) -> TableDefinition:
    assert isinstance(table.definition, TableDefinition)
    return table.definition


def _reference(name: ObjectName) -> NameRef:
    return NameRef((name.database, name.schema, name.name))


def _spec(name: str, type_: DataType, default: SqlText | None = None) -> ColumnSpec:
    # INT is what makes a 64-bit integer of a NUMBER.
    return ColumnSpec(name, SqlText("INT" if type_.int64 else str(type_)), default=default)


def _added(column: CapturedColumn) -> ColumnSpec:
    """With the value that the source gave the rows which were there before, when it said so."""
    value = column.default
    if isinstance(value, bool):
        return _spec(column.target_name, column.type, SqlText("TRUE" if value else "FALSE"))
    if isinstance(value, int | Decimal) and column.type.kind is Kind.NUMBER:
        return _spec(column.target_name, column.type, SqlText(format(value, "f")))
    if isinstance(value, str) and column.type.kind is Kind.VARCHAR:
        quoted = value.replace("\\", "\\\\").replace("'", "''")
        return _spec(column.target_name, column.type, SqlText(f"'{quoted}'"))
    return _spec(column.target_name, column.type)


def _retyped(present: Column, wanted: CapturedColumn) -> tuple[list[Any], bool]:
    old, new = present.type, wanted.type
    if old.kind is Kind.NUMBER and new.kind is Kind.NUMBER and not old.int64 and old.scale == new.scale:
        wider = (new.precision or 0) >= (old.precision or 0)
        # A narrower column of the source has only values that fit into the one that is here.
        return ([SetType(present.name, SqlText(str(new)))] if wider else []), True
    if old.kind is Kind.VARCHAR and new.kind is Kind.VARCHAR:
        longer = (new.length or 0) > (old.length or 0)
        return ([SetType(present.name, SqlText(str(new)))] if longer else []), True
    return [DropColumn(present.name), AddColumn(_added(wanted))], False
