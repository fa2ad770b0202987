"""Warehouses by name."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select, update

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.text import check_name
from snowmelt.state.model import Warehouse
from snowmelt.state.prepared import Prepared
from snowmelt.state.repository import Repository
from snowmelt.state.sight import Owned
from snowmelt.state.tables import WAREHOUSES

_GET = Prepared(select(WAREHOUSES.c.record).where(WAREHOUSES.c.name == bindparam("warehouse")))


class Warehouses(Repository):
    """Through a reader with a sight, those that it does not see are not there."""

    def get(self, name: str) -> Warehouse | None:
        record = self._value(_GET, {"warehouse": name})
        return None if record is None else self._seen(Warehouse.model_validate_json(record))

    def list(self) -> list[Warehouse]:
        """All warehouses by name."""
        records = self._execute(select(WAREHOUSES.c.record).order_by(WAREHOUSES.c.name)).scalars()
        found = (self._seen(Warehouse.model_validate_json(record)) for record in records)
        return [warehouse for warehouse in found if warehouse is not None]

    def create(self, warehouse: Warehouse) -> None:
        """Raises `already_exists` when the name is taken."""
        check_name(warehouse.name)
        self._writing()
        with self._unless_taken(quote(warehouse.name)):
            self._execute(insert(WAREHOUSES), _row(warehouse))

    def update(self, warehouse: Warehouse) -> None:
        """Store everything about it, found by its id."""
        self._writing()
        with self._unless_taken(quote(warehouse.name)):
            change = update(WAREHOUSES).where(WAREHOUSES.c.id == warehouse.id).values(_row(warehouse))
            if self._execute(change).rowcount != 1:
                raise errors.not_found("Warehouse", quote(warehouse.name))

    def drop(self, name: str) -> None:
        self._writing()
        if self._execute(delete(WAREHOUSES).where(WAREHOUSES.c.name == name)).rowcount != 1:
            raise errors.not_found("Warehouse", quote(name))

    def rename(self, name: str, new_name: str) -> None:
        """Raises `already_exists` when the new name is taken."""
        check_name(new_name)
        scope = self._writing()
        warehouse = self.get(name)
        if warehouse is None:
            raise errors.not_found("Warehouse", quote(name))
        self.update(warehouse.model_copy(update={"name": new_name, "altered_on": scope.now}))

    def _seen(self, warehouse: Warehouse) -> Warehouse | None:
        return warehouse if self._sees(Owned(warehouse.id, warehouse.owner)) else None


def _row(warehouse: Warehouse) -> dict[str, object]:
    return {"id": warehouse.id, "name": warehouse.name, "record": warehouse.model_dump_json()}
