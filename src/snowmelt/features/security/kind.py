"""The kinds USER and ROLE, and GRANT and REVOKE: all that the runtime has to know of them."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.security import network_policies as networks
from snowmelt.features.security.definitions import NETWORK_POLICY, ROLE, USER
from snowmelt.features.security.grant_statements import (
    GrantOwnership,
    GrantPrivileges,
    GrantRole,
    RevokePrivileges,
    RevokeRole,
    parse_grant,
    parse_revoke,
)
from snowmelt.features.security.network_policies import (
    AlterNetworkPolicy,
    CreateNetworkPolicy,
    parse_alter_network_policy,
    parse_create_network_policy,
)
from snowmelt.features.security.principals import change_role, change_user, find_role, find_user
from snowmelt.features.security.statements import (
    CREATE_ROLE,
    CREATE_USER,
    AlterRole,
    AlterUser,
    CreateRole,
    CreateUser,
    parse_alter_role,
    parse_alter_user,
)
from snowmelt.runtime.kinds import AccountKind, ShownRows, StatementGroup
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import OWNERSHIP, Named, RightsRequest, Subject, ask, ask_owner, created
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN, IMPORTED_PRIVILEGES, SECURITYADMIN, USERADMIN
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax, StatementSyntax

with lazy_imports():
    from snowmelt.features.security import listing
    from snowmelt.features.security.grant_commands import grant, grant_ownership, grant_role, revoke, revoke_role
    from snowmelt.features.security.listing import (
        described_user,
        future_grants,
        grant_columns,
        grants,
        roles,
        tokens,
        users,
    )
    from snowmelt.features.security.user_commands import (
        alter_role,
        alter_user,
        create_role,
        create_user,
        drop_role,
        drop_user,
    )

USERS = AccountKind(
    syntax=KindSyntax(
        USER,
        CREATE_USER,
        parse_alter_user,
        {CreateUser: base.ddl("CREATE_USER"), AlterUser: base.ddl("ALTER_USER")},
        name_parts=1,
        is_described=True,
    ),
    noun="User",
    handlers={CreateUser: create_user, AlterUser: alter_user},
    listing=Listing(users),
    columns=lambda: listing.USERS,
    terse=lambda: listing.TERSE_USERS,
    describe=lambda run, state, name: (listing.DESCRIBED_USER, described_user(run, state, name)),
    find=find_user,
    drop=drop_user,
    change=change_user,
    privileges=("MONITOR",),
    account_privileges={"CREATE USER": USERADMIN},
    rules={
        "CREATE USER": (ask(Subject.ACCOUNT, "CREATE USER"), ask(Subject.REPLACED, OWNERSHIP)),
        "ALTER USER": ask_owner(),
    },
    requests={
        CreateUser: lambda statement: created("CREATE USER", USER, statement),
        # Users may change some of their own settings, so the handler asks.
        AlterUser: lambda _: (),
    },
)

ROLES = AccountKind(
    syntax=KindSyntax(
        ROLE,
        CREATE_ROLE,
        parse_alter_role,
        {CreateRole: base.ddl("CREATE_ROLE"), AlterRole: base.ddl("ALTER_ROLE")},
        name_parts=1,
    ),
    noun="Role",
    handlers={CreateRole: create_role, AlterRole: alter_role},
    listing=Listing(roles),
    columns=lambda: listing.ROLES,
    terse=lambda: listing.TERSE_ROLES,
    find=find_role,
    drop=drop_role,
    change=change_role,
    privileges=(),
    account_privileges={"CREATE ROLE": USERADMIN, IMPORTED_PRIVILEGES: ACCOUNTADMIN},
    rules={
        "CREATE ROLE": (ask(Subject.ACCOUNT, "CREATE ROLE"), ask(Subject.REPLACED, OWNERSHIP)),
        "ALTER ROLE": ask_owner(),
    },
    requests={
        CreateRole: lambda statement: created("CREATE ROLE", ROLE, statement),
        AlterRole: lambda statement: RightsRequest("ALTER ROLE", Named(ROLE, statement.name)),
    },
)

NETWORK_POLICIES = AccountKind(
    syntax=KindSyntax(
        NETWORK_POLICY,
        CreateRule(parse_create_network_policy),
        parse_alter_network_policy,
        {
            CreateNetworkPolicy: base.ddl("CREATE_NETWORK_POLICY"),
            AlterNetworkPolicy: base.ddl("ALTER_NETWORK_POLICY"),
        },
        name_parts=1,
        is_described=True,
    ),
    noun="Network policy",
    handlers={
        CreateNetworkPolicy: networks.create_network_policy,
        AlterNetworkPolicy: networks.alter_network_policy,
    },
    listing=Listing(networks.network_policies),
    columns=lambda: networks.COLUMNS,
    describe=lambda run, state, name: (networks.DESCRIBED, networks.described_network_policy(run, state, name)),
    find=networks.find_network_policy,
    drop=networks.drop_network_policy,
    change=networks.change_network_policy,
    privileges=(),
    account_privileges={"CREATE NETWORK POLICY": SECURITYADMIN},
    rules={
        "CREATE NETWORK POLICY": (ask(Subject.ACCOUNT, "CREATE NETWORK POLICY"), ask(Subject.REPLACED, OWNERSHIP)),
        "ALTER NETWORK POLICY": ask_owner(),
    },
    requests={
        CreateNetworkPolicy: lambda statement: created("CREATE NETWORK POLICY", NETWORK_POLICY, statement),
        AlterNetworkPolicy: lambda one: RightsRequest("ALTER NETWORK POLICY", Named(NETWORK_POLICY, one.name)),
    },
)

SHOWN = (
    ShownRows(word="GRANTS", listing=Listing(grants, paged=False), columns=grant_columns),
    ShownRows(
        word="FUTURE GRANTS", listing=Listing(future_grants, paged=False), columns=lambda _: listing.FUTURE_GRANTS
    ),
    ShownRows(word="USER PATS", listing=Listing(tokens, paged=False), columns=lambda _: listing.TOKENS),
    ShownRows(
        word="USER PROGRAMMATIC ACCESS TOKENS", listing=Listing(tokens, paged=False), columns=lambda _: listing.TOKENS
    ),
)

GRANTS = StatementGroup(
    syntax=StatementSyntax(
        {"GRANT": parse_grant, "REVOKE": parse_revoke},
        {
            **dict.fromkeys((GrantPrivileges, GrantOwnership, GrantRole), base.ddl("GRANT")),
            **dict.fromkeys((RevokePrivileges, RevokeRole), base.ddl("REVOKE")),
        },
    ),
    # Who may grant depends on the object, so the handlers ask.
    handlers={
        GrantPrivileges: grant,
        RevokePrivileges: revoke,
        GrantOwnership: grant_ownership,
        GrantRole: grant_role,
        RevokeRole: revoke_role,
    },
)
