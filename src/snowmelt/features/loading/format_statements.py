"""File formats: the options of each type, FILE_FORMAT = (…), CREATE and ALTER FILE FORMAT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import (
    Reader,
    at_option,
    boolean,
    duplicate,
    one_of,
    only_default,
    strings,
    text,
    whole,
    word,
)
from snowmelt.sql.tokens import TokenKind

OptionValue = str | int | bool | tuple[str, ...] | None
FormatOptions = Mapping[str, OptionValue]
"""Upper-cased option -> value. The word NONE is None, other words are upper-cased, strings are as written."""

TYPES = ("CSV", "JSON", "AVRO", "ORC", "PARQUET", "XML")


def _text_or_none(cursor: TokenCursor, name: str) -> str | None:
    if cursor.match("NONE"):
        return None
    value = text(cursor, name)
    return None if value.upper() == "NONE" else value


def _text_or_auto(cursor: TokenCursor, name: str) -> str:
    if cursor.match("AUTO"):
        return "AUTO"
    value = text(cursor, name)
    return "AUTO" if value.upper() == "AUTO" else value


OPTIONS: dict[str, Reader] = {
    "COMPRESSION": one_of("AUTO", "GZIP", "BZ2", "BROTLI", "ZSTD", "DEFLATE", "RAW_DEFLATE", "SNAPPY", "LZO", "NONE"),
    "RECORD_DELIMITER": _text_or_none,
    "FIELD_DELIMITER": _text_or_none,
    "MULTI_LINE": only_default(True),
    "FILE_EXTENSION": _text_or_none,
    "PARSE_HEADER": boolean,
    "SKIP_HEADER": whole,
    "SKIP_BLANK_LINES": boolean,
    "DATE_FORMAT": _text_or_auto,
    "TIME_FORMAT": _text_or_auto,
    "TIMESTAMP_FORMAT": _text_or_auto,
    "BINARY_FORMAT": one_of("HEX", "BASE64", "UTF8", "UTF-8"),
    "ESCAPE": _text_or_none,
    "ESCAPE_UNENCLOSED_FIELD": _text_or_none,
    "TRIM_SPACE": boolean,
    "FIELD_OPTIONALLY_ENCLOSED_BY": _text_or_none,
    "NULL_IF": strings,
    "ERROR_ON_COLUMN_COUNT_MISMATCH": boolean,
    "REPLACE_INVALID_CHARACTERS": boolean,
    "EMPTY_FIELD_AS_NULL": boolean,
    "SKIP_BYTE_ORDER_MARK": boolean,
    "ENCODING": word,
    "ENABLE_OCTAL": boolean,
    "ALLOW_DUPLICATE": boolean,
    "STRIP_OUTER_ARRAY": boolean,
    "STRIP_NULL_VALUES": boolean,
    "IGNORE_UTF8_ERRORS": boolean,
    "SNAPPY_COMPRESSION": boolean,
    "BINARY_AS_TEXT": boolean,
    "USE_LOGICAL_TYPE": only_default(True),
    "USE_VECTORIZED_SCANNER": boolean,
    "PRESERVE_SPACE": boolean,
    "STRIP_OUTER_ELEMENT": boolean,
    "DISABLE_AUTO_CONVERT": boolean,
    "DISABLE_SNOWFLAKE_DATA": boolean,
}
_XML = "a file format of TYPE = XML can be created, and is refused where it is used"
WITHOUT_EFFECT: dict[str, str] = {
    "MULTI_LINE": "only TRUE is accepted, which is the default",
    "USE_LOGICAL_TYPE": "only TRUE is accepted: logical types of Parquet are read, always",
    "USE_VECTORIZED_SCANNER": "asks for speed; there is one reader of Parquet",
    "SNAPPY_COMPRESSION": "COMPRESSION counts, of which this is an old name",
    "PRESERVE_SPACE": _XML,
    "STRIP_OUTER_ELEMENT": _XML,
    "DISABLE_AUTO_CONVERT": _XML,
    "DISABLE_SNOWFLAKE_DATA": _XML,
}
"""Options that are accepted and change nothing, and why."""
_CLEANING = frozenset({"TRIM_SPACE", "REPLACE_INVALID_CHARACTERS", "NULL_IF"})
_TIMES = frozenset({"DATE_FORMAT", "TIME_FORMAT", "TIMESTAMP_FORMAT", "BINARY_FORMAT"})
OPTIONS_OF: dict[str, frozenset[str]] = {
    "CSV": _CLEANING
    | _TIMES
    | {
        "COMPRESSION", "RECORD_DELIMITER", "FIELD_DELIMITER", "MULTI_LINE", "FILE_EXTENSION", "PARSE_HEADER",
        "SKIP_HEADER", "SKIP_BLANK_LINES", "ESCAPE", "ESCAPE_UNENCLOSED_FIELD",
        "FIELD_OPTIONALLY_ENCLOSED_BY",
        "ERROR_ON_COLUMN_COUNT_MISMATCH", "EMPTY_FIELD_AS_NULL", "SKIP_BYTE_ORDER_MARK", "ENCODING",
    },
    "JSON": _CLEANING
    | _TIMES
    | {
        "COMPRESSION", "MULTI_LINE", "FILE_EXTENSION", "ENABLE_OCTAL", "ALLOW_DUPLICATE", "STRIP_OUTER_ARRAY",
        "STRIP_NULL_VALUES", "IGNORE_UTF8_ERRORS", "SKIP_BYTE_ORDER_MARK",
    },
    "AVRO": _CLEANING | {"COMPRESSION"},
    "ORC": _CLEANING,
    "PARQUET": _CLEANING
    | {
        "COMPRESSION", "SNAPPY_COMPRESSION", "BINARY_AS_TEXT", "USE_LOGICAL_TYPE", "USE_VECTORIZED_SCANNER",
        "FILE_EXTENSION",
    },
    "XML": frozenset(
        {
            "COMPRESSION", "IGNORE_UTF8_ERRORS", "PRESERVE_SPACE", "STRIP_OUTER_ELEMENT",
            "DISABLE_AUTO_CONVERT",
            "DISABLE_SNOWFLAKE_DATA", "REPLACE_INVALID_CHARACTERS", "SKIP_BYTE_ORDER_MARK",
        }
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileFormatSpec:
    """What FILE_FORMAT = … says: a format's name, or a type with options."""

    name: NameRef | None = None
    type: str | None = None
    """None with a name, or where only options were written: the stage's or the default type."""
    options: FormatOptions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateFileFormat(CreateStatement):
    type: str
    options: FormatOptions
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SetFormatOptions(Action):
    options: FormatOptions
    """Not checked against the format's type, which the statement does not say."""
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class AlterFileFormat(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(slots=True)
class _Pairs:
    """The `NAME = value` pairs of a format while they are read: TYPE may come after the options it allows."""

    type: str | None = None
    name: NameRef | None = None
    comment: str | None = None
    options: dict[str, OptionValue] = field(default_factory=dict)


def _read_pairs(cursor: TokenCursor, extra: tuple[str, ...]) -> _Pairs:
    pairs = _Pairs()
    seen: set[str] = set()
    while at_option(cursor):
        name = cursor.peek().word
        if name not in extra and name not in OPTIONS:
            raise errors.invalid_property(name, "FILE FORMAT")
        if name in seen:
            raise duplicate(name)
        seen.add(name)
        cursor.index += 2
        if name == "TYPE":
            pairs.type = one_of(*TYPES)(cursor, name)
        elif name == "FORMAT_NAME":
            pairs.name = _format_name(cursor)
        elif name == "COMMENT":
            pairs.comment = cursor.string()
        else:
            pairs.options[name] = OPTIONS[name](cursor, name)
        cursor.match(",")
    if pairs.type is not None:
        for name in pairs.options:
            if name not in OPTIONS_OF[pairs.type]:
                raise errors.invalid_property(name, pairs.type)
    if pairs.name is not None and (pairs.type is not None or pairs.options):
        raise errors.compilation("001492", "42601", "conflicting options FORMAT_NAME and TYPE in FILE_FORMAT")
    return pairs


def _format_name(cursor: TokenCursor) -> NameRef:
    if not cursor.at_kind(TokenKind.STRING):
        return cursor.name()
    token = cursor.peek()
    line, position = cursor.source.position(token.start)
    parts = split_name(cursor.string())
    if parts is None or len(parts) > 3:
        raise errors.invalid_identifier(token.text, line, position)
    return NameRef(parts, line, position)


def file_format(cursor: TokenCursor, name: str) -> FileFormatSpec:
    """The value of FILE_FORMAT: `(…)`, or a bare or quoted name."""
    if not cursor.match("("):
        return FileFormatSpec(_format_name(cursor))
    pairs = _read_pairs(cursor, ("TYPE", "FORMAT_NAME"))
    cursor.expect(")")
    return FileFormatSpec(pairs.name, pairs.type, pairs.options)


def parse_create_file_format(cursor: TokenCursor, head: CreateHead) -> CreateFileFormat:
    name, guarded = created_name(cursor, head)
    pairs = _read_pairs(cursor, ("TYPE", "COMMENT"))
    if pairs.type is None:
        for option in pairs.options:
            if option not in OPTIONS_OF["CSV"]:
                raise errors.invalid_property(option, "CSV")
    return CreateFileFormat(
        name, pairs.type or "CSV", pairs.options, head.or_replace, guarded, head.temporary, pairs.comment
    )


def parse_alter_file_format(cursor: TokenCursor, kind: ObjectType) -> AlterFileFormat:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    if cursor.match("RENAME"):
        cursor.expect("TO")
        return AlterFileFormat(name, RenameTo(object_name(cursor, kind)), guarded)
    cursor.expect("SET")
    if not at_option(cursor):
        raise cursor.unexpected()
    pairs = _read_pairs(cursor, ("COMMENT",))
    return AlterFileFormat(name, SetFormatOptions(pairs.options, pairs.comment), guarded)
