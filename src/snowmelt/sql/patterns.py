"""LIKE, ILIKE and RLIKE as Snowflake means them, in Spark.

Every helper takes and returns Spark syntax trees, and gives NULL when one of its arguments is NULL.

* LIKE has no escape character unless ESCAPE names one. In Spark the backslash is one by default.
* RLIKE matches the whole string. In Spark it is enough that a part matches.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.building import fail
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.regular_expressions import Flags, translate

_SAME_IN_BOTH = (
    r"\A(?:[A-Za-z0-9 _,:;@/=%!<>~.^$|)-]|[(](?![?])|[*+?](?![*+?{])"
    r"|[{][0-9]{1,3}(?:,[0-9]{0,3})?[}](?![*+?{])"
    r"|\\[dDsSwWbB.*+?()\[\]{}|^$\\/-]|\[\^?[A-Za-z0-9_ ,.:;@/=%!<>-]+\])*\z"
)
"""Patterns that mean the same to Snowflake and to Java when the whole string must match."""


def like(subject: exp.Expr, pattern: exp.Expr, escape: exp.Expr | None, *, case_insensitive: bool) -> exp.Expr:
    """`subject [I]LIKE pattern [ESCAPE escape]`. The escape must be a constant."""
    template = "_0 ILIKE _1" if case_insensitive else "_0 LIKE _1"
    if escape is None:
        return spark(template, subject, _with_plain_backslashes(pattern))
    if is_null(escape):
        return spark("CAST(NULL AS BOOLEAN)")
    character = constant_string(escape)
    if character is None:
        raise errors.unsupported("ESCAPE with something that is not a constant")
    if len(character) != 1:
        raise errors.invalid_value(character, "ESCAPE")
    return exp.Escape(this=spark(template, subject, pattern), expression=string(character))


def rlike(subject: exp.Expr, pattern: exp.Expr, flags: Flags | None = None) -> exp.Expr:
    """`subject RLIKE pattern`: whether the pattern matches the whole string.

    A pattern that is not a constant must mean the same to both engines; it is an error otherwise.
    """
    chosen = flags or Flags()
    if is_null(pattern):
        return spark("CAST(NULL AS BOOLEAN)")
    text = constant_string(pattern)
    if text is not None:
        java = f"{chosen.prefix}\\A(?:{translate(text, chosen).text})\\z"
        return spark("_0 RLIKE _1", subject, string(java))
    refusal = fail("000002", "0A000", "Unsupported feature 'this regular expression as a value: ", pattern, "'.")
    return spark(
        "_0 RLIKE CASE WHEN _1 RLIKE _2 THEN concat(_3, _1, _4) WHEN _1 IS NOT NULL THEN _5 END",
        subject, pattern, string(_SAME_IN_BOTH), string(f"{chosen.prefix}\\A(?:"), string(")\\z"), refusal,
    )  # fmt: skip


def constant_string(tree: exp.Expr) -> str | None:
    """The text of a constant string, also of one put together with `||`; None for other Spark expressions."""
    match tree:
        case exp.Literal(is_string=True):
            return str(tree.this)
        case exp.Paren():
            return constant_string(tree.this)
        case exp.Cast() if tree.to.is_type("text"):
            return constant_string(tree.this)
        case exp.DPipe():
            left, right = constant_string(tree.this), constant_string(tree.expression)
            return None if left is None or right is None else left + right
    return None


def is_null(tree: exp.Expr) -> bool:
    """Whether a Spark expression is the constant NULL."""
    return isinstance(tree, exp.Null) or (isinstance(tree, exp.Cast | exp.Paren) and is_null(tree.this))


def _with_plain_backslashes(pattern: exp.Expr) -> exp.Expr:
    text = constant_string(pattern)
    if text is not None:
        return string(text.replace("\\", "\\\\"))
    return spark("replace(_0, _1, _2)", pattern, string("\\"), string("\\\\"))
