"""Functions of VARIANT, on the quick lane's list. `variant_calls` computes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snowmelt.core.portable_functions import PORTABLE, PREFIX, PortableFunction
from snowmelt.engine.quick.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MAP,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    NotQuick,
    SparkType,
    array_of,
    decimal,
)  # fmt: skip
from snowmelt.engine.quick.values import Function, Value, literal, typed
from snowmelt.engine.quick.variant_calls import MARK, steps

_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_SCALARS = {
    "string": STRING, "bigint": BIGINT, "double": DOUBLE, "boolean": BOOLEAN, "binary": BINARY, "date": DATE,
    "timestamp_ntz": TIMESTAMP_NTZ, "timestamp": TIMESTAMP,
}  # fmt: skip
_MADE_OF = {
    STRING: "varchar", BIGINT: "bigint", INT: "bigint", DOUBLE: "double", BOOLEAN: "boolean", DATE: "date",
    TIMESTAMP_NTZ: "timestamp", TIMESTAMP: "timestamptz",
}  # fmt: skip


def _get(*, attempt: bool) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        given, path, word = typed(arguments, VARIANT, STRING, STRING)
        if path.text is None or word.text is None or steps(path.text) is None:
            raise NotQuick("variant_get by what are no literals")
        found = given if path.text == "$" else Value(f"v_get({given.sql}, {literal(path.text)})", VARIANT)
        return found if word.text == "variant" else as_type(found, word.text.lower(), attempt=attempt)

    return function


def as_type(given: Value, word: str, *, attempt: bool) -> Value:
    """The VARIANT as a type by Spark's name of it."""
    prefix = "v_try_" if attempt else "v_"
    if word in _SCALARS:
        return Value(f"{prefix}{word}({given.sql})", _SCALARS[word])
    digits = _DECIMAL.fullmatch(word)
    if digits is not None:
        target = decimal(int(digits[1]), int(digits[2]))
        call = f"{prefix}decimal({given.sql}, {target.precision}, {target.scale})"
        return Value(f"CAST({call} AS {target.duck})", target)
    if attempt and word == "array<variant>":
        return Value(f"v_elements({given.sql})", array_of(VARIANT))
    if attempt and word.replace(" ", "") == "map<string,variant>":
        return Value(f"v_entries({given.sql})", MAP)
    raise NotQuick(f"VARIANT as {word}")


def of_variant(given: Value, target: SparkType, *, attempt: bool) -> Value:
    """`CAST(given AS target)` of a VARIANT."""
    word = f"decimal({target.precision},{target.scale})" if target.is_decimal else target.name
    return as_type(given, word, attempt=attempt)


def to_variant(given: Value) -> Value:
    """`CAST(given AS VARIANT)`."""
    if given.type.is_decimal:
        return Value(f"v_of_decimal(CAST({given.sql} AS VARCHAR))", VARIANT)
    word = _MADE_OF.get(given.type)
    if word is None:
        raise NotQuick(f"cast of {given.type.duck} to VARIANT")
    return Value(f"v_of_{word}({given.sql})", VARIANT)


def _of_variant(name: str, result: SparkType) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        (given,) = typed(arguments, VARIANT)
        return Value(f"{name}({given.sql})", result)

    return function


def variant_kind(given: Value) -> Value:
    """How `schema_of_variant` begins."""
    (given,) = typed([given], VARIANT)
    return Value(f"v_kind({given.sql})", STRING)


def _parse(arguments: Sequence[Value]) -> Value:
    (text,) = typed(arguments, STRING)
    return Value(f"v_parse({text.sql})", VARIANT)


def _made(arguments: Sequence[Value]) -> Value:
    (given,) = arguments
    if given.type == array_of(VARIANT):
        return Value(f"v_array({given.sql})", VARIANT)
    if given.type == MAP:
        return Value(f"v_object({given.sql})", VARIANT)
    raise NotQuick(f"to_variant_object of {given.type.name}")


def _portable(portable: PortableFunction) -> Function:
    name = portable.name.replace(PREFIX, MARK)

    def function(arguments: Sequence[Value]) -> Value:
        first, *more = typed(arguments, *[STRING] * portable.arguments)
        if any(value.text is None for value in more):
            raise NotQuick(f"{portable.name} with what is no literal")
        return Value(f"{name}({', '.join(value.sql for value in (first, *more))})", STRING)

    return function


VARIANTS: dict[str, Function] = {
    "is_variant_null": _of_variant("v_is_null", BOOLEAN),
    "parse_json": _parse,
    "schema_of_variant": _of_variant("v_schema", STRING),
    "to_json": _of_variant("v_json", STRING),
    "to_variant_object": _made,
    "try_parse_json": _parse,
    "try_variant_get": _get(attempt=True),
    "variant_get": _get(attempt=False),
    **{name: _portable(portable) for name, portable in PORTABLE.items()},
}
"""By Spark's name."""
