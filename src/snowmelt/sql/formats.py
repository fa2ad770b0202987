"""Snowflake's format models for dates, times, timestamps and binary values, said in Spark.

A model such as `YYYY-MM-DD HH24:MI:SS.FF3 TZHTZM` is read element by element. What Spark's patterns cannot
express (offsets, short or full month names on input, the century of a two-digit year) is put around them.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import temporal
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import call, integer, spark, string
from snowmelt.sql.functions.registry import SessionContext

_ELEMENT = re.compile(
    r'"(?P<quoted>[^"]*)"|(?P<zone>TZH:?TZM|TZH|TZM|TZISO|TZD|TZR)|(?P<fraction>FF[0-9]?)'
    r"|(?P<word>YYYY|YY|UUUU|MMMM|MON|MM|DD|DY|HH24|HH12|AM|PM|MI|SS)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_PRINTED = {
    "YYYY": "yyyy", "UUUU": "yyyy", "YY": "yy", "MM": "MM", "MON": "MMM", "MMMM": "MMMM", "DD": "dd",
    "DY": "EEE", "HH24": "HH", "HH12": "hh", "AM": "a", "PM": "a", "MI": "mm", "SS": "ss",
}  # fmt: skip
_READ = {
    "YYYY": "yyyy", "UUUU": "yyyy", "YY": "yy", "MM": "M", "MON": "[MMMM][MMM]", "MMMM": "MMMM", "DD": "d",
    "HH24": "H", "HH12": "h", "AM": "a", "PM": "a", "MI": "m", "SS": "s",
}  # fmt: skip
_DEFAULT_MODELS = {
    Kind.DATE: "YYYY-MM-DD",
    Kind.TIME: "HH24:MI:SS",
    Kind.TIMESTAMP_NTZ: "YYYY-MM-DD HH24:MI:SS.FF3",
    Kind.TIMESTAMP_LTZ: "YYYY-MM-DD HH24:MI:SS.FF3 TZHTZM",
    Kind.TIMESTAMP_TZ: "YYYY-MM-DD HH24:MI:SS.FF3 TZHTZM",
}
_ZONE_AT_END = r"\s*(Z|z|[+-][0-9]{1,2}(:?[0-9]{2})?)\s*$"

_Element = tuple[str, str]
"""What kind of element it is (`word`, `fraction`, `zone`, `text`), and its text."""


def elements(model: str) -> list[_Element]:
    """The elements of a model. Text that is not an element of Snowflake's stands for itself."""
    found: list[_Element] = []
    for match in _ELEMENT.finditer(model):
        kind = str(match.lastgroup)
        text = match[kind]
        if kind not in ("quoted", "other"):
            found.append((kind, text.upper()))
        elif found and found[-1][0] == "text":
            found[-1] = ("text", found[-1][1] + text)
        else:
            found.append(("text", text))
    return found


# -- the session's formats -----------------------------------------------------------------------------------


def output_model(kind: Kind, context: SessionContext) -> str:
    """The format in which the session prints values of a kind."""
    names = [f"{kind}_OUTPUT_FORMAT"]
    if kind is Kind.TIMESTAMP_NTZ:
        # The parameter for NTZ has a default of its own, so the general one never applies to it.
        return str(context.parameters.get(names[0]) or _DEFAULT_MODELS[kind])
    if kind in (Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ):
        names.append("TIMESTAMP_OUTPUT_FORMAT")
    chosen = next((str(context.parameters[name]) for name in names if context.parameters.get(name)), "AUTO")
    return _DEFAULT_MODELS[kind] if chosen.upper() == "AUTO" else chosen


def input_model(kind: Kind, context: SessionContext) -> str | None:
    """The format in which the session reads values of a kind; None when it recognises them by itself."""
    name = "TIMESTAMP_INPUT_FORMAT" if kind.startswith("TIMESTAMP") else f"{kind}_INPUT_FORMAT"
    chosen = str(context.parameters.get(name) or "AUTO")
    return None if chosen.upper() == "AUTO" else chosen


# -- printing ------------------------------------------------------------------------------------------------


def temporal_text(value: exp.Expr, source: DataType, model: str, context: SessionContext) -> exp.Expr:
    """A DATE, TIME or TIMESTAMP_* printed by a model."""
    if source.kind is Kind.DATE and model.upper() == "YYYY-MM-DD":
        return spark("cast(_0 as string)", value)
    return bind(value, lambda v: _printed(v, source, elements(model), context))


