"""Writing down that a source changed its columns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from snowmelt.observe.drift import Drift, difference
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.state.observing_model import SchemaDrift
from snowmelt.state.store import StateTransaction
from snowmelt.storage.schema import delta_schema
from snowmelt.storage.table import DeltaStore


def of_mirror(before: Sequence[Column], after: Sequence[Column]) -> Drift:
    """What a connector made of its mirror because the source's table changed."""
    return difference(_types(before), _types(after))


def of_log(store: DeltaStore, definition: TableDefinition, visible: int, latest: int) -> Drift:
    """What other writers made of the table's columns between two versions."""
    commits = store.commits(definition.location, visible, latest)
    if not any(commit.schema_change and commit.tag is None for commit in commits):
        return Drift()
    ours = _stored(delta_schema(definition.columns).to_json())
    return difference(ours, _stored(store.files(definition.location, latest).metadata.schema_json))


def note(state: StateTransaction, table: CatalogObject, source: str, found: Drift) -> None:
    """Does nothing when there is no difference."""
    if found:
        state.observations.add_drift(
            SchemaDrift(
                id=new_id(), object_id=table.id, name=table.name, source=source, found_at=state.now,
                added=found.added, removed=found.removed, retyped=found.retyped,
            )
        )  # fmt: skip


def _types(columns: Sequence[Column]) -> dict[str, str]:
    return {column.name: str(column.type) for column in columns}


def _stored(schema: str) -> dict[str, str]:
    fields = json.loads(schema)["fields"]
    return {each["name"]: each["type"] if isinstance(each["type"], str) else each["type"]["type"] for each in fields}
