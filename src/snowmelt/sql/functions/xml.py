"""XML as OBJECTs: parsed and written by core/portable/documents.py, searched in Spark's own words."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.portable_functions import PREFIX
from snowmelt.core.types import OBJECT, VARCHAR, Kind
from snowmelt.sql import variants
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.registry import Function, FunctionCall, scalar
from snowmelt.sql.functions.semi_structured import variant_argument

_NAME, _CONTENT = "@", "$"


def _parse_xml(call: FunctionCall) -> exp.Expr:
    plain = call.source[1] if len(call.source) > 1 else exp.Boolean(this=False)
    if not isinstance(plain, exp.Boolean):
        raise errors.unsupported(f"{call.name} with a DISABLE_AUTO_CONVERT that is not TRUE or FALSE")
    text = call.args[0]
    parsed = spark_call(f"{PREFIX}parse_xml", text, string("false" if plain.this else "true"))

    def document(given: exp.Expr, original: exp.Expr) -> exp.Expr:
        error = fail("100100", "22P02", "Error parsing XML: ", spark("left(_0, 100)", original))
        return spark("if(_0 IS NULL AND _1 IS NOT NULL, CAST(_2 AS VARIANT), parse_json(_0))", given, original, error)

    # A lambda may not call Python: what it gives is bound, not the call.
    return bind((parsed, text), document)


def _xmlget(call: FunctionCall) -> exp.Expr:
    """The n-th element of that name in the content, which is one value or an array of them."""
    if call.types[0].kind not in (Kind.OBJECT, Kind.VARIANT, Kind.NULL):
        raise errors.invalid_argument_types(call.name, ", ".join(str(type_) for type_ in call.types))

    def children(content: exp.Expr) -> exp.Expr:
        several = spark("left(schema_of_variant(_0), 5) = 'ARRAY'", content)
        return spark("if(_0, _1, array(_2))", several, variants.array_elements(content), content)

    found = bind(variants.get_path(variant_argument(call, 0), [_CONTENT]), children)
    name = spark("CAST(_0 AS STRING)", variants.get_path(spark("sm_element"), [_NAME]))
    position = call.args[2] if len(call.args) > 2 else spark("0L")

    def named(elements: exp.Expr, wanted: exp.Expr, nth: exp.Expr) -> exp.Expr:
        return spark("get(filter(_0, sm_element -> _3 = _1), CAST(_2 AS INT))", elements, wanted, nth, name)

    return bind((found, call.args[1], position), named)


def _check_xml(call: FunctionCall) -> exp.Expr:
    return spark_call(f"{PREFIX}check_xml", call.args[0])


def _to_xml(call: FunctionCall) -> exp.Expr:
    text = bind(variant_argument(call, 0), lambda value: variants.to_json_text(value, undefined="null"))
    return spark_call(f"{PREFIX}to_xml", text)


FUNCTIONS: tuple[Function, ...] = (
    scalar("PARSE_XML", "str, any", OBJECT, _parse_xml, least=1, names="STR, DISABLE_AUTO_CONVERT"),
    scalar("CHECK_XML", "str", VARCHAR, _check_xml, names="STR"),
    scalar("TO_XML", "any", VARCHAR, _to_xml),
    scalar("XMLGET", "any, str, int", OBJECT, _xmlget, least=2),
)