def _printed(value: exp.Expr, source: DataType, model: list[_Element], context: SessionContext) -> exp.Expr:
    wall = temporal.wall_of(value, source, context)
    if not any(kind == "zone" for kind, _ in model):
        return call("date_format", wall, string("".join(_pattern(item) for item in model)))

    def build(w: exp.Expr) -> exp.Expr:
        parts: list[exp.Expr] = []
        pattern = ""
        for item in model:
            if item[0] == "zone":
                if pattern:
                    parts.append(call("date_format", w, string(pattern)))
                parts.append(_zone_text(_offset(value, w, source, context), item[1]))
                pattern = ""
            else:
                pattern += _pattern(item)
        if pattern:
            parts.append(call("date_format", w, string(pattern)))
        return call("concat", *parts)

    return bind(wall, build)


def _pattern(item: _Element) -> str:
    kind, text = item
    if kind == "word":
        return _PRINTED[text]
    if kind == "fraction":
        return "S" * (int(text[2:]) if text[2:] else 9)
    return "'" + text.replace("'", "''") + "'"


def _offset(value: exp.Expr, wall: exp.Expr, source: DataType, context: SessionContext) -> exp.Expr:
    if source.kind is Kind.TIMESTAMP_TZ:
        return temporal.tz_offset(value)
    if source.kind is Kind.TIMESTAMP_LTZ and not temporal.is_utc(context):
        return spark("timestampdiff(MINUTE, _0, cast(_1 as timestamp))", value, wall)
    return integer(0)


def _zone_text(offset: exp.Expr, element: str) -> exp.Expr:
    hours = "format_string('%s%02d', if(_0 < 0, '-', '+'), abs(_0) div 60)"
    templates = {
        "TZH": hours,
        "TZM": "format_string('%02d', abs(_0) % 60)",
        "TZHTZM": "format_string('%s%02d%02d', if(_0 < 0, '-', '+'), abs(_0) div 60, abs(_0) % 60)",
        "TZH:TZM": "format_string('%s%02d:%02d', if(_0 < 0, '-', '+'), abs(_0) div 60, abs(_0) % 60)",
    }
    if element not in templates:
        raise errors.unsupported(f"the format element {element}")
    return spark(templates[element], offset)


# -- reading -------------------------------------------------------------------------------------------------


def parse_temporal(text: exp.Expr, target: DataType, model: str, context: SessionContext) -> exp.Expr:
    """A text read by a model as DATE, TIME or TIMESTAMP_*; NULL where it does not match."""
    if model.upper() == "AUTO":
        return temporal.try_from_text(text, target, context)
    items = elements(model)
    zone = bool(items) and items[-1][0] == "zone"
    offset: exp.Expr = spark("cast(null as int)")
    bare = text
    if zone:
        items.pop()
        bare = call("regexp_replace", bare, string(_ZONE_AT_END), string(""))
        offset = temporal.minutes_of_offset(call("regexp_extract", text, string(_ZONE_AT_END), integer(1)))
        while items and items[-1][0] == "text" and not items[-1][1].strip():
            items.pop()
    if any(kind == "zone" for kind, _ in items):
        raise errors.unsupported("a time zone that is not at the end of a format")
    if items and items[0] == ("word", "DY"):
        bare = call("regexp_replace", bare, string(r"^\s*[A-Za-z]+"), string(""))
        items.pop(0)
    wall = _read_wall(bare, items, model)
    match target.kind:
        case Kind.TIMESTAMP_LTZ | Kind.TIMESTAMP_TZ:
            return temporal.zoned(wall, offset, None, target, context)
        case _:
            return temporal.from_wall(wall, target, context)


