"""YAML that somebody else wrote. Nothing else in the package reads YAML.

A few lines of it can stand for more than any memory holds (aliases of aliases), and brackets in brackets end the
process in libyaml. So its events, which take no memory, are looked at before anything is made of them.
"""

from __future__ import annotations

from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as quick where libyaml is there; neither makes anything but plain values."""
DEEPEST = 100
MOST_NODES = 1_000_000
"""With what aliases stand for counted each time."""


def load_yaml(text: str, loader: Any = LOADER) -> Any:
    """The values. Raises `yaml.YAMLError` for what is no YAML, is nested too deeply or stands for too much."""
    _check(text)
    return yaml.load(text, Loader=loader)


def compose_yaml(text: str) -> Any:
    """The nodes, with where each stands. Raises as `load_yaml` does."""
    _check(text)
    return yaml.compose(text, Loader=LOADER)


def _check(text: str) -> None:
    sizes: dict[str, int] = {}
    """The size of each complete part that has an anchor, in nodes."""
    opened: list[tuple[str | None, int]] = [(None, 0)]
    """Anchor and nodes so far of each collection around."""
    for event in yaml.parse(text, Loader=LOADER):
        anchor, size = None, 1
        match event:
            case yaml.AliasEvent():
                size = sizes.get(event.anchor, 1)
            case yaml.ScalarEvent():
                anchor = event.anchor
            case yaml.CollectionStartEvent():
                opened.append((event.anchor, 0))
                if len(opened) > DEEPEST + 1:
                    raise _refused(f"this is nested more than {DEEPEST} levels deep", event)
                if event.anchor is not None:
                    # An alias of it inside itself would have no end.
                    sizes[event.anchor] = MOST_NODES
                continue
            case yaml.CollectionEndEvent():
                anchor, inside = opened.pop()
                size += inside
            case _:
                continue
        if anchor is not None:
            sizes[anchor] = size
        around, before = opened[-1]
        opened[-1] = around, before + size
        if before + size > MOST_NODES:
            raise _refused(f"this stands for more than {MOST_NODES:,} values", event)


def _refused(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
