"""Masking and row access policies."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.policies.kind import AGGREGATION_KIND, MASKING_KIND, PROJECTION_KIND, ROW_ACCESS_KIND
from snowmelt.features.policies.statements import (
    ChangeRowAccess,
    ConstrainGroups,
    ConstrainProjection,
    SetMaskingPolicy,
    UnsetMaskingPolicy,
    parse_add_row_access,
    parse_aggregation,
    parse_aggregation_in_create,
    parse_drop_all_row_access,
    parse_drop_row_access,
    parse_masking,
    parse_projection,
)
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import AlterClauses, Annotations
from snowmelt.sql.statements.kinds import AnnotationSyntax, ClauseSyntax

with lazy_imports():
    from snowmelt.features.policies import constraining, keeping, protecting, sql_functions
    from snowmelt.features.policies.attaching import (
        change_masking,
        change_row_access,
        guard_created,
        mask_created,
        refuse_on_container,
    )


def _begin(account: Account) -> None:
    account.policies = account.services.offer(protecting, "Policies", account)
    lifecycle = account.lifecycle
    lifecycle.replaced.subscribe(keeping.replaced)
    lifecycle.all_leaving.subscribe(keeping.refuse_left_behind)
    lifecycle.purged.subscribe(keeping.purged)
    lifecycle.column_renamed.subscribe(keeping.column_renamed)
    lifecycle.columns_altered.subscribe(keeping.columns_altered)


_ROW_ACCESS = ("ROW", "ACCESS", "POLICY")
FEATURE = Feature(
    "policies",
    functions=lambda: sql_functions.FUNCTIONS,
    kinds=(MASKING_KIND, ROW_ACCESS_KIND, PROJECTION_KIND, AGGREGATION_KIND),
    annotations=(
        Annotations(
            syntax=AnnotationSyntax(
                "MASKING", parse_masking, parse_created=lambda cursor, column: parse_masking(cursor, "SET", column)
            ),
            actions=(SetMaskingPolicy, UnsetMaskingPolicy),
            on_relation=change_masking,
            on_container=refuse_on_container,
            on_created=mask_created,
        ),
        Annotations(
            syntax=AnnotationSyntax(
                "PROJECTION",
                parse_projection,
                parse_created=lambda cursor, column: parse_projection(cursor, "SET", column),
            ),
            actions=(ConstrainProjection,),
            on_relation=constraining.change,
            on_container=refuse_on_container,
            on_created=constraining.on_created,
        ),
        Annotations(
            syntax=AnnotationSyntax("AGGREGATION", parse_aggregation),
            actions=(ConstrainGroups,),
            on_relation=constraining.change,
            on_container=refuse_on_container,
        ),
    ),
    clauses=(
        AlterClauses(
            syntax=(
                ClauseSyntax("ADD", _ROW_ACCESS, parse_add_row_access, of_view=True, in_create=True),
                ClauseSyntax("DROP", _ROW_ACCESS, parse_drop_row_access, of_view=True),
                ClauseSyntax("DROP", ("ALL", "ROW", "ACCESS", "POLICIES"), parse_drop_all_row_access, of_view=True),
            ),
            handlers={ChangeRowAccess: change_row_access},
            on_created=guard_created,
        ),
        AlterClauses(
            syntax=(
                ClauseSyntax(
                    "ADD", ("AGGREGATION", "POLICY"), parse_aggregation_in_create, of_view=True, in_create=True
                ),
            ),
            handlers={ConstrainGroups: constraining.change_one},
            on_created=constraining.on_created,
        ),
    ),
    begin=_begin,
)
