"""Variables of sessions and of scripting blocks, and constants on their way between Python and SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from snowmelt.core.types import DataType, Kind

if TYPE_CHECKING:
    from snowmelt.runtime.transaction_scopes import TransactionScope


@dataclass(frozen=True, slots=True)
class Variable:
    """The value of `$name` or `:name`, as `Result.rows` gives values: JSON text for a VARIANT."""

    value: Any
    type: DataType

    def literal(self) -> exp.Expr:
        return literal(self.value, self.type)


class Locals(Protocol):
    """What a statement inside a script knows of it."""

    owners_rights: bool
    """Whether it runs in a procedure with its owner's rights, which may not see the caller's variables."""
    transactions: TransactionScope | None
    depth: int
    """Procedures that are running inside each other."""

    def local(self, name: str) -> Variable | None:
        """The value of `:name`; None when no such variable is declared."""
        ...


def literal(value: Any, type_: DataType) -> exp.Expr:
    """A Snowflake expression with exactly this value and type, as near as a literal comes."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if type_.kind is Kind.VARCHAR:
        return exp.Literal.string(str(value))
    if isinstance(value, int | Decimal) and type_.kind is Kind.NUMBER:
        # format() of an int goes through a float; str() of a Decimal may have an exponent.
        digits = str(abs(value)) if isinstance(value, int) else format(abs(value), "f")
        number: exp.Expr = exp.Literal.number(digits)
        return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number
    if type_.is_semi_structured:
        parsed: exp.Expr = exp.Anonymous(this="PARSE_JSON", expressions=[exp.Literal.string(str(value))])
        return parsed if type_.kind is Kind.VARIANT else _cast(parsed, type_)
    if isinstance(value, bytes):
        text = value.hex()
    elif isinstance(value, datetime):
        text = value.isoformat(sep=" ")
    else:
        text = str(value)
    return _cast(exp.Literal.string(text), type_)


def _cast(value: exp.Expr, type_: DataType) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(str(type_), dialect="snowflake"))
