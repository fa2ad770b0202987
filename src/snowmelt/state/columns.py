"""Column types: how instants and definitions look in the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect, Text
from sqlalchemy.types import TypeDecorator

from snowmelt.state.definitions import parse_definition
from snowmelt.state.record import Definition

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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


class DefinitionJson(TypeDecorator[Any]):
    """A `Definition` as JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Definition | None, dialect: Dialect) -> str | None:
        return None if value is None else value.model_dump_json(by_alias=True)

    def process_result_value(self, value: Any, dialect: Dialect) -> Definition | None:
        return None if value is None else parse_definition(value)
