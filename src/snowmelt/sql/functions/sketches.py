"""States of counts that can be combined later: HyperLogLog sketches and bitmaps.

The bytes of a state are Spark's, not Snowflake's: what one of them made, the other can't read.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import BINARY, FLOAT, INTEGER, VARIANT, binary
from snowmelt.sql import variants
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import integer, spark
from snowmelt.sql.functions.arguments import constant_integer
from snowmelt.sql.functions.hashes import row_hash
from snowmelt.sql.functions.registry import Function, FunctionCall, aggregate, alias, scalar
from snowmelt.sql.row_keys import key_of, one_zero

BITMAP = binary(4096)


def _accumulate(call: FunctionCall) -> exp.Expr:
    """Of any type: what compares equal has the same text."""
    value, type_ = call.args[0], call.types[0]
    text = spark("CASE WHEN _1 IS NOT NULL THEN to_json(struct(_0)) END", key_of(value, type_), value)
    text = text if type_.has_key else one_zero(value, type_)
    return spark("hll_sketch_agg(CAST(_0 AS STRING))", text)


_HASHES = 1024
"""The most hash functions of a MinHash state."""


def _minhash(call: FunctionCall) -> exp.Expr:
    """The least values of k hash functions over the rows, each of which is hashed once for all of them."""
    count = constant_integer(call, 0, 0)
    if count is None or not 1 <= count <= _HASHES:
        raise errors.invalid_value(call.literal(0) or "", "k")
    rows = invoke("collect_set", row_hash(call, first=1))
    least = spark(
        "transform(sequence(1, _1), sm_k -> array_min(transform(_0, sm_row -> xxhash64(sm_row, sm_k))))",
        rows, integer(count),
    )  # fmt: skip
    return bind(least, _state)


def _state(least: exp.Expr) -> exp.Expr:
    numbers = spark("transform(_0, sm_least -> CAST(sm_least AS VARIANT))", least)
    return spark(
        "CASE WHEN get(_0, 0) IS NOT NULL THEN "
        "to_variant_object(named_struct('state', _1, 'type', 'minhash', 'version', 1)) END",
        least, variants.from_elements(numbers),
    )  # fmt: skip


def _states(call: FunctionCall) -> exp.Expr:
    """The numbers of all states, which have to be as many in each."""
    numbers = spark("try_variant_get(_0, '$.state', 'array<bigint>')", call.args[0])
    return invoke("collect_list", numbers)


def _by_hash(states: exp.Expr, template: str) -> exp.Expr:
    """What the template makes of the numbers of one hash function, `sm_numbers`, for each of them."""
    error = fail("100037", "22023", "MinHash states of different lengths have nothing in common")
    numbers = spark("transform(_0, sm_state -> element_at(sm_state, sm_k))", states)
    each = spark(f"transform(sequence(1, size(get(_0, 0))), sm_k -> {template})", states, numbers)
    same = spark("size(array_distinct(transform(_0, sm_state -> size(sm_state)))) = 1", states)
    return spark("CASE WHEN size(_0) > 0 THEN if(_1, _2, CAST(_3 AS ARRAY<BIGINT>)) END", states, same, each, error)


def _minhash_combine(call: FunctionCall) -> exp.Expr:
    return bind(_states(call), lambda states: bind(_by_hash(states, "array_min(_1)"), _state))


def _similarity(call: FunctionCall) -> exp.Expr:
    """The share of hash functions whose least value is the same in all states."""

    def share(states: exp.Expr) -> exp.Expr:
        equal = _by_hash(states, "CAST(size(array_distinct(_1)) AS BIGINT)")
        return bind(equal, lambda each: spark("CAST(size(filter(_0, sm_n -> sm_n = 1L)) AS DOUBLE) / size(_0)", each))

    return bind(_states(call), share)


_SIMILARITY = aggregate("APPROXIMATE_SIMILARITY", "variant", FLOAT, _similarity)

FUNCTIONS: tuple[Function, ...] = (
    aggregate("HLL_ACCUMULATE", "any", BINARY, _accumulate),
    aggregate("HLL_COMBINE", "bin", BINARY, "hll_union_agg(_0)"),
    aggregate("MINHASH", "int, any", VARIANT, _minhash, least=2, variadic=True, accepts="distinct"),
    aggregate("MINHASH_COMBINE", "variant", VARIANT, _minhash_combine),
    _SIMILARITY,
    *alias(_SIMILARITY, "APPROXIMATE_JACCARD_INDEX"),
    scalar("HLL_ESTIMATE", "bin", INTEGER, "hll_sketch_estimate(_0)"),
    scalar("BITMAP_BUCKET_NUMBER", "int", INTEGER, "bitmap_bucket_number(_0)"),
    scalar("BITMAP_BIT_POSITION", "int", INTEGER, "bitmap_bit_position(_0)"),
    scalar("BITMAP_COUNT", "bin", INTEGER, "bitmap_count(_0)"),
    aggregate("BITMAP_CONSTRUCT_AGG", "int", BITMAP, "bitmap_construct_agg(_0)"),
    aggregate("BITMAP_OR_AGG", "bin", BITMAP, "bitmap_or_agg(_0)"),
    aggregate("BITMAP_AND_AGG", "bin", BITMAP, "bitmap_and_agg(_0)"),
)
