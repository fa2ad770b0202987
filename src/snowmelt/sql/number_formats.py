"""Snowflake's format models for numbers: `999,990.00`, `S09`, `FM$999`, `TM9`.

A model is read once, at translation; what is left for Spark is cutting and padding digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType, Kind, number
from snowmelt.sql import variants
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import call, integer, spark, spark_type, string

_ELEMENT = re.compile(r'"((?:[^"]|"")*)"|(FM|FX|MI|TM9|TME|TM|EE+|[09.,DGSBX$%_])|(.)', re.IGNORECASE | re.DOTALL)
_KEPT_AS_THEY_ARE = ";:-=/() "
_BIGGEST = 38


@dataclass(frozen=True, slots=True)
class NumberModel:
    """A fixed-position or text-minimal model, taken apart."""

    before: str = ""
    after: str = ""
    """Literal text around the number."""
    whole: str = ""
    """One `0` or `9` for each digit before the point."""
    separators: tuple[int, ...] = ()
    """How many digits follow each group separator, from left to right."""
    point: bool = False
    fraction: str = ""
    sign: str = ""
    """`S` or `MI`; empty for the default."""
    sign_last: bool = False
    dollar: bool = False
    blank_zero: bool = False
    compact: bool = False
    percent: bool = False
    minimal: bool = False
    """TM9: as many digits as there are."""


def parse_model(text: str) -> NumberModel:
    """The parts of a model; an error for what is not supported."""
    literals = ["", ""]
    whole, fraction, sign = "", "", ""
    separators: list[int] = []
    point = sign_last = dollar = blank_zero = compact = percent = minimal = False
    for match in _ELEMENT.finditer(text):
        quoted, element, other = match.groups()
        started = bool(whole or fraction or point or minimal)
        if element is None:
            shown = quoted.replace('""', '"') if quoted is not None else other
            if quoted is None and other not in _KEPT_AS_THEY_ARE:
                raise errors.compilation("001028", "22007", f"Invalid format element '{other}' in format '{text}'")
            literals[started] += shown
            continue
        word = element.upper()
        if word in ("0", "9"):
            if point:
                fraction += word
            else:
                whole += word
        elif word in (".", "D"):
            point = True
        elif word in (",", "G"):
            separators.append(len(whole))
        elif word in ("S", "MI"):
            sign, sign_last = word, started
        elif word == "TM9":
            minimal = True
        elif word == "%":
            percent = True
            literals[started] += "%"
        elif word in ("$", "B", "FM"):
            dollar, blank_zero = dollar or word == "$", blank_zero or word == "B"
            compact = compact or word == "FM"
        elif word not in ("_", "FX"):
            raise errors.unsupported(f"the number format element {word}")
    digits = len(whole)
    return NumberModel(
        before=literals[0], after=literals[1], whole=whole, point=point, fraction=fraction, sign=sign,
        separators=tuple(digits - seen for seen in separators), sign_last=sign_last, dollar=dollar,
        blank_zero=blank_zero, compact=compact, percent=percent, minimal=minimal,
    )  # fmt: skip


# -- printing ------------------------------------------------------------------------------------------------


def number_text(value: exp.Expr, source: DataType, text: str) -> exp.Expr:
    """TO_CHAR(number, model)."""
    model = parse_model(text)
    if model.percent:
        value, source = _hundredfold(value, source)
    return bind(value, lambda v: _around(model, _minimal(v, source, model) if model.minimal else _fixed(v, model)))


def _hundredfold(value: exp.Expr, source: DataType) -> tuple[exp.Expr, DataType]:
    if source.kind is Kind.FLOAT:
        return spark("_0 * 100", value), source
    target = number(_BIGGEST, max((source.scale or 0) - 2, 0))
    scaled = spark("cast(_0 as decimal(38, 10)) * 100", value)
    return exp.cast(scaled, target.spark, dialect="spark"), target


def _around(model: NumberModel, body: exp.Expr) -> exp.Expr:
    if not model.before and not model.after:
        return body
    return call("concat", string(model.before), body, string(model.after))


def _minimal(value: exp.Expr, source: DataType, model: NumberModel) -> exp.Expr:
    absolute = call("abs", value)
    is_float = source.kind is Kind.FLOAT
    digits = bind(absolute, variants.float_text) if is_float else spark("cast(_0 as string)", absolute)
    return _signed(value, model, spark("concat(_0, _1)", string("$" if model.dollar else ""), digits))


def _signed(value: exp.Expr, model: NumberModel, body: exp.Expr) -> exp.Expr:
    plus = {"S": "+", "MI": "" if model.compact else " "}.get(model.sign, "")
    sign = spark("if(_0 < 0, '-', _1)", value, string(plus))
    return call("concat", body, sign) if model.sign_last else call("concat", sign, body)


def _fixed(value: exp.Expr, model: NumberModel) -> exp.Expr:
    kept = len(model.fraction)
    held = spark_type(number(_BIGGEST, kept).spark)
    magnitude = exp.TryCast(this=call("abs", value), to=held, safe=True)
    return bind(spark("cast(_0 as string)", magnitude), lambda digits: _laid_out(value, digits, model))


def _laid_out(value: exp.Expr, digits: exp.Expr, model: NumberModel) -> exp.Expr:
    """`digits` is the rounded magnitude as text, NULL when it has too many digits even for a NUMBER."""
    size = len(model.whole)
    whole = spark("substring_index(_0, '.', 1)", digits)
    shown = _whole_digits(whole, model)
    fits = spark("coalesce(length(if(_0 = '0', '', _0)) <= _1, false)", whole, integer(size))
    full_whole = string(_grouped_constant("#" * size, model))
    point = "." if model.point else ""
    good = call("concat", shown, string(point), _fraction_digits(digits, model))
    bad = call("concat", full_whole, string(point + "#" * len(model.fraction)))
    body = spark("if(_0, _1, _2)", fits, good, bad)
    filled = _with_sign(value, body, model)
    return spark("if(_0 is null, null, _1)", value, filled)


def _whole_digits(whole: exp.Expr, model: NumberModel) -> exp.Expr:
    """The digits before the point without leading blanks, group separators put in."""
    size = len(model.whole)
    forced = size - model.whole.index("0") if "0" in model.whole else 0
    zero = "" if model.blank_zero or size == 0 else "0"
    digits = spark("if(_0 = '0', _1, _0)", whole, string(zero))
    if forced:
        digits = bind(digits, lambda d: spark("lpad(_0, greatest(length(_0), _1), '0')", d, integer(forced)))
    if not model.separators:
        return digits

    def build(d: exp.Expr) -> exp.Expr:
        padded = call("lpad", d, integer(size), string(" "))
        parts: list[exp.Expr] = []
        start = 1
        for behind in model.separators:
            parts += [
                call("substring", padded, integer(start), integer(size - behind - start + 1)),
                string(","),
            ]
            start = size - behind + 1
        parts.append(call("substring", padded, integer(start), integer(size - start + 1)))
        return spark("regexp_replace(_0, '^[ ,]+', '')", call("concat", *parts))

    return bind(digits, build)


def _grouped_constant(digits: str, model: NumberModel) -> str:
    for behind in reversed(model.separators):
        digits = digits[: len(digits) - behind - digits[len(digits) - behind :].count(",")] + "," + digits[-behind:]
    return digits


def _fraction_digits(digits: exp.Expr, model: NumberModel) -> exp.Expr:
    size = len(model.fraction)
    if size == 0:
        return string("")
    fraction = spark("substring_index(_0, '.', -1)", digits)
    forced = model.fraction.rindex("0") + 1 if "0" in model.fraction else 0
    if forced == size:
        return fraction
    rest = spark("rtrim('0', substring(_0, _1))", fraction, integer(forced + 1))
    return call(
        "concat",
        call("left", fraction, integer(forced)),
        call("rpad", rest, integer(size - forced), string(" ")),
    )


def _with_sign(value: exp.Expr, body: exp.Expr, model: NumberModel) -> exp.Expr:
    """The sign floats to the first digit unless its place is fixed by MI or behind the number."""
    point_and_fraction = len(model.fraction) + int(model.point)
    width = len(model.whole) + len(model.separators) + point_and_fraction + int(model.dollar)
    if model.dollar:
        body = call("concat", string("$"), body)
    negative = spark("_0 < 0", value)
    if model.sign_last or model.sign == "MI":
        plus = "+" if model.sign == "S" else " "
        sign = spark("if(_0, '-', _1)", negative, string(plus))
        filled = call("lpad", body, integer(width), string(" "))
        result = call("concat", filled, sign) if model.sign_last else call("concat", sign, filled)
    else:
        plus = "+" if model.sign == "S" else ""
        sign = spark("if(_0, '-', _1)", negative, string(plus))
        result = call("lpad", call("concat", sign, body), integer(width + 1), string(" "))
    return spark("replace(_0, ' ', '')", result) if model.compact else result


# -- reading -------------------------------------------------------------------------------------------------


def try_number_with(text: exp.Expr, model_text: str, target: DataType) -> exp.Expr:
    """A text read by a model, or by one of several separated by `|`; NULL where none matches."""
    held = spark_type(target.spark)

    def build(t: exp.Expr) -> exp.Expr:
        alternatives = [parse_model(part) for part in model_text.split("|")]
        matches = [call("regexp_like", t, string(_expected(model))) for model in alternatives]
        bare = spark(r"regexp_replace(_0, '[,$\\s+]', '')", t)
        moved = bind(bare, lambda b: spark("if(endswith(_0, '-'), concat('-', left(_0, length(_0) - 1)), _0)", b))
        digits = exp.TryCast(this=moved, to=held, safe=True)
        return spark("if(_0, _1, null)", exp.Paren(this=exp.or_(*matches)), digits)

    return bind(text, build)


def _expected(model: NumberModel) -> str:
    """What a text must look like: separators may be left out, digits for `0` may not."""
    if model.percent or model.before or model.after:
        raise errors.unsupported("literal text in a number format that reads")
    if model.minimal:
        body = r"[0-9]+(\.[0-9]*)?|\.[0-9]+"
    else:
        body = _expected_whole(model)
        forced = model.fraction.rindex("0") + 1 if "0" in model.fraction else 0
        if model.point:
            digits = rf"\.[0-9]{{{forced},{len(model.fraction)}}}"
            body = f"({body}){digits}" if forced else f"({body})({digits})?"
    sign = r"[+-]?\s*"
    dollar = r"\$\s*" if model.dollar else ""
    if model.sign_last:
        return rf"^\s*{dollar}({body})\s*[+-]?\s*$"
    return rf"^\s*{sign}{dollar}({body})\s*$"


def _expected_whole(model: NumberModel) -> str:
    size = len(model.whole)
    forced = size - model.whole.index("0") if "0" in model.whole else (0 if model.blank_zero or not size else 1)
    forms = [f"[0-9]{{{forced},{size}}}"]
    for first, behind in enumerate(model.separators):
        ahead = size - behind if first == 0 else model.separators[first - 1] - behind
        tail = [*model.separators[first:], 0]
        groups = "".join(f",[0-9]{{{left - right}}}" for left, right in pairwise(tail))
        if forced <= behind + ahead:
            forms.append(f"[0-9]{{{max(1, forced - behind)},{ahead}}}{groups}")
    return "|".join(forms)
