"""ARRAY functions that compare elements: searching, least and greatest, and arrays as multisets.

Elements are compared as `variants.comparable` says, so 1 and 1.0 are the same element and objects compare by
their content.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import ARRAY, BOOLEAN, INTEGER, VARIANT, Kind
from snowmelt.sql import variants
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import spark
from snowmelt.sql.functions.registry import Function, FunctionCall, scalar
from snowmelt.sql.functions.semi_structured import variant_argument

_ELEMENT = spark("sm_element")
_NTH_COPY = (
    "CASE WHEN _2 IS NOT NULL THEN filter(_0, (sm_element, sm_index) -> "
    "size(filter(slice(_1, 1, sm_index + 1), sm_key -> sm_key <=> get(_1, sm_index))) "
    "{comparison} size(filter(_2, sm_key -> sm_key <=> get(_1, sm_index)))) END"
)
"""The elements of the first array by how many of them came before, held against how many the other array has."""


def elements_argument(call: FunctionCall, index: int) -> exp.Expr:
    """An ARRAY or VARIANT argument as Spark ARRAY<VARIANT>: NULL where it is not an array."""
    if not call.types[index].is_semi_structured and call.types[index].kind is not Kind.NULL:
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))
    return variants.array_elements(variant_argument(call, index))


def _keys(elements: exp.Expr) -> exp.Expr:
    """What stands for each element when it is compared."""
    return spark("transform(_0, sm_element -> _1)", elements, variants.comparable(_ELEMENT))


# -- searching ------------------------------------------------------------------------------------------------


def _array_contains(call: FunctionCall) -> exp.Expr:
    """SQL NULL is found where an element is `undefined`, and not known to be missing where none is."""
    key = bind(variant_argument(call, 0), variants.comparable)
    return bind(
        (_keys(elements_argument(call, 1)), key),
        lambda keys, wanted: spark(
            "CASE WHEN _1 IS NOT NULL THEN if(_0 IS NULL, NULL, coalesce(array_contains(_0, _1), FALSE)) "
            "WHEN exists(_0, sm_key -> sm_key IS NULL) THEN TRUE END",
            keys,
            wanted,
        ),
    )


def _array_position(call: FunctionCall) -> exp.Expr:
    key = bind(variant_argument(call, 0), variants.comparable)
    return spark("nullif(array_position(_0, _1), 0) - 1", _keys(elements_argument(call, 1)), key)


def _arrays_overlap(call: FunctionCall) -> exp.Expr:
    """`undefined` equals itself, as in all the functions that treat arrays as multisets."""
    keys = (_keys(elements_argument(call, 0)), _keys(elements_argument(call, 1)))
    return bind(
        keys,
        lambda left, right: spark(
            "if(_1 IS NULL, NULL, exists(_0, sm_key -> exists(_1, sm_other -> sm_other <=> sm_key)))", left, right
        ),
    )


def _extreme(function: str) -> Callable[[FunctionCall], exp.Expr]:
    """ARRAY_MAX and ARRAY_MIN: `undefined` elements do not count, a JSON null is the greatest."""

    def emit(call: FunctionCall) -> exp.Expr:
        def build(items: exp.Expr, keys: exp.Expr) -> exp.Expr:
            return spark(
                f"get(_0, CAST(array_position(_1, {function}(_1)) AS INT) - 1)",
                items,
                keys,
            )

        kept = spark("filter(_0, sm_element -> sm_element IS NOT NULL)", elements_argument(call, 0))
        return bind(kept, lambda items: bind((items, _keys(items)), build))

    return emit


# -- as sets --------------------------------------------------------------------------------------------------


def _array_distinct(call: FunctionCall) -> exp.Expr:
    def build(items: exp.Expr, keys: exp.Expr) -> exp.Expr:
        return spark(
            "filter(_0, (sm_element, sm_index) -> "
            "NOT exists(slice(_1, 1, sm_index), sm_key -> sm_key <=> get(_1, sm_index)))",
            items,
            keys,
        )

    given = elements_argument(call, 0)
    return variants.from_elements(bind(given, lambda items: bind((items, _keys(items)), build)))


def _multiset(comparison: str) -> Callable[[FunctionCall], exp.Expr]:
    """ARRAY_EXCEPT and ARRAY_INTERSECTION: the n-th copy of an element is matched by an n-th copy in the other."""
    template = _NTH_COPY.format(comparison=comparison)

    def emit(call: FunctionCall) -> exp.Expr:
        def build(items: exp.Expr, keys: exp.Expr, others: exp.Expr) -> exp.Expr:
            return spark(template, items, keys, others)

        others = _keys(elements_argument(call, 1))
        given = elements_argument(call, 0)
        return variants.from_elements(bind(given, lambda items: bind((items, _keys(items), others), build)))

    return emit


def beyond(elements: exp.Expr, others: exp.Expr) -> exp.Expr:
    """The copies of elements that the other array does not have; both are Spark's ARRAY<VARIANT>."""
    template = _NTH_COPY.format(comparison=">")

    def build(items: exp.Expr, keys: exp.Expr, other_keys: exp.Expr) -> exp.Expr:
        return spark(template, items, keys, other_keys)

    return bind(elements, lambda items: bind((items, _keys(items), _keys(others)), build))


def _array_remove(call: FunctionCall) -> exp.Expr:
    def build(items: exp.Expr, key: exp.Expr) -> exp.Expr:
        return spark(
            "CASE WHEN _1 IS NOT NULL THEN filter(_0, sm_element -> NOT (_2 <=> _1)) END",
            items,
            key,
            variants.comparable(_ELEMENT),
        )

    key = bind(variant_argument(call, 1), variants.comparable)
    return variants.from_elements(bind((elements_argument(call, 0), key), build))


def _array_remove_at(call: FunctionCall) -> exp.Expr:
    def build(items: exp.Expr, position: exp.Expr) -> exp.Expr:
        return spark(
            "CASE WHEN _1 IS NOT NULL THEN filter(_0, (sm_element, sm_index) -> "
            "sm_index <> CASE WHEN _1 < 0 THEN size(_0) + _1 ELSE _1 END) END",
            items,
            position,
        )

    return variants.from_elements(bind((elements_argument(call, 0), call.args[1]), build))


FUNCTIONS: tuple[Function, ...] = (
    scalar("ARRAY_DISTINCT", "any", ARRAY, _array_distinct),
    scalar("ARRAY_EXCEPT", "any, any", ARRAY, _multiset(">")),
    scalar("ARRAY_INTERSECTION", "any, any", ARRAY, _multiset("<=")),
    scalar("ARRAY_REMOVE", "any, any", ARRAY, _array_remove),
    scalar("ARRAY_REMOVE_AT", "any, int", ARRAY, _array_remove_at),
    scalar("ARRAY_CONTAINS", "any, any", BOOLEAN, _array_contains),
    scalar("ARRAY_POSITION", "any, any", INTEGER, _array_position),
    scalar("ARRAYS_OVERLAP", "any, any", BOOLEAN, _arrays_overlap),
    scalar("ARRAY_MAX", "any", VARIANT, _extreme("array_max")),
    scalar("ARRAY_MIN", "any", VARIANT, _extreme("array_min")),
)
