"""Putting policies on tables, views, columns and tags, and taking them off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import quote
from snowmelt.features.policies import errors as policy_errors
from snowmelt.features.policies.definitions import MASKING, ROW_ACCESS, TAGGED, definition_of
from snowmelt.features.policies.statements import (
    APPLY_MASKING,
    APPLY_ROW_ACCESS,
    ChangeRowAccess,
    SetMaskingPolicy,
    UnsetMaskingPolicy,
)
from snowmelt.features.tags.definitions import TAG
from snowmelt.runtime import schema_objects
from snowmelt.runtime.rights import enforcement
from snowmelt.runtime.rights.privileges import OWNERSHIP
from snowmelt.sql.statements.base import Annotation, NameRef
from snowmelt.state.model import CatalogObject, Column, ParameterLevel, TableDefinition, ViewDefinition
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def change_masking(run: Run, item: CatalogObject, actions: Sequence[SetMaskingPolicy | UnsetMaskingPolicy]) -> None:
    """What SET and UNSET MASKING POLICY do: all of a statement, or nothing."""
    for action in actions:
        if (action.column is None) != (item.kind is TAG):
            raise errors.unsupported(f"MASKING POLICY on a whole {item.kind.lower()}", hint="Name a column of it.")
        policies = [usable(run, MASKING, name, APPLY_MASKING, item) for name in action.policies]
        if not policies:
            require_rights(run, APPLY_MASKING, item, None)
        with run.state.begin() as state:
            if isinstance(action, UnsetMaskingPolicy):
                _unset(state, item, action, policies)
            elif action.column is None:
                _set_on_tag(state, item, policies, force=action.force)
            else:
                _set_on_column(state, item, action, policies[0])


def change_row_access(run: Run, item: CatalogObject, action: ChangeRowAccess) -> None:
    """What ADD and DROP ROW ACCESS POLICY do."""
    dropped = usable(run, ROW_ACCESS, action.dropped, APPLY_ROW_ACCESS, item) if action.dropped is not None else None
    added = usable(run, ROW_ACCESS, action.added, APPLY_ROW_ACCESS, item) if action.added is not None else None
    if dropped is None and added is None:
        require_rights(run, APPLY_ROW_ACCESS, item, None)
    with run.state.begin() as state:
        present = present_on(state, item.id, ROW_ACCESS)
        if dropped is not None and (present is None or present.policy_id != dropped.id):
            raise errors.not_found("Row access policy", f"{dropped.name} on {item.name}")
        if present is not None and (dropped is not None or action.drops_all):
            state.policies.remove(present)
        if added is not None:
            _add_row_access(state, item, added, action.columns)


def _add_row_access(
    state: StateTransaction, item: CatalogObject, policy: CatalogObject, columns: tuple[str, ...]
) -> None:
    if present_on(state, item.id, ROW_ACCESS) is not None:
        raise policy_errors.object_has_one(str(item.name))
    _check_arguments(policy, [column_of(item, name) for name in columns])
    state.policies.put(PolicyReference(object_id=item.id, kind=ROW_ACCESS, policy_id=policy.id, arguments=columns))


def mask_created(run: Run, state: StateTransaction, item: CatalogObject, action: SetMaskingPolicy) -> None:
    """`WITH MASKING POLICY` in CREATE."""
    policy = found_policy(run, state, MASKING, action.policies[0])
    require_apply(run, APPLY_MASKING, policy)
    _set_on_column(state, item, action, policy)


def guard_created(run: Run, state: StateTransaction, item: CatalogObject, action: ChangeRowAccess) -> None:
    """`WITH ROW ACCESS POLICY` in CREATE."""
    assert action.added is not None
    policy = found_policy(run, state, ROW_ACCESS, action.added)
    require_apply(run, APPLY_ROW_ACCESS, policy)
    _add_row_access(state, item, policy, action.columns)


# -- whose right it is ------------------------------------------------------------------------------------------------


def usable(run: Run, kind: ObjectType, name: NameRef, privilege: str, item: CatalogObject) -> CatalogObject:
    """The policy of that name, which whoever runs the statement may put on the object or take off it."""
    with run.state.read() as state:
        policy = found_policy(run, state, kind, name)
    require_rights(run, privilege, item, policy)
    return policy


def found_policy(run: Run, state: StateReader, kind: ObjectType, name: NameRef) -> CatalogObject:
    return schema_objects.require(run, state, kind, name)


def require_rights(run: Run, privilege: str, item: CatalogObject, policy: CatalogObject | None) -> None:
    """The privilege on the account is enough; otherwise it takes the object and APPLY on the policy."""
    if run.authority.on_account(privilege):
        return
    enforcement.require_object(run, OWNERSHIP, item)
    if policy is not None:
        require_apply(run, privilege, policy)


def require_apply(run: Run, privilege: str, policy: CatalogObject) -> None:
    owns = run.authority.holds(OWNERSHIP, Owned(policy.id, policy.owner))
    if not owns and not run.authority.on_account(privilege):
        enforcement.require_object(run, "APPLY", policy)


# -- masking ----------------------------------------------------------------------------------------------------------


def _set_on_column(
    state: StateTransaction, item: CatalogObject, action: SetMaskingPolicy, policy: CatalogObject
) -> None:
    assert action.column is not None
    columns = [column_of(item, name) for name in action.using or (action.column,)]
    if columns[0].name != action.column:
        raise policy_errors.wrong_arguments(
            str(policy.name), f"the first column of USING must be '{action.column}', which is masked"
        )
    _check_arguments(policy, columns)
    present = present_on(state, item.id, MASKING, action.column)
    if present is not None and not action.force:
        raise policy_errors.column_has_one(action.column)
    state.policies.put(
        PolicyReference(
            object_id=item.id, kind=MASKING, column=action.column, policy_id=policy.id,
            arguments=tuple(column.name for column in columns),
        )
    )  # fmt: skip


def _set_on_tag(state: StateTransaction, tag: CatalogObject, policies: Sequence[CatalogObject], *, force: bool) -> None:
    """A tag has one for each type, which takes the value alone."""
    for policy in policies:
        definition = definition_of(policy)
        if len(definition.arguments) != 1:
            raise policy_errors.wrong_arguments(str(policy.name), "a tag gives a policy one argument, the value")
        type_ = definition.arguments[0].type.kind.value
        if present_on(state, tag.id, TAGGED, type_) is not None and not force:
            raise errors.compilation(
                "003536", "42601", f"Tag {tag.name} has a masking policy for {type_} already.",
                hint="UNSET it first, or write FORCE to replace it.",
            )  # fmt: skip
        state.policies.put(PolicyReference(object_id=tag.id, kind=TAGGED, column=type_, policy_id=policy.id))


def _unset(
    state: StateTransaction, item: CatalogObject, action: UnsetMaskingPolicy, policies: Sequence[CatalogObject]
) -> None:
    if action.column is not None:
        column_of(item, action.column)
    ids = {policy.id for policy in policies}
    for present in state.policies.of_object(item.id):
        of_column = present.kind == MASKING and present.column == action.column
        if of_column or (present.kind == TAGGED and present.policy_id in ids):
            state.policies.remove(present)


# -- what fits --------------------------------------------------------------------------------------------------------


def present_on(state: StateTransaction, object_id: str, kind: str, column: str = "") -> PolicyReference | None:
    found = state.policies.of_object(object_id)
    return next((one for one in found if one.kind == kind and one.column == column), None)


def column_of(item: CatalogObject, name: str) -> Column:
    definition = item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    found = next((column for column in definition.columns if column.name == name), None)
    if found is None:
        raise errors.invalid_identifier(quote(name), 1, 0)
    return found


def _check_arguments(policy: CatalogObject, columns: Sequence[Column]) -> None:
    arguments = definition_of(policy).arguments
    if len(arguments) != len(columns):
        raise policy_errors.wrong_arguments(
            str(policy.name), f"it takes {len(arguments)} column(s), and is given {len(columns)}"
        )
    for argument, column in zip(arguments, columns, strict=True):
        if argument.type.kind is not column.type.kind:
            raise policy_errors.wrong_arguments(
                str(policy.name), f"{quote(argument.name)} is {argument.type}, and column '{column.name}' {column.type}"
            )


def refuse_on_container(run: Run, state: StateTransaction, level: ParameterLevel, id: str, action: Annotation) -> None:
    raise errors.unsupported(f"a policy on a {level.value.lower()}", hint="Set it on a tag, and the tag on it.")
