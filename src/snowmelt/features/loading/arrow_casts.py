"""Values converted in Arrow where it is beyond doubt what the SQL cast gives; all others are left to Spark.

Most values of most files look the same way: 42, 3.14, 2024-01-31. Such a value is converted here, millions a second.
What is written in any other way may still be fine (` 42 `, `4.2e1`, `Jan 31, 2024`), or an error with a message of its
own: only the SQL cast knows, so its row is marked as doubtful.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading.attempts import CastAttempt, TextRules, short_text, without
from snowmelt.features.loading.typed_casts import typed
from snowmelt.features.loading.typed_records import documents_in, object_texts
from snowmelt.state.model import Column
from snowmelt.storage.schema import VARIANT
from snowmelt.storage.variant import encode, parse_json
from snowmelt.storage.variant_columns import encode_objects

_DATE = r"[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_SAFE_DAY = "^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
"""Up to the 28th there is no doubt that it exists."""
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_INTEGER = r"^-?[0-9]{1,18}$"
_FLOAT = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$"
_BOOLEANS = pa.array(["true", "t", "yes", "y", "on", "1"]), pa.array(["false", "f", "no", "n", "off", "0"])
_FEW_DOCUMENTS = 2_000
_FEW_BYTES = 1 << 20
"""So little JSON is encoded here: starting a job would take longer."""


def attempt(values: Any, source: DataType, column: Column, rules: TextRules) -> CastAttempt | None:
    """The values as the column stores them; None when only Spark can convert them."""
    if column.type.is_semi_structured:
        as_json = source.kind is Kind.VARIANT or (source.kind is Kind.VARCHAR and rules.reads_json)
        tried = _documents(values, column.type, rules) if as_json else None
    elif source.kind is Kind.VARCHAR:
        tried = _text(values, column.type, rules)
    else:
        tried = typed(values, source, column.type, rules)
    if tried is None:
        return None
    if column.nullable or tried.values.null_count == 0:
        return tried
    missing = pc.is_null(tried.values)
    return CastAttempt(tried.values, missing)


def _text(values: Any, target: DataType, rules: TextRules) -> CastAttempt | None:
    match target.kind:
        case Kind.VARCHAR:
            return short_text(values, target, rules)
        case Kind.NUMBER:
            return _number(values, target)
        case Kind.FLOAT:
            return _matching(values, _FLOAT, pa.float64())
        case Kind.BOOLEAN:
            return _boolean(values)
        case Kind.DATE if rules.is_auto("DATE"):
            return _date(values)
        case Kind.TIMESTAMP_NTZ if rules.is_auto("TIMESTAMP") and (target.precision or 9) >= 6:
            return _timestamp(values, pa.timestamp("us"))
        case Kind.TIMESTAMP_LTZ if rules.is_auto("TIMESTAMP") and (target.precision or 9) >= 6 and _are_zoned(values):
            return CastAttempt(pc.cast(values, pa.timestamp("us", "UTC")))
        case Kind.TIMESTAMP_LTZ if rules.is_auto("TIMESTAMP") and rules.time_zone == "UTC":
            return _timestamp(values, pa.timestamp("us", "UTC")) if (target.precision or 9) >= 6 else None
        case Kind.TIME if rules.is_auto("TIME"):
            return _matching(values, f"^{_CLOCK}$", pa.string())
        case _:
            return None


def _doubtful(values: Any, pattern: str) -> Any:
    """A mask of the texts that do not look as expected; None when all do. NULL is never in doubt."""
    fits = pc.fill_null(pc.match_substring_regex(values, pattern), True)
    return None if pc.all(fits).as_py() is not False else pc.invert(fits)


def _matching(values: Any, pattern: str, type_: pa.DataType) -> CastAttempt:
    doubt = _doubtful(values, pattern)
    return CastAttempt(pc.cast(without(values, doubt), type_), doubt)


def _number(values: Any, target: DataType) -> CastAttempt | None:
    if target.int64:
        return _matching(values, _INTEGER, pa.int64())
    precision, scale = target.precision or 38, target.scale or 0
    lead = precision - scale
    whole = f"[0-9]{{1,{lead}}}" if lead else "0"
    fraction = f"(\\.[0-9]{{1,{scale}}})?" if scale else ""
    return _matching(values, f"^-?{whole}{fraction}$", pa.decimal128(precision, scale))


def _boolean(values: Any) -> CastAttempt:
    lowered = pc.ascii_lower(values)
    is_true, is_false = (pc.is_in(lowered, value_set=words) for words in _BOOLEANS)
    missing = pc.is_null(values)
    known = pc.or_(pc.or_(is_true, is_false), missing)
    doubt = None if pc.all(known).as_py() is not False else pc.invert(known)
    return CastAttempt(pc.if_else(pc.or_(is_true, is_false), is_true, pa.scalar(None, pa.bool_())), doubt)


def _date(values: Any) -> CastAttempt:
    return _calendar(values, f"^{_DATE}$", f"{_SAFE_DAY}$", pa.date32())


def _timestamp(values: Any, type_: pa.DataType) -> CastAttempt:
    rest = rf"[ T]{_CLOCK}(\.[0-9]{{1,6}})?$"
    safe = f"{_SAFE_DAY}{rest}"
    local = _calendar(values, f"^{_DATE}{rest}", safe, pa.timestamp("us"))
    return local if type_.tz is None else CastAttempt(pc.assume_timezone(local.values, type_.tz), local.doubt)


def _are_zoned(values: Any) -> bool:
    """Whether every text is a day that exists in every month, with a time of day and its offset from UTC."""
    fits = pc.match_substring_regex(values, rf"{_SAFE_DAY}[ T]{_CLOCK}(\.[0-9]{{1,6}})?[+-][01][0-9]:[0-5][0-9]$")
    return pc.all(fits).as_py() is True


def _calendar(values: Any, pattern: str, safe: str, type_: pa.DataType) -> CastAttempt:
    """Dates that exist. Arrow refuses a whole column over one February 30: then days past 28 are in doubt."""
    doubt = _doubtful(values, pattern)
    fitting = without(values, doubt)
    try:
        return CastAttempt(pc.cast(fitting, type_), doubt)
    except pa.ArrowInvalid:
        late = _doubtful(fitting, safe)
        doubt = late if doubt is None else (doubt if late is None else pc.or_(doubt, late))
        return CastAttempt(pc.cast(without(fitting, late), type_), doubt)


# -- documents ------------------------------------------------------------------------------------------------------


def _documents(values: Any, target: DataType, rules: TextRules) -> CastAttempt | None:
    """JSON text, which VARIANT fields travel as, or objects of Arrow."""
    if pa.types.is_struct(values.type):
        objects = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        encoded = encode_objects(objects, is_json=documents_in(values.type)) if target.kind is not Kind.ARRAY else None
        if encoded is not None:
            return CastAttempt(encoded)
        values = object_texts(values)
    if not rules.encodes_documents and (len(values) > _FEW_DOCUMENTS or values.nbytes > _FEW_BYTES):
        return None
    metadata: list[bytes] = []
    contents: list[bytes] = []
    missing: list[bool] = []
    doubt: list[bool] = []
    for text in values.to_pylist():
        is_given = text is not None and bool(text.strip())
        found = _encoded(text, target) if is_given else None
        missing.append(found is None)
        doubt.append(is_given and found is None)
        metadata.append(b"" if found is None else found[0])
        contents.append(b"" if found is None else found[1])
    parts = [pa.array(metadata, pa.binary()), pa.array(contents, pa.binary())]
    encoded = pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=pa.array(missing, pa.bool_()))
    return CastAttempt(encoded, pa.array(doubt) if any(doubt) else None)


def _encoded(text: str, target: DataType) -> tuple[bytes, bytes] | None:
    """A document's bytes; None where it is not valid, or not the object or array that the column wants."""
    try:
        value = parse_json(text)
        if (target.kind is Kind.OBJECT and not isinstance(value, dict)) or (
            target.kind is Kind.ARRAY and not isinstance(value, list)
        ):
            return None
        return encode(value)
    except (SnowmeltError, UnicodeEncodeError, RecursionError):
        # Half of a surrogate pair, or nested too deeply: Spark has the words for it.
        return None
