"""Users, roles, grants and log-ins."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.security import restricted
from snowmelt.features.security.kind import GRANTS, NETWORK_POLICIES, ROLES, SHOWN, USERS
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.security import information_schema, sql_functions

FEATURE = Feature(
    "security",
    kinds=(USERS, ROLES, NETWORK_POLICIES),
    groups=(GRANTS,),
    shows=SHOWN,
    views=lambda: information_schema.VIEWS,
    functions=lambda: sql_functions.FUNCTIONS,
    before=restricted.check,
)
