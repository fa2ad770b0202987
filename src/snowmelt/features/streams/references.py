"""Streams remember what their source is called."""

from __future__ import annotations

from snowmelt.features.streams.definitions import STREAM
from snowmelt.features.streams.offsets import definition_of
from snowmelt.runtime.kinds import Rename
from snowmelt.state.store import StateTransaction


def follow(state: StateTransaction, rename: Rename) -> None:
    for item in state.whole_catalog.objects([STREAM], include_dropped=True):
        definition = definition_of(item)
        name = rename(definition.source_name)
        if name != definition.source_name:
            moved = definition.model_copy(update={"source_name": name})
            state.catalog.update(item.model_copy(update={"definition": moved}))
