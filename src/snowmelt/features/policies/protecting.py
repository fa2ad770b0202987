"""What protects a table or view: the one answer to what a role sees of it, for whoever binds a query."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.features.policies import errors as policy_errors
from snowmelt.features.policies import keeping
from snowmelt.features.policies.by_tags import tagged_masks
from snowmelt.features.policies.definitions import CONSTRAINTS, MASKING, definition_of
from snowmelt.sql.relations import GroupRule, PolicyRule, ReadProtection
from snowmelt.state.model import CatalogObject, TableDefinition, ViewDefinition
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.resolver import StatementCatalog

_HIDDEN = ("ROW_DATA", "ERROR_MESSAGE")
"""Of rows that were set aside as one value: it can't be told any more which part of it is which column."""


class Policies:
    """One for an account."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def protection(self, catalog: StatementCatalog, item: CatalogObject) -> ReadProtection | None:
        """The policies that hold for an object, for whoever binds a query that reads it."""
        references = self.references(catalog.state, item)
        if not references:
            return None
        rows: PolicyRule | None = None
        groups: GroupRule | None = None
        masks: dict[str, PolicyRule] = {}
        projections: dict[str, PolicyRule] = {}
        for reference in references:
            rule = self._rule(catalog, item, reference)
            match reference.kind:
                case "ROW ACCESS POLICY":
                    rows = rule
                case "AGGREGATION POLICY":
                    groups = GroupRule(rule, reference.arguments)
                case "PROJECTION POLICY":
                    projections[reference.column] = rule
                case _:
                    masks[reference.column] = rule
        return ReadProtection(rows, masks, catalog.policy_context(), projections, groups)

    def references(self, state: StateReader, item: CatalogObject) -> list[PolicyReference]:
        """What is on the object itself, what its tags bring, and what is on the table that its rows come from."""
        if not isinstance(item.definition, TableDefinition | ViewDefinition):
            return []
        found = [*state.policies.of_object(item.id), *tagged_masks(state, item)]
        for base_of in self._account.set_aside:
            base = base_of(state, item)
            if base is not None:
                found += _of_set_aside(item, self.references(state, base))
        by_column: dict[tuple[str, str], PolicyReference] = {}
        for reference in found:
            by_column.setdefault((reference.kind, reference.column), reference)
        return list(by_column.values())

    def mark(self, state: StateReader, item: CatalogObject) -> str:
        """Changes whenever another policy holds for the object, or one of them says something else. Empty for none."""
        references = self.references(state, item)
        if not references:
            return ""
        digest = hashlib.sha256()
        for reference in sorted(references, key=lambda one: (one.kind, one.column)):
            policy = state.whole_catalog.by_id(reference.policy_id)
            body = policy.definition.model_dump_json() if policy is not None else ""
            digest.update(repr((reference.kind, reference.column, reference.arguments, body)).encode())
        return digest.hexdigest()[:24]

    def cloned(self, state: StateTransaction, source: CatalogObject, version: int | None, clone: CatalogObject) -> None:
        keeping.cloned(state, source, version, clone)

    def _rule(self, catalog: StatementCatalog, item: CatalogObject, reference: PolicyReference) -> PolicyRule:
        definition = item.definition
        assert isinstance(definition, TableDefinition | ViewDefinition)
        policy = catalog.state.whole_catalog.by_id(reference.policy_id)
        known = {column.name for column in definition.columns}
        wanted = {*reference.arguments, reference.column} - {""}
        if policy is None or policy.dropped_on is not None or not wanted <= known:
            raise policy_errors.broken(str(item.name), str(policy.name) if policy is not None else "")
        catalog.run.bodies[policy.id] = policy
        stated = definition_of(policy)
        constraint = CONSTRAINTS.get(reference.kind)
        if constraint is not None:
            return PolicyRule(str(policy.name), stated.body, (), *_home(policy), constraint.value)
        if reference.kind == MASKING and not reference.arguments:
            return PolicyRule(str(policy.name), "NULL", (), *_home(policy))
        names = [argument.name for argument in stated.arguments]
        return PolicyRule(
            str(policy.name), stated.body, tuple(zip(names, reference.arguments, strict=True)), *_home(policy)
        )


def _home(policy: CatalogObject) -> tuple[str, str, str]:
    return policy.name.database, policy.name.schema, policy.owner


def _of_set_aside(item: CatalogObject, references: list[PolicyReference]) -> Iterator[PolicyReference]:
    """What holds for rows that were set aside, of what holds for the table that they were meant for."""
    assert isinstance(item.definition, TableDefinition | ViewDefinition)
    columns = {column.name for column in item.definition.columns}
    whole = [name for name in _HIDDEN if name in columns] if references else []
    for name in whole:
        yield references[0].model_copy(update={"kind": str(MASKING), "column": name, "arguments": ()})
    for reference in references:
        if not whole and {*reference.arguments, reference.column} - {""} <= columns:
            yield reference
