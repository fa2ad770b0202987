"""Which tables and views are held to which contracts."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, or_, select, update

from snowmelt.state.contract_model import ContractLink
from snowmelt.state.repository import Repository
from snowmelt.state.tables import CONTRACT_LINKS, OBJECTS

_C = CONTRACT_LINKS.c
_COLUMNS = select(_C.object_id, _C.contract_id, _C.major, _C.described)
_OF_OBJECT = _COLUMNS.where(_C.object_id == bindparam("object_id"))
_OF_CONTRACT = _COLUMNS.where(_C.contract_id == bindparam("contract_id")).order_by(_C.object_id)

_ALL = _COLUMNS.order_by(_C.object_id)
_LIVE_VIEWS = (
    select(_C.object_id)
    .join(OBJECTS, OBJECTS.c.id == _C.object_id)
    .where(OBJECTS.c.kind == "VIEW", OBJECTS.c.dropped_on.is_(None))
    .order_by(_C.object_id)
)


class ContractLinks(Repository):
    def get(self, object_id: str) -> ContractLink | None:
        row = self._execute(_OF_OBJECT, {"object_id": object_id}).mappings().first()
        return None if row is None else ContractLink.model_validate(dict(row))

    def all(self) -> list[ContractLink]:
        return [ContractLink.model_validate(dict(row)) for row in self._execute(_ALL).mappings()]

    def live_views(self) -> list[str]:
        """The ids of the views that are held to a contract; most of what is are tables."""
        return list(self._execute(_LIVE_VIEWS).scalars())

    def of_contract(self, contract_id: str) -> list[ContractLink]:
        rows = self._execute(_OF_CONTRACT, {"contract_id": contract_id}).mappings()
        return [ContractLink.model_validate(dict(row)) for row in rows]

    def put(self, link: ContractLink) -> None:
        self._writing()
        self._upsert(CONTRACT_LINKS, [link.model_dump()])

    def detach(self, object_id: str) -> None:
        self._writing()
        self._execute(delete(CONTRACT_LINKS).where(_C.object_id == object_id))

    def move(self, object_id: str, to: str) -> None:
        """What takes an object's place takes its contract too."""
        self._writing()
        self._execute(update(CONTRACT_LINKS).where(_C.object_id == object_id).values(object_id=to))

    def delete_for(self, id: str) -> None:
        """Deletes the links of an object or contract that was purged."""
        self._writing()
        self._execute(delete(CONTRACT_LINKS).where(or_(_C.object_id == id, _C.contract_id == id)))
