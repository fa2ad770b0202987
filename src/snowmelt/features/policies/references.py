"""POLICY_REFERENCES: where a policy holds, and which ones hold for an object."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import split_name
from snowmelt.features.policies.definitions import KINDS, MASKING
from snowmelt.runtime import schema_objects
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.rights.enforcement import is_hidden
from snowmelt.state.model import RELATIONS, CatalogObject
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments as Named

ARGUMENTS = ("POLICY_NAME", "REF_ENTITY_NAME", "REF_ENTITY_DOMAIN")
COLUMNS = columns(
    "POLICY_DB, POLICY_SCHEMA, POLICY_NAME, POLICY_KIND, REF_DATABASE_NAME, REF_SCHEMA_NAME, REF_ENTITY_NAME, "
    "REF_ENTITY_DOMAIN, REF_COLUMN_NAME, REF_ARG_COLUMN_NAMES, TAG_DATABASE, TAG_SCHEMA, TAG_NAME, POLICY_STATUS"
)


def references(run: Run, state: StateReader, arguments: Named) -> list[Row]:
    """POLICY_REFERENCES(POLICY_NAME => …), or (REF_ENTITY_NAME => …, REF_ENTITY_DOMAIN => …)."""
    policy = arguments.text("POLICY_NAME")
    entity = arguments.text("REF_ENTITY_NAME")
    if (policy is None) == (entity is None):
        raise errors.invalid_value(policy or "", "policy_name or ref_entity_name")
    if policy is not None:
        return list(_of_policy(run, state, _find(run, state, policy, KINDS, "Policy")))
    assert entity is not None
    item = _find(run, state, entity, RELATIONS, "Object")
    found = run.account.policies.references(state, item)
    return [row for one in found if (row := _row(run, state, one, item)) is not None]


def _of_policy(run: Run, state: StateReader, policy: CatalogObject) -> Iterator[Row]:
    for reference in state.policies.of_policy(policy.id):
        item = state.whole_catalog.by_id(reference.object_id)
        if item is None or item.dropped_on is not None or is_hidden(state, item, run.session.id):
            continue
        row = _row(run, state, reference, item)
        if row is not None:
            yield row


def _row(run: Run, state: StateReader, reference: PolicyReference, item: CatalogObject) -> Row | None:
    policy = state.whole_catalog.by_id(reference.policy_id)
    if policy is None:
        return None
    kind = policy.kind
    others = reference.arguments[1:] if kind is MASKING else reference.arguments
    return {
        "POLICY_DB": policy.name.database,
        "POLICY_SCHEMA": policy.name.schema,
        "POLICY_NAME": policy.name.name,
        "POLICY_KIND": kind.replace(" ", "_"),
        "REF_DATABASE_NAME": item.name.database,
        "REF_SCHEMA_NAME": item.name.schema,
        "REF_ENTITY_NAME": item.name.name,
        "REF_ENTITY_DOMAIN": schema_objects.shown_kind(item),
        "REF_COLUMN_NAME": (reference.column or None) if item.kind in RELATIONS else None,
        "REF_ARG_COLUMN_NAMES": json.dumps(list(others), separators=(", ", ":")) if others else None,
        "POLICY_STATUS": "ACTIVE",
    }


def _find(run: Run, state: StateReader, name: str, kinds: Collection[ObjectType], noun: str) -> CatalogObject:
    parts = split_name(name)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(name, "name")
    full = run.object_name(parts)
    found = state.catalog.find(full, kinds, run.session.id)
    if found is None:
        raise errors.not_found(noun, str(full))
    return found
