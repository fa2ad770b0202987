"""What the quick lane computes is what Spark computes: each entry of its list, on values that engines differ about.

A row on which the lane fails is Spark's business. A row for which it gives a value must have that value in Spark too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pyarrow as pa
import pytest
from sqlglot import exp

from snowmelt.engine.model import Lane
from snowmelt.engine.quick.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from snowmelt.engine.quick.casts import cast
from snowmelt.engine.quick.comparing import difference
from snowmelt.engine.quick.functions import FUNCTIONS
from snowmelt.engine.quick.lane import QuickLane
from snowmelt.engine.quick.types import NotQuick, named
from snowmelt.engine.quick.values import Value
from snowmelt.runtime.account import Account
from snowmelt.sql.dialect import identifier, spark, to_spark_sql
from tests.engine.quick.values import VALUES, documents, one, pairs

ROWS = "rows"
PLACE = "__place"
_TEXTS = ["STRING"]
_WHOLE = ["BIGINT", "INT"]
_DECIMALS = [name for name in VALUES if name.startswith("DECIMAL")]
_NUMBERS = [*_WHOLE, *_DECIMALS, "DOUBLE"]
_DAYS = ["DATE", "TIMESTAMP_NTZ"]
_LONG_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK")
_ADDED = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", *reversed(_LONG_UNITS))
_PATTERNS = ("EEE MMM", "yyyy-MM-dd HH:mm:ss.SSS", "dd\\'T\\'MM.yyyy SSSSSS")
EACH = list(VALUES)
_VARIANT = ["VARIANT"]
_WORDS = (
    "string", "bigint", "double", "boolean", "binary", "date", "decimal(38,0)", "decimal(10,2)", "decimal(38,18)",
)  # fmt: skip
"""Types of values in a VARIANT."""
_PATHS = ("$", "$.a", "$.b.c[1]", "$[0]", "$[1].a", '$["a b"]')
_REGULAR = (
    "^\\\\s*$", "^[0-9]+$", "a|b", "[^a-z,]", "\\\\d{2,}", "^\\\\s*-?[0-9]+\\\\s*$", "(ab?c)+,", "\\\\.",
    "^(\\\\w+)-(\\\\d\\\\d)", "b.?$", "(?d)\\\\A(?:a.*)\\\\z",
)  # fmt: skip
_GROUPS = (("([a-z])[a-z]*", 1), ("^(\\\\d+)-(\\\\d+)", 2), ("([0-9])", 1), ("^[A-Z_]+", 0), ("(a+?)|(b)", 1))
"""Patterns with the number of a group."""

ONE_ARGUMENT: dict[str, tuple[list[str], list[str]]] = {
    "abs": (["abs(_0)"], _NUMBERS),
    "array": (["size(array(_0, _0))", "get(array(_0, NULL), 0)"], EACH),
    "btrim": (["btrim(_0)", "btrim(_0, 'a ')"], _TEXTS),
    "ceil": (["ceil(_0)"], _DECIMALS),
    "char_length": (["char_length(_0)"], _TEXTS),
    "date_format": ([f"date_format(_0, '{text}')" for text in _PATTERNS], _DAYS),
    "date_trunc": (
        [
            f"date_trunc('{unit}', _0)"
            for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
        ],
        ["TIMESTAMP_NTZ", "TIMESTAMP"],
    ),
    "day": (["day(_0)"], _DAYS),
    "dayofmonth": (["dayofmonth(_0)"], _DAYS),
    "dayofweek": (["dayofweek(_0)"], _DAYS),
    "dayofyear": (["dayofyear(_0)"], _DAYS),
    "double": (["double(_0)"], EACH),
    "floor": (["floor(_0)"], _DECIMALS),
    "get": (["get(array(_0, _0), 1)", "get(array(_0), 7)", "get(array(_0), -1)"], EACH),
    "hex": (["hex(_0)"], ["BINARY"]),
    "hour": (["hour(_0)"], ["TIMESTAMP_NTZ", "TIME(6)"]),
    "if": (["if(_0 IS NULL, NULL, _0)"], EACH),
    "int": (["int(_0)"], EACH),
    "isnan": (["isnan(_0)"], ["DOUBLE"]),
    "is_variant_null": (["is_variant_null(_0)"], _VARIANT),
    "last_day": (["last_day(_0)"], ["DATE"]),
    "left": (["left(_0, 2)", "left(_0, 0)"], _TEXTS),
    "length": (["length(_0)"], _TEXTS),
    "locate": (["locate('a', _0)", "locate('b', _0)", "locate('def', _0)"], _TEXTS),
    "lower": (["lower(_0)"], _TEXTS),
    "lpad": (["lpad(_0, 5, '0')", "lpad(_0, 0, 'ab')", "lpad(_0, 7, 'aß')"], _TEXTS),
    "ltrim": (["ltrim(_0)", "ltrim('a ', _0)"], _TEXTS),
    "make_date": (["make_date(2020, pmod(_0, 13), 31)", "make_date(_0, 2, 28)", "make_date(2021, 1, _0)"], ["INT"]),
    "map": (["to_variant_object(map('k', _0, 'a', CAST(NULL AS VARIANT)))"], _VARIANT),
    "map_entries": (["size(map_entries(map('a', _0)))"], _VARIANT),
    "md5": (["md5(_0)", "md5(cast(_0 as binary))"], [*_TEXTS, "BINARY"]),
    "minute": (["minute(_0)"], ["TIMESTAMP_NTZ", "TIME(6)"]),
    "month": (["month(_0)"], _DAYS),
    "named_struct": (["named_struct('INSTANT', _0, 'OFFSET_MINUTES', 60)"], ["TIMESTAMP"]),
    "parse_json": (["parse_json(_0)", "to_json(parse_json(_0))"], ["JSON"]),
    "pmod": (["pmod(_0, 7)", "pmod(_0, 3600000000)"], _WHOLE),
    "quarter": (["quarter(_0)"], _DAYS),
    "raise_error": (["if(_0 IS NULL, 1, raise_error(concat('x', cast(_0 as string))))"], _TEXTS),
    "regexp_extract": ([f"regexp_extract(_0, '{text}', {n})" for text, n in _GROUPS], _TEXTS),
    "regexp_like": ([f"regexp_like(_0, '{text}')" for text in _REGULAR], _TEXTS),
    "regexp_replace": ([f"regexp_replace(_0, '{text}', '<$1>')" for text, n in _GROUPS if n], _TEXTS),
    "repeat": (["repeat(_0, 2)", "repeat(_0, 0)"], _TEXTS),
    "replace": (["replace(_0, 'a', 'xy')", "replace(_0, ',', '')"], _TEXTS),
    "reverse": (["reverse(_0)"], _TEXTS),
    "round": (["round(_0)", "round(_0, 1)", "round(_0, 7)"], _DECIMALS),
    "rlike": ([f"_0 RLIKE '{text}'" for text in _REGULAR], _TEXTS),
    "rpad": (["rpad(_0, 5, '0')", "rpad(_0, 7, 'aß')"], _TEXTS),
    "rtrim": (["rtrim(_0)", "rtrim('a ', _0)"], _TEXTS),
    "schema_of_variant": (
        [
            "schema_of_variant(_0)",
            "left(schema_of_variant(_0), 6)",
            "regexp_extract(schema_of_variant(_0), '^[A-Z_]+', 0)",
        ],
        _VARIANT,
    ),
    "size": (["size(array(_0))", "size(try_variant_get(_0, '$', 'array<variant>'))"], ["INT", *_VARIANT]),
    "sha1": (["sha1(_0)"], [*_TEXTS, "BINARY"]),
    "sha2": (["sha2(_0, 256)"], [*_TEXTS, "BINARY"]),
    "sqrt": (["sqrt(_0)"], ["DOUBLE"]),
    "split_part": (["split_part(_0, ',', 1)", "split_part(_0, ',', 2)", "split_part(_0, 'b', 9)"], _TEXTS),
    "string": (["string(_0)"], EACH),
    "substring": (["substring(_0, 1)", "substring(_0, 2, 1)", "substring(_0, 1, 0)", "substring(_0, 3, 9)"], _TEXTS),
    "to_json": (["to_json(_0)"], _VARIANT),
    "to_variant_object": (
        [
            "to_variant_object(array(CAST(_0 AS VARIANT), CAST(1 AS VARIANT)))",
            "to_variant_object(map('k', CAST(_0 AS VARIANT)))",
            "to_variant_object(try_variant_get(_0, '$', 'map<string, variant>'))",
            "to_variant_object(try_variant_get(_0, '$', 'array<variant>'))",
        ],
        EACH,
    ),
    "trim": (["trim(_0)"], _TEXTS),
    "trunc": ([f"trunc(_0, '{unit}')" for unit in _LONG_UNITS], ["DATE"]),
    "try_element_at": (
        [f"try_element_at(try_variant_get(_0, '$', 'map<string, variant>'), '{key}')" for key in "ab"],
        _VARIANT,
    ),
    "try_parse_json": (["try_parse_json(_0)", "schema_of_variant(try_parse_json(_0))"], ["JSON"]),
    "try_variant_get": ([f"try_variant_get(_0, '$', '{word}')" for word in _WORDS], _VARIANT),
    "unix_date": (["unix_date(_0)"], ["DATE"]),
    "unix_micros": (["unix_micros(_0)", "unix_micros(_0) DIV 3600000000"], ["TIMESTAMP"]),
    "variant_get": (
        [f"variant_get(_0, '{path}', '{word}')" for path in _PATHS for word in ("variant", "string", "bigint")],
        _VARIANT,
    ),
    "weekofyear": (["weekofyear(_0)"], _DAYS),
    "upper": (["upper(_0)"], _TEXTS),
    "year": (["year(_0)"], _DAYS),
}
"""Expressions of one value by the function they are about, and the types of that value."""
_SAME = [(name, name) for name in EACH]
_EXACT = [*_WHOLE, *_DECIMALS]
_PAIRS = [*product(_EXACT, repeat=2), ("DOUBLE", "DOUBLE")]
_MIXED = [(one, other) for one, other in _PAIRS if one == other or (EACH.index(one) + EACH.index(other)) % 3 == 0]
"""Every type of number with itself and with some of the others; `make test-slow` has all pairs."""
_PATTERN = (
    '{"width": 1, "steps": [["row", -1, 0, 0], ["either", 0, 2], ["match"]], "symbols": ["A"], "skip": ["PAST", null],'
    ' "empty": true, "unmatched": false}'
)
ONE_ARGUMENT |= {
    "snowmelt_digest": (["snowmelt_digest(if(_0 IS NULL, NULL, '[1, 3.5, 2]'))"], _TEXTS),
    "snowmelt_digest_value": (["snowmelt_digest_value(_0, '0.5')"], _TEXTS),
    "snowmelt_sort_key": (
        ["snowmelt_sort_key(_0, 'en:2')", "snowmelt_sort_key(_0, 'de_AT:3')", "snowmelt_sort_key(_0, 'sv:1')"],
        _TEXTS,
    ),
    "snowmelt_jarowinkler": (["snowmelt_jarowinkler(_0, 'Abc')"], _TEXTS),
    "snowmelt_merged_counts": (["snowmelt_merged_counts(if(_0 IS NULL, NULL, '[\"x\"]'), '0')"], _TEXTS),
    "snowmelt_merged_digest": (["snowmelt_merged_digest(if(_0 IS NULL, NULL, '[\"x\"]'))"], _TEXTS),
    "snowmelt_match_rows": ([f"snowmelt_match_rows(_0, '{_PATTERN}')"], _TEXTS),
    "snowmelt_check_xml": (["snowmelt_check_xml(_0)"], _TEXTS),
    "snowmelt_parse_ip": (["snowmelt_parse_ip(_0, 'inet')"], _TEXTS),
    "snowmelt_parse_xml": (["snowmelt_parse_xml(_0, 'true')"], _TEXTS),
    "snowmelt_soundex_p123": (["snowmelt_soundex_p123(_0)"], _TEXTS),
    "snowmelt_to_xml": (["snowmelt_to_xml(to_json(parse_json(_0)))"], ["JSON"]),
}
TWO_ARGUMENTS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "add_months": (["add_months(_0, _1)"], [("DATE", "INT")]),
    "coalesce": (["coalesce(_0, _1)"], [*_SAME, *_MIXED]),
    "concat": (["concat(_0, _1)", "_0 || _1"], [("STRING", "STRING"), ("STRING", "INT"), ("BIGINT", "STRING")]),
    "concat_ws": (["concat_ws('-', _0, _1)", "concat_ws('', _0)"], [("STRING", "STRING")]),
    "contains": (["contains(_0, _1)"], [("STRING", "STRING")]),
    "date_add": (["date_add(_0, _1)"], [("DATE", "INT")]),
    "date_sub": (["date_sub(_0, _1)"], [("DATE", "INT")]),
    "datediff": (["datediff(_0, _1)"], [("DATE", "DATE")]),
    "endswith": (["endswith(_0, _1)"], [("STRING", "STRING")]),
    "make_timestamp_ntz": (["make_timestamp_ntz(_0, _1)"], [("DATE", "TIME(6)")]),
    "time_diff": (["time_diff('MICROSECOND', _0, _1)"], [("TIME(6)", "TIME(6)")]),
    "greatest": (["greatest(_0, _1)"], [*_SAME, *_MIXED]),
    "least": (["least(_0, _1)"], [*_SAME, *_MIXED]),
    "nullif": (["nullif(_0, _1)"], _SAME),
    "startswith": (["startswith(_0, _1)"], [("STRING", "STRING")]),
}
OPERATORS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "arithmetic": ([f"_0 {sign} _1" for sign in "+-*/%"], _MIXED),
    "comparison": ([f"_0 {sign} _1" for sign in ("=", "<>", "<", "<=", ">", ">=", "<=>")], [*_SAME, *_MIXED]),
    "logic": (["_0 AND _1", "_0 OR _1", "NOT _0", "_0 IS TRUE"], [("BOOLEAN", "BOOLEAN")]),
    "choice": (
        ["CASE WHEN _0 > _1 THEN _0 WHEN _0 IS NULL THEN _1 END", "_0 BETWEEN _1 AND _1", "_0 IN (_1, _0)"],
        _SAME,
    ),
    "texts": (["_0 LIKE 'a%'", "_0 LIKE '%b_'", "_0 LIKE '_'", "_0 = _1", "_0 < _1"], [("STRING", "STRING")]),
    "added time": (
        [f"timestampadd({unit}, _1, _0)" for unit in _ADDED],
        [("TIMESTAMP_NTZ", "INT"), ("TIMESTAMP", "BIGINT")],
    ),
    "ilike": (["_0 ILIKE 'A%'", "_0 ILIKE '%b_'"], [("STRING", "STRING")]),
    "lambdas": (
        [
            "get(transform(array(_0, _1), x -> coalesce(x, _1)), 0)",
            "size(filter(array(_0, _1), x -> x IS NOT NULL))",
            "get(transform(array(_0, _1), (x, i) -> i), 1)",
            "element_at(transform(array(_0), x -> if(x IS NULL, _1, x)), 1)",
            "get(transform(array(named_struct('v', _0, 'w', _1)), x -> x.w), 0)",
            "size(coalesce(filter(array(_0, _1), x -> x IS NULL), array()))",
        ],
        _SAME,
    ),
    "minus": (["-_0"], [(name, "INT") for name in _NUMBERS]),
}


@pytest.fixture(scope="module")
def lane() -> QuickLane:
    return QuickLane()


def query_of(expression: str) -> exp.Select:
    columns = [exp.column(identifier(name)) for name in ("A", "B")]
    value = exp.alias_(spark(expression, *columns), identifier("V"))
    return exp.select(value).from_(exp.Table(this=identifier(ROWS)))


def quick(lane: QuickLane, query: exp.Select, rows: pa.Table) -> pa.Table:
    return lane.run(query, [], {ROWS: rows})


def on_the_list(lane: QuickLane, query: exp.Select, rows: pa.Table) -> bool:
    try:
        quick(lane, query, rows.slice(0, 0))
    except NotQuick:
        return False
    return True


def computed(lane: QuickLane, query: exp.Select, rows: pa.Table) -> pa.Table:
    """The rows for which the lane has a value."""
    try:
        quick(lane, query, rows)
    except NotQuick:
        if rows.num_rows == 1:
            return rows.slice(0, 0)
        half = rows.num_rows // 2
        return pa.concat_tables([computed(lane, query, rows.slice(0, half)), computed(lane, query, rows.slice(half))])
    return rows


def assert_equal(account: Account, lane: QuickLane, expressions: Sequence[str], rows: pa.Table) -> int:
    """How many of the expressions the lane has. Those with a value for the same rows are asked of Spark together."""
    together: dict[tuple[int, ...], list[str]] = {}
    placed = rows.append_column(PLACE, pa.array(range(rows.num_rows)))
    for expression in expressions:
        if on_the_list(lane, query_of(expression), placed):
            found = computed(lane, query_of(expression), placed)
            together.setdefault(tuple(found.column(PLACE).to_pylist()), []).append(expression)
    for places, asked in together.items():
        if not places:
            continue
        given = placed.take(list(places))
        query = exp.select(*[
            exp.alias_(query_of(expression).expressions[0].this, identifier(f"V{number}"))
            for number, expression in enumerate(asked)
        ]).from_(exp.Table(this=identifier(ROWS)))  # fmt: skip
        wanted = account.engine.spark.to_arrow(to_spark_sql(query), lane=Lane.LIGHT, inputs={ROWS: given})
        found = quick(lane, query, given)
        for number, expression in enumerate(asked):
            one, other = (table.select([number]).append_column(PLACE, given.column(PLACE)) for table in (found, wanted))
            assert difference(one, other) is None, expression
    return sum(map(len, together.values()))


def test_every_function_of_the_list_is_compared() -> None:
    assert {*ONE_ARGUMENT, *TWO_ARGUMENTS} == set(FUNCTIONS)
    assert {*AGGREGATED, *NUMBERED} == {*AGGREGATES, *WINDOW_FUNCTIONS}


@pytest.mark.parametrize("function", ONE_ARGUMENT)
def test_a_function_of_one_value(account: Account, lane: QuickLane, function: str) -> None:
    expressions, kinds = ONE_ARGUMENT[function]
    rows = [documents() if kind == "JSON" else one(kind) for kind in kinds]
    assert sum(assert_equal(account, lane, expressions, given) for given in rows) > 0


@pytest.mark.parametrize("function", TWO_ARGUMENTS)
def test_a_function_of_two_values(account: Account, lane: QuickLane, function: str) -> None:
    expressions, kinds = TWO_ARGUMENTS[function]
    assert sum(assert_equal(account, lane, expressions, pairs(*kind)) for kind in kinds) > 0


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator(account: Account, lane: QuickLane, operator: str) -> None:
    expressions, kinds = OPERATORS[operator]
    assert sum(assert_equal(account, lane, expressions, pairs(*kind)) for kind in kinds) > 0


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["arithmetic", "comparison"])
def test_an_operator_of_any_two_numbers(account: Account, lane: QuickLane, operator: str) -> None:
    expressions, _ = OPERATORS[operator]
    assert sum(assert_equal(account, lane, expressions, pairs(*kind)) for kind in _PAIRS if kind not in _MIXED) > 0


@pytest.mark.slow
@pytest.mark.parametrize("function", ["coalesce", "greatest", "least"])
def test_a_function_of_any_two_numbers(account: Account, lane: QuickLane, function: str) -> None:
    expressions, _ = TWO_ARGUMENTS[function]
    assert sum(assert_equal(account, lane, expressions, pairs(*kind)) for kind in _PAIRS if kind not in _MIXED) > 0


CASTS = [(have, want) for have, want in product(EACH, EACH) if have != want]


def is_castable(have: str, want: str) -> bool:
    try:
        cast(Value("x", named(have)), named(want))
    except NotQuick:
        return False
    return True


@pytest.mark.parametrize("have", EACH)
def test_casts(account: Account, lane: QuickLane, have: str) -> None:
    wanted = [want for one, want in CASTS if one == have and is_castable(have, want)]
    texts = [f"{word}(_0 AS {want})" for want in wanted for word in ("CAST", "TRY_CAST")]
    assert_equal(account, lane, texts, one(have))


AGGREGATED: dict[str, tuple[list[str], list[str]]] = {
    "any_value": (["any_value(_0)"], []),
    "bool_and": (["bool_and(_0)"], ["BOOLEAN"]),
    "bool_or": (["bool_or(_0)"], ["BOOLEAN"]),
    "collect_list": (
        ["size(collect_list(_0))", "to_variant_object(transform(collect_list(_0), x -> CAST(x AS VARIANT)))"],
        EACH,
    ),
    "count": (["count(_0)", "count(1)", "count(DISTINCT _0)"], EACH),
    "count_if": (["count_if(_0)"], ["BOOLEAN"]),
    "max": (["max(_0)"], EACH),
    "max_by": (["max_by(_1, _0)", "max_by(_0, _1)"], [kind for kind in EACH if kind != "DOUBLE"]),
    "min": (["min(_0)"], EACH),
    "min_by": (["min_by(_1, _0)", "min_by(_0, _1)"], [kind for kind in EACH if kind != "DOUBLE"]),
    "sum": (["sum(_0)", "sum(DISTINCT _0)"], [*_WHOLE, *_DECIMALS]),
}
NUMBERED: dict[str, list[str]] = {
    "dense_rank": ["dense_rank()"],
    "first_value": ["first_value(_0)"],
    "lag": ["lag(_0)", "lag(_0, 2)"],
    "last_value": ["last_value(_0)"],
    "lead": ["lead(_0)", "lead(_0, 0)"],
    "ntile": ["ntile(3)"],
    "rank": ["rank()"],
    "row_number": ["row_number()"],
}


def small(rows: pa.Table) -> pa.Table:
    """Without the largest values, which no sum can have."""
    kept = [index for index, value in enumerate(rows.column(0).to_pylist()) if not _is_large(value)]
    return rows.take(kept)


def _once(rows: pa.Table) -> pa.Table:
    """The first row of each value."""
    first: dict[str, int] = {}
    for index, value in enumerate(rows.column(0).to_pylist()):
        first.setdefault(repr(value), index)
    return rows.take(list(first.values()))


def _is_large(value: object) -> bool:
    return not isinstance(value, bool | str | bytes | float) and isinstance(value, int) and abs(value) >= 1 << 53


@pytest.mark.parametrize("function", AGGREGATED)
def test_an_aggregate(account: Account, lane: QuickLane, function: str) -> None:
    expressions, kinds = AGGREGATED[function]
    for kind in kinds:
        given = small(one(kind))
        if function.endswith("_by"):
            # Which of several rows with the largest key is taken is left open, and Spark takes another one each time.
            given = _once(given)
        given = given.append_column("B", pa.array(range(given.num_rows)))
        for rows in (given, given.slice(0, 0), given.slice(0, 1)):
            assert_same_query(account, lane, [query_of(text) for text in expressions], rows)


def assert_same_query(account: Account, lane: QuickLane, queries: Sequence[exp.Select], rows: pa.Table) -> None:
    """Each is run by the lane alone; of Spark, the values of all that the lane has are asked together."""
    found: list[tuple[exp.Select, pa.Table]] = []
    for query in queries:
        try:
            found.append((query, quick(lane, query, rows)))
        except NotQuick:
            continue
    if not found:
        return
    values = [
        exp.alias_(query.expressions[0].this, identifier(f"V{number}")) for number, (query, _) in enumerate(found)
    ]
    beside = queries[0].expressions[1:]
    together = exp.select(*values, *beside).from_(exp.Table(this=identifier(ROWS)))
    wanted = account.engine.spark.to_arrow(to_spark_sql(together), lane=Lane.LIGHT, inputs={ROWS: rows})
    for number, (query, own) in enumerate(found):
        other = wanted.select([number, *range(len(found), len(found) + len(beside))])
        assert difference(own, other.rename_columns(own.column_names)) is None, to_spark_sql(query)


OVER = [
    "OVER (PARTITION BY `B` ORDER BY `A` NULLS LAST)",
    "OVER (PARTITION BY `B` ORDER BY `A` DESC NULLS FIRST)",
    "OVER (ORDER BY `A`)",
]
FRAMES = [
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
]


@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(10, 2)", "STRING", "TIMESTAMP_NTZ"])
def test_windows(account: Account, lane: QuickLane, kind: str) -> None:
    values = small(one(kind))
    half = pa.array([place % 2 for place in range(values.num_rows)])
    rows = values.append_column("B", half)
    texts = [f"{call} {over}" for calls in NUMBERED.values() for call in calls for over in OVER]
    texts += [f"{name}(_0) {OVER[0][:-1]} {frame})" for name in ("sum", "min", "max", "count") for frame in FRAMES]
    queries = []
    for text in texts:
        query = query_of(text)
        queries.append(query.select(*[exp.column(identifier(name)) for name in ("A", "B")]))
    assert_same_query(account, lane, queries, rows)
