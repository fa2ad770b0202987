"""Functions of regular expressions. `sql/regular_expressions` says what differs between the two syntaxes.

The pattern and its parameters must be constants, except for RLIKE's pattern. Where a pattern may match the
empty string, what "the next match" means differs between engines: such uses are refused.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import ARRAY, BOOLEAN, VARCHAR, int64
from snowmelt.sql import patterns
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import integer, spark, string
from snowmelt.sql.functions.arguments import any_null, constant_integer, null
from snowmelt.sql.functions.registry import FunctionCall, alias, scalar
from snowmelt.sql.patterns import constant_string
from snowmelt.sql.regular_expressions import GroupEdge, Pattern, parse_flags, translate

_COUNT = int64(18)


def _pattern(call: FunctionCall, parameters: int, edge: GroupEdge | None = None) -> Pattern:
    """The constant pattern, read with the parameters at that position."""
    text = constant_string(call.args[1])
    if text is None:
        raise errors.unsupported(f"{call.name} with a pattern that is not a constant")
    flags = ""
    if parameters < len(call.args):
        given = constant_string(call.args[parameters])
        if given is None:
            raise errors.unsupported(f"{call.name} with parameters that are not a constant")
        flags = given
    return translate(text, parse_flags(flags), edge)


def _positive(call: FunctionCall, index: int, what: str) -> exp.Expr:
    """An integer argument, 1 when it is left out; an error when it is less than 1."""
    value = constant_integer(call, index, 1)
    if value is None:
        argument = call.args[index]
        error = fail("001008", "22023", "invalid value [", argument, f"] for parameter '{what}'")
        return spark("CAST(CASE WHEN _0 < 1 THEN _1 ELSE _0 END AS INT)", argument, error)
    if value < 1:
        raise errors.invalid_value(str(value), what)
    return integer(min(value, 2**31 - 1))


def _from_position(call: FunctionCall, index: int) -> exp.Expr:
    """The part of the subject that is searched."""
    if constant_integer(call, index, 1) == 1:
        return call.args[0]
    return spark("substring(_0, _1)", call.args[0], _positive(call, index, "position"))


def _refuse_empty(call: FunctionCall, pattern: Pattern) -> None:
    if pattern.may_be_empty:
        raise errors.unsupported(
            f"{call.name} with a pattern that may match the empty string",
            hint="Write + instead of *, so that at least one character matches.",
        )


def _group(call: FunctionCall, pattern: Pattern, index: int) -> int | None:
    """Which group is wanted, 0 for the whole match; None when the pattern has no such group."""
    if index >= len(call.args):
        return 1 if pattern.flags.extract and pattern.groups else 0
    number = constant_integer(call, index, 0)
    if number is None:
        raise errors.unsupported(f"{call.name} with a group number that is not a constant")
    if number < 0:
        raise errors.invalid_value(str(number), "group_num")
    return number if number <= pattern.groups else None


def _like(call: FunctionCall) -> exp.Expr:
    if any_null(call):
        return null(call)
    flags = parse_flags("")
    if len(call.args) > 2:
        given = constant_string(call.args[2])
        if given is None:
            raise errors.unsupported(f"{call.name} with parameters that are not a constant")
        flags = parse_flags(given)
    return patterns.rlike(call.args[0], call.args[1], flags)


def _matches(call: FunctionCall, pattern: Pattern, group: int) -> exp.Expr:
    """All matches as a Spark array, from the position on."""
    return spark(
        "regexp_extract_all(_0, _1, _2)",
        _from_position(call, 2), string(pattern.flags.prefix + pattern.text), integer(group),
    )  # fmt: skip


def _substr(call: FunctionCall) -> exp.Expr:
    if any_null(call):
        return null(call)
    pattern = _pattern(call, 4)
    group = _group(call, pattern, 5)
    if group is None:
        return null(call)
    occurrence = _positive(call, 3, "occurrence")
    if constant_integer(call, 3, 1) == 1:
        if group == 0 and not pattern.may_be_empty:
            java = string(pattern.flags.prefix + pattern.text)
            return spark("nullif(regexp_extract(_0, _1, 0), '')", _from_position(call, 2), java)
    else:
        _refuse_empty(call, pattern)
    return spark("get(_0, _1 - 1)", _matches(call, pattern, group), occurrence)


def _substr_all(call: FunctionCall) -> exp.Expr:
    if any_null(call):
        return null(call)
    pattern = _pattern(call, 4)
    _refuse_empty(call, pattern)
    group = _group(call, pattern, 5)
    if group is None:
        raise errors.unsupported(f"{call.name} with a group that the pattern does not have")
    found = _matches(call, pattern, group)
    if constant_integer(call, 3, 1) != 1:
        found = bind(
            (found, _positive(call, 3, "occurrence")),
            lambda matches, first: spark("slice(_0, _1, size(_0))", matches, first),
        )
    return spark("CAST(_0 AS VARIANT)", found)


def _count(call: FunctionCall) -> exp.Expr:
    if any_null(call):
        return null(call)
    pattern = _pattern(call, 3)
    _refuse_empty(call, pattern)
    return spark("CAST(size(_0) AS BIGINT)", _matches(call, pattern, 0))


def _instr(call: FunctionCall) -> exp.Expr:
    """Counts the characters of the texts between the matches: Spark's own function counts UTF-16 units."""
    if any_null(call):
        return null(call)
    pattern = _pattern(call, 5)
    option = constant_integer(call, 4, 0)
    if option not in (0, 1):
        raise errors.unsupported("REGEXP_INSTR with an option that is not the constant 0 or 1")
    group = _group(call, pattern, 6)
    if group is None:
        raise errors.unsupported("REGEXP_INSTR of a group that the pattern does not have")
    if group:
        return _group_position(call, pattern, GroupEdge(group, behind=option == 1))
    if constant_integer(call, 3, 1) != 1:
        _refuse_empty(call, pattern)
    java = string(f"{pattern.flags.prefix}((?s:.*?))(?:{pattern.text})")
    arguments = (_from_position(call, 2), _positive(call, 3, "occurrence"), _positive(call, 2, "position"))

    def build(subject: exp.Expr, nth: exp.Expr, position: exp.Expr) -> exp.Expr:
        before = spark("array_join(slice(regexp_extract_all(_0, _1, 0), 1, _2 - 1), '')", subject, java, nth)
        last = spark("get(regexp_extract_all(_0, _1, _3), _2 - 1)", subject, java, nth, integer(1 - option))
        return spark(
            "CASE WHEN _0 IS NOT NULL AND _3 IS NOT NULL AND _4 IS NOT NULL "
            "THEN coalesce(CAST(length(_1) + length(_2) + _3 AS BIGINT), CAST(0 AS BIGINT)) END",
            subject, before, last, position, nth,
        )  # fmt: skip

    return bind(arguments, build)


