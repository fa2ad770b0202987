"""States of approximate aggregates as OBJECTs, to be combined and estimated later: frequent values and percentiles.

Also HLL states as OBJECTs, whose bytes are Spark's, not Snowflake's.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.portable_functions import PREFIX
from snowmelt.core.types import ARRAY, BINARY, FLOAT, OBJECT
from snowmelt.sql import variants
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import integer, spark, string
from snowmelt.sql.functions.aggregates_statistics import percentile_at
from snowmelt.sql.functions.arguments import constant_integer
from snowmelt.sql.functions.registry import Function, FunctionCall, aggregate, scalar
from snowmelt.sql.row_keys import one_zero

_MOST_COUNTERS = 100_000
_MOST_VALUES = 100_000
_FREQUENT, _HLL = "approx_top_k", "hll"


def _no_state(call: FunctionCall) -> exp.Expr:
    return fail("100037", "22023", f"{call.name}: the value is no state of this kind")


# -- percentiles ------------------------------------------------------------------------------------------------------


def _digest(call: FunctionCall) -> exp.Expr:
    values = invoke("to_json", invoke("collect_list", call.args[0]))
    return _parsed(call, invoke(f"{PREFIX}digest", values), "a value that is not finite has no percentile")


def _merged_digest(call: FunctionCall) -> exp.Expr:
    states = invoke("to_json", invoke("collect_list", spark("to_json(_0)", call.args[0])))
    return _parsed(call, invoke(f"{PREFIX}merged_digest", states), "a value is no state of this kind")


def _parsed(call: FunctionCall, text: exp.Expr, problem: str) -> exp.Expr:
    error = fail("100037", "22023", f"{call.name}: {problem}")
    return bind(text, lambda t: spark("if(_0 = '!', CAST(_1 AS VARIANT), parse_json(_0))", t, error))


def _digest_value(call: FunctionCall) -> exp.Expr:
    found = invoke(f"{PREFIX}digest_value", spark("to_json(_0)", call.args[0]), string(str(percentile_at(call, 1))))
    return bind(found, lambda t: spark("CAST(if(_0 = '!', _1, _0) AS DOUBLE)", t, _no_state(call)))


# -- frequent values --------------------------------------------------------------------------------------------------


def _counters(call: FunctionCall) -> int:
    count = constant_integer(call, 1, 0)
    if count is None or not 1 <= count <= _MOST_COUNTERS:
        raise errors.invalid_value(call.literal(1) or "", "counters")
    return count


def _frequent(call: FunctionCall) -> exp.Expr:
    """The values are texts while they are counted: all types alike."""
    if call.window:
        raise errors.unsupported(f"{call.name} OVER")
    value = variants.to_variant(one_zero(call.args[0], call.types[0]), call.types[0])
    known = exp.Where(this=spark("_0 IS NOT NULL", call.args[0]))
    count = integer(_counters(call))
    pair = "to_variant_object(array(parse_json(sm_e.item), CAST(sm_e.count AS VARIANT)))"
    # Spark would count NULLs, too.
    found = exp.Filter(this=invoke("approx_top_k", spark("to_json(_0)", value), count, count), expression=known)
    pairs = spark(f"transform(_0, sm_e -> {pair})", found)
    fields = f"'counters', _0, 'state', _1, 'type', '{_FREQUENT}', 'version', 1"
    return spark(f"to_variant_object(named_struct({fields}))", count, variants.from_elements(pairs))


def _combined_frequent(call: FunctionCall) -> exp.Expr:
    states = invoke("to_json", invoke("collect_list", spark("to_json(_0)", call.args[0])))
    counters = _counters(call) if len(call.args) > 1 else 0
    differ = fail(
        "100037", "22023", f"{call.name}: the states have different numbers of counters; say how many to keep"
    )
    combined = invoke(f"{PREFIX}merged_counts", states, string(str(counters)))
    template = "CASE _0 WHEN '!' THEN CAST(_1 AS VARIANT) WHEN '!!' THEN CAST(_2 AS VARIANT) ELSE parse_json(_0) END"
    return bind(combined, lambda t: spark(template, t, _no_state(call), differ))


def _most_frequent(call: FunctionCall) -> exp.Expr:
    most = constant_integer(call, 1, 1)
    if most is None or not 1 <= most <= _MOST_VALUES:
        raise errors.invalid_value(call.literal(1) or "", "k")

    def build(state: exp.Expr) -> exp.Expr:
        whole = spark(f"_0 IS NULL OR try_variant_get(_0, '$.type', 'string') <=> '{_FREQUENT}'", state)
        found = variants.array_elements(spark("try_variant_get(_0, '$.state', 'variant')", state))
        first = variants.from_elements(spark("slice(_0, 1, _1)", found, integer(most)))
        return spark("if(_0, _1, CAST(_2 AS VARIANT))", whole, first, _no_state(call))

    return bind(call.args[0], build)


# -- counts of distinct values ----------------------------------------------------------------------------------------


def _exported(call: FunctionCall) -> exp.Expr:
    template = f"to_variant_object(named_struct('state', base64(_0), 'type', '{_HLL}', 'version', 1))"
    return bind(call.args[0], lambda state: spark(f"CASE WHEN _0 IS NOT NULL THEN {template} END", state))


def _imported(call: FunctionCall) -> exp.Expr:
    template = (
        f"if(try_variant_get(_0, '$.type', 'string') <=> '{_HLL}' OR _0 IS NULL, "
        "unbase64(try_variant_get(_0, '$.state', 'string')), CAST(_1 AS BINARY))"
    )
    return bind(call.args[0], lambda state: spark(template, state, _no_state(call)))


FUNCTIONS: tuple[Function, ...] = (
    aggregate("APPROX_PERCENTILE_ACCUMULATE", "float", OBJECT, _digest),
    aggregate("APPROX_PERCENTILE_COMBINE", "variant", OBJECT, _merged_digest),
    scalar("APPROX_PERCENTILE_ESTIMATE", "variant, float", FLOAT, _digest_value),
    aggregate("APPROX_TOP_K_ACCUMULATE", "any, int", OBJECT, _frequent),
    aggregate("APPROX_TOP_K_COMBINE", "variant, int", OBJECT, _combined_frequent, least=1),
    scalar("APPROX_TOP_K_ESTIMATE", "variant, int", ARRAY, _most_frequent, least=1),
    scalar("HLL_EXPORT", "bin", OBJECT, _exported),
    scalar("HLL_IMPORT", "variant", BINARY, _imported),
)
