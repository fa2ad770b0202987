"""Which changes of a column's type Snowflake allows."""

from __future__ import annotations

from dataclasses import replace

from snowmelt.core.types import DataType, Kind, number
from snowmelt.runtime import errors as statement_errors

_INT64_DIGITS = 19


def retyped(name: str, old: DataType, new: DataType) -> DataType:
    """The type a column gets by SET DATA TYPE; raises where Snowflake does not allow the change."""
    if old.kind is not new.kind:
        raise statement_errors.cannot_retype(name, str(old), str(new))
    if old.kind is Kind.VARCHAR:
        if (new.length or 0) < (old.length or 0):
            raise statement_errors.cannot_retype(
                name, str(old), str(new), "reducing the byte-length of a varchar is not supported"
            )
        if new.collation is not None and new.collation != old.collation:
            raise statement_errors.cannot_retype(name, str(old), str(new), "changing the collation is not supported")
        return replace(new, collation=old.collation)
    if old.kind is not Kind.NUMBER:
        if old != new:
            raise statement_errors.cannot_retype(name, str(old), str(new))
        return old
    if old.scale != new.scale:
        raise statement_errors.cannot_retype(
            name, str(old), str(new), "changing the scale of a number is not supported"
        )
    precision = new.precision or 0
    # A column of 64-bit integers stays one as long as every such integer fits.
    if old.int64 and precision >= _INT64_DIGITS:
        return replace(old, precision=precision)
    return number(precision, old.scale or 0)
