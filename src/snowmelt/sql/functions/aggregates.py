"""Aggregates: counts, sums, extremes, lists. All but counts and lists give NULL for an empty group."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import (
    ARRAY,
    BOOLEAN,
    FLOAT,
    INTEGER,
    MAX_PRECISION,
    OBJECT,
    VARCHAR,
    DataType,
    Kind,
    int64,
    number,
)
from snowmelt.sql import arithmetic, variants
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import integer, spark, string
from snowmelt.sql.functions import aggregates_statistics, array_sets
from snowmelt.sql.functions.arguments import constant_integer
from snowmelt.sql.functions.ordered_lists import gather, gather_by, once
from snowmelt.sql.functions.registry import Function, FunctionCall, aggregate, alias, first_type
from snowmelt.sql.row_keys import key_of, one_zero

COUNT_TYPE = int64(18)
"""What a count is when it divides: no group has 10^18 rows."""
_SHORT_DIGITS = 9
_WIDE = number(19)
"""Holds every integer of 64 bits."""


def aggregated(name: str, *arguments: exp.Expr, distinct: bool = False) -> exp.Expr:
    """A Spark aggregate, over distinct values if asked."""
    values = [argument.copy() for argument in arguments]
    inside: list[exp.Expr] = [exp.Distinct(expressions=values)] if distinct else values
    return exp.Anonymous(this=name, expressions=inside)


def _refuse_distinct_window(call: FunctionCall) -> None:
    if call.distinct and call.window:
        raise errors.unsupported(f"{call.name}(DISTINCT …) OVER")


def _counted(value: exp.Expr, type_: DataType) -> exp.Expr:
    """COUNT takes a JSON null for SQL NULL."""
    if not type_.is_semi_structured:
        return key_of(value, type_)
    return variants.comparable(spark("CASE WHEN NOT is_variant_null(_0) THEN _0 END", value))


def _count(call: FunctionCall) -> exp.Expr:
    if call.args and isinstance(call.args[0], exp.Star):
        if call.distinct:
            raise errors.unsupported("COUNT(DISTINCT *)", hint="Name the columns.")
        return spark("count(1)")
    values = [_counted(value, type_) for value, type_ in zip(call.args, call.types, strict=True)]
    if not (call.distinct and call.window):
        return aggregated("count", *values, distinct=call.distinct)
    # Spark has no DISTINCT in windows.
    if len(values) == 1:
        seen = once(aggregated("collect_set", values[0]), *call.types)
        return spark("CAST(size(_0) AS BIGINT)", seen)
    row = invoke("struct", *values)
    complete = spark("NOT exists(_0, sm_e -> sm_e)", invoke("array", *[spark("_0 IS NULL", v) for v in values]))
    seen = aggregated("collect_set", spark("CASE WHEN _0 THEN _1 END", complete, row))
    return spark("CAST(size(_0) AS BIGINT)", once(seen, *call.types))


def _sum_type(types: tuple[DataType, ...]) -> DataType:
    if types[0].kind is Kind.FLOAT:
        return FLOAT
    return INTEGER if _adds_up_in_64_bits(types[0]) else number(MAX_PRECISION, types[0].scale or 0)


def _adds_up_in_64_bits(given: DataType) -> bool:
    """Integers of nine digits at most, such as the 1 and 0 of a CASE: ten thousand million of them do."""
    return given.int64 and (given.precision or MAX_PRECISION) <= _SHORT_DIGITS


def summand(value: exp.Expr, given: DataType) -> exp.Expr:
    """What Spark adds up: other integers as decimals, since their sum may be beyond 64 bits."""
    return arithmetic.cast(value, _WIDE) if given.int64 and not _adds_up_in_64_bits(given) else value


def spark_sum_type(given: DataType) -> DataType:
    """The type of Spark's own sum of summands: ten digits more than they have."""
    if _adds_up_in_64_bits(given):
        return INTEGER
    digits, scale = arithmetic.decimal_digits(given)
    return number(min(digits + 10, MAX_PRECISION), scale)


def _sum(call: FunctionCall) -> exp.Expr:
    _refuse_distinct_window(call)
    total = aggregated("sum", summand(call.args[0], call.types[0]), distinct=call.distinct)
    return arithmetic.cast(total, call.returns) if call.returns.is_number and not call.returns.int64 else total


def _avg_type(types: tuple[DataType, ...]) -> DataType:
    if types[0].kind is Kind.FLOAT:
        return FLOAT
    return number(MAX_PRECISION, arithmetic.result_type("/", types[0], COUNT_TYPE).scale or 0)


def _avg(call: FunctionCall) -> exp.Expr:
    _refuse_distinct_window(call)
    value, given = call.args[0], call.types[0]
    if given.kind is Kind.FLOAT:
        return aggregated("avg", value, distinct=call.distinct)
    total = aggregated("sum", summand(value, given), distinct=call.distinct)
    count = aggregated("count", value, distinct=call.distinct)
    quotient = arithmetic.emit("/", total, spark_sum_type(given), count, COUNT_TYPE)
    return arithmetic.cast(quotient, call.returns)


