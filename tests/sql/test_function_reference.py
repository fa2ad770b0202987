"""Every function on the allow-list has a tested value, which is also its documentation."""

from __future__ import annotations

from pathlib import Path

from snowmelt.sql.functions.catalog import FUNCTIONS
from tools.function_reference import SOURCE, read, render, undocumented

ROOT = Path(__file__).parents[2]


def test_every_function_has_a_tested_value() -> None:
    assert undocumented(read(ROOT / SOURCE)) == []


def test_there_are_enough_functions() -> None:
    assert sum(1 for function in FUNCTIONS.values() if function.refusal is None) >= 200


def test_the_page_shows_each_of_them() -> None:
    page = render(read(ROOT / SOURCE))
    assert all(name in page for name, function in FUNCTIONS.items() if function.refusal is None)
