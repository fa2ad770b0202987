"""ARRAY functions. An ARRAY is a VARIANT; its elements are taken out as Spark's ARRAY<VARIANT> and put back.

Elements are compared as `variants.comparable` says, so 1 and 1.0 are the same element and objects compare
by their content. Positions are 0-based. A SQL NULL that is put into an array is `undefined` there, which is not the
same as a JSON null; `variants` says how the two are kept apart.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import ARRAY, BOOLEAN, INTEGER, VARCHAR, VARIANT
from snowmelt.sql import casts, variants
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import integer, spark, string
from snowmelt.sql.functions import array_sets
from snowmelt.sql.functions.arguments import MOST_ELEMENTS, at_most
from snowmelt.sql.functions.array_sets import elements_argument
from snowmelt.sql.functions.registry import Function, FunctionCall, scalar
from snowmelt.sql.functions.semi_structured import variant_argument

_ELEMENT = spark("sm_element")


def _from_start(size: exp.Expr, position: exp.Expr) -> exp.Expr:
    """A position that may count from the end, as one from the start; at least 0."""
    return spark("CAST(CASE WHEN _1 < 0 THEN greatest(_0 + _1, 0) ELSE _1 END AS INT)", size, position)


def _of_elements(template: str) -> Callable[[FunctionCall], exp.Expr]:
    """A function from the elements of the first argument (`_0`) to those of the result."""
    return lambda call: variants.from_elements(spark(template, elements_argument(call, 0)))


def _with_value(template: str) -> Callable[[FunctionCall], exp.Expr]:
    """Likewise, with a value as the second argument (`_1`)."""
    return lambda call: variants.from_elements(spark(template, elements_argument(call, 0), variant_argument(call, 1)))


# -- construction ---------------------------------------------------------------------------------------------


def _spark_array(call: FunctionCall) -> exp.Expr:
    values = [variant_argument(call, index) for index in range(len(call.args))]
    return spark_call("array", *values) if values else spark("CAST(array() AS ARRAY<VARIANT>)")


def _array_construct(call: FunctionCall) -> exp.Expr:
    return variants.from_elements(_spark_array(call))


def _array_construct_compact(call: FunctionCall) -> exp.Expr:
    kept = spark("filter(_0, sm_element -> sm_element IS NOT NULL)", _spark_array(call))
    return variants.from_elements(kept)


def _array_generate_range(call: FunctionCall) -> exp.Expr:
    step = call.args[2] if len(call.args) > 2 else integer(1)

    def build(start: exp.Expr, stop: exp.Expr, by: exp.Expr) -> exp.Expr:
        return spark(
            "to_variant_object(CASE WHEN _0 IS NULL OR _1 IS NULL OR _2 IS NULL THEN NULL "
            "WHEN _2 = 0 THEN _3 "
            "WHEN (_2 > 0 AND _0 >= _1) OR (_2 < 0 AND _0 <= _1) THEN CAST(array() AS ARRAY<BIGINT>) "
            "ELSE sequence(CAST(_0 AS BIGINT), CAST(_4 - sign(_2) AS BIGINT), CAST(_2 AS BIGINT)) END)",
            start,
            stop,
            by,
            fail("100353", "22023", "ARRAY_GENERATE_RANGE: the step must not be zero"),
            # Where the sequence ends, and not around it: Spark computes a constant one before it looks at conditions.
            at_most(call, MOST_ELEMENTS, stop, spark("abs((CAST(_1 AS DOUBLE) - _0) / _2)", start, stop, by)),
        )

    return bind((call.args[0], call.args[1], step), build)


def _array_cat(call: FunctionCall) -> exp.Expr:
    joined = spark_call("concat", elements_argument(call, 0), elements_argument(call, 1))
    return variants.from_elements(joined)


def _array_insert(call: FunctionCall) -> exp.Expr:
    def build(items: exp.Expr, position: exp.Expr, value: exp.Expr) -> exp.Expr:
        at = _from_start(spark("size(_0)", items), position)
        return spark(
            "concat(slice(_0, 1, _1), array_repeat(CAST(NULL AS VARIANT), greatest(_1 - size(_0), 0)), "
            "array(_2), slice(_0, _1 + 1, size(_0)))",
            items,
            at_most(call, MOST_ELEMENTS, at, at),
            value,
        )

    given = (elements_argument(call, 0), call.args[1], variant_argument(call, 2))
    return variants.from_elements(bind(given, build))


def _arrays_zip(call: FunctionCall) -> exp.Expr:
    def build(*arrays: exp.Expr) -> exp.Expr:
        sizes = [spark("size(_0)", array) for array in arrays]
        longest = spark_call("greatest", *sizes) if len(sizes) > 1 else sizes[0]
        pairs: list[exp.Expr] = []
        for index, array in enumerate(arrays):
            pairs += [string(f"${index + 1}"), spark("get(_0, sm_index)", array)]
        missing = exp.or_(*(spark("_0 IS NULL", array) for array in arrays))
        return spark(
            "CASE WHEN _0 THEN NULL WHEN _1 = 0 THEN CAST(array() AS ARRAY<VARIANT>) "
            "ELSE transform(sequence(0, _1 - 1), sm_index -> to_variant_object(_2)) END",
            exp.Paren(this=missing),
            longest,
            spark_call("map", *pairs),
        )

    arrays = tuple(elements_argument(call, index) for index in range(len(call.args)))
    return variants.from_elements(bind(arrays, build))


# -- order, parts and text ------------------------------------------------------------------------------------


def _array_flatten(call: FunctionCall) -> exp.Expr:
    inner = spark(
        "coalesce(_0, _1)",
        variants.array_elements(_ELEMENT),
        fail("100107", "22000", "Not an array: 'Input argument to ARRAY_FLATTEN is not an array of arrays'"),
    )
    return bind(
        elements_argument(call, 0),
        lambda items: variants.from_elements(
            spark(
                "CASE WHEN NOT exists(_0, sm_element -> sm_element IS NULL OR is_variant_null(sm_element)) "
                "THEN flatten(transform(_0, sm_element -> _1)) END",
                items,
                inner,
            )
        ),
    )


def _array_slice(call: FunctionCall) -> exp.Expr:
    def build(items: exp.Expr, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
        size = spark("size(_0)", items)
        return spark(
            "slice(_0, _1 + 1, greatest(_2 - _1, 0))",
            items,
            _from_start(size, start),
            _from_start(size, stop),
        )

    return variants.from_elements(bind((elements_argument(call, 0), call.args[1], call.args[2]), build))


def _flag(call: FunctionCall, index: int, default: bool) -> bool:
    if index >= len(call.args):
        return default
    node = call.source[index]
    if not isinstance(node, exp.Boolean):
        raise errors.unsupported(f"{call.name} with a flag that is not TRUE or FALSE")
    return bool(node.this)


def _array_sort(call: FunctionCall) -> exp.Expr:
    """A JSON null is the greatest element; where `undefined` ones go, the third argument says."""
    ascending = _flag(call, 1, True)
    nulls_first = _flag(call, 2, not ascending)

    def build(items: exp.Expr) -> exp.Expr:
        ordered = spark(
            "array_sort(transform(_0, (sm_element, sm_index) -> named_struct('KEY', _1, 'INDEX', sm_index)))",
            items,
            variants.comparable(_ELEMENT),
        )
        if not ascending:
            ordered = spark_call("reverse", ordered)
        return spark("transform(_0, sm_place -> get(_1, sm_place.INDEX))", ordered, items)

    def in_order(items: exp.Expr) -> exp.Expr:
        defined = bind(spark("filter(_0, sm_element -> sm_element IS NOT NULL)", items), build)
        undefined = spark("filter(_0, sm_element -> sm_element IS NULL)", items)
        return spark_call("concat", *((undefined, defined) if nulls_first else (defined, undefined)))

    return variants.from_elements(bind(elements_argument(call, 0), in_order))


def _array_to_string(call: FunctionCall) -> exp.Expr:
    text = variants.to_text(_ELEMENT)
    return spark(
        "array_join(transform(_0, sm_element -> coalesce(_1, '')), _2)",
        elements_argument(call, 0),
        text,
        call.args[1],
    )


# -- lambdas --------------------------------------------------------------------------------------------------


def _arrow(call: FunctionCall, index: int, parameters: int) -> exp.Lambda:
    arrow = call.args[index]
    if not isinstance(arrow, exp.Lambda) or len(arrow.expressions) != parameters:
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))
    return arrow


def _with_body(arrow: exp.Lambda, body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[parameter.copy() for parameter in arrow.expressions])


def _filter(call: FunctionCall) -> exp.Expr:
    arrow = _arrow(call, 1, 1)
    body = casts.cast(arrow.this, call.types[1], BOOLEAN, call.context)
    return variants.from_elements(spark_call("filter", elements_argument(call, 0), _with_body(arrow, body)))


def _transform(call: FunctionCall) -> exp.Expr:
    arrow = _arrow(call, 1, 1)
    body = variants.to_variant(arrow.this, call.types[1])
    return variants.from_elements(spark_call("transform", elements_argument(call, 0), _with_body(arrow, body)))


def _reduce(call: FunctionCall) -> exp.Expr:
    arrow = _arrow(call, 2, 2)
    body = _with_body(arrow, variants.to_variant(arrow.this, call.types[2]))
    return spark_call("aggregate", elements_argument(call, 0), variant_argument(call, 1), body)


def _array_repeat(call: FunctionCall) -> exp.Expr:
    copies = spark("array_repeat(_0, CAST(_1 AS INT))", variant_argument(call, 0), call.args[1])
    return variants.from_elements(at_most(call, MOST_ELEMENTS, copies, call.args[1]))


FUNCTIONS: tuple[Function, ...] = (
    *array_sets.FUNCTIONS,
    scalar("ARRAY_CONSTRUCT", "any", ARRAY, _array_construct, least=0, variadic=True),
    scalar("ARRAY_CONSTRUCT_COMPACT", "any", ARRAY, _array_construct_compact, least=0, variadic=True),
    scalar("ARRAY_GENERATE_RANGE", "int, int, int", ARRAY, _array_generate_range, least=2),
    scalar("ARRAY_APPEND", "any, any", ARRAY, _with_value("concat(_0, array(_1))")),
    scalar("ARRAY_PREPEND", "any, any", ARRAY, _with_value("concat(array(_1), _0)")),
    scalar("ARRAY_CAT", "any, any", ARRAY, _array_cat),
    scalar("ARRAY_INSERT", "any, int, any", ARRAY, _array_insert),
    scalar("ARRAYS_ZIP", "any", ARRAY, _arrays_zip, least=1, variadic=True),
    scalar(
        "ARRAY_COMPACT",
        "any",
        ARRAY,
        _of_elements("filter(_0, sm_element -> sm_element IS NOT NULL AND NOT is_variant_null(sm_element))"),
    ),
    scalar("ARRAY_REVERSE", "any", ARRAY, _of_elements("reverse(_0)")),
    scalar("ARRAY_FLATTEN", "any", ARRAY, _array_flatten),
    scalar("ARRAY_SLICE", "any, int, int", ARRAY, _array_slice),
    scalar("ARRAY_REPEAT", "any, int", ARRAY, _array_repeat),
    scalar("ARRAY_SORT", "any, any, any", ARRAY, _array_sort, least=1),
    scalar(
        "ARRAY_SIZE",
        "any",
        INTEGER,
        lambda call: spark("CAST(size(_0) AS BIGINT)", elements_argument(call, 0)),
    ),
    scalar("ARRAY_TO_STRING", "any, str", VARCHAR, _array_to_string),
    scalar("FILTER", "any, any", ARRAY, _filter),
    scalar("TRANSFORM", "any, any", ARRAY, _transform),
    scalar("REDUCE", "any, any, any", VARIANT, _reduce),
)
