"""What an error says of a type that is not here."""

from __future__ import annotations

import re

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError

ELSEWHERE: dict[str, str] = {
    "ARRAY(…)": "Use ARRAY, and cast its elements where you read them.",
    "DECFLOAT": "Use NUMBER, which is exact to 38 digits, or FLOAT.",
    "FILE": "Keep the file's stage and path in a VARCHAR.",
    "GEOGRAPHY": "Keep GeoJSON in a VARIANT, or WKT in a VARCHAR. HAVERSINE gives distances.",
    "GEOMETRY": "Keep GeoJSON in a VARIANT, or WKT in a VARCHAR.",
    "INTERVAL": "Keep a NUMBER with its unit, and add it by DATEADD.",
    "MAP(…)": "Use OBJECT.",
    "OBJECT(…)": "Use OBJECT, and cast its values where you read them.",
    "VECTOR": "Use ARRAY.",
}
"""Types that Snowflake has and that are not here, with what to use instead. `(…)`: with types inside."""
_WORD = re.compile(r"\s*(\w+)\s*(\(?)")


def unknown_type(text: str, line: int | None = None, column: int = 0) -> SnowmeltError:
    """For a text that names no type. One that Snowflake has is refused by its name."""
    found = _WORD.match(text)
    word, inside = (found[1].upper(), found[2]) if found is not None else ("", "")
    for name in (f"{word}(…)" if inside else word, word):
        if name in ELSEWHERE:
            return errors.unsupported(f"the type {text.strip()}", hint=ELSEWHERE[name])
    message = f"Unsupported data type '{text}'."
    if line is None:
        return errors.compilation("002040", "42601", message)
    return errors.at_position("002040", "42601", line, column, message)
