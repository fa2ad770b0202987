"""Calls with a lambda: values that are bound once, arrays that are transformed and filtered, LISTAGG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlglot import exp

from snowmelt.core.types import TZ_INSTANT
from snowmelt.engine.quick.casts import instant_of_text
from snowmelt.engine.quick.known import reads_an_instant
from snowmelt.engine.quick.lists import arguments_of, listed_values
from snowmelt.engine.quick.scopes import Bound, Translator
from snowmelt.engine.quick.types import INT, STRING, TIMESTAMP, TIMESTAMP_TZ, NotQuick, array_of
from snowmelt.engine.quick.values import Value, typed


def whole(bound: Bound) -> Value:
    """What a parameter stands for, where it is mentioned as it is."""
    if not isinstance(bound, Value):
        raise NotQuick("a struct as it is")
    return bound


def field_of(bound: Bound, name: str) -> Value:
    """The field of a struct."""
    if not isinstance(bound, Value):
        if name not in bound:
            raise NotQuick("a field of a struct")
        return bound[name]
    if bound.type == TIMESTAMP_TZ:
        type_ = TIMESTAMP if name == TZ_INSTANT else INT
    elif name in bound.type.fields:
        type_ = bound.type.fields[name]
    else:
        raise NotQuick("a field of a struct")
    return Value(f"struct_extract({bound.sql}, '{name}')", type_)


@contextmanager
def _binding(expressions: Translator, given: Mapping[str, Bound]) -> Iterator[None]:
    before = expressions.bound
    expressions.bound = {**before, **given}
    try:
        yield
    finally:
        expressions.bound = before


def bound_value(expressions: Translator, node: exp.Anonymous) -> Value:
    """`element_at(transform(array(x), b -> f(b)), 1)`: f with x in its place; x may be a `named_struct` of values."""
    inner = arguments_of(node.expressions[0], "transform")
    array = arguments_of(inner[0], "array") if len(inner) == 2 else []
    if len(array) != 1 or not isinstance(inner[1], exp.Lambda) or len(inner[1].expressions) != 1:
        raise NotQuick("function element_at")
    struct = arguments_of(array[0], "named_struct")
    if len(struct) == 2 and reads_an_instant(inner[1]):
        return instant_of_text(typed([expressions.value(struct[1])], STRING)[0])
    bound: Bound
    if struct:
        pairs = zip(struct[::2], struct[1::2], strict=True)
        bound = {str(key.this): _enclosed(expressions.value(value)) for key, value in pairs}
    else:
        bound = _enclosed(expressions.value(array[0]))
    with _binding(expressions, {inner[1].expressions[0].name: bound}):
        return expressions.value(inner[1].this)


def _enclosed(value: Value) -> Value:
    return value if value.text is not None or value.number is not None else Value(f"({value.sql})", value.type)


def transformed(expressions: Translator, node: exp.Expr) -> Value:
    """`transform(array, (item, index) -> f)`."""
    array, function = arguments_of(node, "transform")
    given = expressions.value(array)
    if given.type.name != "array" or not isinstance(function, exp.Lambda) or len(function.expressions) > 2:
        raise NotQuick("transform of this kind")
    item, index = f"p{len(expressions.bound)}", f"q{len(expressions.bound)}"
    meanings = [Value(item, given.type.element), Value(f"CAST({index} - 1 AS INTEGER)", INT)]
    names = [parameter.name for parameter in function.expressions]
    with _binding(expressions, dict(zip(names, meanings, strict=False))):
        found = expressions.value(function.this)
    parameters = item if len(names) == 1 else f"{item}, {index}"
    return Value(f"list_transform({given.sql}, lambda {parameters}: {found.sql})", array_of(found.type))


def filtered(expressions: Translator, node: exp.Anonymous) -> Value:
    """`filter(array, item -> condition)` and `map_filter(map, (key, value) -> condition)`."""
    array, function = node.expressions
    given = expressions.value(array)
    if not isinstance(function, exp.Lambda):
        raise NotQuick("filter of this kind")
    item = f"p{len(expressions.bound)}"
    names = [parameter.name for parameter in function.expressions]
    meanings: list[Value]
    if given.type.name == "map":
        entry = Value(item, given.type.element)
        meanings = [field_of(entry, "key"), field_of(entry, "value")]
    elif given.type.name == "array":
        meanings = [Value(item, given.type.element)]
    else:
        raise NotQuick("filter of this kind")
    if len(names) != len(meanings):
        raise NotQuick("filter of this kind")
    with _binding(expressions, dict(zip(names, meanings, strict=True))):
        condition = expressions.condition(function.this)
    return Value(f"list_filter({given.sql}, lambda {item}: {condition})", given.type)


def listed(expressions: Translator, node: exp.Anonymous) -> Value:
    """`array_join(transform(sort_array(collect_list(CASE … named_struct(keys, 'v', x) END)), e -> e.v), ',')`."""
    found = listed_values(node)
    if found is None:
        raise NotQuick("function array_join")
    condition, fields, separator = found
    values = [expressions.value(field) for field in fields]
    if values[-1].type != STRING or any(not value.type.has_order for value in values):
        raise NotQuick("a list of this kind")
    order = ", ".join(f"{value.sql} ASC NULLS FIRST" for value in values)
    given = f"string_agg({values[-1].sql}, {expressions.value(separator).sql} ORDER BY {order})"
    return Value(f"coalesce({given} FILTER (WHERE {expressions.condition(condition)}), '')", STRING)
