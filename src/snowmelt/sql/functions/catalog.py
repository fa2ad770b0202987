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
    documented,
    generators,
    hashes,
    numeric,
    objects,
    regex,
    searching,
    semi_structured,
    sketches,
    splitting,
    states,
    strings,
    windows,
    xml,
)
from snowmelt.sql.functions.registry import Function

FAMILIES: tuple[ModuleType, ...] = (
    strings, splitting, regex, hashes, conditional, context, numeric, aggregates, windows, generators, conversion,
    datetime, semi_structured, arrays, objects, sketches, states, searching, xml,
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    function.name: replace(function, family=family.__name__.rsplit(".", 1)[-1])
    for family in FAMILIES
    for function in family.FUNCTIONS
}


ELSEWHERE: frozenset[str] = frozenset(documented.names()) - FUNCTIONS.keys()
"""Functions that Snowflake documents and that are not on the allow-list: refused by name, not unknown."""
_NEAR = 0.7
"""How alike two names have to be to be taken for a misspelling."""
_SEE = "docs/reference/compatibility.md lists what is there."


def lookup(name: str) -> Function:
    """The function of that name; an error that names the nearest one when there is none."""
    found = FUNCTIONS.get(name.upper())
    if found is None:
        if name.upper() in ELSEWHERE:
            raise errors.unsupported(f"the function {name.upper()}", hint=_SEE)
        if documented.is_of_model(name.upper()):
            raise errors.unsupported(f"the function {name.upper()}", hint="No models run here.")
        nearest = difflib.get_close_matches(name.upper(), FUNCTIONS, n=1, cutoff=_NEAR)
        raise errors.unknown_function(name.upper(), nearest[0] if nearest else None)
    return found
