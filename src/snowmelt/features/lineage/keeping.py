"""What statements wrote, and from what."""

from __future__ import annotations

from sqlalchemy import and_, bindparam, delete, select

from snowmelt.features.lineage.records import WriteRecord
from snowmelt.state.repository import Repository
from snowmelt.state.tables import LINEAGE

_C = LINEAGE.c
_ALL = select(_C.record).order_by(_C.target_id, _C.digest)
_ABOUT = select(_C.record).where(_C.record.contains(bindparam("id")))


class LineageRecords(Repository):
    def all(self) -> list[WriteRecord]:
        return [WriteRecord.model_validate_json(record) for record in self._execute(_ALL).scalars()]

    def about(self, id: str) -> list[WriteRecord]:
        """The records in which an object is a target or a source."""
        found = self._execute(_ABOUT, {"id": id}).scalars()
        return [WriteRecord.model_validate_json(record) for record in found]

    def exchange(self, old: WriteRecord, new: WriteRecord) -> None:
        self._writing()
        self._execute(delete(LINEAGE).where(and_(_C.target_id == old.target.id, _C.digest == old.digest)))
        self.put(new)

    def delete_for(self, target_id: str) -> None:
        self._writing()
        self._execute(delete(LINEAGE).where(_C.target_id == target_id))

    def put(self, record: WriteRecord) -> None:
        """Stores the record in place of an earlier one that says the same.

        What is known of an earlier object of the target's name goes: the table was replaced, and filled anew.
        """
        self._writing()
        name = ".".join(record.target.name)
        self._execute(delete(LINEAGE).where(and_(_C.target_name == name, _C.target_id != record.target.id)))
        values = {
            "target_id": record.target.id,
            "digest": record.digest,
            "target_name": name,
            "record": record.model_dump_json(),
        }
        self._upsert(LINEAGE, [values])
