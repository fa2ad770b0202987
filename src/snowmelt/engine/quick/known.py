"""What is known of expressions that the lane does not have: their types, and shapes that it has another way for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from sqlglot import exp

from snowmelt.core.portable_functions import PORTABLE
from snowmelt.engine.quick.lists import arguments_of
from snowmelt.engine.quick.types import STRING, TIME, TIMESTAMP, VARIANT, NotQuick, SparkType, of_node

_TYPES = {
    "array_join": STRING,
    "concat": STRING,
    "concat_ws": STRING,
    "date_format": STRING,
    "format_string": STRING,
    "regexp_extract": STRING,
    "regexp_replace": STRING,
    "replace": STRING,
    "make_time": TIME,
    "timestamp_micros": TIMESTAMP,
    "parse_json": VARIANT,
    "to_json": STRING,
    "to_timestamp": TIMESTAMP,
    "try_parse_json": VARIANT,
    "try_to_timestamp": TIMESTAMP,
    **dict.fromkeys(PORTABLE, STRING),
}
"""Of functions of Spark's whose type is always the same."""
_STRICT = frozenset({"trim", "regexp_replace", "replace", "upper", "lower", "floor", "timestamp_micros"})
"""Functions that give NULL for NULL, whatever else they are given."""
_INEXACT = "DOUBLE|TIMESTAMP"
_TEXT_AS_INSTANT = "4be1b1134973b227"
"""Of the function that reads a text as TIMESTAMP_LTZ, as the dialect writes it for Spark. If that changes, such texts
go to Spark, and tests/engine/quick/test_variants.py says so."""


def known_type(node: exp.Expr) -> SparkType | None:
    """Spark's type of an expression, whatever stands in it; None if that depends."""
    if isinstance(node, exp.Paren):
        return known_type(node.this)
    if isinstance(node, exp.Cast | exp.TryCast):
        try:
            return of_node(node.args["to"])
        except NotQuick:
            return None
    if isinstance(node, exp.Case | exp.If):
        branches = [branch.args["true"] for branch in (node.args.get("ifs") or [node])]
        default = node.args.get("default") or node.args.get("false")
        return _known_together([*branches, *([default] if default is not None else [])])
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name == "element_at":
            inner = arguments_of(node.expressions[0], "transform")
            return known_type(inner[1].this) if len(inner) == 2 and isinstance(inner[1], exp.Lambda) else None
        return _known_together(node.expressions) if name == "coalesce" else _TYPES.get(name)
    return None


def _known_together(nodes: Iterable[exp.Expr]) -> SparkType | None:
    kinds = {known_type(node) for node in nodes if not isinstance(node, exp.Null)}
    return kinds.pop() if len(kinds) == 1 else None


def null_with(node: exp.Expr) -> exp.Expr | None:
    """A column, or a part of a VARIANT, whose NULL makes the value NULL; None if none is easy to see."""
    if isinstance(node, exp.Column) or arguments_of(node, "try_variant_get"):
        return node
    if isinstance(node, exp.Cast | exp.TryCast | exp.Paren | exp.Mul):
        return null_with(node.this)
    if isinstance(node, exp.Case):
        return _null_with_case(node)
    if not isinstance(node, exp.Anonymous) or not node.expressions:
        return None
    if node.name.lower() in _STRICT:
        return null_with(node.expressions[0])
    inner = arguments_of(node.expressions[0], "transform") if node.name.lower() == "element_at" else []
    array = arguments_of(inner[0], "array") if len(inner) == 2 else []
    struct = arguments_of(array[0], "named_struct") if len(array) == 1 else []
    if len(struct) != 2 or not isinstance(inner[1], exp.Lambda) or not _is_null_with_it(inner[1]):
        return None
    return null_with(struct[1])


def _tested(node: exp.Case) -> list[exp.Expr | None]:
    """What `CASE WHEN regexp_like(x, …) … END` looks at; None for another test."""
    tests = [arguments_of(branch.this, "regexp_like") for branch in node.args["ifs"]]
    return [test[0] if test else None for test in tests] if node.this is None else [None]


def _null_with_case(node: exp.Case) -> exp.Expr | None:
    default = node.args.get("default")
    column = null_with(default) if default is not None else None
    return column if column is not None and all(test == column for test in _tested(node)) else None


def _is_null_with_it(function: exp.Lambda) -> bool:
    """Whether it is `b -> CASE WHEN regexp_like(b.v0, …) THEN … END` or `b -> make_time(hour(b.v0), …)`."""
    body, name = function.this, function.expressions[0].name
    if isinstance(body, exp.Case) and body.args.get("default") is None:
        return all(isinstance(test, exp.Dot) and test.this.name == name for test in _tested(body))
    hour = arguments_of(body, "make_time")[:1]
    found = arguments_of(hour[0], "hour") if hour else []
    return bool(found) and isinstance(found[0], exp.Dot) and found[0].this.name == name


def reads_an_instant(function: exp.Lambda) -> bool:
    """Whether it is what the dialect writes for `text::TIMESTAMP_LTZ`, which knows many forms of dates."""
    if not isinstance(function.this, exp.Anonymous) or function.this.name.lower() != "element_at":
        return False
    names: dict[str, str] = {}
    text = re.sub(r"bound_\d+", lambda found: names.setdefault(found[0], f"bound_{len(names)}"), function.sql("spark"))
    return hashlib.sha256(text.encode()).hexdigest()[:16] == _TEXT_AS_INSTANT


def kind_of_variant(node: exp.Anonymous) -> exp.Expr | None:
    """Of `left(schema_of_variant(x), 6)` and `regexp_extract(schema_of_variant(x), '^[A-Z_]+', 0)` the x: how the type
    begins is known without the types inside of it."""
    name, arguments = node.name.lower(), node.expressions
    given = arguments_of(arguments[0], "schema_of_variant") if arguments else []
    if len(given) != 1:
        return None
    if name == "left":
        short = arguments[1].name.isdigit() and int(arguments[1].name) <= len("OBJECT")
        return given[0] if short else None
    return given[0] if name == "regexp_extract" and arguments[1].name == "^[A-Z_]+" else None


def printed_variant(node: exp.Expr) -> exp.Expr | None:
    """Of `CASE WHEN schema_of_variant(x) RLIKE 'DOUBLE|TIMESTAMP' THEN … ELSE to_json(x) END` the last part.

    The lane has no text of floating numbers and timestamps in a VARIANT: a query that needs one goes to Spark.
    """
    branches, default = node.args["ifs"], node.args.get("default")
    if node.this is not None or len(branches) != 1 or default is None:
        return None
    test = branches[0].this
    if not isinstance(test, exp.RegexpLike) or test.expression.name != _INEXACT:
        return None
    given = arguments_of(test.this, "schema_of_variant")
    if isinstance(default, exp.Cast | exp.TryCast):
        to, value = default.args["to"], default.this
        same = to.this is exp.DType.TEXT and value == (given[0] if given else None)
    else:
        same = bool(given) and arguments_of(default, "to_json") == given
    return default if same else None
