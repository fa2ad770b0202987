"""Importing much at once."""

from __future__ import annotations

import atexit
import gc
from importlib import import_module
from typing import Any


def import_quickly(name: str) -> Any:
    """The module. What is imported stays: looking for garbage among it again and again takes a sixth of the time.

    It is not looked at later either, until the process ends: extensions such as DuckDB's say then what nobody freed.
    """
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)
