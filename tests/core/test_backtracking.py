"""No text of a user keeps a regular expression of ours busy for more than a time in proportion to its length.

Each expression of the sources is judged by its automaton (`tests/support/backtracking.py`). Those that may look at a
text again from many places stand in `BOUNDED` with the reason why no user can make such a text long.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import snowmelt
from tests.support.backtracking import Ambiguity, ambiguity
from tests.support.expressions_of_sources import RegularExpression, regular_expressions

SOURCES = Path(snowmelt.__file__).parent
ANSWERS = "descriptions and answers: at most 20,000 characters, not a hundred blanks in a row (check_length)"
PLAYBOOK = "playbooks: no line of 10,000 characters, not 200 blanks in a row (library.parsed)"
LINTED = "files of whoever runs the linter"
OWN = "written by this program, by Spark or by whoever set it up"
OPEN_LITERAL = "what is left open reaches to the end of the text, which is found at once"
BOUNDED = {
    "cli/": "typed at the user's own prompt",
    "design/antipatterns/": LINTED,
    "design/conversation/": ANSWERS,
    "design/looking/served.py _POLICY": "a header of an API that the user named, which the client bounds",
    "design/requirements/model.py _CHANNEL": "a line of a requirements file",
    "engine/endless.py _NODE": OWN,
    "engine/errors.py _QUOTED": "cut at _MOST_QUOTED",
    "engine/quick/sources.py _IN_DDL": OWN,
    "features/loading/conversion.py _PREFIX": OWN,
    "features/loading/file_columns.py": "matched at the beginning of a value",
    "govern/quality/soda": "files of whoever imports them",
    "playbooks/": PLAYBOOK,
    "core/result_json.py _TEXT_OR_UNDEFINED": OPEN_LITERAL,
    "runtime/render.py _PARTS": OPEN_LITERAL,
    "runtime/rights/redaction.py _PIECE": OPEN_LITERAL,
    "runtime/rights/plans.py _LOCATION": "what is left open reaches to the end of a line",
    "sql/tokens.py _OPENINGS": OPEN_LITERAL,
    "storage/columns.py _MARKED_VARIANT": OWN,
}
"""By the beginning of file and name."""
MADE = {
    "core/patterns.py": "pieces of a LIKE, each tried once",
    "design/": OWN,
    "engine/python_functions.py": "names of our own, of 33 letters and digits",
    "engine/quick/patterns.py": "only compiled, to count its groups",
    "extract_load/stores/patterns.py": "a pattern of whoever wrote the pipeline",
    "features/loading/csv_": "delimiters, one after the other",
    "govern/erasure/identifiers.py": "values, taken literally",
    "govern/pii/classes.py": OWN,
    "sql/functions/searching.py": "a single class of characters",
}
"""Expressions that are put together while the program runs."""


@cache
def found() -> tuple[RegularExpression, ...]:
    return tuple(regular_expressions(SOURCES))


def listed(table: dict[str, str], item: RegularExpression) -> set[str]:
    return {start for start in table if f"{item.file} {item.name}".startswith(start)}


def test_expressions_take_time_in_proportion_to_the_text() -> None:
    assert len(found()) > 200
    slow, used = [], set()
    for item in found():
        if item.pattern is None:
            used |= (known := listed(MADE, item))
            if not known:
                slow.append(f"{item.file} {item.name}: put together at run time")
            continue
        for method in sorted(item.methods):
            kind, text = ambiguity(item.pattern, method)
            known = listed(BOUNDED, item) if kind is Ambiguity.POLYNOMIAL else set()
            used |= known
            if kind is not Ambiguity.NONE and not known:
                slow.append(f"{item.file} {item.name}.{method}: {kind} for {text!r} again and again")
    assert slow == []
    assert used == BOUNDED.keys() | MADE.keys(), "an entry that nothing needs any more"


@pytest.mark.parametrize(
    ("pattern", "method", "expected"),
    [
        (r"(a*)*b", "match", Ambiguity.EXPONENTIAL), (r"(a|a)*b", "match", Ambiguity.EXPONENTIAL),
        (r"(\w+\s?)*$", "match", Ambiguity.EXPONENTIAL), (r"(?:[^']|'')*'", "match", Ambiguity.NONE),
        (r"\s*\s*x", "match", Ambiguity.POLYNOMIAL), (r"\d+x", "search", Ambiguity.POLYNOMIAL),
        (r"\d+x", "match", Ambiguity.NONE), (r"\d+", "search", Ambiguity.NONE),
        (r"a(?=.*b)", "search", Ambiguity.POLYNOMIAL),
        (r"/\*.*?\*/", "search", Ambiguity.POLYNOMIAL), (r"/\*(?s:.*?)(?:\*/|\Z)", "search", Ambiguity.NONE),
        (r"\s*+\s*+x", "match", Ambiguity.NONE), (r"\w*+\s*\w*+x", "match", Ambiguity.NONE),
        (r"^\w+x", "search", Ambiguity.NONE), (r"(?m)^[ab]+x", "search", Ambiguity.NONE),
    ],
)  # fmt: skip
def test_the_judge_is_right(pattern: str, method: str, expected: Ambiguity) -> None:
    assert ambiguity(re.compile(pattern), method)[0] is expected