def _group_position(call: FunctionCall, pattern: Pattern, edge: GroupEdge) -> exp.Expr:
    """By how much of the subject is left there."""
    _refuse_empty(call, pattern)
    marked = _pattern(call, 5, edge)
    java = string(marked.flags.prefix + marked.text)
    arguments = (_from_position(call, 2), _positive(call, 3, "occurrence"), _positive(call, 2, "position"))

    def build(subject: exp.Expr, nth: exp.Expr, position: exp.Expr) -> exp.Expr:
        rest, last = (
            spark("get(regexp_extract_all(_0, _1, _2), _3 - 1)", subject, java, integer(group), nth)
            for group in (marked.rest, marked.rest + 1)
        )
        if edge.group not in marked.skippable:
            there = spark("_0 <> '' OR _1 <> ''", rest, last)
        else:
            # Java keeps what was found on a way that it left again: only the group itself tells that it took part.
            there = spark("get(regexp_extract_all(_0, _1, _2), _3 - 1) <> ''", subject, java, integer(edge.group), nth)
        return spark(
            "CASE WHEN _0 IS NOT NULL AND _1 IS NOT NULL AND _2 IS NOT NULL THEN "
            "CAST(if(_4, length(_0) - length(_3) + _1, 0) AS BIGINT) END",
            subject, position, nth, rest, there,
        )  # fmt: skip

    return bind(arguments, build)


