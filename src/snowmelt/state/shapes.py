"""How versions from before a change of a table's columns are to be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic import TypeAdapter
from sqlalchemy import bindparam, delete, func, select

from snowmelt.state.model import PastColumn, TableShape
from snowmelt.state.prepared import Prepared, Record
from snowmelt.state.repository import Repository, chunks
from snowmelt.state.tables import TABLE_SHAPES

_C = TABLE_SHAPES.c
_OF_TABLE = select(_C.table_id, _C.last_version, _C.definition, _C.columns).where(_C.table_id == bindparam("of_table"))
_ALL = Prepared(_OF_TABLE.order_by(_C.last_version))
_AT = Prepared(_OF_TABLE.where(_C.last_version >= bindparam("version")).order_by(_C.last_version).limit(1))
_PAST = Prepared(
    select(_C.table_id, func.max(_C.last_version))
    .where(_C.table_id.in_(bindparam("table_ids", expanding=True)))
    .group_by(_C.table_id)
)
_COLUMNS: TypeAdapter[tuple[PastColumn, ...]] = TypeAdapter(tuple[PastColumn, ...])


class Shapes(Repository):
    """Only past shapes are kept: a table whose columns never changed has none."""

    def at(self, table_id: str, version: int) -> TableShape | None:
        """The shape of that version; None when it is the one the table has now."""
        row = self._row(_AT, {"of_table": table_id, "version": version})
        return None if row is None else _shape(row)

    def past(self, table_ids: Collection[str]) -> dict[str, int]:
        """Up to which version tables had another shape than now; those that never had are left out."""
        found: dict[str, int] = {}
        for part in chunks(list(table_ids)):
            found.update((id, version) for id, version in self._rows(_PAST, {"table_ids": part}))
        return found

    def all(self, table_id: str) -> list[TableShape]:
        """All past shapes of a table, the oldest first."""
        return [_shape(row) for row in self._rows(_ALL, {"of_table": table_id})]

    def record(self, shapes: Iterable[TableShape]) -> None:
        """Add shapes, replacing those of the same table and version."""
        self._writing()
        rows = [
            {
                "table_id": shape.table_id,
                "last_version": shape.last_version,
                "definition": shape.definition,
                "columns": _COLUMNS.dump_json(shape.columns).decode(),
            }
            for shape in shapes
        ]
        self._upsert(TABLE_SHAPES, rows)

    def forget_before(self, table_id: str, version: int) -> None:
        """Forget shapes that no version from that one on has."""
        self._writing()
        self._execute(delete(TABLE_SHAPES).where(_C.table_id == table_id, _C.last_version < version))

    def delete_for(self, table_id: str) -> None:
        self._writing()
        self._execute(delete(TABLE_SHAPES).where(_C.table_id == table_id))


def _shape(row: Record) -> TableShape:
    table_id, last_version, definition, columns = row
    return TableShape.model_construct(
        table_id=table_id,
        last_version=last_version,
        definition=definition,
        columns=_COLUMNS.validate_json(columns),
    )
