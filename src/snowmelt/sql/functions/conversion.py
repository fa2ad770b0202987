"""TO_… and TRY_TO_…: casts by name, some with a format.

TO_VARIANT, TO_OBJECT and TO_ARRAY are with the semi-structured functions.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import MAX_PRECISION, DataType, Kind, number
from snowmelt.sql import casts, formats, number_formats, temporal
from snowmelt.sql.building import bind, constant_text
from snowmelt.sql.functions.registry import Function, FunctionCall, alias, scalar
from snowmelt.sql.recognition import failed

_TIMESTAMP_TYPES = {
    "TO_TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
    "TO_TIMESTAMP_LTZ": types.TIMESTAMP_LTZ,
    "TO_TIMESTAMP_TZ": types.TIMESTAMP_TZ,
}
_MAPPED = {
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
    "TIMESTAMP_LTZ": types.TIMESTAMP_LTZ,
    "TIMESTAMP_TZ": types.TIMESTAMP_TZ,
}


def _attempts(invocation: FunctionCall) -> bool:
    return invocation.name.startswith("TRY_")


def _wrong_types(invocation: FunctionCall) -> Exception:
    return errors.invalid_argument_types(invocation.name, ", ".join(str(type_) for type_ in invocation.types))


def _format(invocation: FunctionCall, index: int = 1) -> str | None:
    """The constant format at a position; None when the argument is not there."""
    if len(invocation.args) <= index:
        return None
    text = _joined(invocation.source[index])
    if text is None:
        raise errors.unsupported(f"a format of {invocation.name} that is not a constant")
    return text


def _joined(node: exp.Expr) -> str | None:
    """The text of a literal, or of several put together by `||`, as dbt writes formats; None for anything else."""
    if isinstance(node, exp.DPipe):
        left, right = _joined(node.this), _joined(node.expression)
        return None if left is None or right is None else left + right
    return constant_text(node)


def _converted(invocation: FunctionCall, target: DataType) -> exp.Expr:
    """The first argument cast; TRY_ forgives text only, since nothing else can be malformed."""
    source = invocation.types[0]
    attempt = _attempts(invocation) and source.kind is Kind.VARCHAR
    return casts.cast(invocation.args[0], source, target, invocation.context, attempt=attempt)


# -- text ----------------------------------------------------------------------------------------------------


def _to_char(invocation: FunctionCall) -> exp.Expr:
    value, source = invocation.args[0], invocation.types[0]
    model = _format(invocation)
    if model is None or source.kind is Kind.NULL:
        return casts.cast(value, source, types.VARCHAR, invocation.context)
    if source.is_numeric:
        return number_formats.number_text(value, source, model)
    if source.kind is Kind.BINARY:
        return formats.binary_text(value, invocation.context, model)
    if source.is_timestamp or source.kind in (Kind.DATE, Kind.TIME):
        if model.upper() == "AUTO":
            model = formats.output_model(source.kind, invocation.context)
        return formats.temporal_text(value, source, model, invocation.context)
    raise _wrong_types(invocation)


def _to_binary(invocation: FunctionCall) -> exp.Expr:
    value, source = invocation.args[0], invocation.types[0]
    model = _format(invocation)
    if model is None or source.kind is not Kind.VARCHAR:
        return _converted(invocation, types.BINARY)
    attempt = _attempts(invocation)
    return bind(value, lambda v: failed(formats.try_binary(v, model), v, Kind.BINARY, attempt))


# -- numbers -------------------------------------------------------------------------------------------------


def _number_format(invocation: FunctionCall) -> str | None:
    if len(invocation.args) < 2 or invocation.types[1].kind is not Kind.VARCHAR:
        return None
    return _format(invocation)


def _number_type(invocation: FunctionCall) -> DataType:
    """NUMBER(38, 0) unless constants after the value, or after its format, say otherwise."""
    first = 1 if _number_format(invocation) is None else 2
    given: list[int] = []
    for index in range(first, len(invocation.args)):
        literal = invocation.literal(index)
        if literal is None or not literal.isdigit():
            raise errors.invalid_value(literal or "", invocation.name)
        given.append(int(literal))
    if len(given) > 2:
        raise errors.too_many_arguments(invocation.name, first + 2, len(invocation.args))
    precision, scale = (*given, *(MAX_PRECISION, 0)[len(given) :])
    if not 1 <= precision <= MAX_PRECISION or scale > min(precision, 37):
        raise errors.invalid_value(f"{precision}, {scale}", invocation.name)
    return number(precision, scale)


def _to_number(invocation: FunctionCall) -> exp.Expr:
    target = _number_type(invocation)
    model = _number_format(invocation)
    if model is None or invocation.types[0].kind is not Kind.VARCHAR:
        return _converted(invocation, target)
    attempt = _attempts(invocation)
    return bind(
        invocation.args[0],
        lambda v: failed(number_formats.try_number_with(v, model, target), v, Kind.NUMBER, attempt),
    )


def _to_double(invocation: FunctionCall) -> exp.Expr:
    model = _format(invocation)
    if model is None or invocation.types[0].kind is not Kind.VARCHAR:
        return _converted(invocation, types.FLOAT)
    attempt = _attempts(invocation)

    def build(v: exp.Expr) -> exp.Expr:
        return failed(number_formats.try_number_with(v, model, types.FLOAT), v, Kind.FLOAT, attempt)

    return bind(invocation.args[0], build)


# -- booleans, dates and times -------------------------------------------------------------------------------


def _to_boolean(invocation: FunctionCall) -> exp.Expr:
    return _converted(invocation, types.BOOLEAN)


def _temporal(target_of: Callable[[FunctionCall], DataType]) -> Callable[[FunctionCall], exp.Expr]:
    def emit(invocation: FunctionCall) -> exp.Expr:
        target = target_of(invocation)
        source = invocation.types[0]
        if target.is_timestamp and source.is_numeric:
            return _from_epoch(invocation, target)
        model = _format(invocation)
        if model is None or source.kind is Kind.NULL:
            return _converted(invocation, target)
        value, text_type = invocation.args[0], source
        if source.kind is Kind.VARIANT:
            value = casts.cast(value, source, types.VARCHAR, invocation.context)
            text_type = types.VARCHAR
        if text_type.kind is not Kind.VARCHAR:
            raise _wrong_types(invocation)
        attempt = _attempts(invocation)

        def build(v: exp.Expr) -> exp.Expr:
            tried = formats.parse_temporal(v, target, model, invocation.context)
            return failed(tried, v, target.kind, attempt)

        return bind(value, build)

    return emit


def _from_epoch(invocation: FunctionCall, target: DataType) -> exp.Expr:
    """A number counts seconds, or units of 10^-scale seconds when a scale is given."""
    value, source = invocation.args[0], invocation.types[0]
    scale = invocation.literal(1) if len(invocation.args) > 1 else "0"
    if scale is None or not scale.isdigit() or int(scale) > 9:
        raise errors.invalid_value(scale or "", invocation.name)
    if source.kind is Kind.FLOAT:
        value, source = casts.cast(value, source, number(38, 9), invocation.context), number(38, 9)
    return temporal.epoch_timestamp(value, source, int(scale), target, invocation.context)


def _timestamp_type(invocation: FunctionCall) -> DataType:
    name = invocation.name.removeprefix("TRY_")
    if name in _TIMESTAMP_TYPES:
        return _TIMESTAMP_TYPES[name]
    mapping = str(invocation.context.parameters.get("TIMESTAMP_TYPE_MAPPING") or "TIMESTAMP_NTZ")
    return _MAPPED.get(mapping.upper(), types.TIMESTAMP_NTZ)


_TO_CHAR = scalar("TO_CHAR", "any, any", types.VARCHAR, _to_char, least=1)
_TO_NUMBER = scalar("TO_NUMBER", "any, any, any, any", number(), _to_number, least=1, typed=_number_type)
_TO_DOUBLE = scalar("TO_DOUBLE", "any, any", types.FLOAT, _to_double, least=1)
_TO_BOOLEAN = scalar("TO_BOOLEAN", "any", types.BOOLEAN, _to_boolean)
_TO_DATE = scalar("TO_DATE", "any, any", types.DATE, _temporal(lambda _: types.DATE), least=1)
_TO_TIME = scalar("TO_TIME", "any, any", types.TIME, _temporal(lambda _: types.TIME), least=1)
_TO_TIMESTAMP = scalar(
    "TO_TIMESTAMP",
    "any, any",
    types.TIMESTAMP_NTZ,
    _temporal(_timestamp_type),
    least=1,
    typed=_timestamp_type,
)
_TO_BINARY = scalar("TO_BINARY", "any, any", types.BINARY, _to_binary, least=1)

FUNCTIONS: tuple[Function, ...] = (
    _TO_CHAR,
    *alias(_TO_CHAR, "TO_VARCHAR"),
    _TO_NUMBER,
    *alias(_TO_NUMBER, "TO_DECIMAL", "TO_NUMERIC", "TRY_TO_NUMBER", "TRY_TO_DECIMAL", "TRY_TO_NUMERIC"),
    _TO_DOUBLE,
    *alias(_TO_DOUBLE, "TRY_TO_DOUBLE"),
    _TO_BOOLEAN,
    *alias(_TO_BOOLEAN, "TRY_TO_BOOLEAN"),
    _TO_DATE,
    *alias(_TO_DATE, "DATE", "TRY_TO_DATE"),
    _TO_TIME,
    *alias(_TO_TIME, "TIME", "TRY_TO_TIME"),
    _TO_TIMESTAMP,
    *alias(
        _TO_TIMESTAMP, "TO_TIMESTAMP_NTZ", "TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_TZ", "TRY_TO_TIMESTAMP",
        "TRY_TO_TIMESTAMP_NTZ", "TRY_TO_TIMESTAMP_LTZ", "TRY_TO_TIMESTAMP_TZ",
    ),
    _TO_BINARY,
    *alias(_TO_BINARY, "TRY_TO_BINARY"),
)  # fmt: skip
