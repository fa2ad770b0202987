"""Masking and row access policies: expressions over columns of whatever they are set on."""

from __future__ import annotations

from typing import Literal

from snowmelt.core.kinds import ObjectType
from snowmelt.core.types import DataType
from snowmelt.sql.constraints import ConstraintKind
from snowmelt.state.model import Argument, CatalogObject
from snowmelt.state.record import Definition

MASKING = ObjectType("MASKING POLICY")
ROW_ACCESS = ObjectType("ROW ACCESS POLICY")
PROJECTION = ObjectType("PROJECTION POLICY")
AGGREGATION = ObjectType("AGGREGATION POLICY")
KINDS = (MASKING, ROW_ACCESS, PROJECTION, AGGREGATION)
TAGGED = "TAG MASKING POLICY"
"""A masking policy of a tag, which holds for the columns that have the tag."""


class PolicyDefinition(Definition):
    """What all policies have."""

    kind: str
    arguments: tuple[Argument, ...]
    returns: DataType
    """Of a policy that is a constraint, VARCHAR."""
    body: str
    """An expression, as written."""


class MaskingPolicyDefinition(PolicyDefinition):
    kind: Literal["MASKING POLICY"] = "MASKING POLICY"


class RowAccessPolicyDefinition(PolicyDefinition):
    kind: Literal["ROW ACCESS POLICY"] = "ROW ACCESS POLICY"


class ProjectionPolicyDefinition(PolicyDefinition):
    kind: Literal["PROJECTION POLICY"] = "PROJECTION POLICY"


class AggregationPolicyDefinition(PolicyDefinition):
    kind: Literal["AGGREGATION POLICY"] = "AGGREGATION POLICY"


CONSTRAINTS: dict[str, ConstraintKind] = {
    PROJECTION: ConstraintKind.PROJECTION, AGGREGATION: ConstraintKind.AGGREGATION,
}  # fmt: skip
"""What the bodies of policies without arguments return."""


def returned(definition: PolicyDefinition) -> str:
    """The type behind RETURNS."""
    kind = CONSTRAINTS.get(definition.kind)
    return str(definition.returns) if kind is None else kind.value


def definition_of(item: CatalogObject) -> PolicyDefinition:
    assert isinstance(item.definition, PolicyDefinition)
    return item.definition
