"""The types of columns that rows bring and their table lacks, for channels and COPY alike."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.core.types import DataType, Kind


def declared_type(type_: DataType) -> DataType:
    """What a column is declared as for values of a type: as wide as can be, since the next row may be longer."""
    if type_.kind is Kind.NUMBER:
        return types.number(types.MAX_PRECISION, type_.scale or 0)
    return type_


def common_type(one: DataType | None, other: DataType) -> DataType:
    """A type for the values of both."""
    if one is None or one == other:
        return other
    kinds = {one.kind, other.kind}
    if kinds == {Kind.NUMBER}:
        return types.number(types.MAX_PRECISION, max(one.scale or 0, other.scale or 0))
    if kinds == {Kind.NUMBER, Kind.FLOAT}:
        return types.FLOAT
    if kinds == {Kind.DATE, Kind.TIMESTAMP_NTZ}:
        return types.TIMESTAMP_NTZ
    return types.VARIANT if Kind.VARIANT in kinds else types.VARCHAR
