"""File formats as metadata shows them: every option of the type, with its default where nothing was said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from snowmelt.runtime.metadata.columns import Row

Value = str | int | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its default, and the type that DESCRIBE names."""

    name: str
    type: str
    default: Value


def _string(name: str, default: str | None = None) -> Option:
    return Option(name, "String", default)


def _flag(name: str, default: bool = False) -> Option:
    return Option(name, "Boolean", default)


_TYPE = _string("TYPE", "CSV")
_TIMES = (
    _string("DATE_FORMAT", "AUTO"),
    _string("TIME_FORMAT", "AUTO"),
    _string("TIMESTAMP_FORMAT", "AUTO"),
    _string("BINARY_FORMAT", "HEX"),
)
_NULL_IF = Option("NULL_IF", "List", ("\\N",))
_NULL_IF_EMPTY = Option("NULL_IF", "List", ())
_COMPRESSION = _string("COMPRESSION", "AUTO")
_INVALID = _flag("REPLACE_INVALID_CHARACTERS")
_MARK = _flag("SKIP_BYTE_ORDER_MARK", True)

_CSV = (
    _TYPE,
    _string("RECORD_DELIMITER", "\n"),
    _string("FIELD_DELIMITER", ","),
    _string("FILE_EXTENSION"),
    Option("SKIP_HEADER", "Integer", 0),
    _flag("PARSE_HEADER"),
    *_TIMES,
    _string("ESCAPE", "NONE"),
    _string("ESCAPE_UNENCLOSED_FIELD", "\\"),
    _flag("TRIM_SPACE"),
    _string("FIELD_OPTIONALLY_ENCLOSED_BY", "NONE"),
    _NULL_IF,
    _COMPRESSION,
    _flag("ERROR_ON_COLUMN_COUNT_MISMATCH", True),
    _flag("VALIDATE_UTF8", True),
    _flag("SKIP_BLANK_LINES"),
    _INVALID,
    _flag("EMPTY_FIELD_AS_NULL", True),
    _MARK,
    _string("ENCODING", "UTF8"),
    _flag("MULTI_LINE", True),
)
_JSON = (
    _TYPE,
    _string("FILE_EXTENSION"),
    *_TIMES,
    _flag("TRIM_SPACE"),
    _NULL_IF_EMPTY,
    _COMPRESSION,
    _flag("MULTI_LINE", True),
    _flag("ENABLE_OCTAL"),
    _flag("ALLOW_DUPLICATE"),
    _flag("STRIP_OUTER_ARRAY"),
    _flag("STRIP_NULL_VALUES"),
    _flag("IGNORE_UTF8_ERRORS"),
    _INVALID,
    _MARK,
)
_PARQUET = (
    _TYPE,
    _string("FILE_EXTENSION"),
    _flag("TRIM_SPACE"),
    _NULL_IF_EMPTY,
    _COMPRESSION,
    _flag("SNAPPY_COMPRESSION", True),
    _flag("BINARY_AS_TEXT", True),
    _flag("USE_LOGICAL_TYPE"),
    _flag("USE_VECTORIZED_SCANNER"),
    _INVALID,
)
_AVRO = (_TYPE, _flag("TRIM_SPACE"), _NULL_IF_EMPTY, _COMPRESSION, _INVALID)
_ORC = (_TYPE, _flag("TRIM_SPACE"), _NULL_IF_EMPTY, _INVALID)
_XML = (
    _TYPE,
    _COMPRESSION,
    _flag("IGNORE_UTF8_ERRORS"),
    _flag("PRESERVE_SPACE"),
    _flag("STRIP_OUTER_ELEMENT"),
    _flag("DISABLE_SNOWFLAKE_DATA"),
    _flag("DISABLE_AUTO_CONVERT"),
    _INVALID,
    _MARK,
)
OPTIONS: dict[str, tuple[Option, ...]] = {
    "CSV": _CSV, "JSON": _JSON, "PARQUET": _PARQUET, "AVRO": _AVRO, "ORC": _ORC, "XML": _XML,
}  # fmt: skip


def values(type_: str, given: Mapping[str, Value]) -> Iterator[tuple[Option, Value]]:
    """Every option of the format type with its value. The word NONE, which is stored as None, is NONE again."""
    for option in OPTIONS[type_]:
        if option is _TYPE:
            yield option, type_
        elif option.name in given:
            value = given[option.name]
            yield option, "NONE" if value is None and option.default is not None else value
        else:
            yield option, option.default


def options_json(type_: str, given: Mapping[str, Value]) -> str:
    """The options as SHOW FILE FORMATS prints them."""
    shown = {option.name: list(v) if isinstance(v, tuple) else v for option, v in values(type_, given)}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def properties(type_: str, given: Mapping[str, Value]) -> Iterator[Row]:
    """The options as DESCRIBE FILE FORMAT lists them."""
    for option, value in values(type_, given):
        yield {
            "property": option.name,
            "property_type": option.type,
            "property_value": shown(value),
            "property_default": shown(option.default),
        }


def shown(value: Value) -> str:
    """A value as DESCRIBE prints it: line ends and backslashes escaped, lists in brackets."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"[{', '.join(shown(item) for item in value)}]"
    if value is None:
        return ""
    text = str(value)
    for character, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(character, escape)
    return text
