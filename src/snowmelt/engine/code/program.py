"""The text of the program that runs users' Python: other machines may not have this package."""

from __future__ import annotations

import inspect
import json
from functools import cache

from snowmelt.engine.code import host, values


@cache
def program() -> str:
    """The modules in the order in which they need each other, the last one with `main`."""
    return json.dumps([[module.__name__, inspect.getsource(module)] for module in (values, host)])
