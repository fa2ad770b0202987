"""What Snowflake's regular expressions become in Java's syntax."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.regular_expressions import Flags, parse_flags, translate


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", "abc"),
        ("a.c", "a.c"),
        (r"\d+\.\d{2}", r"\d+\.\d{2}"),
        ("a$", r"a(?:\z)"),
        ("^a|b", "(?:^)a|b"),
        (r"\bword\b", r"(?:\b)word(?:\b)"),
        ("[[:alpha:]_]", r"[\p{Alpha}_]"),
        ("[^[:space:]]", r"[^\p{Space}]"),
        ("[[:^digit:]]", r"[\P{Digit}]"),
        ("[[]", r"[\[]"),
        ("[]a]", r"[\]a]"),
        ("[^]a]", r"[^\]a]"),
        ("[a&&b]", r"[a\&\&b]"),
        ("[a-z0-9-]", r"[a-z0-9\-]"),
        (r"[\w.]", r"[\w\.]"),
        ("{x}", r"\{x\}"),
        ("a{2,}", "a{2,}"),
        ("a*?", "(?:a*)?"),
        ("a+?", "(?:a+)?"),
        ("(a|b)++", "(?:(a|b)+)+"),
        (r"\x41\x{20AC}", r"\x{41}\x{20AC}"),
        (r"\v", r"\x0B"),
        (r"\/", "/"),
        ("é😀", "é😀"),
        ("", ""),
    ],
)
def test_translation(pattern: str, expected: str) -> None:
    assert translate(pattern).text == expected


def test_dollar_ends_a_line_in_multiline_mode() -> None:
    assert translate("a$", Flags(multiline=True)).text == "a(?:$)"


@pytest.mark.parametrize(
    ("pattern", "groups", "may_be_empty"),
    [
        ("(a)(b(c))", 3, False),
        ("a*", 0, True),
        ("a|", 0, True),
        ("(a*)b", 1, False),
        ("(a?)(b{0,2})", 2, True),
        (r"^\b$", 0, True),
        (r"\(a\)", 0, False),
        ("a+?", 0, True),
    ],
)
def test_groups_and_emptiness(pattern: str, groups: int, may_be_empty: bool) -> None:
    translated = translate(pattern)
    assert (translated.groups, translated.may_be_empty) == (groups, may_be_empty)


def test_groups_can_be_left_out() -> None:
    assert translate("(a(b))+").without_groups == "(?:a(?:b))+"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?:a)", "no argument for repetition operator: ?"),
        ("(?=a)", "no argument for repetition operator: ?"),
        ("*a", "no argument for repetition operator: *"),
        ("(a", "missing )"),
        ("a)", "unexpected )"),
        ("[a", "missing ]"),
        ("[[:nonsense:]]", "invalid character class range"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        (r"\Qa\E", r"invalid escape sequence: \Q"),
        ("a\\", "trailing \\"),
        ("a{2,1}", "invalid repetition size"),
        ("a{1001}", "invalid repetition size"),
        (r"[a-\d]", "invalid character class range"),
    ],
)
def test_invalid_patterns(pattern: str, reason: str) -> None:
    with pytest.raises(SnowmeltError) as caught:
        translate(pattern)
    assert caught.value.code == "100048"
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("text", "prefix"),
    [("", "(?d)"), ("i", "(?diu)"), ("ic", "(?d)"), ("ci", "(?diu)"), ("ms", "(?dms)"), ("e", "(?d)")],
)
def test_flags(text: str, prefix: str) -> None:
    assert parse_flags(text).prefix == prefix


def test_unknown_flag() -> None:
    with pytest.raises(SnowmeltError, match="'x'"):
        parse_flags("ix")
