"""How far connectors are."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select

from snowmelt.core import errors
from snowmelt.features.connectors.definitions import ConnectorState
from snowmelt.state.repository import Repository
from snowmelt.state.tables import CONNECTORS

_C = CONNECTORS.c
_STATE = select(_C.record).where(_C.connector_id == bindparam("connector_id"))


class ConnectorStandings(Repository):
    def get(self, connector_id: str) -> ConnectorState | None:
        record = self._execute(_STATE, {"connector_id": connector_id}).scalar()
        return None if record is None else ConnectorState.model_validate_json(record)

    def require(self, connector_id: str) -> ConnectorState:
        found = self.get(connector_id)
        if found is None:
            raise errors.internal(f"the connector {connector_id} has no state.")
        return found

    def put(self, state: ConnectorState) -> None:
        self._writing()
        self._upsert(CONNECTORS, [{"connector_id": state.connector_id, "record": state.model_dump_json()}])

    def delete_for(self, connector_id: str) -> None:
        self._writing()
        self._execute(delete(CONNECTORS).where(_C.connector_id == connector_id))
