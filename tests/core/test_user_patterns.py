"""LIKE and regular expressions of users: what they match, and that no pattern takes for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snowmelt.core.patterns import UserPattern, like


def _fits(text: str, pattern: str) -> bool:
    """By definition, for short texts."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_fits(text[start:], pattern[1:]) for start in range(len(text) + 1))
    if pattern[0] == "\\" and len(pattern) > 1:
        return text[:1] == pattern[1] and _fits(text[1:], pattern[2:])
    return bool(text) and (pattern[0] == "_" or text[0].lower() == pattern[0].lower()) and _fits(text[1:], pattern[1:])


@given(st.text("abA\n%_\\", max_size=8), st.text("abB%_\\", max_size=8))
def test_like_is_what_sql_says(text: str, pattern: str) -> None:
    assert (like(pattern, escapes=True).fullmatch(text) is not None) is _fits(text, pattern)


@pytest.mark.timeout(120)
def test_no_pattern_takes_for_ever() -> None:
    assert like("%a" * 120 + "%b", escapes=True).fullmatch("a" * 255) is None
    assert like("%a%" * 120, escapes=False).fullmatch("a" * 255) is not None
    for pattern in ("(a|a)*b", "(a*)*b", "(.*a){20}b", "(a+)+$x"):
        assert UserPattern(pattern).match_whole(["a" * 1_000]) == [False]


def test_the_whole_or_a_part() -> None:
    assert UserPattern("a|b.c").match_whole(["a", "ab", "b\nc", "xa", "\ud800"]) == [True, False, True, False, False]
    assert UserPattern("does NOT", ignore_case=True).is_in("it does not exist")


@pytest.mark.parametrize("pattern", ["(", "a)|(b", "(?=a)", r"(a)\1", "a{5000}", "[", "\ud800("])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        UserPattern(pattern)
