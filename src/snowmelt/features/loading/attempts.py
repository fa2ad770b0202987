"""What an attempt to convert a column in Arrow is given, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core import types
from snowmelt.core.types import DataType


@dataclass(frozen=True, slots=True)
class TextRules:
    """What the statement says about reading text."""

    parameters: Mapping[str, Any]
    """The session parameters in force."""
    time_zone: str
    truncate: bool = False
    """Cut text that is too long for its column."""
    reads_json: bool = False
    """Text that goes to a VARIANT is read as JSON."""
    encodes_documents: bool = False
    """JSON is encoded here however much it is: for who waits for few rows rather than many."""

    def is_auto(self, kind: str) -> bool:
        return str(self.parameters.get(f"{kind}_INPUT_FORMAT", "AUTO")).upper() == "AUTO"


@dataclass(frozen=True, slots=True)
class CastAttempt:
    """A column in stored form, NULL in doubtful rows; `doubt` marks them, and is None when there are none."""

    values: Any
    doubt: Any = None


def without(values: Any, doubt: Any) -> Any:
    """The values with NULL in doubtful rows."""
    return values if doubt is None else pc.if_else(doubt, pa.scalar(None, values.type), values)


def short_text(values: Any, target: DataType, rules: TextRules) -> CastAttempt:
    length = target.length or types.MAX_VARCHAR
    if length >= types.MAX_VARCHAR:
        return CastAttempt(values)
    long = pc.fill_null(pc.greater(pc.utf8_length(values), length), False)
    if not pc.any(long).as_py():
        return CastAttempt(values)
    if rules.truncate:
        return CastAttempt(pc.utf8_slice_codeunits(values, 0, length))
    return CastAttempt(without(values, long), long)