def _replace(call: FunctionCall) -> exp.Expr:
    if any_null(call):
        return null(call)
    pattern = _pattern(call, 5)
    occurrence = constant_integer(call, 4, 0)
    if occurrence is None:
        raise errors.unsupported("REGEXP_REPLACE with an occurrence that is not a constant")
    if occurrence < 0:
        raise errors.invalid_value(str(occurrence), "occurrence")
    replacement = call.args[2] if len(call.args) > 2 else string("")
    if occurrence > 1 or constant_string(replacement) != "":
        _refuse_empty(call, pattern)
    java = pattern.flags.prefix + pattern.text
    template, shift = "regexp_replace(_0, _1, _2)", 0
    if occurrence:
        # What stands before the match becomes group 1, the match itself group 2.
        skipped = f"(?>(?s:.*?)(?:{pattern.without_groups})){{{occurrence - 1}}}"
        java = f"{pattern.flags.prefix}\\A({skipped}(?s:.*?))({pattern.text})"
        template, shift = "regexp_replace(_0, _1, concat('$1', _2))", 2
    replaced = spark(template, _from_position(call, 3), string(java), _replacement(replacement, pattern, shift))
    if constant_integer(call, 3, 1) == 1:
        return replaced
    return spark("concat(substring(_0, 1, _1 - 1), _2)", call.args[0], _positive(call, 3, "position"), replaced)


def _replacement(tree: exp.Expr, pattern: Pattern, shift: int) -> exp.Expr:
    """A replacement in Java's syntax: `\\1` is written `$1`, and `$` stands for itself."""
    text = constant_string(tree)
    if text is None:
        refusal = fail("000002", "0A000", "Unsupported feature 'backslash in a replacement that is not a constant'.")
        return spark(
            "CASE WHEN contains(_0, _1) THEN _2 ELSE replace(_0, '$', _3) END",
            tree, string("\\"), refusal, string("\\$"),
        )  # fmt: skip
    written = ""
    position = 0
    after_group = False
    while position < len(text):
        character = text[position]
        following = text[position + 1 : position + 2]
        position += 1
        if character == "\\" and following.isdigit():
            if int(following) > pattern.groups:
                raise errors.SnowmeltError(
                    "100048",
                    "2201B",
                    f"Invalid regular expression replacement: '{text}', no group {following}",
                )
            written += f"${int(following) + shift}"
            position += 1
            after_group = True
            continue
        if character == "\\":
            if following != "\\":
                raise errors.unsupported(f"\\{following} in the replacement of REGEXP_REPLACE")
            position += 1
        # A digit behind a group would become a part of its number.
        needs_escape = character in "\\$" or (after_group and character.isdigit())
        written += f"\\{character}" if needs_escape else character
        after_group = False
    return string(written)


_REGEXP_LIKE = scalar("REGEXP_LIKE", "str, str, str", BOOLEAN, _like, least=2)
_SUBSTR_ALL = scalar("REGEXP_SUBSTR_ALL", "str, str, int, int, str, int", ARRAY, _substr_all, least=2)

FUNCTIONS = (
    _REGEXP_LIKE,
    *alias(_REGEXP_LIKE, "RLIKE"),
    scalar("REGEXP_SUBSTR", "str, str, int, int, str, int", VARCHAR, _substr, least=2),
    _SUBSTR_ALL,
    *alias(_SUBSTR_ALL, "REGEXP_EXTRACT_ALL"),
    scalar("REGEXP_COUNT", "str, str, int, str", _COUNT, _count, least=2),
    scalar("REGEXP_INSTR", "str, str, int, int, int, str, int", _COUNT, _instr, least=2),
    scalar("REGEXP_REPLACE", "str, str, str, int, int, str", VARCHAR, _replace, least=2),
)
