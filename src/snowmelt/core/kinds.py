"""The words that name kinds of objects."""

from __future__ import annotations

from typing import ClassVar


class ObjectType(str):
    """The words after CREATE, ALTER, DROP, … and the state store's name of what they make.

    The set is open: a feature names its kinds itself. There is one value for each word, so `is` compares.
    """

    __slots__ = ()
    _values: ClassVar[dict[str, ObjectType]] = {}

    DATABASE: ClassVar[ObjectType]
    SCHEMA: ClassVar[ObjectType]
    TABLE: ClassVar[ObjectType]
    DYNAMIC_TABLE: ClassVar[ObjectType]
    VIEW: ClassVar[ObjectType]
    SEQUENCE: ClassVar[ObjectType]
    FUNCTION: ClassVar[ObjectType]
    PROCEDURE: ClassVar[ObjectType]
    WAREHOUSE: ClassVar[ObjectType]

    def __new__(cls, word: str) -> ObjectType:
        return cls._values.get(word) or cls._values.setdefault(str(word), super().__new__(cls, word))

    @property
    def plural(self) -> str:
        """The words for several, as SHOW and GRANT … ON ALL have them."""
        return f"{self.removesuffix('Y')}IES" if self.endswith("POLICY") else f"{self}S"

    @property
    def value(self) -> str:
        """The plain word."""
        return str(self)


OWN_TYPES = tuple(ObjectType(word) for word in ("DATABASE", "SCHEMA", "TABLE", "VIEW", "SEQUENCE", "WAREHOUSE"))
"""The kinds that no feature's folder brings."""

_KNOWN = tuple(ObjectType(word) for word in ("DYNAMIC TABLE", "FUNCTION", "PROCEDURE"))
"""Kinds of features that queries know: a dynamic table is a table, and routines are called."""

for _type in (*OWN_TYPES, *_KNOWN):
    setattr(ObjectType, _type.replace(" ", "_"), _type)
