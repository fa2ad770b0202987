"""`snowmelt lineage` and its pictures."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from snowmelt.accounts import open_account
from snowmelt.cli.main import app
from snowmelt.govern.lineage.pictures import Arrow, Picture, mermaid, svg
from tests.features.lineage.conftest import PIPELINE

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with open_account(tmp_path / "data") as account:
        session = account.session()
        for statement in PIPELINE:
            session.execute(statement)
    return tmp_path / "data"


def _run(data: Path, *arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["lineage", "--data", str(data), *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_format(data: Path) -> None:
    found = json.loads(_run(data, "by_region.total", "--format", "json"))
    assert [edge["distance"] for edge in found["edges"]] == [1, 2, 3]
    assert (
        json.loads(_run(data, "by_region.total", "--format", "json", "--distance", "1"))["edges"] == found["edges"][:1]
    )

    table = _run(data, "--downstream", "orders.amount")
    assert "aggregation" in table

    text = _run(data, "by_region.total", "--format", "mermaid")
    assert text.startswith("flowchart LR\n")
    assert '-->|"aggregation"|' in text

    drawing = ElementTree.fromstring(_run(data, "--downstream", "orders", "--format", "svg"))
    shown = {node.text for node in drawing.iter(f"{_SVG}text")}
    assert {"SNOWMELT.PUBLIC.ORDERS", "SNOWMELT.PUBLIC.TOTALS", "dynamic table", "stream"} <= shown


def test_two_directions_at_once_are_refused(data: Path) -> None:
    result = CliRunner().invoke(app, ["lineage", "--data", str(data), "--upstream", "--downstream", "orders"])
    assert result.exit_code == 2


def _picture() -> Picture:
    picture = Picture()
    picture.add_box("A", "TABLE", "X", focus=True)
    picture.add_box('B "quoted" <&>', "VIEW", "Y")
    picture.add_box("C", "TABLE")
    picture.add_arrow(Arrow("A", 'B "quoted" <&>', "X", "Y", "identity"))
    picture.add_arrow(Arrow("A", "C", "X", None, "filter", dashed=True))
    picture.add_arrow(Arrow("C", "A", label="query"))
    return picture


def test_mermaid_names_boxes_and_columns() -> None:
    assert mermaid(_picture()) == (
        "flowchart LR\n"
        '    subgraph n0["A (table)"]\n'
        '        n0_0["X"]\n'
        "    end\n"
        '    subgraph n1["B #quot;quoted#quot; <&> (view)"]\n'
        '        n1_0["Y"]\n'
        "    end\n"
        '    n2["C (table)"]\n'
        '    n0_0 -->|"identity"| n1_0\n'
        '    n0_0 -.->|"filter"| n2\n'
        '    n2 -->|"query"| n0\n'
        "    style n0 stroke-width:3px\n"
    )


def test_svg_draws_rings_and_escapes_names() -> None:
    drawing = ElementTree.fromstring(svg(_picture()))
    assert 'B "quoted" <&>' in {node.text for node in drawing.iter(f"{_SVG}text")}
    paths = [node for node in drawing.iter(f"{_SVG}path") if node.get("marker-end")]
    assert len(paths) == 3
    assert sum(node.get("stroke-dasharray") is not None for node in paths) == 1


def test_boxes_do_not_overlap() -> None:
    picture = Picture()
    for number in range(5):
        picture.add_box(f"SOURCE_{number}", "TABLE", "A")
        picture.add_box("TARGET", "VIEW", f"C{number}")
        picture.add_arrow(Arrow(f"SOURCE_{number}", "TARGET", "A", f"C{number}"))
    frames = [
        tuple(float(node.get(key, "0")) for key in ("x", "y", "width", "height"))
        for node in ElementTree.fromstring(svg(picture)).iter(f"{_SVG}rect")
    ]
    for index, (x, y, width, height) in enumerate(frames):
        for other_x, other_y, other_width, other_height in frames[index + 1 :]:
            apart_across = x + width <= other_x or other_x + other_width <= x
            apart_down = y + height <= other_y or other_y + other_height <= y
            assert apart_across or apart_down
