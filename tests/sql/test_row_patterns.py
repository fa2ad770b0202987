"""Row patterns find what a regular expression finds, where each row is one letter."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.portable.row_matches import match_rows
from snowmelt.sql.row_patterns import compile_pattern

SYMBOLS = "ABC"


def matches(pattern: str, rows: list[str], skip: str = "PAST") -> list[tuple[int, str]]:
    """Each match: where it begins, and its symbols. A row is the symbols that it may be."""
    compiled = compile_pattern(pattern, {symbol: number for number, symbol in enumerate(SYMBOLS)})
    marks = "".join("." + "".join("01"[symbol in row] for symbol in SYMBOLS) for row in rows)
    found = json.loads(match_rows(marks, json.dumps({
        "width": len(SYMBOLS) + 1, "steps": compiled.steps, "symbols": compiled.symbols,
        "skip": (skip, None), "empty": True, "unmatched": False,
    })))  # fmt: skip
    grouped: dict[int, tuple[int, str]] = {}
    for row in found:
        start, path = grouped.get(row["m"], (row["i"], ""))
        grouped[row["m"]] = (start, path + row.get("c", ""))
    return list(grouped.values())


def expected(pattern: str, text: str, skip: str) -> list[tuple[int, str]]:
    search, start, found = re.compile(pattern), 0, []
    while start < len(text):
        match = search.match(text, start)
        if match is not None:
            found.append((start, match[0]))
        start += max(len(match[0]), 1) if match is not None and skip == "PAST" else 1
    return found


def repeated(part: str, *quantifiers: str) -> st.SearchStrategy[str]:
    chosen = st.sampled_from([quantifier + few for quantifier in quantifiers for few in ("", "?")])
    return chosen.map(lambda quantifier: f"({part}){quantifier}")


# Where a repeated part may match nothing, engines differ in which nothing they prefer: so no part of that kind.
SOLID: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(SYMBOLS),
        st.tuples(LOOSE, SOLID).map(" ".join),
        st.tuples(SOLID, LOOSE).map(" ".join),
        st.tuples(SOLID, SOLID).map(lambda both: f"({both[0]} | {both[1]})"),
        SOLID.flatmap(lambda part: repeated(part, "+", "{2}", "{1,2}", "{2,}")),
    )
)
LOOSE: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(SOLID, SOLID.flatmap(lambda part: repeated(part, "*", "?", "{,2}")))
)


@settings(max_examples=80, deadline=None)
@given(LOOSE, st.text(SYMBOLS, max_size=12), st.sampled_from(("PAST", "NEXT")))
def test_as_regular_expressions_do(pattern: str, text: str, skip: str) -> None:
    if len(pattern) < 200:
        assert matches(pattern, list(text), skip) == expected(pattern.replace(" ", "").replace("{,", "{0,"), text, skip)


def test_a_row_may_be_several_symbols() -> None:
    assert matches("A B C", ["ABC", "B", "AC"]) == [(0, "ABC")]
    assert matches("(A | B)+ C", ["AB", "AB", "BC"]) == [(0, "AAC")]
    assert matches("PERMUTE(A, B, C)", ["C", "A", "B"]) == [(0, "CAB")]
    assert matches("^ A | B $", ["A", "A", "B"]) == [(0, "A"), (2, "B")]
    assert matches("other+? B", ["", "", "B"]) == [(0, "OTHEROTHERB")]


def test_a_search_without_a_match_is_not_repeated() -> None:
    """Steps times rows; backtracking without memory would take 2 to the power of the rows."""
    assert matches("(A* A*)* B", ["A"] * 3000) == []


@pytest.mark.parametrize("pattern", ["", "(A", "A)", "A | )", "A{2,1}", "A{0}", "A{}", "A %", "+", "A{9999}", "{- A"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(SnowmeltError):
        compile_pattern(pattern, {})
