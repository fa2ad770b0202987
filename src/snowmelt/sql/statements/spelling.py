"""Names spelled so that they read back as themselves."""

from __future__ import annotations

from snowmelt.core.names import quote
from snowmelt.sql.statements.cursor import RESERVED

_AMBIGUOUS = RESERVED | {"CONSTRAINT", "PRIMARY", "FOREIGN", "IF", "IDENTIFIER"}
"""Words that mean something else where a name is expected."""


def spelled(name: str) -> str:
    """One identifier, quoted where the plain word would not be read as that name."""
    return quoted(name) if name in _AMBIGUOUS else quote(name)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
