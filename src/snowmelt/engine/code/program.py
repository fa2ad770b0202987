"""The texts of the programs that run users' code: other machines may not have this package."""

from __future__ import annotations

import inspect
import json
from functools import cache
from types import ModuleType

from snowmelt.engine.code import host, values
from snowmelt.engine.code.procedures import asking, small_session, snowpark, texts
from snowmelt.engine.code.procedures import host as procedure_host


@cache
def program() -> str:
    """Of functions: the modules in the order in which they need each other, the last one with `main`."""
    return _listed(values, host)


@cache
def procedure_program() -> str:
    return _listed(values, host, asking, texts, small_session, snowpark, procedure_host)


def _listed(*modules: ModuleType) -> str:
    return json.dumps([[module.__name__, inspect.getsource(module)] for module in modules])
