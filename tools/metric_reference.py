"""The table of metrics in docs/reference/monitoring.md, from the list that the code has."""

from __future__ import annotations

from pathlib import Path

from snowmelt.observe.metrics import METRICS

TARGET = Path("docs/reference/monitoring.md")
_BEGIN, _END = "<!-- metrics -->", "<!-- end of metrics -->"


def render(page: str) -> str:
    """The page with its table as it is now."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    lines = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    for metric in METRICS.values():
        labels = ", ".join(metric.labels)
        lines.append(f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help} |")
    table = "\n".join(lines)
    return f"{before}{_BEGIN}\n{table}\n{_END}{after}"
