"""Numbers as they are written in a query."""

from __future__ import annotations

from snowmelt.engine.quick.types import BIGINT, INT, NotQuick, decimal
from snowmelt.engine.quick.values import Value, integer


def number_literal(text: str) -> Value:
    if "." in text:
        whole, _, fraction = text.partition(".")
        return decimal_literal("", whole, fraction)
    number = int(text)
    if number < 2**31:
        return integer(number, INT)
    if number < 2**63:
        return integer(number, BIGINT)
    return decimal_literal("", text, "")


def decimal_literal(sign: str, whole: str, fraction: str) -> Value:
    digits = (whole + fraction).lstrip("0")
    type_ = decimal(max(len(digits), len(fraction), 1), len(fraction))
    if max(len(digits), len(fraction)) > 38:
        raise NotQuick("a number of more than 38 digits")
    text = f"{sign}{whole or '0'}.{fraction}" if fraction else f"{sign}{whole}"
    return Value(f"CAST('{text}' AS {type_.duck})", type_)
