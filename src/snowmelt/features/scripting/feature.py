"""Procedures, functions and scripting blocks."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.scripting import guard
from snowmelt.runtime.feature import Feature
from snowmelt.sql.statements.base import AnonymousBlock
from snowmelt.sql.statements.calls import Call, ExecuteImmediate
from snowmelt.sql.statements.routines import AlterRoutine, CreateRoutine

with lazy_imports():
    from snowmelt.features.scripting.commands import alter, create
    from snowmelt.features.scripting.procedures import anonymous_block, call, execute_immediate


FEATURE = Feature(
    "scripting",
    handlers={
        CreateRoutine: create,
        AlterRoutine: alter,
        Call: call,
        AnonymousBlock: anonymous_block,
        ExecuteImmediate: execute_immediate,
    },
    scripts=(Call, AnonymousBlock, ExecuteImmediate),
    before=guard.before,
)
