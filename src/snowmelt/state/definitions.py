"""The classes of definitions, by kind: the state store's own, and those that features bring."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, get_args

from pydantic import Field, TypeAdapter

from snowmelt.core.composing import Composed
from snowmelt.core.kinds import ObjectType
from snowmelt.state.model import OWN_DEFINITIONS
from snowmelt.state.record import Definition

_FEATURES: Composed[tuple[type[Definition], ...]] = Composed()


def install(classes: Sequence[type[Definition]]) -> None:
    """Makes these, beside the own ones, what stored text is read as from now on, in the whole process."""
    _FEATURES.set(tuple(classes))
    kinds.cache_clear()
    _adapter.cache_clear()
    parse_definition.cache_clear()


@lru_cache(maxsize=1)
def kinds() -> tuple[ObjectType, ...]:
    """All kinds of objects that schemas hold."""
    fields = (definition.model_fields["kind"] for definition in (*OWN_DEFINITIONS, *_FEATURES.get()))
    return tuple(ObjectType(word) for field in fields for word in get_args(field.annotation))


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Definition]:
    known: Any = reduce(or_, (*OWN_DEFINITIONS, *_FEATURES.get()))
    return TypeAdapter(Annotated[known, Field(discriminator="kind")])


@lru_cache(maxsize=8192)
def parse_definition(text: str) -> Definition:
    """Definitions are frozen, so one parsed value serves every reader of the same text."""
    return _adapter().validate_json(text)
