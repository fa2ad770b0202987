"""OBJECT functions. An OBJECT is a VARIANT; its entries are taken out as Spark's MAP<STRING, VARIANT>."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import ARRAY, OBJECT, VARCHAR, Kind
from snowmelt.sql import casts, variants
from snowmelt.sql.building import bind, constant_text, fail
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.array_sets import elements_argument
from snowmelt.sql.functions.registry import Function, FunctionCall, refused, scalar
from snowmelt.sql.functions.semi_structured import variant_argument

_MAP_FUNCTIONS = (
    "MAP_CAT",
    "MAP_CONTAINS_KEY",
    "MAP_DELETE",
    "MAP_INSERT",
    "MAP_KEYS",
    "MAP_PICK",
    "MAP_SIZE",
)
_DUPLICATE = ("100095", "22000", "Duplicate field key '")


def _entries(call: FunctionCall) -> exp.Expr:
    """The first argument's entries: NULL where it is not an object."""
    if call.types[0].kind not in (Kind.OBJECT, Kind.VARIANT, Kind.NULL):
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))
    return variants.object_entries(variant_argument(call, 0))


def _key(call: FunctionCall, index: int) -> exp.Expr:
    return casts.cast(call.args[index], call.types[index], VARCHAR, call.context)


def _construct(call: FunctionCall, *, keep_null: bool) -> exp.Expr:
    if len(call.args) % 2:
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))
    if not call.args:
        return spark("to_variant_object(CAST(map() AS MAP<STRING, VARIANT>))")
    keys = [_key(call, index) for index in range(0, len(call.args), 2)]
    values = [variant_argument(call, index) for index in range(1, len(call.args), 2)]
    names = [constant_text(key) for key in keys]
    seen: set[str] = set()
    for name in names:
        if name is not None and name in seen:
            raise errors.SnowmeltError(_DUPLICATE[0], _DUPLICATE[1], f"{_DUPLICATE[2]}{name}'")
        seen.add(name or "")
    if all(name is not None for name in names):
        pairs = [part for pair in zip(keys, values, strict=True) for part in pair]
        entries = spark_call("map", *pairs)
        if not keep_null:
            entries = spark("map_filter(_0, (sm_key, sm_value) -> sm_value IS NOT NULL)", entries)
        return variants.from_entries(entries)
    # A computed key may be NULL, which a Spark map cannot hold even for a moment.
    structs = [
        spark_call("named_struct", string("key"), key, string("value"), value)
        for key, value in zip(keys, values, strict=True)
    ]
    wanted = "sm_entry.key IS NOT NULL" + ("" if keep_null else " AND sm_entry.value IS NOT NULL")
    kept = spark(f"filter(_0, sm_entry -> {wanted})", spark_call("array", *structs))
    return variants.from_entries(spark_call("map_from_entries", kept))


def _arrays_to_object(call: FunctionCall) -> exp.Expr:
    """A NULL key leaves its value out, a NULL value becomes a JSON null."""

    def build(keys: exp.Expr, values: exp.Expr) -> exp.Expr:
        unequal = fail("215001", "22000", "Key array and value array had unequal lengths in ARRAYS_TO_OBJECT")
        no_text = fail("215002", "22000", "Key supplied for ARRAYS_TO_OBJECT does not have string type")
        pairs = spark(
            "filter(zip_with(_0, _1, (sm_key, sm_value) -> named_struct('k', if(sm_key IS NULL OR "
            "schema_of_variant(sm_key) = 'STRING', CAST(sm_key AS STRING), CAST(_2 AS STRING)), 'v', sm_value)), "
            "sm_pair -> sm_pair.k IS NOT NULL)",
            keys, values, no_text,
        )  # fmt: skip
        entries = spark("map_from_entries(_0)", pairs)
        return spark(
            "CASE WHEN size(_0) <> size(_1) THEN CAST(_2 AS VARIANT) ELSE _3 END",
            keys, values, unequal, variants.from_entries(entries),
        )  # fmt: skip

    return bind((elements_argument(call, 0), elements_argument(call, 1)), build)


def _object_construct(call: FunctionCall) -> exp.Expr:
    return _construct(call, keep_null=False)


def _object_construct_keep_null(call: FunctionCall) -> exp.Expr:
    return _construct(call, keep_null=True)


def _listed_keys(call: FunctionCall) -> exp.Expr:
    """The keys after the first argument, given one by one or as one array, as Spark ARRAY<STRING>."""
    if len(call.args) == 2 and call.types[1].is_semi_structured:
        return spark("transform(_0, sm_element -> CAST(sm_element AS STRING))", elements_argument(call, 1))
    return spark_call("array", *(_key(call, index) for index in range(1, len(call.args))))


def _object_delete(call: FunctionCall) -> exp.Expr:
    return variants.from_entries(
        spark(
            "map_filter(_0, (sm_key, sm_value) -> NOT coalesce(array_contains(_1, sm_key), FALSE))",
            _entries(call),
            _listed_keys(call),
        )
    )


def _object_pick(call: FunctionCall) -> exp.Expr:
    return variants.from_entries(
        spark(
            "map_filter(_0, (sm_key, sm_value) -> coalesce(array_contains(_1, sm_key), FALSE))",
            _entries(call),
            _listed_keys(call),
        )
    )


def _object_insert(call: FunctionCall) -> exp.Expr:
    """A NULL key or value adds nothing; with the update flag a NULL value takes the key away."""
    update = call.args[3] if len(call.args) > 3 else exp.false()

    def build(entries: exp.Expr, key: exp.Expr, value: exp.Expr, flag: exp.Expr) -> exp.Expr:
        return spark(
            "CASE WHEN _1 IS NULL OR _0 IS NULL THEN _0 "
            "WHEN map_contains_key(_0, _1) AND NOT coalesce(_3, FALSE) THEN _4 "
            "ELSE map_concat(map_filter(_0, (sm_key, sm_value) -> sm_key <> _1), "
            "map_filter(map(_1, _2), (sm_key, sm_value) -> sm_value IS NOT NULL)) END",
            entries,
            key,
            value,
            flag,
            fail(_DUPLICATE[0], _DUPLICATE[1], _DUPLICATE[2], key, "'"),
        )

    given = (_entries(call), _key(call, 1), variant_argument(call, 2), update)
    return variants.from_entries(bind(given, build))


def _object_keys(call: FunctionCall) -> exp.Expr:
    return spark("to_variant_object(map_keys(_0))", _entries(call))


FUNCTIONS: tuple[Function, ...] = (
    scalar("ARRAYS_TO_OBJECT", "any, any", OBJECT, _arrays_to_object),
    scalar("OBJECT_CONSTRUCT", "any", OBJECT, _object_construct, least=0, variadic=True),
    scalar("OBJECT_CONSTRUCT_KEEP_NULL", "any", OBJECT, _object_construct_keep_null, least=0, variadic=True),
    scalar("OBJECT_DELETE", "any, any", OBJECT, _object_delete, least=2, variadic=True),
    scalar("OBJECT_INSERT", "any, any, any, bool", OBJECT, _object_insert, least=3),
    scalar("OBJECT_KEYS", "any", ARRAY, _object_keys),
    scalar("OBJECT_PICK", "any, any", OBJECT, _object_pick, least=2, variadic=True),
    *(refused(name, "Structured MAP values are not supported; use OBJECT.") for name in _MAP_FUNCTIONS),
)
