"""The kinds of policies: all that the runtime has to know of them."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.policies.definitions import (
    MASKING,
    ROW_ACCESS,
    MaskingPolicyDefinition,
    RowAccessPolicyDefinition,
)
from snowmelt.features.policies.statements import (
    APPLY_MASKING,
    APPLY_ROW_ACCESS,
    AlterMaskingPolicy,
    AlterRowAccessPolicy,
    CreateMaskingPolicy,
    CreateRowAccessPolicy,
    parse_alter_masking,
    parse_alter_row_access,
    parse_create_masking,
    parse_create_row_access,
)
from snowmelt.runtime.kinds import KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import altered, ask_creator, ask_owner, created
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.policies import listing
    from snowmelt.features.policies.commands import alter_policy, create_policy
    from snowmelt.features.policies.keeping import clone, forget, refuse_in_use
    from snowmelt.features.policies.listing import ddl, described, masking_policies, row_access_policies

MASKING_KIND = KindDescription(
    syntax=KindSyntax(
        MASKING,
        CreateRule(parse_create_masking),
        parse_alter_masking,
        {
            CreateMaskingPolicy: base.ddl("CREATE_MASKING_POLICY"),
            AlterMaskingPolicy: base.ddl("ALTER_MASKING_POLICY"),
        },
        is_described=True,
    ),
    noun="Masking policy",
    definition=MaskingPolicyDefinition,
    handlers={CreateMaskingPolicy: create_policy, AlterMaskingPolicy: alter_policy},
    listing=Listing(masking_policies),
    columns=lambda: listing.COLUMNS,
    describe=described,
    ddl=ddl,
    # Behind the functions and tables that bodies use.
    script_order=95,
    privileges=("APPLY",),
    # What puts one on something asks in `attaching`: either the account, or the policy and the object.
    rules={"CREATE MASKING POLICY": ask_creator(MASKING), "ALTER MASKING POLICY": ask_owner(), APPLY_MASKING: ()},
    requests={
        CreateMaskingPolicy: lambda statement: created("CREATE MASKING POLICY", MASKING, statement),
        AlterMaskingPolicy: lambda one: altered("ALTER MASKING POLICY", MASKING, one.name, one.action),
    },
    account_privileges={APPLY_MASKING: ACCOUNTADMIN},
    is_renamed=True,
    is_guarded=True,
    clone=clone,
    before_drop=refuse_in_use,
    forget=forget,
)
ROW_ACCESS_KIND = KindDescription(
    syntax=KindSyntax(
        ROW_ACCESS,
        CreateRule(parse_create_row_access),
        parse_alter_row_access,
        {
            CreateRowAccessPolicy: base.ddl("CREATE_ROW_ACCESS_POLICY"),
            AlterRowAccessPolicy: base.ddl("ALTER_ROW_ACCESS_POLICY"),
        },
        is_described=True,
    ),
    noun="Row access policy",
    definition=RowAccessPolicyDefinition,
    handlers={CreateRowAccessPolicy: create_policy, AlterRowAccessPolicy: alter_policy},
    listing=Listing(row_access_policies),
    columns=lambda: listing.COLUMNS,
    describe=described,
    ddl=ddl,
    script_order=96,
    privileges=("APPLY",),
    rules={
        "CREATE ROW ACCESS POLICY": ask_creator(ROW_ACCESS),
        "ALTER ROW ACCESS POLICY": ask_owner(),
        APPLY_ROW_ACCESS: (),
    },
    requests={
        CreateRowAccessPolicy: lambda statement: created("CREATE ROW ACCESS POLICY", ROW_ACCESS, statement),
        AlterRowAccessPolicy: lambda one: altered("ALTER ROW ACCESS POLICY", ROW_ACCESS, one.name, one.action),
    },
    account_privileges={APPLY_ROW_ACCESS: ACCOUNTADMIN},
    is_renamed=True,
    is_guarded=True,
    clone=clone,
    before_drop=refuse_in_use,
    forget=forget,
)