def _read_wall(text: exp.Expr, items: list[_Element], model: str) -> exp.Expr:
    pattern = ""
    for index, (kind, word) in enumerate(items):
        if kind == "text":
            pattern += "'" + word.replace("'", "''") + "'"
        elif kind == "fraction":
            pattern += "S" * (int(word[2:]) if word[2:] else 9)
        elif word == "DY":
            raise errors.unsupported(f"the day name inside the format '{model}'")
        else:
            # Between separators one digit will do; without them the width tells the fields apart.
            adjacent = any(0 <= beside < len(items) and items[beside][0] != "text" for beside in (index - 1, index + 1))
            letters = _READ[word]
            pattern += letters * 2 if adjacent and letters in {"M", "d", "H", "h", "m", "s"} else letters
    parsed = spark("cast(try_to_timestamp(trim(_0), _1) as timestamp_ntz)", text, string(pattern))
    if any(word == "YY" for _, word in items):
        # TWO_DIGIT_CENTURY_START is 1970; Spark counts from 2000.
        return bind(parsed, lambda p: spark("if(year(_0) >= 2070, timestampadd(YEAR, -100, _0), _0)", p))
    return parsed


_PLAIN_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_PLAIN_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?) ?(Z|[+-]\d\d:?\d\d)?")
_PLAIN_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")


def iso_constant(text: str, target: DataType, context: SessionContext) -> exp.Expr | None:
    """The constant that a plain ISO literal stands for, so that filters on it can be pushed down.

    None for literals of other forms.
    """
    if input_model(target.kind, context) is not None or temporal.digits(target) < 6:
        return None
    try:
        if target.kind is Kind.DATE and _PLAIN_DATE.fullmatch(text):
            date.fromisoformat(text)
            return spark("cast(_0 as date)", string(text))
        if target.kind is Kind.TIME and _PLAIN_TIME.fullmatch(text):
            time.fromisoformat(_six_digits(text))
            return spark("cast(_0 as time(6))", string(text))
        if target.is_timestamp:
            return _timestamp_constant(text, target, context)
    except (ValueError, OverflowError):
        return None
    return None


def _timestamp_constant(text: str, target: DataType, context: SessionContext) -> exp.Expr | None:
    match = _PLAIN_TIMESTAMP.fullmatch(text)
    shown = match[1] if match is not None else text
    if match is None and not _PLAIN_DATE.fullmatch(text):
        return None
    moment = datetime.fromisoformat(_six_digits(shown))
    wall = spark("cast(_0 as timestamp_ntz)", string(shown))
    if match is None or match[2] is None or target.kind is Kind.TIMESTAMP_NTZ:
        return temporal.from_wall(wall, target, context)
    offset = _minutes(match[2])
    utc = (moment - timedelta(minutes=offset)).isoformat(sep=" ")
    instant = spark("cast(_0 as timestamp)", string(f"{utc}+00:00"))
    return instant if target.kind is Kind.TIMESTAMP_LTZ else temporal.tz_value(instant, integer(offset))


def _minutes(zone: str) -> int:
    if zone == "Z":
        return 0
    magnitude = int(zone[1:3]) * 60 + int(zone[-2:])
    return -magnitude if zone[0] == "-" else magnitude


def _six_digits(text: str) -> str:
    head, point, fraction = text.partition(".")
    return f"{head}.{fraction.ljust(6, '0')}" if point else text


# -- binary --------------------------------------------------------------------------------------------------


def binary_input(context: SessionContext) -> str:
    return str(context.parameters.get("BINARY_INPUT_FORMAT") or "HEX").upper()


def binary_text(value: exp.Expr, context: SessionContext, model: str | None = None) -> exp.Expr:
    """A BINARY as text, in the session's format unless one is given."""
    chosen = (model or str(context.parameters.get("BINARY_OUTPUT_FORMAT") or "HEX")).upper()
    match chosen:
        case "HEX":
            return call("hex", value)
        case "BASE64":
            return call("base64", value)
        case "UTF-8" | "UTF8":
            return spark("decode(_0, 'UTF-8')", value)
        case _:
            raise errors.invalid_value(chosen, "BINARY_OUTPUT_FORMAT")


def try_binary(text: exp.Expr, model: str) -> exp.Expr:
    """A text as BINARY; NULL where it is not of that format."""
    match model.upper():
        case "HEX":
            return bind(
                text,
                lambda t: spark("if(_0 rlike '^[0-9A-Fa-f]*$' and length(_0) % 2 = 0, unhex(_0), null)", t),
            )
        case "BASE64":
            return spark("try_to_binary(_0, 'base64')", text)
        case "UTF-8" | "UTF8":
            return spark("encode(_0, 'UTF-8')", text)
        case _:
            raise errors.invalid_value(model, "BINARY_INPUT_FORMAT")
