"""Snowmelt: continuously refreshing data pipelines on your own Spark and Delta Lake."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from snowmelt.core.version import VERSION

if TYPE_CHECKING:
    from snowmelt.dbapi import Connection, Cursor, Error, apilevel, connect, paramstyle, threadsafety
    from snowmelt.projects.columns import Window
    from snowmelt.projects.functions import functions
    from snowmelt.projects.python import dynamic_table, scd_table, view

__all__ = [
    "Connection", "Cursor", "Error", "Window", "apilevel", "connect", "dynamic_table", "functions", "paramstyle",
    "scd_table", "threadsafety", "view",
]  # fmt: skip
__version__ = VERSION
_HOMES = {
    "Window": "snowmelt.projects.columns",
    "functions": "snowmelt.projects.functions",
    **dict.fromkeys(("dynamic_table", "scd_table", "view"), "snowmelt.projects.python"),
}


def __getattr__(name: str) -> Any:
    """What users import from here, when they do: the program itself starts without most of it."""
    if name not in __all__:
        raise AttributeError(f"module 'snowmelt' has no attribute {name!r}")
    found = getattr(import_module(_HOMES.get(name, "snowmelt.dbapi")), name)
    globals()[name] = found
    return found
