"""The kinds of policies: all that the runtime has to know of them."""

from __future__ import annotations

from functools import partial

from snowmelt.core.kinds import ObjectType
from snowmelt.core.lazy import lazy_imports
from snowmelt.features.policies.definitions import (
    AGGREGATION,
    MASKING,
    PROJECTION,
    ROW_ACCESS,
    AggregationPolicyDefinition,
    MaskingPolicyDefinition,
    PolicyDefinition,
    ProjectionPolicyDefinition,
    RowAccessPolicyDefinition,
)
from snowmelt.features.policies.statements import (
    AlterAggregationPolicy,
    AlterMaskingPolicy,
    AlterPolicy,
    AlterProjectionPolicy,
    AlterRowAccessPolicy,
    CreateAggregationPolicy,
    CreateMaskingPolicy,
    CreatePolicy,
    CreateProjectionPolicy,
    CreateRowAccessPolicy,
    parse_alter,
    parse_create,
)
from snowmelt.runtime.kinds import KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights import asks
from snowmelt.runtime.rights.asks import ask_creator, ask_owner
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.policies import listing
    from snowmelt.features.policies.commands import alter_policy, create_policy
    from snowmelt.features.policies.keeping import clone, forget, refuse_in_use
    from snowmelt.features.policies.listing import ddl, described


def _kind(
    kind: ObjectType, definition: type[PolicyDefinition], created: type[CreatePolicy], altered: type[AlterPolicy],
    order: int,
) -> KindDescription:  # fmt: skip
    words = str(kind)
    create, alter, apply = f"CREATE {words}", f"ALTER {words}", f"APPLY {words}"
    return KindDescription(
        syntax=KindSyntax(
            kind,
            CreateRule(partial(parse_create, created)),
            partial(parse_alter, altered),
            {
                created: base.ddl(f"CREATE_{words.replace(' ', '_')}"),
                altered: base.ddl(f"ALTER_{words.replace(' ', '_')}"),
            },
            is_described=True,
        ),
        noun=words.capitalize(),
        definition=definition,
        handlers={created: create_policy, altered: alter_policy},
        listing=Listing(lambda run, state, statement: listing.rows(run, state, statement, kind)),
        columns=lambda: listing.COLUMNS,
        describe=described,
        ddl=ddl,
        # Behind the functions and tables that bodies use.
        script_order=order,
        privileges=("APPLY",),
        # What puts one on something asks in `attaching`: either the account, or the policy and the object.
        rules={create: ask_creator(kind), alter: ask_owner(), apply: ()},
        requests={
            created: lambda statement: asks.created(create, kind, statement),
            altered: lambda one: asks.altered(alter, kind, one.name, one.action),
        },
        account_privileges={apply: ACCOUNTADMIN},
        is_renamed=True,
        is_guarded=True,
        clone=clone,
        before_drop=refuse_in_use,
        forget=forget,
    )


MASKING_KIND = _kind(MASKING, MaskingPolicyDefinition, CreateMaskingPolicy, AlterMaskingPolicy, 95)
ROW_ACCESS_KIND = _kind(ROW_ACCESS, RowAccessPolicyDefinition, CreateRowAccessPolicy, AlterRowAccessPolicy, 96)
PROJECTION_KIND = _kind(PROJECTION, ProjectionPolicyDefinition, CreateProjectionPolicy, AlterProjectionPolicy, 97)
AGGREGATION_KIND = _kind(AGGREGATION, AggregationPolicyDefinition, CreateAggregationPolicy, AlterAggregationPolicy, 98)
