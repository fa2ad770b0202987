"""Built again: what somebody changed stays, merged with what is new; `--check` says whether design and files agree."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from snowmelt.design.building.merging import merged
from tests.design.building import PROJECTS, built, call, designed, texts

GIVEN = PROJECTS["files_snowmelt"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return built(GIVEN, tmp_path)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def other_design(folder: Path, **changes: Any) -> Path:
    return designed({**copy.deepcopy(GIVEN), **changes}, folder / "other")


def test_a_second_run_changes_nothing(project: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    result = call("build", str(tmp_path / "design" / "design.yaml"), "-o", str(project))
    assert result.exit_code == 0 and "0 new, 0 changed" in result.output
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


def test_what_somebody_changed_is_merged_with_what_is_new(project: Path, tmp_path: Path) -> None:
    mine = project / "config" / "pipeline_config.yaml"
    edit(mine, "dead_letters: dead_letters", "dead_letters: letters")
    code = project / "src" / "shop_files" / "transformers" / "__init__.py"
    edit(code, "class RequireKey", "# ours\nclass RequireKey")
    result = call("build", str(other_design(tmp_path, latency="20 minutes", owner="finance")), "-o", str(project))
    assert result.exit_code == 0, result.output
    assert "merged with your changes: config/pipeline_config.yaml" in result.output
    assert "changed: data-pipeline-spec.md" in result.output
    text = mine.read_text(encoding="utf-8")
    assert "dead_letters: letters" in text and "check_seconds: 600" in text
    assert "# ours" in code.read_text(encoding="utf-8")
    again = call("build", str(tmp_path / "other" / "design.yaml"), "-o", str(project))
    assert again.exit_code == 0 and "0 new, 0 changed" in again.output


def test_conflicts_are_marked_and_told_until_they_are_settled(project: Path, tmp_path: Path) -> None:
    mine = project / "config" / "pipeline_config.yaml"
    edit(mine, "check_seconds: 300.0", "check_seconds: 7")
    design = str(other_design(tmp_path, latency="20 minutes"))
    result = call("build", design, "-o", str(project))
    assert result.exit_code == 1
    assert "CONFLICT, marked in the file: config/pipeline_config.yaml" in result.output
    text = mine.read_text(encoding="utf-8")
    assert "<<<<<<< yours\n" in text and "check_seconds: 7\n" in text and "check_seconds: 600.0\n>>>>>>> built" in text
    unsettled = call("build", design, "-o", str(project))
    still = "These files still have conflicts of the last build: config/pipeline_config.yaml."
    assert unsettled.exit_code == 3 and still in " ".join(unsettled.stderr.split())
    assert call("build", "--check", str(project)).exit_code == 1
    head, _, rest = text.partition("<<<<<<< yours\n")
    mine.write_text(head + rest.partition("=======\n")[2].replace(">>>>>>> built\n", ""), encoding="utf-8")
    assert call("build", design, "-o", str(project)).exit_code == 0
    assert call("build", "--check", str(project)).exit_code == 0


def test_files_that_come_and_go(project: Path, tmp_path: Path) -> None:
    """Another name is another package: what nobody changed goes, what somebody changed or made stays."""
    edit(project / "src" / "shop_files" / "quality" / "base.py", "from __future__", "# ours\nfrom __future__")
    (project / "src" / "shop_files" / "own.py").write_text("VALUE = 1\n", encoding="utf-8")
    (project / "orchestration" / "crontab").unlink()
    result = call("build", str(other_design(tmp_path, name="shop_two")), "-o", str(project))
    assert result.exit_code == 0, result.output
    assert "removed, no longer built: src/shop_files/pipeline.py" in result.output
    assert "no longer built, yours stays: src/shop_files/quality/base.py" in result.output
    assert "new: src/shop_two/pipeline.py" in result.output
    assert "you removed it, stays away: orchestration/crontab" in result.output
    left = {path for path in texts(project) if path.startswith("src/shop_files/")}
    assert left == {"src/shop_files/quality/base.py", "src/shop_files/own.py"}
    assert not (project / "orchestration" / "crontab").exists()


def test_files_that_were_there_before_stay(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("mine\n", encoding="utf-8")
    design = str(designed(GIVEN, tmp_path / "design"))
    result = call("build", design, "-o", str(project))
    assert result.exit_code == 1 and "yours stays, see .new: README.md" in result.output
    assert (project / "README.md").read_text(encoding="utf-8") == "mine\n"
    assert "# shop-files" in (project / "README.md.new").read_text(encoding="utf-8")
    assert call("build", design, "-o", str(project)).exit_code == 0


def test_check_says_what_differs(project: Path, tmp_path: Path) -> None:
    assert call("build", "--check", str(project)).exit_code == 0
    edit(project / "src" / "shop_files" / "utils" / "logs.py", "from __future__", "# ours\nfrom __future__")
    specification = project / "data-pipeline-spec.md"
    built = "| 0.1.0 |  | built from design.yaml | sales |"
    edit(specification, built, f"{built}\n| 0.2.0 |  | more | sales |")
    allowed = call("build", "--check", str(project))
    assert allowed.exit_code == 0 and "edited: src/shop_files/utils/logs.py" in allowed.output
    edit(specification, "| mart | snowmelt |", "| mart | oracle |")
    (project / "sql" / "transformations" / "301_revenue.sql").write_text("SELECT 1;\n", encoding="utf-8")
    (project / "monitoring" / "dashboard.json").unlink()
    result = call("build", "--check", str(project))
    assert result.exit_code == 1
    assert "data-pipeline-spec.md: the section Destination is not what the design says" in result.output
    assert "-| mart | oracle |" in result.output
    assert "sql/transformations/301_revenue.sql is not what the design says" in result.output
    assert "monitoring/dashboard.json is not there" in result.output
    changed = call("build", str(other_design(tmp_path, owner="finance")), "-o", str(project), "--check")
    assert changed.exit_code == 1 and "the section Overview" in changed.output


def test_a_folder_without_a_record_needs_one(project: Path) -> None:
    (project / ".snowmelt" / "build.json").write_text("{", encoding="utf-8")
    result = call("build", str(project))
    assert result.exit_code == 3 and "is damaged" in result.stderr
    assert call("build", str(project / "design.yaml")).exit_code == 3, "it must say where to"


def test_merges() -> None:
    base = "a\nb\nc\nd\ne\n"
    both = merged(base, base.replace("a\n", "A\n"), base.replace("e\n", "E\n"))
    assert both.text == "A\nb\nc\nd\nE\n" and both.conflicts == 0
    assert merged(base, base.replace("c", "x"), base.replace("c", "x")).conflicts == 0
    assert merged(base, base.replace("c", "x"), base.replace("c", "y")).conflicts == 1
    assert merged("é\n", "é\nü\n", "ß\né\n").text == "ß\né\nü\n"
