"""Which file format a statement means: its own, the stage's, or the default; checked and with defaults."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.features.loading.definitions import FILE_FORMAT, FileFormatDefinition
from snowmelt.features.loading.format_statements import FileFormatSpec
from snowmelt.sql.statements.base import NameRef

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_READABLE = ("CSV", "JSON", "PARQUET", "AVRO")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "b": "\b", "0": "\0", "\\": "\\", "'": "'", '"': '"'}
_ESCAPED = re.compile(r"\\(x[0-9A-Fa-f]{2}|[0-7]{3}|u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_HEX = re.compile(r"(?:0x[0-9A-Fa-f]{2})+\Z")
_ENCODINGS = {
    "BIG5": "big5", "EUCJP": "euc_jp", "EUCKR": "euc_kr", "GB18030": "gb18030", "IBM420": "cp420", "IBM424": "cp424",
    "ISO2022CN": "iso2022_cn", "ISO2022JP": "iso2022_jp", "ISO2022KR": "iso2022_kr", "KOI8R": "koi8_r",
    "SHIFTJIS": "shift_jis", "UTF8": "utf_8", "UTF16": "utf_16", "UTF16BE": "utf_16_be", "UTF16LE": "utf_16_le",
    "UTF32": "utf_32", "UTF32BE": "utf_32_be", "UTF32LE": "utf_32_le",
    **{f"ISO8859{part}": f"iso8859_{part}" for part in (1, 2, 5, 6, 7, 8, 9, 15)},
    **{f"WINDOWS{page}": f"cp{page}" for page in (874, 949, 1250, 1251, 1252, 1253, 1254, 1255, 1256)},
}  # fmt: skip
"""Snowflake's names, without hyphens and underscores, and Python's."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What all types share."""

    type: str
    compression: str = "AUTO"
    trim_space: bool = False
    null_if: tuple[str, ...] = ()
    replace_invalid: bool = False
    extension: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Session parameters that the format overrides while values are read or written."""


@dataclass(frozen=True, slots=True)
class CsvFormat(FileFormat):
    field_delimiter: bytes | None = b","
    record_delimiter: bytes | None = b"\n"
    skip_header: int = 0
    parse_header: bool = False
    skip_blank_lines: bool = False
    escape: bytes | None = None
    escape_unenclosed: bytes | None = b"\\"
    enclosure: bytes | None = None
    error_on_count: bool = True
    empty_as_null: bool = True
    skip_mark: bool = True
    encoding: str = "utf_8"


@dataclass(frozen=True, slots=True)
class JsonFormat(FileFormat):
    strip_outer_array: bool = False
    strip_nulls: bool = False
    allow_duplicate: bool = False
    skip_mark: bool = True


@dataclass(frozen=True, slots=True)
class ParquetFormat(FileFormat):
    binary_as_text: bool = True


def effective(run: Run, spec: FileFormatSpec | None, stage: Mapping[str, Any]) -> FileFormat:
    """The format in force: the statement's, else the stage's, else CSV with defaults. They do not add up."""
    if spec is not None:
        if spec.name is not None:
            return _made(*_stored(run, spec.name))
        return _made(spec.type or "CSV", spec.options)
    if not stage:
        return _made("CSV", {})
    options = dict(stage)
    name = options.pop("FORMAT_NAME", None)
    if name is not None:
        return named(run, str(name))
    return _made(str(options.pop("TYPE", None) or "CSV"), options)


def named(run: Run, text: str) -> FileFormat:
    """The format that a quoted name means."""
    parts = split_name(text)
    if parts is None or len(parts) > 3:
        raise errors.not_found("File format", text)
    return _made(*_stored(run, NameRef(parts)))


def _stored(run: Run, ref: NameRef) -> tuple[str, Mapping[str, Any]]:
    name = run.object_name(ref)
    with run.state.read() as state:
        found = state.catalog.find(name, [FILE_FORMAT], run.session.id)
    if found is None:
        raise errors.not_found("File format", str(name))
    assert isinstance(found.definition, FileFormatDefinition)
    return found.definition.type, found.definition.options


def check(kind: str, options: Mapping[str, Any]) -> None:
    """Raises for options that no file could be read or written with; kinds that can't be used are refused there."""
    if kind in _READABLE:
        _made(kind, options)


def _made(kind: str, options: Mapping[str, Any]) -> FileFormat:
    given = {name.upper(): value for name, value in options.items()}
    shared: dict[str, Any] = {
        "type": kind,
        "compression": given.get("COMPRESSION") or ("AUTO" if "COMPRESSION" not in given else "NONE"),
        "trim_space": bool(given.get("TRIM_SPACE", False)),
        "replace_invalid": bool(given.get("REPLACE_INVALID_CHARACTERS") or given.get("IGNORE_UTF8_ERRORS")),
        "extension": given.get("FILE_EXTENSION"),
        "null_if": tuple(given.get("NULL_IF") or ()),
    }
    if shared["compression"] == "LZO":
        raise errors.unsupported("COMPRESSION = LZO")
    match kind:
        case "CSV":
            return _csv(given, shared)
        case "JSON":
            return _json(given, shared)
        case "PARQUET":
            return ParquetFormat(**shared, binary_as_text=given.get("BINARY_AS_TEXT") is not False)
        case "AVRO":
            return FileFormat(**shared)
        case _:
            raise errors.unsupported(f"FILE_FORMAT TYPE = {kind}", hint=f"{', '.join(_READABLE)} are supported.")


