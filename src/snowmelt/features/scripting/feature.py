"""Procedures, functions and scripting blocks."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.scripting import guard
from snowmelt.features.scripting.kind import FUNCTION, PROCEDURE, SCRIPTS, SHOWN
from snowmelt.runtime.feature import Feature
from snowmelt.sql.statements.base import AnonymousBlock
from snowmelt.sql.statements.calls import Call, ExecuteImmediate

with lazy_imports():
    from snowmelt.features.scripting import information_schema


FEATURE = Feature(
    "scripting",
    kinds=(FUNCTION, PROCEDURE),
    groups=(SCRIPTS,),
    shows=SHOWN,
    views=lambda: information_schema.VIEWS,
    scripts=(Call, AnonymousBlock, ExecuteImmediate),
    before=guard.before,
)
