"""Functions of arrays, structs and maps, on the quick lane's list. They stand between values, never in results."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET
from snowmelt.engine.quick.types import (
    ENTRY,
    INT,
    MAP,
    STRING,
    TIMESTAMP,
    TIMESTAMP_TZ,
    VARIANT,
    VOID,
    NotQuick,
    array_of,
    struct_of,
)  # fmt: skip
from snowmelt.engine.quick.values import Function, Value, literal, repeatable, typed, unified


def named_struct(arguments: Sequence[Value]) -> Value:
    names, values = [name.text for name in arguments[::2]], arguments[1::2]
    kinds = [value.type for value in values]
    if names == [TZ_INSTANT, TZ_OFFSET] and kinds == [TIMESTAMP, INT]:
        type_ = TIMESTAMP_TZ
    else:
        type_ = struct_of([(name or "", kind) for name, kind in zip(names, kinds, strict=True)])
    fields = ", ".join(f'"{name}" := {value.sql}' for name, value in zip(names, values, strict=True))
    return Value(f"CAST(struct_pack({fields}) AS {type_.duck})", type_)


def _array(arguments: Sequence[Value]) -> Value:
    given, element = unified(arguments, "array")
    type_ = array_of(element)
    return Value(f"CAST([{', '.join(value.sql for value in given)}] AS {type_.duck})", type_)


def _is_array(value: Value) -> bool:
    return value.type.name in ("array", "map")


def _size(arguments: Sequence[Value]) -> Value:
    (given,) = arguments
    if not _is_array(given):
        raise NotQuick(f"size of {given.type.name}")
    return Value(f"CAST(len({given.sql}) AS INTEGER)", INT)


def _get(arguments: Sequence[Value]) -> Value:
    given, index = arguments
    if given.type.name != "array" or index.type != INT:
        raise NotQuick(f"get of {given.type.name}")
    at = repeatable(index)
    return Value(
        f"CASE WHEN {at} >= 0 THEN list_extract({given.sql}, CAST({at} AS BIGINT) + 1) END", given.type.element
    )


def _map(arguments: Sequence[Value]) -> Value:
    keys, values = arguments[::2], arguments[1::2]
    if any(key.type != STRING for key in keys) or any(value.type not in (VARIANT, VOID) for value in values):
        raise NotQuick("a map of other types")
    texts = [key.text for key in keys]
    if None in texts or len(set(texts)) != len(texts):
        raise NotQuick("a map of keys that are computed, or twice")
    entries = ", ".join(
        f'struct_pack("key" := {key.sql}, "value" := CAST({value.sql} AS {VARIANT.duck}))'
        for key, value in zip(keys, values, strict=True)
    )
    return Value(f"CAST([{entries}] AS {MAP.duck})", MAP)


def _map_entries(arguments: Sequence[Value]) -> Value:
    (given,) = typed(arguments, MAP)
    return Value(given.sql, array_of(ENTRY))


def _element_at(arguments: Sequence[Value]) -> Value:
    given, key = typed(arguments, MAP, STRING)
    if key.text is None:
        raise NotQuick("an entry by a key that is computed")
    found = f"list_extract(list_filter({given.sql}, lambda e: struct_extract(e, 'key') = {literal(key.text)}), 1)"
    return Value(f"struct_extract({found}, 'value')", VARIANT)


ARRAYS: dict[str, Function] = {
    "array": _array,
    "get": _get,
    "map": _map,
    "map_entries": _map_entries,
    "named_struct": named_struct,
    "size": _size,
    "try_element_at": _element_at,
}
"""By Spark's name."""
