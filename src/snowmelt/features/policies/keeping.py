"""What becomes of policies on an object when it, one of its columns, or the policy changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName
from snowmelt.features.policies import errors as policy_errors
from snowmelt.features.policies.definitions import KINDS, PolicyDefinition
from snowmelt.runtime.declaring import type_of
from snowmelt.runtime.kinds import Rename
from snowmelt.sql.statements.alter_table import DropColumn, SetType
from snowmelt.sql.statements.base import Action
from snowmelt.state.ids import new_id
from snowmelt.state.model import RELATIONS, CatalogObject, Column, TableDefinition, ViewDefinition
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


# -- the policy -------------------------------------------------------------------------------------------------------


def refuse_in_use(state: StateTransaction, policy: CatalogObject) -> None:
    """A policy that something has is neither dropped nor replaced."""
    if next(iter(_holders(state, policy.id)), None) is not None:
        raise policy_errors.in_use(policy.name.name)


def replaced(state: StateTransaction, old: CatalogObject, columns: Sequence[Column], made: str) -> None:
    if isinstance(old.definition, PolicyDefinition):
        refuse_in_use(state, old)


def refuse_left_behind(run: Run, state: StateTransaction, inside: Callable[[ObjectName], bool], why: str) -> None:
    """A schema or database stays as long as a policy in it holds for something elsewhere."""
    found = state.whole_catalog.objects(kinds=KINDS, all_sessions=True)
    for policy in found:
        if inside(policy.name) and any(not inside(holder.name) for holder in _holders(state, policy.id)):
            raise policy_errors.in_use(
                str(policy.name), f"{why} would remove the policy, which protects objects elsewhere."
            )


def _holders(state: StateReader, policy_id: str) -> list[CatalogObject]:
    """What is there and has the policy. What was dropped can't be read, and is asked again when it is restored."""
    ids = {reference.object_id for reference in state.policies.of_policy(policy_id)}
    return [item for item in state.whole_catalog.by_ids(ids).values() if item.dropped_on is None]


def forget(state: StateTransaction, policy: CatalogObject) -> None:
    state.policies.delete_for(policy.id)


def purged(state: StateTransaction, item: CatalogObject) -> None:
    if state.policies.of_object(item.id):
        state.policies.delete_for(item.id)


# -- columns ----------------------------------------------------------------------------------------------------------


def column_renamed(state: StateTransaction, table_id: str, old: str, new: str) -> None:
    for reference in state.policies.of_object(table_id):
        changed = _renamed(reference, {old: new})
        if changed != reference:
            state.policies.remove(reference)
            state.policies.put(changed)


def _renamed(reference: PolicyReference, names: Mapping[str, str]) -> PolicyReference:
    values = {
        "column": names.get(reference.column, reference.column),
        "arguments": tuple(names.get(name, name) for name in reference.arguments),
    }
    return reference.model_copy(update=values)


def columns_altered(run: Run, table: CatalogObject, actions: Sequence[Action]) -> None:
    """Refuses what would take a column from a policy, or give it values of another type."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    before = {column.name: column.type.kind for column in definition.columns}
    lost = {action.column for action in actions if isinstance(action, DropColumn)}
    retyped = (action for action in actions if isinstance(action, SetType))
    lost |= {action.column for action in retyped if type_of(action.type).kind is not before.get(action.column)}
    if not lost:
        return
    with run.state.read() as state:
        for reference in state.policies.of_object(table.id):
            for column in sorted(lost.intersection(reference.arguments)):
                policy = state.whole_catalog.by_id(reference.policy_id)
                shown = str(policy.name) if policy is not None else reference.policy_id
                raise policy_errors.column_in_use(str(table.name), column, shown)


# -- clones -----------------------------------------------------------------------------------------------------------


def cloned(state: StateTransaction, source: CatalogObject, version: int | None, clone: CatalogObject) -> None:
    """A clone has the policies that its source has now, also when it has the columns of an earlier version."""
    shape = state.shapes.at(source.id, version) if version is not None else None
    # A column is the same one whatever it was called then.
    names = {column.name: column.stored for column in shape.columns if column.stored} if shape is not None else {}
    for reference in state.policies.of_object(source.id):
        state.policies.put(_renamed(reference, names).model_copy(update={"object_id": clone.id}))


def clone(
    run: Run, state: StateTransaction, policy: CatalogObject, rename: Rename, made: Mapping[str, tuple[str, int]]
) -> None:
    """The policy in a clone of its schema: it holds for the clones of what the policy holds for."""
    name = rename(policy.name)
    values = {
        "id": new_id(), "name": name, "owner": run.session.role, "created_on": state.now, "altered_on": state.now,
        "dropped_on": None,
    }  # fmt: skip
    copy = policy.model_copy(update=values)
    state.catalog.create(copy)
    for reference in state.policies.of_policy(policy.id):
        holder = state.whole_catalog.by_id(reference.object_id)
        if holder is None or rename(holder.name) == holder.name:
            continue
        found = state.whole_catalog.find(rename(holder.name), _kinds(holder))
        for own in state.policies.of_object(found.id) if found is not None else ():
            if own.policy_id == policy.id:
                state.policies.put(own.model_copy(update={"policy_id": copy.id}))


def _kinds(holder: CatalogObject) -> list[ObjectType]:
    relation = isinstance(holder.definition, TableDefinition | ViewDefinition)
    return list(RELATIONS) if relation else [holder.kind]
