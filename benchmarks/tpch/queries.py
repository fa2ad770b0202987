"""The texts of the queries. Snowflake and Spark take the same ones."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent
QUERIES = 22


def query_names() -> list[str]:
    return [f"q{number:02}" for number in range(1, QUERIES + 1)]


def query_text(name: str, scale: float) -> str:
    """The query; q11 asks for a fraction that depends on the scale factor."""
    text = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    return text.replace("{fraction}", f"{0.0001 / scale:.10f}").strip()
