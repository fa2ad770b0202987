"""Columns that a source is known to have, and what happens when it has others."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.pipeline.records import Record, RejectedRecordError
from snowmelt.pipeline.transforming import Chain, Transformer


class SchemaPolicy(StrEnum):
    """For columns that are new, missing, or hold another type."""

    EVOLVE = "evolve"
    """New columns go on; missing ones are NULL; a value of another type goes on as `<column>__<type>`."""
    FREEZE = "freeze"
    """The run stops, before anything of the batch is loaded."""
    DISCARD_ROW = "discard_row"
    """The record becomes a dead letter."""
    DISCARD_VALUE = "discard_value"
    """The record goes on without the value; how many were left out is counted and logged."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str = "VARCHAR"
    """As SQL writes it here."""
    nullable: bool = True


class SchemaDriftError(SnowmeltError):
    """The source has changed, and the policy is to stop."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            "370021", "22000", f"The source is not as its columns say: {problem}.",
            hint="Change the columns in the configuration, or choose evolve, discard_row or discard_value.",
        )  # fmt: skip


class FollowSchema(Transformer):
    """Holds records to the columns that are known. A NULL where there must be none is a dead letter by any policy."""

    def __init__(self, fields: Sequence[Field], policy: SchemaPolicy = SchemaPolicy.EVOLVE) -> None:
        self.fields = {field.name.lower(): field for field in fields}
        self.policy = policy
        self.discarded = 0
        """Values that were left out."""

    def transform(self, record: Record) -> Record | None:
        made: Record = {}
        for name, value in record.items():
            field = self.fields.get(name.lower())
            if field is None:
                self._take_new(made, name, value)
            elif value is not None and not fits(value, field.type):
                self._take_retyped(made, name, value, field)
            else:
                made[name] = value
        self._complete(made, {name.lower() for name in record})
        return made

    def _take_new(self, made: Record, name: str, value: Any) -> None:
        if self._drifts(f"column {name} is new"):
            made[name] = value

    def _take_retyped(self, made: Record, name: str, value: Any, field: Field) -> None:
        kind = type_of(value)
        if self._drifts(f"column {name} holds {kind} instead of {field.type}"):
            made[f"{name}__{kind.partition('(')[0].lower()}"] = value
        made[name] = None

    def _complete(self, made: Record, given: set[str]) -> None:
        values = {name.lower(): value for name, value in made.items()}
        for name, field in self.fields.items():
            if name not in given and self.policy in (SchemaPolicy.FREEZE, SchemaPolicy.DISCARD_ROW):
                self._drifts(f"column {field.name} is missing")
            if values.get(name) is None and not field.nullable:
                raise RejectedRecordError(f"column {field.name} has no value")

    def _drifts(self, problem: str) -> bool:
        """Whether the value goes on."""
        match self.policy:
            case SchemaPolicy.EVOLVE:
                return True
            case SchemaPolicy.FREEZE:
                raise SchemaDriftError(problem)
            case SchemaPolicy.DISCARD_ROW:
                raise RejectedRecordError(problem)
            case SchemaPolicy.DISCARD_VALUE:
                self.discarded += 1
                return False


def discarded_values(transformer: Transformer | None) -> int:
    """How many values the schemas in a chain have left out."""
    if isinstance(transformer, Chain):
        return sum(discarded_values(step) for step in transformer.steps)
    return transformer.discarded if isinstance(transformer, FollowSchema) else 0


# -- types of values --------------------------------------------------------------------------------------------------


def type_of(value: Any) -> str:
    """The type of a value as JSON holds it, as SQL writes it. Text is text, whatever is written in it."""
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "NUMBER(38,0)"
        case float():
            return "FLOAT"
        case dict():
            return "OBJECT"
        case list():
            return "ARRAY"
    return "VARCHAR"


def infer_fields(records: Iterable[Record]) -> list[Field]:
    """Columns of records that nobody described: text that is a time in all of them is a time, mixed types VARIANT."""
    kinds: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.items():
            found = kinds.setdefault(name, set())
            if value is not None:
                found.add(_narrow(value))
    return [Field(name, _common(found)) for name, found in kinds.items()]


def _narrow(value: Any) -> str:
    if isinstance(value, str):
        return next((kind for kind in ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_TZ") if _is_time(value, kind)), "VARCHAR")
    return type_of(value)


def _common(kinds: set[str]) -> str:
    if not kinds:
        return "VARCHAR"
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {"NUMBER(38,0)", "FLOAT"}:
        return "FLOAT"
    if kinds <= {"VARCHAR", "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_TZ"}:
        return "TIMESTAMP_NTZ" if kinds == {"DATE", "TIMESTAMP_NTZ"} else "VARCHAR"
    return "VARIANT"


def type_head(sql_type: str) -> str:
    """NUMBER of number(12, 2)."""
    return sql_type.partition("(")[0].strip().upper()


def number_size(sql_type: str) -> tuple[int, int] | None:
    """Precision and scale, if the type says them."""
    sized = re.search(r"\((\d+)\s*(?:,\s*(\d+))?\)", sql_type)
    return (int(sized[1]), int(sized[2] or 0)) if sized else None


def fits(value: Any, sql_type: str) -> bool:
    """Whether a value as JSON holds it, or as text of a CSV, can become that type without loss."""
    check = _CHECKS.get(type_head(sql_type))
    return check is None or check(value, sql_type)


def _is_number(value: Any, sql_type: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return False
    precision, scale = number_size(sql_type) or (38, 0)
    if not number.is_finite() or number != round(number, scale):
        return False
    return abs(number) < Decimal(10) ** (precision - scale)


def _is_float(value: Any, _: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_boolean(value: Any, _: str) -> bool:
    words = {"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"}
    return isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in words)


def _is_time(value: Any, sql_type: str) -> bool:
    if not isinstance(value, str):
        return False
    try:
        if sql_type.upper().startswith("DATE"):
            dt.date.fromisoformat(value)
            return True
        if sql_type.upper().startswith("TIME") and not sql_type.upper().startswith("TIMESTAMP"):
            dt.time.fromisoformat(value)
            return True
        read = dt.datetime.fromisoformat(value)
    except ValueError:
        return False
    return read.tzinfo is None or not sql_type.upper().startswith("TIMESTAMP_NTZ")


def _is_text(value: Any, sql_type: str) -> bool:
    if isinstance(value, dict | list):
        return False
    sized = re.search(r"\((\d+)\)", sql_type)
    return sized is None or len(str(value)) <= int(sized[1])


_TIMES = ("DATE", "TIME", "DATETIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ")
_CHECKS: dict[str, Callable[[Any, str], bool]] = {
    **dict.fromkeys(("NUMBER", "DECIMAL", "NUMERIC", "INT", "INTEGER", "BIGINT", "SMALLINT"), _is_number),
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL"), _is_float),
    **dict.fromkeys(_TIMES, _is_time),
    **dict.fromkeys(("VARCHAR", "TEXT", "STRING", "CHAR"), _is_text),
    "BOOLEAN": _is_boolean,
    "ARRAY": lambda value, _: isinstance(value, list),
    "OBJECT": lambda value, _: isinstance(value, dict),
}  # fmt: skip