def _extreme(name: str, call: FunctionCall) -> exp.Expr:
    if call.types[0].is_semi_structured:
        return invoke(f"{name}_by", call.args[0], variants.comparable(call.args[0]))
    if call.types[0].is_collated:
        # Of texts that are equal under the collation it is always the same one.
        key = spark("concat(_0, _1, _2)", key_of(call.args[0], call.types[0]), string("\x01"), call.args[0])
        return invoke(f"{name}_by", call.args[0], key)
    return invoke(name, call.args[0])


def _extreme_by(name: str, call: FunctionCall) -> exp.Expr:
    value, key = call.args[0], key_of(call.args[1], call.types[1])
    if len(call.args) == 2:
        return invoke(name, value, key)
    most = constant_integer(call, 2, 1)
    if most is None or not 1 <= most <= 1000:
        raise errors.invalid_value(call.literal(2) or "", "maximum_number_of_values_to_return")
    # NULL keys take no part, so their values are set to NULL: those are not gathered.
    kept = spark("CASE WHEN _0 IS NOT NULL THEN _1 END", key, value)
    order = (exp.Ordered(this=key, desc=name == "max_by", nulls_first=False),)
    best = spark("slice(_0, 1, _1)", gather_by(kept, call.types[0], order), integer(most))
    return _as_array(best, call.types[0])


def _extreme_by_type(types: tuple[DataType, ...]) -> DataType:
    return types[0] if len(types) == 2 else ARRAY


def _listagg(call: FunctionCall) -> exp.Expr:
    separator = call.args[1] if len(call.args) > 1 else string("")
    return invoke("array_join", gather(call, call.args[0], call.types[0]), separator)


def _array_agg(call: FunctionCall) -> exp.Expr:
    return _as_array(gather(call, call.args[0], call.types[0]), call.types[0])


def _refuse_keyed(call: FunctionCall) -> None:
    """Refuses types whose equal values may differ, for functions that count values themselves."""
    if call.types[0].has_key:
        hint = "Write COLLATE '' behind it." if call.types[0].is_collated else "Cast it first."
        raise errors.unsupported(f"{call.name} of {call.types[0]}", hint=hint)


def _mode(call: FunctionCall) -> exp.Expr:
    _refuse_keyed(call)
    return invoke("mode", one_zero(call.args[0], call.types[0]))


def _approx_count(call: FunctionCall) -> exp.Expr:
    return invoke("approx_count_distinct", _counted(call.args[0], call.types[0]))


def _array_unique_agg(call: FunctionCall) -> exp.Expr:
    _refuse_keyed(call)
    return _as_array(once(invoke("collect_set", call.args[0]), call.types[0]), call.types[0])


def _as_array(elements: exp.Expr, type_: DataType) -> exp.Expr:
    """A Snowflake ARRAY from a Spark one."""
    if type_.is_semi_structured:
        return variants.from_elements(elements)
    element = variants.to_variant(spark("sm_e"), type_)
    return variants.from_elements(spark("transform(_0, sm_e -> _1)", elements, element))


def _array_union_agg(call: FunctionCall) -> exp.Expr:
    """Each element as often as it is in the array that has most of it. `undefined` elements don't count."""
    if call.types[0].kind not in (Kind.ARRAY, Kind.VARIANT, Kind.NULL):
        raise errors.invalid_argument_types(call.name, str(call.types[0]))
    arrays = invoke("collect_list", variants.array_elements(call.args[0]))
    merged = spark(
        "aggregate(_0, CAST(array() AS ARRAY<VARIANT>), (sm_all, sm_next) -> concat(sm_all, _1))",
        arrays, array_sets.beyond(spark("filter(sm_next, sm_e -> sm_e IS NOT NULL)"), spark("sm_all")),
    )  # fmt: skip
    return variants.from_elements(merged)


def _object_agg(call: FunctionCall) -> exp.Expr:
    entries = spark("collect_list(CASE WHEN _0 IS NOT NULL AND _1 IS NOT NULL THEN struct(_0, _1) END)", *call.args)
    return variants.from_entries(invoke("map_from_entries", entries))


def _hash_agg(call: FunctionCall) -> exp.Expr:
    _refuse_distinct_window(call)
    values: list[exp.Expr] = []
    for value, type_ in zip(call.args, call.types, strict=True):
        # Spark's hash passes over NULLs; the marks tell (NULL, 1) from (1, NULL).
        values += [key_of(value, type_), spark("isnull(_0)", value)]
    row = spark("CAST(_0 AS DECIMAL(19, 0))", invoke("xxhash64", *values))
    total = aggregated("sum", row, distinct=call.distinct)
    return spark("CAST(coalesce(_0, 0) % 9223372036854775807BD AS BIGINT)", total)


