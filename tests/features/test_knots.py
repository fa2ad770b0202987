"""`make lint` finds modules that import each other in a circle."""

from __future__ import annotations

from pathlib import Path

from tools.knots import circle


def test_no_circles() -> None:
    assert circle() == []


def test_a_circle_is_found_also_by_imports_for_types(tmp_path: Path) -> None:
    sources = tmp_path / "snowmelt"
    sources.mkdir()
    (sources / "one.py").write_text("from snowmelt.two import Two\n")
    (sources / "two.py").write_text("if TYPE_CHECKING:\n    from snowmelt import one\n")
    assert set(circle(sources)) == {"snowmelt.one", "snowmelt.two"}
