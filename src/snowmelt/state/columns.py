"""Column types: how instants and definitions look in the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import BigInteger, Dialect, Text
from sqlalchemy.types import TypeDecorator

from snowmelt.state.model import Definition

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DEFINITION: TypeAdapter[Definition] = TypeAdapter(Definition)


def to_micros(instant: datetime) -> int:
    """Microseconds since the epoch; `instant` must know its time zone."""
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


class Instant(TypeDecorator[datetime]):
    """An instant, as integer microseconds since the epoch: exact, ordered and the same in every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_micros(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else from_micros(value)


@lru_cache(maxsize=8192)
def _parse_definition(text: str) -> Definition:
    """Definitions are frozen, so one parsed value serves every reader of the same text."""
    return _DEFINITION.validate_json(text)


class DefinitionJson(TypeDecorator[Any]):
    """A `Definition` as JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Definition | None, dialect: Dialect) -> str | None:
        return None if value is None else _DEFINITION.dump_json(value, by_alias=True).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Definition | None:
        return None if value is None else _parse_definition(value)
