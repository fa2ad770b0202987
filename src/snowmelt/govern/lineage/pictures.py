"""Lineage as a picture: boxes for datasets with their columns, arrows between them. As Mermaid text and as SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

_CHARACTER, _LINE, _PADDING = 7.2, 20, 10
_BETWEEN_LAYERS, _BETWEEN_BOXES, _MARGIN = 90, 24, 20
_COLOURS = {
    "TABLE": "#2563eb", "VIEW": "#7c3aed", "DYNAMIC TABLE": "#0d9488", "STREAM": "#d97706", "STAGE": "#64748b",
    "CHANNEL": "#db2777", "EXTERNAL": "#475569",
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Arrow:
    source: str
    target: str
    source_column: str | None = None
    target_column: str | None = None
    label: str = ""
    dashed: bool = False
    """The source decides which rows there are, and no value flows."""


@dataclass(slots=True)
class Box:
    title: str
    domain: str
    columns: list[str] = field(default_factory=list)
    focus: bool = False
    """Where the walk began."""

    @property
    def width(self) -> float:
        longest = max(len(self.title), len(self.domain), *(len(column) + 2 for column in self.columns or [""]))
        return round(longest * _CHARACTER + 2 * _PADDING, 1)

    @property
    def height(self) -> int:
        return 2 * _LINE + len(self.columns) * _LINE + _PADDING

    def line_of(self, column: str | None) -> float:
        """Where an arrow meets the box, from its top."""
        if column is None or column not in self.columns:
            return _LINE
        return 2 * _LINE + self.columns.index(column) * _LINE + _LINE / 2


@dataclass(slots=True)
class Picture:
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)

    def add_box(self, key: str, domain: str, column: str | None = None, *, focus: bool = False) -> None:
        box = self.boxes.setdefault(key, Box(key, domain))
        box.focus = box.focus or focus
        if column is not None and column not in box.columns:
            box.columns.append(column)

    def add_arrow(self, arrow: Arrow) -> None:
        if arrow not in self.arrows:
            self.arrows.append(arrow)


# -- Mermaid ----------------------------------------------------------------------------------------------------------


def mermaid(picture: Picture) -> str:
    """A flowchart, from left to right, in the text that GitHub, GitLab and many others draw."""
    names = {key: f"n{number}" for number, key in enumerate(picture.boxes)}
    lines = ["flowchart LR"]
    for key, box in picture.boxes.items():
        title = _quoted(f"{box.title} ({box.domain.lower()})")
        if not box.columns:
            lines.append(f"    {names[key]}[{title}]")
            continue
        lines.append(f"    subgraph {names[key]}[{title}]")
        lines += [f"        {names[key]}_{index}[{_quoted(column)}]" for index, column in enumerate(box.columns)]
        lines.append("    end")
    for arrow in picture.arrows:
        source = _mermaid_end(picture, names, arrow.source, arrow.source_column)
        target = _mermaid_end(picture, names, arrow.target, arrow.target_column)
        line = "-.->" if arrow.dashed else "-->"
        label = f"|{_quoted(arrow.label)}|" if arrow.label else ""
        lines.append(f"    {source} {line}{label} {target}")
    lines += [f"    style {names[key]} stroke-width:3px" for key, box in picture.boxes.items() if box.focus]
    return "\n".join(lines) + "\n"


def _mermaid_end(picture: Picture, names: Mapping[str, str], key: str, column: str | None) -> str:
    columns = picture.boxes[key].columns
    return names[key] if column not in columns else f"{names[key]}_{columns.index(column)}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'


# -- SVG --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Placed:
    box: Box
    x: float
    y: float


def svg(picture: Picture) -> str:
    """A drawing in layers: every dataset stands right of all that it is made from."""
    placed = _laid_out(picture)
    width = max((item.x + item.box.width for item in placed.values()), default=0) + _MARGIN
    height = max((item.y + item.box.height for item in placed.values()), default=0) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="ui-monospace, Menlo, monospace" font-size="12">',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#64748b"/></marker></defs>',
    ]
    parts += [_svg_arrow(arrow, placed) for arrow in picture.arrows]
    parts += [_svg_box(item) for item in placed.values()]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_box(item: _Placed) -> str:
    box, colour = item.box, _COLOURS.get(item.box.domain, "#475569")
    stroke = 3 if box.focus else 1.5
    left, top = item.x + _PADDING, item.y
    texts = [
        f'<text x="{left}" y="{top + 17}" font-weight="bold" fill="#0f172a">{escape(box.title)}</text>',
        f'<text x="{left}" y="{top + 33}" font-size="10" fill="{colour}">{escape(box.domain.lower())}</text>',
    ]
    inner = round(left + 2 * _CHARACTER, 1)
    texts += [
        f'<text x="{inner}" y="{top + box.line_of(column) + 4}" fill="#334155">{escape(column)}</text>'
        for column in box.columns
    ]
    frame = (
        f'<rect x="{item.x}" y="{top}" width="{box.width}" height="{box.height}" rx="6" fill="#ffffff" '
        f'stroke="{colour}" stroke-width="{stroke}"/>'
    )
    return f"<g>{frame}{''.join(texts)}</g>"


def _svg_arrow(arrow: Arrow, placed: Mapping[str, _Placed]) -> str:
    source, target = placed[arrow.source], placed[arrow.target]
    x1, y1 = source.x + source.box.width, source.y + source.box.line_of(arrow.source_column)
    x2, y2 = target.x, target.y + target.box.line_of(arrow.target_column)
    bend = max((x2 - x1) / 2, 30)
    dashes = ' stroke-dasharray="4 3"' if arrow.dashed else ""
    title = f"<title>{escape(arrow.label)}</title>" if arrow.label else ""
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="#64748b"{dashes} marker-end="url(#end)">{title}</path>'


def _laid_out(picture: Picture) -> dict[str, _Placed]:
    layers = _layers(picture)
    placed: dict[str, _Placed] = {}
    x: float = _MARGIN
    for layer in layers:
        y = _MARGIN
        for key in layer:
            placed[key] = _Placed(picture.boxes[key], x, y)
            y += picture.boxes[key].height + _BETWEEN_BOXES
        x += max(picture.boxes[key].width for key in layer) + _BETWEEN_LAYERS
    return {key: placed[key] for key in picture.boxes}


def _layers(picture: Picture) -> list[list[str]]:
    """The boxes by the longest way to them; in a layer those near each other that have the same sources."""
    sources: defaultdict[str, set[str]] = defaultdict(set)
    for arrow in picture.arrows:
        if arrow.source != arrow.target:
            sources[arrow.target].add(arrow.source)
    depth: dict[str, int] = {}
    for key in picture.boxes:
        _depth(key, sources, depth, set())
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key, level in depth.items():
        layers[level].append(key)
    order: dict[str, float] = {}
    for layer in layers:
        layer.sort(key=lambda key: (_middle(sources[key], order), key))
        order.update({key: float(index) for index, key in enumerate(layer)})
    return [layer for layer in layers if layer]


def _depth(key: str, sources: Mapping[str, set[str]], depth: dict[str, int], path: set[str]) -> int:
    """Two tables that are filled from each other form a ring: the arrow that closes it points backwards."""
    if key not in depth:
        above = [_depth(source, sources, depth, path | {key}) for source in sources.get(key, ()) if source not in path]
        depth[key] = max(above, default=-1) + 1
    return depth[key]


def _middle(keys: Iterable[str], order: Mapping[str, float]) -> float:
    known = [order[key] for key in keys if key in order]
    return sum(known) / len(known) if known else 0.0
