"""Facts from sources that a conversation is about: they are part of what it began with, and need not be asked for."""

from __future__ import annotations

from snowmelt.design.conversation.filling import settled
from snowmelt.design.conversation.state import Conversation
from snowmelt.design.looking.filling import looked
from snowmelt.design.requirements.model import Requirements, Source


def sources_to_look_at(state: Conversation) -> list[Source]:
    """Those of which tables are named whose columns nobody knows yet."""
    return [
        source for source in state.requirements.sources
        if source.tables and any(not table.columns for table in source.tables)
    ]  # fmt: skip


def look_at(state: Conversation, source: Source) -> tuple[Conversation, list[str]]:
    """The conversation with the facts of a source, and what was seen. Raises when it can't be looked at.

    Personal data is for a person to name: what its columns are called is only proposed.
    """
    found, notes = looked(Requirements(sources=(source,)))
    (seen,) = found.sources
    tables = tuple(
        table.model_copy(update={
            "columns": tuple(column.model_copy(update={"pii": False}) for column in table.columns)
        })
        for table in seen.tables
    )  # fmt: skip
    with_facts = seen.model_copy(update={"tables": tables})
    return settled(state.model_copy(update={
        name: _replaced(getattr(state, name), with_facts) for name in ("requirements", "origin")
    })), notes  # fmt: skip


def _replaced(given: Requirements, source: Source) -> Requirements:
    sources = tuple(source if item.name == source.name else item for item in given.sources)
    return given.model_copy(update={"sources": sources})
