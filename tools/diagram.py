"""`make docs`: draws docs/images/cdc-pipeline.svg, the same picture as the Mermaid source in docs/architecture.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

TARGET = Path(__file__).parents[1] / "docs" / "images" / "cdc-pipeline.svg"
_WIDTH, _HEIGHT = 1140, 450
_FONT = "font-family='system-ui, -apple-system, Segoe UI, sans-serif'"
_COLORS = {
    "source": ("#e8f0fb", "#33669a"), "engine": ("#fdf1e3", "#b5702a"), "table": ("#e9f6ec", "#3b8a4d"),
    "code": ("#f3edfa", "#7a52a8"), "reader": ("#f2f2f2", "#666666"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Box:
    kind: str
    left: int
    top: int
    title: str
    note: str = ""
    width: int = 150
    height: int = 52

    @property
    def middle(self) -> int:
        return self.top + self.height // 2


BOXES = {
    "postgres": Box("source", 20, 150, "PostgreSQL", "log, slot, publication"),
    "debezium": Box("engine", 210, 90, "Debezium", "embedded, no broker"),
    "connect": Box("engine", 210, 180, "Kafka Connect", "Debezium, topics"),
    "kafka": Box("engine", 210, 260, "Kafka"),
    "landing": Box("code", 400, 150, "landing", "rows and offset at once"),
    "raw": Box("table", 590, 150, "raw_changes", "every change, once"),
    "dead": Box("table", 590, 250, "dead letters", "what no one understood"),
    "stream": Box("code", 590, 50, "stream ▸ task", "parses what is new"),
    "changes": Box("table", 780, 50, "customer_changes", "typed"),
    "customers": Box("table", 970, 50, "customers", "SCD type 2"),
    "orders": Box("table", 780, 150, "orders, order_lines", "staging"),
    "sales": Box("table", 970, 150, "sales", "customer as of then"),
    "revenue": Box("table", 970, 250, "revenue", "lag: 10 seconds"),
    "clients": Box("reader", 970, 350, "clients", "Python, dbt, JDBC, …"),
    "state": Box(
        "code", 210, 350, "state store", "visible versions, offsets of streams and connectors, histories", 530, 52
    ),
}  # fmt: skip
ARROWS = (
    ("postgres", "debezium"), ("postgres", "connect"), ("connect", "kafka"), ("debezium", "landing"),
    ("kafka", "landing"), ("landing", "raw"), ("landing", "dead"), ("raw", "stream"), ("stream", "changes"),
    ("changes", "customers"), ("raw", "orders"), ("orders", "sales"), ("customers", "sales"), ("sales", "revenue"),
    ("revenue", "clients"),
)  # fmt: skip


def render() -> str:
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' {_FONT}>",
        "<title>From PostgreSQL to a fresh dimension</title>",
        "<defs><marker id='tip' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' orient='auto'>"
        "<path d='M0 0L10 5L0 10z' fill='#555555'/></marker></defs>",
        f"<rect width='{_WIDTH}' height='{_HEIGHT}' rx='12' fill='#ffffff'/>",
        _caption(20, 34, "source"), _caption(210, 34, "capture"), _caption(400, 34, "land"),
        _caption(590, 34, "parse"), _caption(780, 34, "stage"), _caption(970, 34, "dimension to summary"),
    ]  # fmt: skip
    parts += [_arrow(BOXES[start], BOXES[end]) for start, end in ARROWS]
    parts += [_box(box) for box in BOXES.values()]
    parts.append(
        "<text x='20' y='435' font-size='12' fill='#555555'>A write makes its Delta commits first; one transaction of "
        "the state store then makes them visible together with every offset they moved.</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def _caption(left: int, top: int, text: str) -> str:
    return f"<text x='{left}' y='{top}' font-size='12' fill='#888888'>{escape(text)}</text>"


def _box(box: Box) -> str:
    fill, stroke = _COLORS[box.kind]
    center = box.left + box.width // 2
    title = box.top + (22 if box.note else 31)
    style = "font-size='11' fill='#555555' text-anchor='middle'"
    note = f"<text x='{center}' y='{box.top + 40}' {style}>{escape(box.note)}</text>" if box.note else ""
    return (
        f"<rect x='{box.left}' y='{box.top}' width='{box.width}' height='{box.height}' rx='7' fill='{fill}' "
        f"stroke='{stroke}' stroke-width='1.4'/>"
        f"<text x='{center}' y='{title}' font-size='13' font-weight='600' fill='#222222' text-anchor='middle'>"
        f"{escape(box.title)}</text>{note}"
    )


def _arrow(start: Box, end: Box) -> str:
    """From side to side where the boxes are beside each other, else from edge to edge."""
    if start.left + start.width < end.left:
        here, there = (start.left + start.width, start.middle), (end.left, end.middle)
        bend = (here[0] + there[0]) // 2
        path = f"M{here[0]} {here[1]}C{bend} {here[1]} {bend} {there[1]} {there[0]} {there[1]}"
    else:
        down = end.top > start.top
        middle = start.left + start.width // 2
        path = (
            f"M{middle} {start.top + start.height if down else start.top}V{end.top if down else end.top + end.height}"
        )
    return f"<path d='{path}' fill='none' stroke='#555555' stroke-width='1.3' marker-end='url(#tip)'/>"


def write() -> None:
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(render(), encoding="utf-8")
