"""Constants without Spark: SELECT CURRENT_VERSION() must not wait for a job."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.runtime.results import Result, ResultColumn, table_result
from snowmelt.sql.bound import Bound, BoundQuery


class _Unknown:
    """Stands for: not a constant that is understood here."""


UNKNOWN: Final = _Unknown()


def fold(bound: Bound) -> Any:
    """The Python value of a bound constant, or UNKNOWN. Never guesses: anything unusual is left to Spark."""
    value = _value(bound.tree)
    if value is UNKNOWN or value is None:
        return value
    match bound.type.kind:
        case Kind.VARCHAR:
            return value if isinstance(value, str) else UNKNOWN
        case Kind.NUMBER:
            if isinstance(value, int | Decimal) and not isinstance(value, bool):
                return int(value) if bound.type.scale == 0 else Decimal(value)
            return UNKNOWN
        case Kind.BOOLEAN:
            return value if isinstance(value, bool) else UNKNOWN
        case Kind.DATE | Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ:
            return value if isinstance(value, date | datetime) else UNKNOWN
        case _:
            return UNKNOWN


def instant(bound: Bound) -> Any:
    """The value of CURRENT_TIMESTAMP() and its like, which binding has made a literal of; UNKNOWN for anything else."""
    tree = bound.tree
    while isinstance(tree, exp.Paren):
        tree = tree.this
    is_text = isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal) and tree.this.is_string
    if not is_text or bound.type.kind not in (Kind.DATE, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_LTZ):
        return UNKNOWN
    try:
        found = datetime.fromisoformat(str(tree.this.this))
    except ValueError:
        return UNKNOWN
    if (bound.type.kind is Kind.TIMESTAMP_LTZ) != (found.tzinfo is not None):
        return UNKNOWN
    return found.date() if bound.type.kind is Kind.DATE else found


def _value(tree: exp.Expr) -> Any:
    if isinstance(tree, exp.Paren):
        return _value(tree.this)
    if isinstance(tree, exp.Null) or (isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Null)):
        return None
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Literal):
        return str(tree.this) if tree.is_string else UNKNOWN
    if isinstance(tree, exp.Var):
        return _number(str(tree.this))
    if isinstance(tree, exp.Neg):
        value = _value(tree.this)
        return -value if isinstance(value, int | Decimal) and not isinstance(value, bool) else UNKNOWN
    return UNKNOWN


def _number(text: str) -> Any:
    if text.endswith("BD"):
        return Decimal(text[:-2])
    if text.endswith("L") and text[:-1].isdigit():
        return int(text[:-1])
    return UNKNOWN


def fold_query(bound: BoundQuery, columns: tuple[ResultColumn, ...]) -> Result | None:
    """The one row of a SELECT of constants; None when it is anything else."""
    tree = bound.tree
    if not isinstance(tree, exp.Select) or any(value for key, value in tree.args.items() if key != "expressions"):
        return None
    values = [
        fold(Bound(item.this if isinstance(item, exp.Alias) else item, column.type))
        for item, column in zip(tree.expressions, columns, strict=True)
    ]
    if any(value is UNKNOWN for value in values):
        return None
    return table_result(columns, [values], statement_type="SELECT")
