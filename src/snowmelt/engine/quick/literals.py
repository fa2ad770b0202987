"""Numbers and frames of windows as they are written in a query."""

from __future__ import annotations

import re

from sqlglot import exp

from snowmelt.engine.quick.types import BIGINT, INT, NotQuick, decimal
from snowmelt.engine.quick.values import Value, integer

_DIGITS = re.compile(r"\d+")


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


def frame(spec: exp.Expr) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude") is not None:
        raise NotQuick("a frame of this kind")
    sides = [_edge(spec, "start"), _edge(spec, "end")]
    if kind == "RANGE" and any(_DIGITS.match(side) for side in sides):
        raise NotQuick("a frame by distance")
    return f"{kind} BETWEEN {sides[0]} AND {sides[1]}"


def _edge(spec: exp.Expr, name: str) -> str:
    found, side = spec.args.get(name), str(spec.args.get(f"{name}_side") or "").upper()
    if found is None or found == "CURRENT ROW":
        return "CURRENT ROW"
    if isinstance(found, str):
        return f"{found.upper()} {side}"
    text = found.name if isinstance(found, exp.Literal | exp.Var) else ""
    number = text.removesuffix("L")
    if not _DIGITS.fullmatch(number):
        raise NotQuick("a frame of this kind")
    return f"{number} {side}"
