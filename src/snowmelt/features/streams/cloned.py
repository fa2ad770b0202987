"""Streams of a cloned schema or database: they read the cloned tables, from the beginning of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from snowmelt.features.streams.offsets import definition_of
from snowmelt.runtime.references import Rename
from snowmelt.state.ids import new_id
from snowmelt.state.model import RELATIONS, CatalogObject
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def add(
    run: Run, state: StateTransaction, stream: CatalogObject, rename: Rename, tables: Mapping[str, tuple[str, int]]
) -> None:
    """The clone of a stream, once the other objects are there.

    `tables` leads from each cloned table to its clone and that one's first version. Changes that the stream has not
    consumed are not the clone's, as in Snowflake: the clone's tables have no history of their own.
    """
    standing = state.streams.get(stream.id)
    if standing is None:
        return
    definition = definition_of(stream)
    source = state.catalog.find(rename(definition.source_name), RELATIONS)
    if source is None:
        return
    name = rename(stream.name)
    clone = stream.model_copy(
        update={"id": new_id(), "name": name, "owner": run.session.role, "dropped_on": None,
                "created_on": state.now, "altered_on": state.now,
                "definition": definition.model_copy(update={"source_id": source.id, "source_name": source.name})},
    )  # fmt: skip
    offsets = dict(tables.get(id, (id, version)) for id, version in standing.offsets.items())
    state.catalog.create(clone)
    state.streams.put(
        standing.model_copy(
            update={"stream_id": clone.id, "offsets": offsets, "offset_at": state.now, "renewed_at": state.now}
        )
    )
