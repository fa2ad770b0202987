"""Users, roles, grants and log-ins."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.feature import Feature
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.grants import GrantOwnership, GrantPrivileges, GrantRole, RevokePrivileges, RevokeRole
from snowmelt.sql.statements.users_roles import AlterRole, AlterUser, CreateRole, CreateUser

with lazy_imports():
    from snowmelt.features.security import sql_functions
    from snowmelt.features.security.grant_commands import grant, grant_ownership, grant_role, revoke, revoke_role
    from snowmelt.features.security.user_commands import (
        alter_role,
        alter_user,
        create_role,
        create_user,
        drop_role,
        drop_user,
    )

FEATURE = Feature(
    "security",
    drops={ObjectType.USER: drop_user, ObjectType.ROLE: drop_role},
    functions=lambda: sql_functions.FUNCTIONS,
    handlers={
        CreateUser: create_user,
        AlterUser: alter_user,
        CreateRole: create_role,
        AlterRole: alter_role,
        GrantPrivileges: grant,
        RevokePrivileges: revoke,
        GrantOwnership: grant_ownership,
        GrantRole: grant_role,
        RevokeRole: revoke_role,
    },
)
