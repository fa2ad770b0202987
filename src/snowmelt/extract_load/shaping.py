"""Shaping on the way (ETL): values brought to the types of their columns, and columns that a source does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.records import Record, RejectedRecordError
from snowmelt.extract_load.transforming import Transformer

_NUMBERS = ("NUMBER", "DECIMAL", "NUMERIC", "INT", "INTEGER", "BIGINT", "SMALLINT", "FLOAT", "DOUBLE", "REAL")
_TRUTH = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}


class AddColumns(Transformer):
    """Columns with a value that the whole source has, such as whose it is."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def transform(self, record: Record) -> Record | None:
        return {**record, **self.values}


class CastColumns(Transformer):
    """Text that is a number, a date or a truth value becomes one; what is none is a dead letter, and never lands."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.types = {field.name.lower(): field.type.upper().partition("(")[0] for field in fields}

    def transform(self, record: Record) -> Record | None:
        return {name: self._cast(name, value) for name, value in record.items()}

    def _cast(self, name: str, value: Any) -> Any:
        kind = self.types.get(name.lower())
        if kind is None or not isinstance(value, str):
            return value
        text = value.strip()
        try:
            return _value(kind, text)
        except (InvalidOperation, ValueError, KeyError):
            raise RejectedRecordError(f"column {name}: '{text[:40]}' is not a {kind}") from None


def _value(kind: str, text: str) -> Any:
    if kind in _NUMBERS:
        return _number(text) if text else None
    if kind == "BOOLEAN":
        return _TRUTH[text.lower()] if text else None
    if kind == "DATE":
        return date.fromisoformat(text[:10]).isoformat() if text else None
    if kind.startswith("TIMESTAMP") or kind == "DATETIME":
        return datetime.fromisoformat(text).isoformat() if text else None
    return text


def _number(text: str) -> Any:
    """A number of JSON where none of its digits is lost, else its text."""
    found = Decimal(text)
    if not found.is_finite():
        raise ValueError(text)
    if found == found.to_integral_value() and abs(found) < 2**53:
        return int(found)
    return float(found) if Decimal(repr(float(found))) == found else str(found)