def _grouping(call: FunctionCall) -> exp.Expr:
    """One bit for each argument, the first the highest."""
    total: exp.Expr | None = None
    for index, (value, type_) in enumerate(zip(reversed(call.args), reversed(call.types), strict=True)):
        bit = spark("CAST(grouping(_0) AS BIGINT) * _1", key_of(value, type_), integer(2**index))
        total = bit if total is None else spark("_1 + _0", total, bit)
    assert total is not None
    return total


def _approx_top_k(call: FunctionCall) -> exp.Expr:
    _refuse_keyed(call)
    if call.types[0].kind is Kind.TIME:
        raise errors.unsupported(f"{call.name} of TIME", hint="Cast it first.")
    most = constant_integer(call, 1, 1)
    if most is None or call.window:
        raise errors.unsupported("APPROX_TOP_K with a window or a number that is not constant")
    value = one_zero(call.args[0], call.types[0])
    item = variants.to_variant(spark("sm_e.item"), call.types[0])
    pair = spark("to_variant_object(array(_0, CAST(sm_e.count AS VARIANT)))", item)
    # Spark would count NULLs, too.
    known = exp.Where(this=spark("_0 IS NOT NULL", call.args[0]))
    found = exp.Filter(this=invoke("approx_top_k", value, integer(most)), expression=known)
    pairs = spark("transform(_0, sm_e -> _1)", found, pair)
    return variants.from_elements(pairs)


_SUM = aggregate("SUM", "num", _sum_type, _sum, accepts="distinct")
_ARRAY_AGG = aggregate("ARRAY_AGG", "any", ARRAY, _array_agg, accepts="distinct order")
_HLL = aggregate("APPROX_COUNT_DISTINCT", "any", INTEGER, _approx_count, accepts="distinct")
_BIT_AND = aggregate("BITAND_AGG", "int", INTEGER, "bit_and(_0)")
_BIT_OR = aggregate("BITOR_AGG", "int", INTEGER, "bit_or(_0)")
_BIT_XOR = aggregate("BITXOR_AGG", "int", INTEGER, "bit_xor(_0)")
_GROUPING = aggregate("GROUPING", "any", INTEGER, _grouping, variadic=True)

FUNCTIONS: tuple[Function, ...] = (
    aggregate("COUNT", "any", INTEGER, _count, variadic=True, accepts="distinct"),
    aggregate("COUNT_IF", "bool", INTEGER, "count_if(_0)"),
    _SUM,
    aggregate("AVG", "num", _avg_type, _avg, accepts="distinct"),
    aggregate("MIN", "any", first_type, lambda call: _extreme("min", call), accepts="distinct"),
    aggregate("MAX", "any", first_type, lambda call: _extreme("max", call), accepts="distinct"),
    aggregate("MIN_BY", "any, any, int", _extreme_by_type, lambda call: _extreme_by("min_by", call), least=2),
    aggregate("MAX_BY", "any, any, int", _extreme_by_type, lambda call: _extreme_by("max_by", call), least=2),
    aggregate("ANY_VALUE", "any", first_type, "any_value(_0)"),
    aggregate("MODE", "any", first_type, _mode),
    aggregate("LISTAGG", "str, str", VARCHAR, _listagg, least=1, accepts="distinct order"),
    _ARRAY_AGG,
    *alias(_ARRAY_AGG, "ARRAYAGG"),
    aggregate("ARRAY_UNION_AGG", "any", ARRAY, _array_union_agg),
    aggregate("ARRAY_UNIQUE_AGG", "any", ARRAY, _array_unique_agg, accepts="distinct"),
    aggregate("OBJECT_AGG", "str, variant", OBJECT, _object_agg),
    _HLL,
    *alias(_HLL, "HLL"),
    aggregate("APPROX_TOP_K", "any, int, int", ARRAY, _approx_top_k, least=1),
    aggregate("BOOLAND_AGG", "bool", BOOLEAN, "bool_and(_0)"),
    aggregate("BOOLOR_AGG", "bool", BOOLEAN, "bool_or(_0)"),
    aggregate("BOOLXOR_AGG", "bool", BOOLEAN, "CASE WHEN count(_0) > 0 THEN count_if(_0) = 1 END"),
    _BIT_AND,
    *alias(_BIT_AND, "BIT_AND_AGG", "BIT_ANDAGG", "BITANDAGG"),
    _BIT_OR,
    *alias(_BIT_OR, "BIT_OR_AGG", "BIT_ORAGG", "BITORAGG"),
    _BIT_XOR,
    *alias(_BIT_XOR, "BIT_XOR_AGG", "BIT_XORAGG", "BITXORAGG"),
    aggregate("HASH_AGG", "any", INTEGER, _hash_agg, variadic=True, accepts="distinct"),
    _GROUPING,
    *alias(_GROUPING, "GROUPING_ID"),
    *aggregates_statistics.FUNCTIONS,
)
