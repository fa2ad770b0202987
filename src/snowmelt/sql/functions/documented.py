"""The names of functions that Snowflake documents, by its categories, whether they are here or not.

They tell a function of Snowflake's that is missing here (unsupported) from a name that is no function (unknown), and
make the table of docs/reference/compatibility.md.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_LIST = Path(__file__).with_name("documented.txt")
_SYSTEM = Path(__file__).with_name("documented_system.txt")


@cache
def categories() -> dict[str, tuple[str, ...]]:
    """The names of each category, as the list has them."""
    return _lines(_LIST)


def _lines(path: Path) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            category, _, listed = line.partition(":")
            found[category.strip()] = tuple(listed.split())
    return found


def names() -> frozenset[str]:
    return frozenset(name for listed in categories().values() for name in listed)


@cache
def beside() -> dict[str, frozenset[str]]:
    """Names without a category: behind `SYSTEM$`, of table functions (`Table`), of functions of models (`Model`)."""
    return {group: frozenset(listed) for group, listed in _lines(_SYSTEM).items()}


def is_of_model(name: str) -> bool:
    return name.startswith("SNOWFLAKE.CORTEX.") or name in beside()["Model"]
