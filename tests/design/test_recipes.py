"""Every recipe by the command line, from the documentation's own examples; and the review of what is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from snowmelt.design.requirements.model import Recipe
from tests.design.building import call, texts

DOCS = Path(__file__).parents[2] / "docs" / "reference"
_SHOWS = {
    Recipe.ETL: ("src/shop/transformers/__init__.py", "CastColumns"),
    Recipe.ELT: ("sql/transformations/301_revenue.sql", "DYNAMIC TABLE revenue"),
    Recipe.STREAM: ("docker/compose.yaml", '"stream"'),
    Recipe.DBT: ("dbt/models/marts/revenue.sql", "{{ ref('stg_orders') }}"),
    Recipe.CDC: ("sql/_connectors/shop.sql", "CREATE CONNECTOR"),
    Recipe.REVERSE: ("config/pipeline_config.yaml", "externalId"),
    Recipe.QUALITY: ("sql/_quality_checks/*", "STDDEV"),
}


def _example(recipe: Recipe) -> str:
    page = (DOCS / ("build.md" if recipe is Recipe.REVERSE else "design.md")).read_text(encoding="utf-8")
    text = next(text for text in re.findall(r"```yaml\n(.*?)```", page, re.S) if text.startswith("name:"))
    return text.replace("latency: 5 minutes", "latency: 10 seconds") if recipe is Recipe.STREAM else text


@pytest.mark.parametrize("recipe", Recipe)
def test_a_recipe_is_designed_and_built_from_the_documented_example(recipe: Recipe, tmp_path: Path) -> None:
    path = tmp_path / "requirements.yaml"
    path.write_text(_example(recipe), encoding="utf-8")
    approved = ["--approve", "ASK-LATENCY=the desk, for fraud"] if recipe is Recipe.STREAM else []
    out = str(tmp_path / "design")
    made = call("design", recipe.value, "-f", str(path), "-o", out, "--non-interactive", *approved)
    assert made.exit_code == 0, made.output
    project = tmp_path / "project"
    built = call("build", f"{out}/design.yaml", "-o", str(project))
    assert built.exit_code == 0, built.output
    name, shown = _SHOWS[recipe]
    found = [text for file, text in texts(project).items() if Path(file).match(name)]
    assert any(shown in text for text in found), sorted(texts(project))


PIPELINE = """CREATE TABLE src (id INT, v INT);
CREATE DYNAMIC TABLE clean TARGET_LAG = '5 minutes' WAREHOUSE = wh REFRESH_MODE = INCREMENTAL AS SELECT id, v FROM src;
CREATE DYNAMIC TABLE totals TARGET_LAG = '10 minutes' WAREHOUSE = wh REFRESH_MODE = INCREMENTAL
AS SELECT id, SUM(v) AS v FROM clean GROUP BY id;
"""


def test_a_pipeline_is_reviewed_and_its_patch_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.sql").write_text(PIPELINE, encoding="utf-8")
    result = call("design", "review", "p.sql", "--patch", "p.diff")
    assert result.exit_code == 1, result.output
    for told in ("Mode: BATCH (micro-batch)", "the quickest table may be 5 minutes old", "monitoring: nobody is told",
                 "quality: nothing checks", "PD-03", "refreshes: 288 a day of 2 tables", "credits a day"):  # fmt: skip
        assert told in result.output, result.output
    subprocess.run(["git", "apply", "p.diff"], cwd=tmp_path, check=True, timeout=60)
    assert "clean TARGET_LAG = DOWNSTREAM" in Path("p.sql").read_text(encoding="utf-8")
    assert "CHANGE_TRACKING = TRUE" in Path("p.sql").read_text(encoding="utf-8")
    assert "PD-03" not in call("design", "review", "p.sql").output


def test_a_dbt_project_is_reviewed(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: x\n", encoding="utf-8")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.sql").write_text(
        "{{ config(materialized='incremental') }} select id from {{ ref('a') }}", encoding="utf-8"
    )
    result = call("design", "review", str(tmp_path))
    assert result.exit_code == 1
    for told in ("Mode: BATCH (ELT)", "PD-01", "DW-07", "keys: nothing identifies a row", "raw data:"):
        assert told in result.output, result.output
