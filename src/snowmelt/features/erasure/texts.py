"""Texts of the state store: histories of queries, tasks, loads and alerts, results of checks, definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Table, Text, and_, select, type_coerce, update

from snowmelt.govern.erasure.identifiers import Mentions
from snowmelt.state.columns import DefinitionJson
from snowmelt.state.repository import Repository
from snowmelt.state.tables import METADATA, OBJECTS, TABLE_SHAPES

_DEFINITIONS = (OBJECTS, TABLE_SHAPES)
"""Their texts are code, which only a person can change."""

BATCH = 500


@dataclass(frozen=True, slots=True)
class TextSearch:
    searched: int
    mentioning: int
    """Rows of histories."""
    definitions: tuple[str, ...]
    """Names of objects whose definition mentions the person: a person has to change those."""


class Texts(Repository):
    """All that the store keeps as text, whatever it is."""

    def search(self, mentions: Mentions) -> TextSearch:
        searched = found = 0
        definitions: list[str] = []
        for table in METADATA.sorted_tables:
            names = [column.name for column in table.columns if _is_text(column)]
            for row in self._stored(table) if names else ():
                searched += 1
                if not any(mentions.in_text(row[name] or "") for name in names):
                    continue
                if table in _DEFINITIONS:
                    definitions.append(row.get("name") or "of an earlier version")
                else:
                    found += 1
        return TextSearch(searched, found, tuple(definitions))

    def erase(self, mentions: Mentions, most: int) -> int:
        """Puts a mark where histories mention the person, in at most so many rows; returns in how many."""
        self._writing()
        done = 0
        for table, key, changed in self._changes(mentions):
            if done == most:
                break
            same = and_(*(table.c[name] == value for name, value in key.items()))
            self._execute(update(table).where(same).values(changed))
            done += 1
        return done

    def _changes(self, mentions: Mentions) -> Iterator[tuple[Table, dict[str, Any], dict[str, str]]]:
        for table in METADATA.sorted_tables:
            keys = {column.name for column in table.primary_key}
            names = [column.name for column in table.columns if _is_text(column) and column.name not in keys]
            if table in _DEFINITIONS or not names:
                continue
            for row in self._stored(table):
                changed = {name: mentions.erased(row[name]) for name in names if mentions.in_text(row[name] or "")}
                if changed:
                    yield table, {name: row[name] for name in keys}, changed

    def _stored(self, table: Table) -> list[dict[str, Any]]:
        """With definitions as the texts that they are stored as."""
        shown = [
            type_coerce(column, Text).label(column.name) if isinstance(column.type, DefinitionJson) else column
            for column in table.columns
        ]
        return [dict(row) for row in self._execute(select(*shown)).mappings()]


def _is_text(column: Column[Any]) -> bool:
    return isinstance(column.type, Text | DefinitionJson)
