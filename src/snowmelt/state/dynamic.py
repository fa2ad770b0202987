"""Where dynamic tables stand, what their refreshes did, and which definitions they had."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, or_, select, update

from snowmelt.core import errors
from snowmelt.state.dynamic_model import DynamicGraphEntry, DynamicRefresh, DynamicState, RefreshState
from snowmelt.state.prepared import Prepared
from snowmelt.state.repository import Repository
from snowmelt.state.tables import DYNAMIC_GRAPH, DYNAMIC_REFRESHES, DYNAMIC_TABLES

_T = DYNAMIC_TABLES.c
_R = DYNAMIC_REFRESHES.c
_G = DYNAMIC_GRAPH.c
_STATE = Prepared(select(_T.record).where(_T.table_id == bindparam("table_id")))
_STATES = Prepared(select(_T.table_id, _T.record))
_SUCCEEDED = select(_R.record).where(
    _R.table_id == bindparam("table_id"), _R.state == RefreshState.SUCCEEDED.value, _R.version.is_not(None)
)
# A refresh by hand may follow a scheduled one at the same data timestamp; both have the same version then.
_AS_OF = Prepared(
    _SUCCEEDED.where(_R.data_timestamp <= bindparam("at"))
    .order_by(_R.data_timestamp.desc(), _R.version.desc())
    .limit(1)
)
_OF_VERSION = Prepared(
    _SUCCEEDED.where(_R.version <= bindparam("version")).order_by(_R.version.desc(), _R.data_timestamp.desc()).limit(1)
)
_LATEST = Prepared(
    select(_R.record)
    .where(_R.table_id == bindparam("table_id"), _R.state != RefreshState.EXECUTING.value)
    .order_by(_R.data_timestamp.desc(), _R.id.desc())
    .limit(1)
)
_EXECUTING = Prepared(select(_R.record).where(_R.state == RefreshState.EXECUTING.value))


class Dynamic(Repository):
    # -- where they stand -----------------------------------------------------------------------------------------

    def get(self, table_id: str) -> DynamicState | None:
        record = self._value(_STATE, {"table_id": table_id})
        return None if record is None else DynamicState.model_validate_json(record)

    def require(self, table_id: str) -> DynamicState:
        found = self.get(table_id)
        if found is None:
            raise errors.internal(f"the dynamic table {table_id} has no state.")
        return found

    def all(self) -> dict[str, DynamicState]:
        """Every dynamic table's state by its table's id, dropped tables included."""
        return {table_id: DynamicState.model_validate_json(record) for table_id, record in self.records()}

    def records(self) -> list[tuple[str, str]]:
        """What `all` reads, as it is stored, for those who know most of it already."""
        return [(table_id, record) for table_id, record in self._rows(_STATES)]

    def put(self, state: DynamicState) -> None:
        self._writing()
        self._upsert(DYNAMIC_TABLES, [{"table_id": state.table_id, "record": state.model_dump_json()}])

    def change(self, table_id: str, **values: object) -> DynamicState:
        """Other values for parts of a table's state; the new state."""
        state = self.require(table_id).model_copy(update=values)
        self.put(state)
        return state

    # -- refreshes ------------------------------------------------------------------------------------------------

    def record_refresh(self, refresh: DynamicRefresh) -> None:
        """Adds a row of history, or replaces the one with the same id."""
        self._writing()
        self._upsert(
            DYNAMIC_REFRESHES,
            [
                {
                    "id": refresh.id,
                    "table_id": refresh.table_id,
                    "data_timestamp": refresh.data_timestamp,
                    "state": refresh.state.value,
                    "version": refresh.version,
                    "record": refresh.model_dump_json(),
                }
            ],
        )

    def forget_refresh(self, id: str) -> None:
        """A refresh that left nothing behind and is begun again."""
        self._writing()
        self._execute(delete(DYNAMIC_REFRESHES).where(_R.id == id))

    def refresh(self, id: str) -> DynamicRefresh | None:
        record = self._execute(select(_R.record).where(_R.id == id)).scalar()
        return None if record is None else DynamicRefresh.model_validate_json(record)

    def refresh_as_of(self, table_id: str, at: datetime) -> DynamicRefresh | None:
        """The refresh that made what the table holds for a data timestamp: the newest that succeeded by then."""
        record = self._value(_AS_OF, {"table_id": table_id, "at": at})
        return None if record is None else DynamicRefresh.model_validate_json(record)

    def refresh_of_version(self, table_id: str, version: int) -> DynamicRefresh | None:
        """The newest refresh after which the table had that version, or one that only its description sets apart."""
        record = self._value(_OF_VERSION, {"table_id": table_id, "version": version})
        return None if record is None else DynamicRefresh.model_validate_json(record)

    def last_refresh(self, table_id: str) -> DynamicRefresh | None:
        """The newest refresh that ended, however it did."""
        record = self._value(_LATEST, {"table_id": table_id})
        return None if record is None else DynamicRefresh.model_validate_json(record)

    def newest(self, table_id: str, count: int) -> list[DynamicRefresh]:
        """The newest refreshes of a table, at most `count`, ended or not, the newest first."""
        query = select(_R.record).where(_R.table_id == table_id).order_by(_R.data_timestamp.desc(), _R.id.desc())
        return [DynamicRefresh.model_validate_json(record) for record in self._execute(query.limit(count)).scalars()]

    def refreshes(self, start: datetime, end: datetime, table_ids: Sequence[str] | None = None) -> list[DynamicRefresh]:
        """Refreshes with a data timestamp in that range, and all that run; the newest first."""
        inside = _R.data_timestamp.between(start, end)
        query = select(_R.record).where(or_(inside, _R.state == RefreshState.EXECUTING.value))
        if table_ids is not None:
            query = query.where(_R.table_id.in_(table_ids))
        records = self._execute(query.order_by(_R.data_timestamp.desc(), _R.id)).scalars()
        return [DynamicRefresh.model_validate_json(record) for record in records]

    def executing(self) -> list[DynamicRefresh]:
        return [DynamicRefresh.model_validate_json(record) for (record,) in self._rows(_EXECUTING)]

    # -- the graph ------------------------------------------------------------------------------------------------

    def begin_graph(self, entry: DynamicGraphEntry) -> None:
        """A definition holds from now on; the one before it ends."""
        self._writing()
        self.end_graph(entry.table_id, entry.valid_from)
        values = {"table_id": entry.table_id, "valid_from": entry.valid_from, "valid_to": None}
        self._execute(insert(DYNAMIC_GRAPH), {**values, "record": entry.model_dump_json()})

    def end_graph(self, table_id: str, at: datetime) -> None:
        """The table's definition holds no longer, as after a DROP."""
        self._writing()
        current = self.graph_entry(table_id)
        if current is not None:
            ended = current.model_copy(update={"valid_to": at})
            self._execute(
                update(DYNAMIC_GRAPH)
                .where(_G.table_id == table_id, _G.valid_from == current.valid_from)
                .values(valid_to=at, record=ended.model_dump_json())
            )

    def graph_entry(self, table_id: str) -> DynamicGraphEntry | None:
        """The definition that holds now."""
        record = self._execute(select(_G.record).where(_G.table_id == table_id, _G.valid_to.is_(None))).scalar()
        return None if record is None else DynamicGraphEntry.model_validate_json(record)

    def graph(self, start: datetime, end: datetime) -> list[DynamicGraphEntry]:
        """Definitions that held at some time between both instants, the oldest first."""
        query = (
            select(_G.record)
            .where(_G.valid_from <= end, or_(_G.valid_to.is_(None), _G.valid_to > start))
            .order_by(_G.valid_from, _G.table_id)
        )
        return [DynamicGraphEntry.model_validate_json(record) for record in self._execute(query).scalars()]

    def delete_for(self, table_id: str) -> None:
        """Forget everything about a table."""
        self._writing()
        self._execute(delete(DYNAMIC_TABLES).where(_T.table_id == table_id))
        self._execute(delete(DYNAMIC_REFRESHES).where(_R.table_id == table_id))
        self._execute(delete(DYNAMIC_GRAPH).where(_G.table_id == table_id))