def _csv(given: dict[str, Any], shared: dict[str, Any]) -> CsvFormat:
    shared["null_if"] = tuple(given["NULL_IF"] or ()) if "NULL_IF" in given else ("\\N",)
    shared["parameters"] = _parameters(given)
    found = CsvFormat(
        **shared,
        field_delimiter=_delimiter(given, "FIELD_DELIMITER", ","),
        record_delimiter=_delimiter(given, "RECORD_DELIMITER", "\n"),
        skip_header=int(given.get("SKIP_HEADER") or 0),
        parse_header=bool(given.get("PARSE_HEADER", False)),
        skip_blank_lines=bool(given.get("SKIP_BLANK_LINES", False)),
        escape=_character(given, "ESCAPE", None),
        escape_unenclosed=_character(given, "ESCAPE_UNENCLOSED_FIELD", "\\"),
        enclosure=_character(given, "FIELD_OPTIONALLY_ENCLOSED_BY", None),
        error_on_count=given.get("ERROR_ON_COLUMN_COUNT_MISMATCH") is not False,
        empty_as_null=given.get("EMPTY_FIELD_AS_NULL") is not False,
        skip_mark=given.get("SKIP_BYTE_ORDER_MARK") is not False,
        encoding=_encoding(given.get("ENCODING") or "UTF8"),
    )
    if found.skip_header < 0:
        raise errors.invalid_value(str(found.skip_header), "SKIP_HEADER")
    if found.parse_header and found.skip_header:
        raise errors.compilation("001492", "42601", "conflicting options PARSE_HEADER and SKIP_HEADER in FILE_FORMAT")
    if found.field_delimiter is not None and found.field_delimiter == found.record_delimiter:
        raise errors.invalid_value(found.field_delimiter.decode(), "FIELD_DELIMITER")
    if found.enclosure is not None and found.enclosure in (found.field_delimiter, found.record_delimiter):
        raise errors.invalid_value(found.enclosure.decode(), "FIELD_OPTIONALLY_ENCLOSED_BY")
    return found


def _json(given: dict[str, Any], shared: dict[str, Any]) -> JsonFormat:
    if given.get("ENABLE_OCTAL"):
        raise errors.unsupported("ENABLE_OCTAL = TRUE")
    shared["parameters"] = _parameters(given)
    return JsonFormat(
        **shared,
        strip_outer_array=bool(given.get("STRIP_OUTER_ARRAY", False)),
        strip_nulls=bool(given.get("STRIP_NULL_VALUES", False)),
        allow_duplicate=bool(given.get("ALLOW_DUPLICATE", False)),
        skip_mark=given.get("SKIP_BYTE_ORDER_MARK") is not False,
    )


def _parameters(given: Mapping[str, Any]) -> dict[str, str]:
    """DATE_FORMAT and its like as the session parameters that casts look at, in both directions."""
    found: dict[str, str] = {}
    for kind in ("DATE", "TIME", "TIMESTAMP"):
        model = given.get(f"{kind}_FORMAT")
        if model is not None and str(model).upper() != "AUTO":
            found[f"{kind}_INPUT_FORMAT"] = str(model)
            found[f"{kind}_OUTPUT_FORMAT"] = str(model)
    if "TIMESTAMP_OUTPUT_FORMAT" in found:
        for zone in ("NTZ", "LTZ", "TZ"):
            found[f"TIMESTAMP_{zone}_OUTPUT_FORMAT"] = found["TIMESTAMP_OUTPUT_FORMAT"]
    binary = str(given.get("BINARY_FORMAT") or "HEX").replace("UTF-8", "UTF8")
    found["BINARY_INPUT_FORMAT"] = binary
    found["BINARY_OUTPUT_FORMAT"] = binary
    return found


def _delimiter(given: Mapping[str, Any], name: str, default: str) -> bytes | None:
    value = given.get(name, default)
    if value is None:
        return None
    found = _bytes(str(value))
    if not found or len(found) > 20:
        raise errors.invalid_value(str(value), name)
    return found


def _character(given: Mapping[str, Any], name: str, default: str | None) -> bytes | None:
    value = given.get(name, default)
    if value is None or value == "":
        return None
    found = _bytes(str(value))
    if len(found) != 1:
        raise errors.invalid_value(str(value), name)
    return found


def _bytes(text: str) -> bytes:
    """An option's text with escape sequences and hexadecimal bytes as Snowflake reads them."""
    if _HEX.match(text):
        return bytes.fromhex(text.replace("0x", ""))
    if text == "\\":
        return b"\\"
    return _ESCAPED.sub(_unescaped, text).encode()


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    if len(code) == 3:
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)


def _encoding(name: str) -> str:
    found = _ENCODINGS.get(re.sub(r"[-_ ]", "", name.upper()))
    if found is None:
        raise errors.invalid_value(name, "ENCODING")
    try:
        codecs.lookup(found)
    except LookupError:
        raise errors.unsupported(f"ENCODING = {name}") from None
    return found
