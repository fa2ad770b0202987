"""Which policies hold for which tables, views and columns, and which ones tags bring."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, or_, select

from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.prepared import Prepared
from snowmelt.state.repository import Repository
from snowmelt.state.tables import POLICY_REFERENCES

_C = POLICY_REFERENCES.c
_COLUMNS = select(_C.record)
_OF_OBJECT = Prepared(_COLUMNS.where(_C.object_id == bindparam("object_id")).order_by(_C.kind, _C.column_name))
_OF_KIND = Prepared(_COLUMNS.where(_C.kind == bindparam("kind")).order_by(_C.object_id, _C.column_name))
_OF_POLICY = _COLUMNS.where(_C.policy_id == bindparam("policy_id")).order_by(_C.object_id, _C.column_name)


class PolicyReferences(Repository):
    """Every write moves the catalog's generation on, which whatever is kept of a bound query rests on."""

    def of_object(self, object_id: str) -> list[PolicyReference]:
        return [PolicyReference.model_validate_json(row[0]) for row in self._rows(_OF_OBJECT, {"object_id": object_id})]

    def of_kind(self, kind: str) -> list[PolicyReference]:
        return [PolicyReference.model_validate_json(row[0]) for row in self._rows(_OF_KIND, {"kind": kind})]

    def of_policy(self, policy_id: str) -> list[PolicyReference]:
        rows = self._execute(_OF_POLICY, {"policy_id": policy_id})
        return [PolicyReference.model_validate_json(row.record) for row in rows]

    def put(self, reference: PolicyReference) -> None:
        """Replaces the policy of that kind that the object or column has."""
        self._writing().bump_generation()
        row = {
            "object_id": reference.object_id, "kind": reference.kind, "column_name": reference.column,
            "policy_id": reference.policy_id, "record": reference.model_dump_json(),
        }  # fmt: skip
        self._upsert(POLICY_REFERENCES, [row])

    def remove(self, reference: PolicyReference) -> None:
        self._writing().bump_generation()
        self._execute(
            delete(POLICY_REFERENCES).where(
                _C.object_id == reference.object_id, _C.kind == reference.kind, _C.column_name == reference.column
            )
        )

    def delete_for(self, id: str) -> None:
        """Deletes what is known of an object or policy that was purged."""
        self._writing().bump_generation()
        self._execute(delete(POLICY_REFERENCES).where(or_(_C.object_id == id, _C.policy_id == id)))
