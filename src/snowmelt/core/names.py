"""Object names under Snowflake's rules: unquoted words fold to upper case, quoted ones are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Z_][A-Z0-9_$]*\Z")
_PART = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([A-Za-z_][A-Za-z0-9_$]*))\s*')


def fold(word: str, *, quoted: bool) -> str:
    """The stored form of an identifier as it was written."""
    return word if quoted else word.upper()


def quote(name: str) -> str:
    """The shortest SQL spelling that folds back to `name`."""
    return name if _PLAIN.match(name) else '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string literal. A backslash escapes in Snowflake, so it is doubled as the quote is."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def split_name(text: str) -> tuple[str, ...] | None:
    """The folded parts of a dotted name such as `db."My Schema".t`; None when it is not one.

    `db..t` is a name too: its schema is PUBLIC.
    """
    parts: list[str] = []
    position = 0
    while True:
        match = _PART.match(text, position)
        if match is None:
            if parts and len(parts) == 1 and text[position : position + 1] == ".":
                parts.append("PUBLIC")
                position += 1
                continue
            return None
        quoted, plain = match.groups()
        parts.append(quoted.replace('""', '"') if quoted is not None else plain.upper())
        position = match.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            return None
        position += 1


@dataclass(frozen=True, slots=True, order=True)
class SchemaName:
    database: str
    name: str

    def __str__(self) -> str:
        return f"{quote(self.database)}.{quote(self.name)}"


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """The full name of a table, view, stage, … inside a schema."""

    database: str
    schema: str
    name: str

    @property
    def parent(self) -> SchemaName:
        return SchemaName(self.database, self.schema)

    def __str__(self) -> str:
        return f"{quote(self.database)}.{quote(self.schema)}.{quote(self.name)}"
