"""Putting projection and aggregation policies on tables, views and columns, and taking them off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.kinds import ObjectType
from snowmelt.features.policies import errors as policy_errors
from snowmelt.features.policies.attaching import (
    column_of,
    found_policy,
    present_on,
    require_apply,
    require_rights,
    usable,
)
from snowmelt.features.policies.definitions import AGGREGATION, PROJECTION
from snowmelt.features.policies.statements import ConstrainGroups, ConstrainProjection
from snowmelt.state.model import RELATIONS, CatalogObject
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_Constrain = ConstrainProjection | ConstrainGroups


def change(run: Run, item: CatalogObject, actions: Sequence[_Constrain]) -> None:
    """What SET and UNSET do: all of a statement, or nothing."""
    with run.state.begin() as state:
        for action in actions:
            policy = _policy(run, item, action)
            if policy is None:
                _unset(state, item, action)
            else:
                _set(state, item, action, policy)


def change_one(run: Run, item: CatalogObject, action: ConstrainGroups) -> None:
    """ADD AGGREGATION POLICY."""
    change(run, item, [action])


def on_created(run: Run, state: StateTransaction, item: CatalogObject, action: _Constrain) -> None:
    """The clause in CREATE."""
    assert action.policy is not None
    policy = found_policy(run, state, _kind(action), action.policy)
    require_apply(run, _privilege(action), policy)
    _set(state, item, action, policy)


def _kind(action: _Constrain) -> ObjectType:
    return PROJECTION if isinstance(action, ConstrainProjection) else AGGREGATION


def _privilege(action: _Constrain) -> str:
    assert action.rule is not None
    return action.rule


def _policy(run: Run, item: CatalogObject, action: _Constrain) -> CatalogObject | None:
    """The policy to set, which whoever runs the statement may put on the object; None to take one off."""
    of_column = isinstance(action, ConstrainProjection)
    if item.kind not in RELATIONS or of_column != (action.column is not None):
        where = "a column" if of_column else "a table or view"
        raise errors.unsupported(f"{_kind(action)} on anything but {where}")
    if action.policy is None:
        require_rights(run, _privilege(action), item, None)
        return None
    return usable(run, _kind(action), action.policy, _privilege(action), item)


def _set(state: StateTransaction, item: CatalogObject, action: _Constrain, policy: CatalogObject) -> None:
    if action.column is not None:
        column_of(item, action.column)
    entity = action.entity if isinstance(action, ConstrainGroups) else ()
    for name in entity:
        column_of(item, name)
    present = present_on(state, item.id, _kind(action), action.column or "")
    if present is not None and not action.force:
        raise policy_errors.has_one(str(item.name) if action.column is None else action.column, str(_kind(action)))
    state.policies.put(
        PolicyReference(
            object_id=item.id, kind=_kind(action), column=action.column or "", policy_id=policy.id, arguments=entity
        )
    )


def _unset(state: StateTransaction, item: CatalogObject, action: _Constrain) -> None:
    if action.column is not None:
        column_of(item, action.column)
    present = present_on(state, item.id, _kind(action), action.column or "")
    if present is not None:
        state.policies.remove(present)
