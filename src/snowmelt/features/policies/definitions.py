"""Masking and row access policies: expressions over columns of whatever they are set on."""

from __future__ import annotations

from typing import Literal

from snowmelt.core.kinds import ObjectType
from snowmelt.core.types import DataType
from snowmelt.state.model import Argument, CatalogObject
from snowmelt.state.record import Definition

MASKING = ObjectType("MASKING POLICY")
ROW_ACCESS = ObjectType("ROW ACCESS POLICY")
TAGGED = "TAG MASKING POLICY"
"""A masking policy of a tag, which holds for the columns that have the tag."""


class PolicyDefinition(Definition):
    """What all policies have."""

    arguments: tuple[Argument, ...]
    returns: DataType
    body: str
    """An expression, as written."""


class MaskingPolicyDefinition(PolicyDefinition):
    kind: Literal["MASKING POLICY"] = "MASKING POLICY"


class RowAccessPolicyDefinition(PolicyDefinition):
    kind: Literal["ROW ACCESS POLICY"] = "ROW ACCESS POLICY"


def definition_of(item: CatalogObject) -> PolicyDefinition:
    assert isinstance(item.definition, PolicyDefinition)
    return item.definition
