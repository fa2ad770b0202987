"""CONFIG of a graph: a JSON object that all its tasks can read."""

from __future__ import annotations

import json
import re
from typing import Any

from snowmelt.core import errors

_STEP = re.compile(
    r"(?:^|\.)(?:\"(?P<quoted>[^\"]+)\"|(?P<name>[^.\[\]\"]+))|\[(?P<index>\d{1,6})\]|\['(?P<key>[^']+)'\]"
)


def parse_config(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise errors.task_refused("Invalid config. Must be a string representation of a valid JSON Object.")
    return found


def merged(config: str | None, changes: str | None) -> str | None:
    """The graph's config with the values that EXECUTE TASK … USING CONFIG gives for one run."""
    if changes is None:
        return config
    values = parse_config(changes)
    return json.dumps({**(parse_config(config) if config is not None else {}), **values})


def value_at(config: str, path: str) -> str | None:
    """The value at `a.b[0]` as text; None when there is nothing."""
    found: Any = parse_config(config)
    for step in _STEP.finditer(path):
        if step["index"] is not None:
            number = int(step["index"])
            found = found[number] if isinstance(found, list) and number < len(found) else None
        else:
            key = step["quoted"] or step["name"] or step["key"]
            found = found.get(key) if isinstance(found, dict) else None
        if found is None:
            return None
    return found if isinstance(found, str) else json.dumps(found)
