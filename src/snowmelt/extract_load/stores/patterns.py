"""Which names a pattern means, where no file system says: `*` within a folder, `**` across folders, `?`."""

from __future__ import annotations

import re


def matches(name: str, pattern: str) -> bool:
    """Whether a path matches, as for `Path.glob`. Hidden files never do: they are drafts."""
    if name.rpartition("/")[2].startswith("."):
        return False
    return re.fullmatch(_expression(pattern), name) is not None


def _expression(pattern: str) -> str:
    made = ""
    for token in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern):
        made += {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token) or re.escape(token)
    return made
