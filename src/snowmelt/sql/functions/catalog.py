"""The allow-list, gathered from the families."""

from __future__ import annotations

import difflib
from dataclasses import replace
from types import ModuleType

from snowmelt.core import errors
from snowmelt.sql.functions import (
    aggregates,
    arrays,
    conditional,
    context,
    conversion,
    datetime,
    generators,
    hashes,
    numeric,
    objects,
    regex,
    semi_structured,
    splitting,
    strings,
    windows,
)
from snowmelt.sql.functions.registry import Function

FAMILIES: tuple[ModuleType, ...] = (
    strings, splitting, regex, hashes, conditional, context, numeric, aggregates, windows, generators, conversion,
    datetime, semi_structured, arrays, objects,
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    function.name: replace(function, family=family.__name__.rsplit(".", 1)[-1])
    for family in FAMILIES
    for function in family.FUNCTIONS
}


def lookup(name: str) -> Function:
    """The function of that name; an error that names the nearest one when there is none."""
    found = FUNCTIONS.get(name.upper())
    if found is None:
        nearest = difflib.get_close_matches(name.upper(), FUNCTIONS, n=1, cutoff=0.0)
        raise errors.unknown_function(name.upper(), nearest[0] if nearest else None)
    return found
