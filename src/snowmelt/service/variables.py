"""Session variables, and constants on their way between Python and SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from sqlglot import exp

from snowmelt.core.types import DataType, Kind

Python = str | int | float | bool | Decimal | date | time | datetime | bytes | None


@dataclass(frozen=True, slots=True)
class Variable:
    """The value of `$name`."""

    value: Any
    type: DataType

    def literal(self) -> exp.Expression:
        return literal(self.value, self.type)


def literal(value: Any, type_: DataType) -> exp.Expression:
    """A Snowflake expression with exactly this value and type."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if type_.kind is Kind.VARCHAR:
        return exp.Literal.string(str(value))
    if isinstance(value, int | Decimal) and type_.kind is Kind.NUMBER:
        number: exp.Expression = exp.Literal.number(str(abs(value)))
        return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number
    text = (
        value.hex()
        if isinstance(value, bytes)
        else value.isoformat(sep=" ")
        if isinstance(value, datetime)
        else str(value)
    )
    return exp.cast(exp.Literal.string(text), exp.DataType.build(str(type_), dialect="snowflake"))
