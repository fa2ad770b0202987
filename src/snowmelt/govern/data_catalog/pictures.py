"""What flows into what, as a picture: SVG that needs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from snowmelt.govern.data_catalog.model import CatalogSnapshot, RelationEntry

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 190, 40, 70, 18, 12
_LETTERS = 24
"""As many as fit into a box."""


def neighbourhood(snapshot: CatalogSnapshot, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The objects with everything above and below them, each with what it reads."""
    reads = {item.full_name: item.reads for item in snapshot.relations}
    readers: dict[str, list[str]] = {}
    for name, sources in reads.items():
        for source in sources:
            readers.setdefault(source, []).append(name)
    start = [name for name in names if name in reads]
    found = _reached(start, lambda name: reads.get(name, ())) | _reached(start, lambda name: readers.get(name, ()))
    return {name: tuple(source for source in reads[name] if source in found) for name in sorted(found)}


def _reached(start: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(following(name))
    return found


def layers(reads: dict[str, tuple[str, ...]]) -> list[list[str]]:
    """The objects from left to right: each behind all that it reads. What reads itself in a circle comes last."""
    placed: dict[str, int] = {}
    waiting = dict(reads)
    while waiting:
        ready = [name for name, sources in waiting.items() if all(source in placed for source in sources)]
        for name in ready or list(waiting):
            placed[name] = max((placed.get(source, -1) for source in reads[name]), default=-1) + 1
        waiting = {name: sources for name, sources in waiting.items() if name not in placed}
    found: list[list[str]] = [[] for _ in range(max(placed.values(), default=-1) + 1)]
    for name in sorted(placed):
        found[placed[name]].append(name)
    return found


def picture(snapshot: CatalogSnapshot, names: Iterable[str], link: Callable[[RelationEntry], str]) -> str:
    """An SVG of what the objects are made of and what is made of them; empty when there is nothing to show."""
    wanted = list(names)
    reads = neighbourhood(snapshot, wanted)
    if not reads:
        return ""
    columns = layers(reads)
    spots = {name: _spot(x, y) for x, column in enumerate(columns) for y, name in enumerate(column)}
    width = len(columns) * (_WIDTH + _ACROSS) - _ACROSS + 2 * _MARGIN
    height = max(map(len, columns)) * (_HEIGHT + _DOWN) - _DOWN + 2 * _MARGIN
    lines = [_line(spots[source], spots[name]) for name, sources in reads.items() for source in sources]
    boxes = [_box(entry, spots[name], link(entry), chosen=name in wanted) for name, entry in _entries(snapshot, reads)]
    return (
        f'<svg class="flow" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="What flows into what">{"".join(lines)}{"".join(boxes)}</svg>'
    )


def _entries(snapshot: CatalogSnapshot, names: Iterable[str]) -> Iterable[tuple[str, RelationEntry]]:
    for name in names:
        entry = snapshot.relation(name)
        if entry is not None:
            yield name, entry


def _spot(x: int, y: int) -> tuple[int, int]:
    return _MARGIN + x * (_WIDTH + _ACROSS), _MARGIN + y * (_HEIGHT + _DOWN)


def _line(source: tuple[int, int], target: tuple[int, int]) -> str:
    x1, y1 = source[0] + _WIDTH, source[1] + _HEIGHT // 2
    x2, y2 = target[0], target[1] + _HEIGHT // 2
    middle = (x1 + x2) // 2
    return f'<path d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"/>'


def _box(entry: RelationEntry, spot: tuple[int, int], link: str, *, chosen: bool) -> str:
    x, y = spot
    name = entry.name if len(entry.name) <= _LETTERS else entry.name[: _LETTERS - 1] + "…"
    kind = ' class="chosen"' if chosen else ""
    return (
        f'<a href="{escape(link)}"><title>{escape(entry.full_name)}</title>'
        f'<rect{kind} x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + 10}" y="{y + 17}">{escape(name)}</text>'
        f'<text class="kind" x="{x + 10}" y="{y + 32}">{escape(entry.kind.lower())}</text></a>'
    )
